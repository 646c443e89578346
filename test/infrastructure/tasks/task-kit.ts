/** Task files on a real engine, with a worker that is a shell: its prompt is the script it runs. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Workspace } from "../../../src/application/ports/jobs-workspace.ts";
import type { OpenTasks, TaskProgress, TaskRun } from "../../../src/application/ports/tasks.ts";
import { readTaskFile } from "../../../src/config/task-file.ts";
import type { WorkerKind } from "../../../src/infrastructure/heads/kinds/worker-kind.ts";
import { removeTree } from "../../../src/infrastructure/platform/remove-tree.ts";
import { openTasks } from "../../../src/wiring/tasks.ts";
import { PROGRAM } from "../../e2e/cli-kit.ts";
import { DOCKER_HOST, docker } from "../containers/real-engine.ts";

/** Reads a shell's output as its last words. */
export const shellKind: WorkerKind = {
  name: "codex-cli",
  aliases: [],
  image: "coding-agent-executor",
  argv: ["sh"],
  env: {},
  credentials: [{ path: ".codex/auth.json", isLogin: true }],
  leftOut: [],
  keyVariables: ["CODEX_API_KEY"],
  plainVariables: [],
  route: () => ({
    upstream: "http://127.0.0.1:9",
    lead: (base) => ({ env: { MODEL_BASE: base }, argv: ["sh"] }),
  }),
  inSession: (argv) => argv,
  asks: /^\//,
  createReader() {
    let summary = "";
    return {
      feed(text) {
        summary += text;
        return text.split("\n").flatMap((line) => (line === "" ? [] : [{ kind: "text", text: line }]));
      },
      end: () => ({
        summary,
        error: null,
        usage: { inputTokens: 1, outputTokens: 1, costUsd: 0 },
        saidChanged: [],
        sessionId: "",
      }),
    };
  },
};

/** Built from Debian packages where it is missing or old; the engine keeps it. */
export function buildImages(...names: readonly string[]): void {
  const root = "picoclaw-debian:bookworm";
  const from = docker("images", "-q", root) === "" ? [] : ["--from", root];
  for (const name of names) {
    const built = spawnSync(PROGRAM, ["images", "build", name, ...from], {
      encoding: "utf8",
      env: {
        PATH: process.env.PATH ?? "",
        HOME: process.env.HOME ?? "/",
        DOCKER_HOST,
        PICOCLAW_LOCALE: "en",
      },
      timeout: 900_000,
    });
    if (built.status !== 0) throw new Error(`${name}: ${built.stdout}${built.stderr}`);
  }
}

interface TaskOptions {
  readonly id?: string;
  /** One worker run each, then the planner says that it is done. None: no planner, the last is the requirements. */
  readonly prompts: readonly string[];
  readonly noMeta?: boolean;
  readonly preview?: boolean;
  readonly resume?: boolean;
  readonly test?: string;
  readonly maxRunTimeSec?: number;
  readonly workerEnv?: Readonly<Record<string, string>>;
  /** Over the image of the project's environment; default: in the kind's own. */
  readonly overEnvironment?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: TaskProgress) => void;
  /** Called when a worker run begins, with its number. */
  readonly onRun?: (loop: number) => void;
  readonly onTested?: (loop: number) => void;
  readonly onLanded?: (loop: number) => void;
}

export interface TaskBench {
  readonly folder: string;
  readonly workspace: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  write(path: string, text: string): void;
  read(path: string): string;
  /** Every file of the workspace but git's and PicoClaw's own. */
  tree(): Readonly<Record<string, string>>;
  git(...args: readonly string[]): string;
  open(): Promise<OpenTasks & { readonly workspace: Workspace }>;
  run(options: TaskOptions): Promise<Extract<TaskRun, { ok: true }>>;
  end(): void;
}

