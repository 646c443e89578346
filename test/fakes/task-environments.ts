import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { TaskEnvironment, TaskEnvironments } from "../../src/application/ports/tasks.ts";
import { DEFAULTS } from "../../src/config/config.ts";
import {
  bringInScript,
  changeScript,
  diffCommand,
  treeScript,
  unbornRepositories,
} from "../../src/domain/containers/clone-plan.ts";
import { NO_USAGE } from "../../src/domain/models/model-facts.ts";
import { createProtection } from "../../src/domain/policy/protection.ts";
import { messagesFor } from "../../src/domain/texts/jobs.ts";
import { createCloneWorkspace } from "../../src/infrastructure/containers/container-workspace.ts";
import { jobsOfThisProcess } from "../../src/infrastructure/engine/running-jobs.ts";
import { createProcessRunner } from "../../src/infrastructure/platform/process-runner.ts";
import { createFarProjectFiles } from "../../src/tools/read/project-files.ts";
import { QUICK_NPM_PATH } from "../quick-npm.ts";
import { git } from "./forges/seed-repository.ts";

/** Environments that are folders of this machine: real git and a real shell, no container. */
export interface FolderEnvironments extends TaskEnvironments {
  readonly live: Map<string, string>;
  onPrepare: () => void;
  failedInstalls: TaskEnvironment["failedInstalls"];
  /** Installs the dependencies in the folder. */
  install: string;
  /** Works in the folder as the worker CLI would. */
  worker: (
    folder: string,
    prompt: string,
  ) => Promise<{
    exitCode: number;
    stdout: string;
    stderr: string;
    notes?: readonly string[];
  }>;
}

/** `path` is where the commands of jobs and checks find their programs. */
export function createFolderEnvironments(below: string, path = QUICK_NPM_PATH): FolderEnvironments {
  const live = new Map<string, string>();
  const claims = new Map<string, string>();
  const environments: FolderEnvironments = {
    live,
    onPrepare: () => {},
    failedInstalls: [],
    install: "true",
    worker: async () => ({ exitCode: 0, stdout: "", stderr: "" }),
    available: () => ({ python: "image-python", node: "image-node" }),
    promptFragment: () => "## Command Execution Feature",
    tools: [
      { name: "command-executor_execute_command", description: "runs", parameters: { type: "object" } },
      { name: "text_editor", description: "edits", parameters: { type: "object" } },
    ],
    async prepare({ taskId, claim, cloneUrl, credentials, branch, environment, worker, signal }) {
      environments.onPrepare();
      if (signal.aborted) return { ok: false, kind: "aborted", message: "" } as const;
      const folder = mkdtempSync(join(below, "environment-"));
      mkdirSync(`${folder}.home`);
      const url = new URL(cloneUrl);
      url.username = credentials.username;
      url.password = credentials.token;
      const cloned = await run(["git", "clone", "--quiet", "--branch", branch, url.href, "."], folder);
      if (cloned.exitCode !== 0) {
        rmSync(folder, { recursive: true });
        return { ok: false, kind: "clone", message: cloned.stderr } as const;
      }
      live.set(taskId, folder);
      claims.set(taskId, `${claim.id}:${claim.fence}`);
      const base = git(folder, "rev-parse", "HEAD");
      await run(["sh", "-c", environments.install], folder);
      const index = join(below, `${basename(folder)}.index`);
      const { stdout: start } = await run(["sh", "-c", treeScript(index, base)], folder);
      const clone = { folder, index, base, start: start.trim() };
      const made = {
        ...(await folderEnvironment(clone, environment ?? "python", path)),
        failedInstalls: environments.failedInstalls,
      };
      if (worker === null) return made;
      return {
        ...made,
        async runWorker(prompt: string) {
          const { exitCode, stdout, stderr, notes = [] } = await environments.worker(folder, prompt);
          made.touch();
          return {
            summary: stdout,
            error: exitCode === 0 ? null : stderr,
            exitCode,
            durationMs: 1,
            usage: NO_USAGE,
            notes,
          };
        },
      };
    },
    async remove(taskId, { id, fence }) {
      if (claims.get(taskId) !== `${id}:${fence}`) return;
      const folder = live.get(taskId);
      for (const one of folder === undefined ? [] : [folder, `${folder}.home`])
        rmSync(one, { recursive: true, force: true });
      live.delete(taskId);
    },
  };
  return environments;
}

