/** Runs `bin/picoclaw` as a real process in a throw-away workspace with a home of its own. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { removeTree } from "../../src/infrastructure/platform/remove-tree.ts";

export const PROGRAM = join(import.meta.dir, "../../bin/picoclaw");

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly input?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly program?: string;
}

/** Set-up looks where local servers usually listen: on the developer's machine one may, on this port none does. */
export const NO_LLAMA_SERVER = { LLAMA_ARG_PORT: "9" };
const NOBODY = { TYPE: "openai-compatible", BASE_URL: "http://127.0.0.1:9/v1" };
/** The same for all kinds; setting these variables counts as configuring the providers. */
export const NO_LOCAL_SERVERS: Readonly<Record<string, string>> = {
  ...NO_LLAMA_SERVER,
  ...Object.fromEntries(
    ["LMSTUDIO", "VLLM"].flatMap((name) =>
      Object.entries(NOBODY).map(([key, value]) => [`PICOCLAW_PROVIDERS_${name}_${key}`, value]),
    ),
  ),
};

/** `under` is where everything of it lies. */
export function createCli(under = tmpdir(), path = process.env.PATH ?? "") {
  const folder = realpathSync(mkdtempSync(join(under, "picoclaw-cli-")));
  const workspace = join(folder, "ws");
  const home = join(folder, "home");
  mkdirSync(workspace);
  mkdirSync(join(folder, "user"));
  const environment = (extra: RunOptions["env"] = {}) => ({
    PATH: path,
    TMPDIR: tmpdir(),
    HOME: join(folder, "user"),
    PICOCLAW_HOME: home,
    PICOCLAW_LOCALE: "en",
    ...extra,
  });

  function run(args: readonly string[], options: RunOptions = {}): Ran {
    const ran = spawnSync(options.program ?? PROGRAM, args, {
      cwd: options.cwd ?? workspace,
      env: environment(options.env),
      input: options.input ?? "",
      encoding: "utf8",
      timeout: 280_000,
      killSignal: "SIGKILL",
    });
    return { code: ran.status, out: ran.stdout, err: ran.stderr };
  }

  /** For tests that serve a model themselves: their own process goes on meanwhile. */
  function runAsync(args: readonly string[], env?: RunOptions["env"]): Promise<Ran> {
    const child = spawn(PROGRAM, args, {
      cwd: workspace,
      env: environment(env),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const said = { out: "", err: "" };
    child.stdout.on("data", (data) => {
      said.out += String(data);
    });
    child.stderr.on("data", (data) => {
      said.err += String(data);
    });
    return new Promise((resolve) => {
      child.once("close", (code) => resolve({ code, ...said }));
    });
  }

  return {
    folder,
    workspace,
    home,
    environment,
    run,
    runAsync,
    start: (args: readonly string[], env?: RunOptions["env"]): ChildProcess =>
      spawn(PROGRAM, args, { cwd: workspace, env: environment(env), stdio: ["ignore", "pipe", "pipe"] }),
    /** `apply` of JSON commands on standard input. */
    apply: (commands: unknown, args: readonly string[] = [], options: RunOptions = {}): Ran =>
      run(["apply", ...args], { input: JSON.stringify(commands), ...options }),
    json: (ran: Ran): Record<string, unknown> => JSON.parse(ran.out) as Record<string, unknown>,
    /** The id of a job, by which programs and folders know it. */
    idOf: (job: string): string =>
      (JSON.parse(run(["show", job, "--json"]).out) as { readonly job_id: string }).job_id,
    write(path: string, text: string | Uint8Array): void {
      mkdirSync(dirname(join(workspace, path)), { recursive: true });
      writeFileSync(join(workspace, path), text);
    },
    read: (path: string) => readFileSync(join(workspace, path), "utf8"),
    readBytes: (path: string): Uint8Array => readFileSync(join(workspace, path)),
    git: (...args: string[]) =>
      spawnSync("git", args, { cwd: workspace, env: environment(), encoding: "utf8" }).stdout,
    tree: () => treeOf(workspace),
    remove: () => removeTree(folder),
  };
}

export type Cli = ReturnType<typeof createCli>;

/** Every file with its text, without git's own. */
export function treeOf(folder: string): Record<string, string> {
  const files: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name).slice(folder.length + 1);
    if (!/(^|\/)\.git\//.test(path)) files[path] = readFileSync(join(folder, path), "utf8");
  }
  return files;
}

export const create = (target: string, content: string) => ({
  type: "file_edit",
  action: "create",
  target,
  content,
});
export const shell = (target: string) => ({ type: "shell_command", action: "run", target });

/** Follows the name of an unknown job. */
export const JOBS_HINT = "\nThe jobs of this folder: picoclaw jobs   Of all folders: picoclaw jobs --all\n";

/** The job that a report names, as commands take it: its number, or the id in a document for programs. */
export function jobIdIn(text: string): string {
  const [id, number] =
    /job_\d+_[0-9a-z]{8}|(?:#|picoclaw (?:undo|redo|show|discard|stop|apply --job) )(\d+)/.exec(text) ?? [];
  return number ?? id ?? "";
}

/** Asks again until the answer is there; fails loudly when it never comes. A question that is work itself is asked less often. */
export async function until<T>(ask: () => T | undefined | false, deadlineMs = 120_000): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const began = performance.now();
    const answer = ask();
    if (answer !== undefined && answer !== false) return answer;
    const now = performance.now();
    if (now > end) throw new Error("it never came");
    await new Promise((resolve) => setTimeout(resolve, Math.min(300, Math.max(10, 2 * (now - began)))));
  }
}
