/** Runs of worker CLIs in a task's container, held against a container per run and against the CLI run by hand. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WorkerExecutor } from "../src/application/ports/tasks.ts";
import { DEFAULTS } from "../src/config/config.ts";
import { findWorkerKind } from "../src/infrastructure/heads/kinds/find-kind.ts";
import type { WorkerKind } from "../src/infrastructure/heads/kinds/worker-kind.ts";
import { createTaskFiles } from "../src/infrastructure/tasks/task-files.ts";
import { openTaskExecutor } from "../src/wiring/tasks.ts";
import { openWorkspace } from "../src/wiring/workspace.ts";
import { startWorkerModel } from "../test/infrastructure/tasks/worker-model.ts";
import { inTurns, milliseconds, type Row, summarize } from "./measure.ts";
import { remove, tempFolder } from "./workspaces.ts";

const HOST = process.env.DOCKER_HOST ?? DEFAULTS.command_executor.docker.host;

/** Its prompt is a script. */
const trivial: WorkerKind = {
  ...findWorkerKind("codex-cli"),
  argv: ["sh"],
  createReader: () => ({
    feed: () => [],
    end: () => ({
      summary: "",
      error: null,
      usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 },
      saidChanged: [],
      sessionId: "",
    }),
  }),
};

export async function workerRuns(): Promise<Row[]> {
  return [await reuse(), await overhead()];
}

async function reuse(): Promise<Row> {
  const at = bench([]);
  try {
    const kept = await at.open(`kept-${process.pid}`, trivial, "coding-agent-executor");
    const fresh: number[] = [];
    const again: number[] = [];
    await work(kept.executor, "true");
    for (let i = 0; i < 8; i++) {
      again.push(await timed(() => work(kept.executor, "true")));
      const single = await at.open(`single-${process.pid}`, trivial, "coding-agent-executor");
      fresh.push(
        await timed(async () => {
          await work(single.executor, "true");
          await single.executor.stop();
        }),
      );
      await single.close();
    }
    await kept.executor.stop();
    await kept.close();
    const [one, per] = [summarize(again), summarize(fresh)];
    return {
      name: "a worker run in its task's container / a container per run",
      figure: `${(per.median / one.median).toFixed(1)} × (${milliseconds(one)} / ${milliseconds(per)})`,
      target: "≥ 5 ×",
      ok: per.median >= 5 * one.median,
    };
  } finally {
    await at.end();
  }
}

async function overhead(): Promise<Row> {
  const model = await startWorkerModel();
  const at = bench([model.host]);
  writeFileSync(
    join(at.user, ".codex/config.toml"),
    `model = "stub"\nmodel_provider = "stub"\n[model_providers.stub]\nname = "stub"\nbase_url = "http://${model.host}/v1"\nwire_api = "responses"\nenv_key = "CODEX_API_KEY"\nsupports_websockets = false\n`,
  );
  try {
    const kind = findWorkerKind("codex-cli");
    const { executor, close } = await at.open(`codex-${process.pid}`, kind, kind.image);
    const prompt = 'Edit. [[RUN ["date +%N > a.txt"]]]';
    await work(executor, prompt);
    const by = await inTurns(
      6,
      {
        us: () => work(executor, prompt),
        hand: () => execByHand(kind.argv, prompt),
      },
      1,
    );
    await executor.stop();
    await close();
    const extra = by.us.median - by.hand.median;
    return {
      name: "a run of codex as a job, beyond the same by docker exec",
      figure: `${extra.toFixed(0)} ms, ${((100 * extra) / by.hand.median).toFixed(0)} % (${milliseconds(by.us)} / ${milliseconds(by.hand)})`,
      target: "≤ 15 % or 300 ms",
      ok: extra <= Math.max(300, 0.15 * by.hand.median),
    };
  } finally {
    await model.stop();
    await at.end();
  }
}

/** In another process, so that the model can answer meanwhile. */
async function execByHand(argv: readonly string[], prompt: string): Promise<void> {
  const env = ["-e", "HOME=/var/tmp/home", "-e", "CODEX_API_KEY=key-of-the-bench"];
  const child = Bun.spawn(
    [
      "docker",
      "exec",
      "-i",
      "-w",
      "/workspace/project",
      ...env,
      `agent-runner-codex-${process.pid}`,
      ...argv,
    ],
    {
      stdin: new Blob([prompt]),
      stdout: "ignore",
      stderr: "ignore",
      env: { ...process.env, DOCKER_HOST: HOST },
    },
  );
  if ((await child.exited) !== 0) throw new Error("codex by hand failed");
}

async function work(executor: WorkerExecutor, prompt: string): Promise<void> {
  const signal = new AbortController().signal;
  const started = await executor.start({ signal });
  if (!started.ok) throw new Error(started.message);
  const { error } = await executor.runWorker(prompt, { signal, timeoutMs: 60_000 });
  if (error !== null) throw new Error(error);
}

async function timed(act: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await act();
  return performance.now() - started;
}

function bench(allowedHosts: readonly string[]) {
  const folder = tempFolder("worker-runs");
  const [workspace, home, user] = [join(folder, "ws"), join(folder, "home"), join(folder, "user")];
  for (const path of [workspace, home, join(user, ".codex")]) mkdirSync(path, { recursive: true });
  writeFileSync(join(workspace, "a.txt"), "a\n");
  spawnSync("git", ["init", "-q"], { cwd: workspace });
  const network = { external_access: false, allowed_hosts: allowedHosts };
  writeFileSync(
    join(home, "config.yaml"),
    JSON.stringify({ command_executor: { docker: { host: HOST, network } } }),
  );
  const env = { PATH: process.env.PATH ?? "", HOME: user, PICOCLAW_HOME: home };
  const executors: WorkerExecutor[] = [];
  return {
    user,
    async open(id: string, kind: WorkerKind, image: string) {
      const { findCredentials } = await import("../src/infrastructure/tasks/credentials.ts");
      const opened = await openWorkspace(env, { cwd: workspace });
      if (!opened.ok) throw new Error("the workspace could not be opened");
      const key = { CODEX_API_KEY: "key-of-the-bench" };
      const credentials = findCredentials(kind, { home: user, hostEnv: {}, workerEnv: key });
      const files = createTaskFiles({
        storage: opened.workspace.storage,
        workspace,
        id,
        mask: (text) => text,
      });
      files.claim();
      const view = join(files.folder, "view");
      const open = openTaskExecutor(opened, {
        id,
        kind,
        image,
        environment: "python",
        folder: view,
        credentials,
        mask: (text) => text,
      });
      executors.push(open.executor);
      return open;
    },
    async end() {
      for (const executor of executors) await executor.stop();
      remove(folder);
    },
  };
}