export function createTaskBench(
  workspaceName = "ws",
  kind: WorkerKind = shellKind,
  existing?: string,
): TaskBench {
  const folder = existing ?? realpathSync(mkdtempSync(join(tmpdir(), "picoclaw-task-")));
  const workspace = join(folder, workspaceName);
  const home = join(folder, "home");
  for (const path of [workspace, home, join(folder, "user", ".codex")]) mkdirSync(path, { recursive: true });
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: join(folder, "user"),
    PICOCLAW_HOME: home,
    PICOCLAW_LOCALE: "en",
    CODEX_API_KEY: "key-of-the-test-1234567",
  };
  writeFileSync(
    join(home, "config.yaml"),
    JSON.stringify({
      command_executor: { docker: { host: DOCKER_HOST, network: { external_access: false } } },
      providers: { planner: { type: "scripted", script: "planner.json", model: "script", local: true } },
      roles: { coder3: { provider: "planner" } },
      // A prompt is a script here, and words that go back are none.
      coder: { attempts: 1 },
    }),
  );
  const git = (...args: readonly string[]) => {
    const identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
    const ran = spawnSync("git", [...identity, ...args], {
      cwd: workspace,
      encoding: "utf8",
      env: { PATH: env.PATH, HOME: env.HOME },
    });
    if (ran.status !== 0) throw new Error(ran.stderr);
    return ran.stdout;
  };
  if (existing === undefined) git("init", "-q");
  const bench: TaskBench = {
    folder,
    workspace,
    home,
    env,
    write(path, text) {
      mkdirSync(dirname(join(workspace, path)), { recursive: true });
      writeFileSync(join(workspace, path), text);
    },
    read: (path) => readFileSync(join(workspace, path), "utf8"),
    tree() {
      const files = readdirSync(workspace, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(workspace.length + 1))
        .filter((path) => !/^\.(git|picoclaw)\//.test(path));
      return Object.fromEntries(files.sort().map((path) => [path, bench.read(path)]));
    },
    git,
    async open() {
      const opened = await openTasks(env, { cwd: workspace, workspace }, () => kind);
      if (!opened.ok) throw new Error(JSON.stringify(opened));
      return { ...opened.tasks, workspace: opened.workspace };
    },
    async run(options) {
      writeFileSync(
        join(home, "planner.json"),
        JSON.stringify(script(options.prompts, options.resume === true)),
      );
      const tasks = await bench.open();
      const source = JSON.stringify({
        version: 1,
        task: {
          id: options.id ?? "t1",
          title: "A task",
          prd: { text: options.prompts.at(-1) ?? "nothing" },
          ...(options.test !== undefined && { test: { command: options.test } }),
        },
        runner: {
          worker: {
            kind: "codex-cli",
            ...(!options.overEnvironment && { docker_image: kind.image }),
            max_run_time_sec: options.maxRunTimeSec ?? 280,
            env: options.workerEnv ?? { GIVEN: "value" },
          },
        },
      });
      const file = readTaskFile(source, "task.yaml", env);
      if (!file.ok) throw new Error(JSON.stringify(file.problems));
      const ran = await tasks.run({
        ...file,
        ...(options.resume && { resume: options.id ?? "t1" }),
        source,
        noMeta: options.noMeta ?? false,
        preview: options.preview ?? false,
        signal: options.signal ?? new AbortController().signal,
        onRecord: (_, event) => {
          if (event.type === "worker-started") options.onRun?.(event.loop);
          if (event.type === "tested") options.onTested?.(event.loop);
          if (event.type === "landed") options.onLanded?.(event.loop);
        },
        onProgress: (progress) => options.onProgress?.(progress),
      });
      if (!ran.ok) throw new Error(ran.text);
      return ran;
    },
    end: () => removeTree(folder),
  };
  return bench;
}

function script(prompts: readonly string[], planned: boolean): object {
  const answer = (document: object) => ({ text: JSON.stringify(document), times: 1 });
  const plan = answer({ acceptance_criteria: [{ id: "AC-1", description: "it is done" }] });
  return {
    answers: [
      ...(planned ? [] : [plan]),
      ...prompts.map((prompt) =>
        answer({ decision: { action: "run_worker", reason: "" }, worker_call: { prompt } }),
      ),
      answer({ decision: { action: "mark_complete", reason: "" } }),
      answer({ criteria: [{ id: "AC-1", status: "passed", reason: "seen" }], summary: "well done" }),
    ],
  };
}
