/** Task environments on a real engine, held against the engine's own client and against themselves. */
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { ContainerSpec, SandboxManager } from "../src/application/ports/containers.ts";
import { DEFAULTS } from "../src/config/config.ts";
import { createEngine, parseEngineAddress } from "../src/infrastructure/containers/docker-engine.ts";
import { openDocker } from "../src/wiring/docker-sandbox.ts";
import { inTurns, milliseconds, type Row, summarize } from "./measure.ts";
import { remove, tempFolder } from "./workspaces.ts";

const HOST = process.env.DOCKER_HOST ?? DEFAULTS.command_executor.docker.host;
const IMAGE = process.env.PICOCLAW_BENCH_IMAGE ?? "picoclaw-debian:bookworm";
const LIMITS = { cpus: 2, memoryBytes: 512 * 1024 ** 2, pids: 256, diskBytes: 1024 ** 3 };
const TASKS = 20;
const COMMANDS = 1000;

export async function environments(): Promise<Row[]> {
  const home = tempFolder("environments");
  const sandbox = open(home, 0);
  try {
    return [
      ...(await oneCommand(sandbox)),
      await warmStart(home),
      await reuse(sandbox),
      await manyTasks(sandbox),
      await memory(sandbox),
    ];
  } finally {
    await sandbox.cleanupStaleContainers({ thresholdMs: -1 });
    await sandbox.close();
    remove(home);
  }
}

async function oneCommand(sandbox: SandboxManager): Promise<Row[]> {
  const id = await start(sandbox);
  try {
    const { cli, supervised } = await inTurns(40, {
      cli: () => void docker("exec", "-w", "/workspace/project", id, "sh", "-c", "true"),
      supervised: () => run(sandbox, id),
    });
    return [
      {
        name: "a command through the supervisor / docker exec",
        figure: `${(supervised.median / cli.median).toFixed(2)} (${milliseconds(supervised)} / ${milliseconds(cli)})`,
        target: "≤ 0.1, 3 ms",
        ok: supervised.median <= 0.1 * cli.median,
      },
    ];
  } finally {
    await sandbox.stopContainer(id, { force: true });
  }
}

async function warmStart(home: string): Promise<Row> {
  const sandbox = open(`${home}/pool`, 1);
  const times: Record<"cold" | "warm", number[]> = { cold: [], warm: [] };
  try {
    while (times.warm.length < 8 || times.cold.length < 8) {
      // Another limit is another key: made cold, regardless of the pool.
      const cold = times.cold.length < times.warm.length;
      const limits = cold ? { ...LIMITS, pids: LIMITS.pids + times.cold.length + 1 } : LIMITS;
      const begun = performance.now();
      const started = await sandbox.startContainer(spec({ limits }));
      if (!started.ok) throw new Error(started.detail);
      times[started.from].push(performance.now() - begun);
      await sandbox.stopContainer(started.id, { force: true });
      if (times.cold.length > 60) break;
    }
    const [cold, warm] = [summarize(times.cold), summarize(times.warm)];
    return {
      name: "an environment from the warm pool / made cold",
      figure: `${(warm.median / cold.median).toFixed(2)} (${milliseconds(warm)} / ${milliseconds(cold)})`,
      target: "≤ 0.2",
      ok: warm.median <= 0.2 * cold.median,
    };
  } finally {
    await sandbox.close();
  }
}

async function reuse(sandbox: SandboxManager): Promise<Row> {
  const commands = 10;
  const times = await inTurns(
    2,
    {
      each: async () => {
        for (let i = 0; i < commands; i++) {
          const id = await start(sandbox);
          await run(sandbox, id);
          await sandbox.stopContainer(id);
        }
      },
      once: async () => {
        const id = await start(sandbox);
        for (let i = 0; i < commands; i++) await run(sandbox, id);
        await sandbox.stopContainer(id);
      },
    },
    0,
  );
  const { each, once } = times;
  const factor = each.median / once.median;
  return {
    name: `${commands} commands, a container for each / one for all`,
    figure: `${factor.toFixed(1)} (${milliseconds(each)} / ${milliseconds(once)})`,
    target: "≥ 5",
    ok: factor >= 5,
  };
}