interface Cloned {
  readonly folder: string;
  readonly index: string;
  readonly base: string;
  /** The tree after the installation. */
  readonly start: string;
}

async function folderEnvironment(
  { folder, index, base, start }: Cloned,
  name: string,
  path: string,
): Promise<TaskEnvironment & { touch(): void }> {
  const print: TaskEnvironment["print"] = async (command, { stdin, limitBytes }) => {
    const { status, stdout, stderr } = spawnSync("sh", ["-c", command], {
      cwd: folder,
      maxBuffer: limitBytes,
      env: VARIABLES(folder),
      ...(stdin !== undefined && { input: stdin }),
    });
    return status === 0 ? stdout : String(stderr);
  };
  const workspace = createCloneWorkspace(
    {
      root: folder,
      storage: `${index}.jobs`,
      processes: createProcessRunner(),
      config: DEFAULTS.worker,
      protection: createProtection({
        patterns: [],
        action: "error",
        caseInsensitive: false,
        ownPaths: [],
      }),
      messages: messagesFor("en"),
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      mask: (text) => text,
    },
    { base, start, index: `${index}.draft`, print },
    { ...VARIABLES(folder), PATH: path },
  );
  await workspace.see();
  const { planOptions } = jobsOfThisProcess();
  const environment: TaskEnvironment & { touch(): void } = {
    touch: workspace.touch,
    workspace,
    projectOf: (files) => createFarProjectFiles({ ...workspace, files }, planOptions),
    ok: true,
    name,
    baseCommit: base,
    warnings: [],
    failedInstalls: [],
    async call(tool, args, signal) {
      workspace.touch();
      const { command, path, text } = args as { command: string; path?: string; text?: string };
      if (tool === "text_editor") {
        mkdirSync(dirname(join(folder, path ?? "")), { recursive: true });
        writeFileSync(join(folder, path ?? ""), text ?? "");
        return { ok: true, text: "ok" };
      }
      const result = await run(["sh", "-c", command], folder, signal);
      return {
        ok: result.exitCode === 0,
        text: `exit code ${result.exitCode}\n${result.stdout}${result.stderr}`,
        command: { command, ...result },
      };
    },
    run: (command, signal) => run(["sh", "-c", command], folder, signal),
    print,
    async difference(_signal, { exact }) {
      const { exitCode, stdout, stderr } = await run(
        ["sh", "-c", changeScript(index, { base, start, exact })],
        folder,
      );
      if (exitCode !== 0) return stderr;
      const tree = stdout.trim();
      const { stdout: patch } = spawnSync("sh", ["-c", diffCommand(base, tree)], { cwd: folder });
      return { patch, tree, unborn: unbornRepositories(stderr) };
    },
    async bringIn(patch) {
      workspace.touch();
      const { status, stderr } = spawnSync("sh", ["-c", bringInScript(index, base)], {
        cwd: folder,
        input: patch,
      });
      return status === 0 ? null : stderr.toString();
    },
  };
  return environment;
}

const VARIABLES = (folder: string) => ({
  PATH: QUICK_NPM_PATH,
  // Of this environment alone: what a container has as its home.
  HOME: `${folder}.home`,
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
});

async function run(argv: string[], cwd: string, signal?: AbortSignal) {
  const child = Bun.spawn(argv, {
    cwd,
    stdout: "pipe",
    stderr: "pipe",
    stdin: "ignore",
    ...(signal !== undefined && { signal, killSignal: "SIGKILL" as const }),
    env: VARIABLES(cwd),
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { exitCode, stdout, stderr, durationMs: 1 };
}
