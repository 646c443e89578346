/** A stranger's command, where it can do no harm: bun run-in-a-container.ts IMAGE (needs Docker and the image) */
import { openSandbox } from "picoclaw";

const image = process.argv[2] ?? "debian:bookworm-slim";
const sandbox = await openSandbox();
const name = `agent-runner-example-${process.pid}`;
try {
  const started = await sandbox.startContainer({
    name,
    taskId: `example-${process.pid}`,
    image,
    limits: { cpus: 1, memoryBytes: 256 * 1024 ** 2, pids: 64, diskBytes: 100 * 1024 ** 2 },
    network: { mode: "none" },
  });
  if (!started.ok) throw new Error(`${started.code}: ${started.detail}`);
  const run = async (command: string, timeoutMs: number) => {
    const { outcome, stdout } = await sandbox.exec(started.id, {
      command,
      timeoutMs,
      outputLimitBytes: 10_000,
    });
    console.log(`${outcome}: ${stdout.trim()}`);
  };
  await run("echo hello from $(id -u)", 30_000);
  await run("sleep 600", 500);
  await run("ls /sys/class/net", 30_000);
} finally {
  await sandbox.stopContainer(name);
  await sandbox.close();
}