async function manyTasks(sandbox: SandboxManager): Promise<Row> {
  const engine = openApi();
  const serial: number[] = [];
  for (let i = 0; i < 6; i++) {
    const begun = performance.now();
    const created = await engine.call<{ Id: string }>("POST", "/containers/create", {
      body: { Image: IMAGE, Cmd: ["sleep", "60"], HostConfig: { NetworkMode: "none", Init: true } },
    });
    if (!created.ok) throw new Error(created.detail);
    const path = `/containers/${created.value.Id}`;
    await engine.call("POST", `${path}/start`);
    docker("exec", created.value.Id, "true");
    await engine.call("DELETE", path, { query: { force: true, v: true } });
    serial.push(performance.now() - begun);
  }
  const bound = summarize(serial).median * TASKS;
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: TASKS }, async () => {
      const id = await start(sandbox);
      await run(sandbox, id);
      await sandbox.stopContainer(id, { force: true });
    }),
  );
  const all = performance.now() - begun;
  return {
    name: `${TASKS} tasks at once / the engine's own time for them one by one`,
    figure: `${(all / bound).toFixed(2)} (${all.toFixed(0)} ms / ${bound.toFixed(0)} ms)`,
    target: "≤ 1.3",
    ok: all <= 1.3 * bound,
  };
}

async function memory(sandbox: SandboxManager): Promise<Row> {
  const id = await start(sandbox);
  const used = () => {
    Bun.gc(true);
    return process.memoryUsage().rss / 1024 ** 2;
  };
  for (let i = 0; i < 100; i++) await run(sandbox, id);
  const before = used();
  for (let i = 0; i < COMMANDS; i++) await run(sandbox, id);
  const after = used();
  await sandbox.stopContainer(id, { force: true });
  return {
    name: `memory after ${COMMANDS} commands`,
    figure: `${(after - before).toFixed(1)} MiB more (${before.toFixed(0)} → ${after.toFixed(0)})`,
    target: "flat (≤ 5 MiB)",
    ok: after - before <= 5,
  };
}

function open(home: string, poolSize: number): SandboxManager {
  const { command_executor: config } = DEFAULTS;
  const opened = openDocker({
    config: { ...config, docker: { ...config.docker, host: HOST }, pool: { size: poolSize } },
    home,
    env: {},
    warn: (message) => console.error(message),
  });
  if ("ok" in opened) throw new Error(opened.detail);
  return opened.sandboxes;
}

function openApi() {
  const address = parseEngineAddress(HOST);
  if (!address) throw new Error(`no engine: ${HOST}`);
  return createEngine({ address, host: HOST, timeoutMs: 60_000 });
}

function spec(over: Partial<ContainerSpec> = {}): ContainerSpec {
  const taskId = randomUUID();
  return {
    name: `coding-agent-exec-${taskId}`,
    taskId,
    image: IMAGE,
    limits: LIMITS,
    network: { mode: "none" },
    ...over,
  };
}

async function start(sandbox: SandboxManager): Promise<string> {
  const started = await sandbox.startContainer(spec());
  if (!started.ok) throw new Error(`${started.code}: ${started.detail}`);
  return started.id;
}

async function run(sandbox: SandboxManager, id: string): Promise<void> {
  const { exitCode, failure } = await sandbox.exec(id, {
    command: "true",
    timeoutMs: 30_000,
    outputLimitBytes: 1024 ** 2,
  });
  if (exitCode !== 0) throw new Error(failure?.detail ?? `exit ${exitCode}`);
}

function docker(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync("docker", args, {
    encoding: "utf8",
    env: { ...process.env, DOCKER_HOST: HOST },
  });
  if (status !== 0) throw new Error(`docker ${args[0]}: ${stderr}`);
  return stdout.trim();
}
