/** A Worker in this process on a throw-away workspace: real files, real processes, real git. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ExecuteRequest } from "../../../src/application/ports/jobs-workspace.ts";
import type { JobResult, RanJob } from "../../../src/domain/jobs/result.ts";
import { removeTree } from "../../../src/infrastructure/platform/remove-tree.ts";
import { openWorkspace } from "../../../src/wiring/workspace.ts";
import { makeTestFolder } from "../../left-behind.ts";

export type Ran = RanJob;
export type Settings = Readonly<Record<string, string>>;
type Commands = readonly Readonly<Record<string, unknown>>[];

export function createBench() {
  const folder = realpathSync(makeTestFolder("worker"));
  const workspace = join(folder, "ws");
  mkdirSync(workspace);
  mkdirSync(join(folder, "user"));
  const environment = (settings: Settings = {}): Record<string, string> => ({
    PATH: process.env.PATH ?? "",
    HOME: join(folder, "user"),
    PICOCLAW_HOME: join(folder, "home"),
    PICOCLAW_LOCALE: "en",
    PICOCLAW_WORKER_TRANSACTION: "copy",
    PICOCLAW_WORKER_CONFINE: "off",
    ...settings,
  });

  async function open(settings?: Settings, at = workspace) {
    const opened = await openWorkspace(environment(settings), { cwd: at });
    if (!opened.ok) throw new Error(opened.message ?? JSON.stringify(opened.problems));
    return opened.workspace;
  }

  async function execute(
    commands: Commands | string,
    request: Partial<ExecuteRequest> & { readonly settings?: Settings; readonly at?: string } = {},
  ): Promise<JobResult> {
    const { settings, at, ...rest } = request;
    const worker = await open(settings, at);
    return worker.execute({
      patch: typeof commands === "string" ? commands : JSON.stringify(commands),
      source: "test",
      startedBy: "user",
      dryRun: false,
      preview: false,
      atomic: false,
      stopOnError: false,
      autoCommit: false,
      signal: new AbortController().signal,
      ...rest,
    });
  }

  return {
    folder,
    workspace,
    environment,
    open,
    execute,
    /** Executes and expects the job to have begun. */
    async run(...args: Parameters<typeof execute>): Promise<Ran> {
      const result = await execute(...args);
      if (result.about !== "job") throw new Error(JSON.stringify(result));
      return result;
    },
    path: (path: string) => join(workspace, path),
    write(path: string, text: string | Uint8Array): void {
      mkdirSync(dirname(join(workspace, path)), { recursive: true });
      writeFileSync(join(workspace, path), text);
    },
    read: (path: string) => readFileSync(join(workspace, path), "utf8"),
    git(...args: string[]): string {
      const ran = spawnSync("git", args, { cwd: workspace, env: environment(), encoding: "utf8" });
      if (ran.status !== 0) throw new Error(`git ${args.join(" ")}: ${ran.stderr}`);
      return ran.stdout;
    },
    remove: () => removeTree(folder),
  };
}

export type Bench = ReturnType<typeof createBench>;

export const edit = (action: string, target: string, content = "") => ({
  type: "file_edit",
  action,
  target,
  content,
});
export const shell = (target: string, more: Readonly<Record<string, unknown>> = {}) => ({
  type: "shell_command",
  action: "run",
  target,
  ...more,
});
export const gitOperation = (action: string, target = "", content = "") => ({
  type: "git_operation",
  action,
  target,
  content,
});

/** Each command's error, or its output. */
export const said = ({ commands }: Ran) => commands.map(({ error, output }) => error || output);
