/** Runs a command in a limited copy, whose thread fails meanwhile; writes how it ended, and which processes were ended after it. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createLimitCopy } from "../../src/infrastructure/sandbox/limited-copy.ts";

const [folder = "", seconds = ""] = process.argv.slice(2);
const [job, copy] = [join(folder, "job"), join(folder, "copy")];
for (const made of [job, copy]) mkdirSync(made);
const entry = join(import.meta.dir, "fault-thread.ts");
const limit = createLimitCopy(() => ({ entry, readable: [], shown: null, closed: [], processes: 0 }));
const limited = await limit?.(job, [{ copy }], { network: true });
const result = await limited?.processes.runProcess({
  argv: ["/bin/sh", "-c", `: > fault; sleep ${seconds}`],
  cwd: copy,
  env: { PATH: "/usr/bin:/bin" },
  jobMarker: "job_of_a_thread",
  timeoutMs: 120_000,
  outputLimitBytes: 1000,
});
const ended = await limited?.processes.killJobProcesses("job_of_a_thread");
limited?.stop();
console.log(JSON.stringify({ outcome: result?.outcome, ended: ended?.map(({ command }) => command) }));
