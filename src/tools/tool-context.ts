import { spawn } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { createRunInTurn } from "../application/platform/waiting.ts";
import type { StartedBy } from "../application/ports/jobs-transaction.ts";
import type { Workspace } from "../application/ports/jobs-workspace.ts";
import type { ProcessRequest } from "../application/ports/platform-processes.ts";
import { attemptOr } from "../domain/platform/error-text.ts";
import { jobEnvironment } from "../domain/policy/job-environment.ts";
import { deniedResult, ToolError, type ToolFailure } from "./tool-result.ts";

export type Verdict = "allow" | "deny";

/** Which tools may be called at all. A name that is not listed gets the default. */
export interface ToolPolicy {
  readonly default: Verdict;
  readonly tools: Readonly<Record<string, Verdict>>;
}

/** `read-only`: no command runs, either. `unrestricted`: a path may name another folder; what is written there is a job of that folder. */
export type WriteScope = "read-only" | "workspace-write" | "unrestricted";

const ALLOW_ALL: ToolPolicy = { default: "allow", tools: {} };

/** The policy may use any of a tool's names; a denial of one of them applies to all. */
export function policyVerdict(policy: ToolPolicy, names: readonly string[]): Verdict {
  const said = names
    .filter((name) => Object.hasOwn(policy.tools, name))
    .map((name) => policy.tools[name] as Verdict);
  if (said.includes("deny")) return "deny";
  return said.length > 0 ? "allow" : policy.default;
}

export function checkPolicy(policy: ToolPolicy, names: readonly string[]): ToolFailure | null {
  if (policyVerdict(policy, names) === "allow") return null;
  return deniedResult("POLICY_DENIED", `the policy does not allow this tool: ${names[0]}`, "policy");
}

export function checkWriteScope(
  scope: WriteScope,
  access: "read" | "write",
  name: string,
): ToolFailure | null {
  if (access === "read" || scope !== "read-only") return null;
  return deniedResult(
    "WRITE_DENIED",
    `the write scope is read-only: ${name} would write`,
    "write-permission",
  );
}

interface ProgramRequest extends Pick<ProcessRequest, "argv" | "cwd" | "timeoutMs" | "signal"> {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: Uint8Array;
}

interface ProgramResult {
  /** Null when a signal or the time limit ended it. */
  readonly exitCode: number | null;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

/** For programs that only read or work in a scratch folder, in the environment of jobs. Rejects with a `ToolError`. */
export type RunProgram = (request: ProgramRequest) => Promise<ProgramResult>;

/** A private folder outside of every workspace and repository. */
export type Scratch = ReturnType<typeof openScratch>;

/** Sizes in bytes, lengths in characters. */
interface ToolLimits {
  /** All arguments of one call together. */
  readonly argumentChars: number;
  /** Largest file that an edit loads. */
  readonly editBytes: number;
  /** Text that one call returns. */
  readonly outputChars: number;
  readonly applyPatchBytes: number;
  readonly applyPatchErrorChars: number;
}

const DEFAULT_LIMITS: ToolLimits = {
  argumentChars: 16 * 1024 ** 2,
  editBytes: 10 * 1024 ** 2,
  outputChars: 100_000,
  applyPatchBytes: 10 * 1024 ** 2,
  applyPatchErrorChars: 4000,
};

export interface ToolContextDeps {
  readonly workspace: Workspace;
  /** Opens another folder, for the write scope `unrestricted`; a text says why it cannot. */
  readonly openElsewhere: (folder: string) => Promise<Workspace | string>;
  /** The same absolute path without symlinks as far as it exists, and the nearest folder that does. */
  readonly locate: (absolute: string) => { readonly folder: string; readonly path: string };
  readonly runProgram: RunProgram;
  readonly openScratch: () => Scratch;
  /** Which job wrote a line of the workspace, and why, in English. Absent where jobs are not kept; null: there is no such line. */
  readonly explainLine?: (path: string, line: number) => Promise<string | null>;
  readonly policy?: ToolPolicy;
  readonly writeScope?: WriteScope;
  readonly limits?: Partial<ToolLimits>;
  /** Default: `model`. A person who calls a tool by hand is `user`. */
  readonly startedBy?: StartedBy;
  /** The jobs of one message or turn share a group. */
  readonly groupId?: string;
  readonly sessionKey?: string;
}

/** The context that tools are given instead of the world. */
export interface ToolContext extends ToolContextDeps {
  readonly policy: ToolPolicy;
  readonly writeScope: WriteScope;
  readonly limits: ToolLimits;
  readonly startedBy: StartedBy;
  readonly opened: Map<string, Workspace>;
  /** Edits take turns path by path. */
  readonly gate: Gate;
  /** Commands run beside them, so that a long one holds up no edit. */
  readonly commands: Gate;
}

/** Jobs of one context that run at once; the rest wait their turn. */
const EDITS_AT_ONCE = 16;
const COMMANDS_AT_ONCE = 8;

export function createToolContext(deps: ToolContextDeps): ToolContext {
  return {
    ...deps,
    policy: deps.policy ?? ALLOW_ALL,
    writeScope: deps.writeScope ?? "workspace-write",
    limits: { ...DEFAULT_LIMITS, ...deps.limits },
    startedBy: deps.startedBy ?? "model",
    opened: new Map(),
    gate: createGate(EDITS_AT_ONCE),
    commands: createGate(COMMANDS_AT_ONCE),
  };
}

/** Lets work through in turns: what has the same key one after the other, and only so much at once in all. */
type Gate = ReturnType<typeof createGate>;

function createGate(atOnce: number) {
  const tails = new Map<string, Promise<unknown>>();
  const inRoom = createRunInTurn(atOnce);
  return {
    run<T>(key: string, work: () => Promise<T>): Promise<T> {
      const before = tails.get(key) ?? Promise.resolve();
      const mine = before.then(() => inRoom(work));
      const tail = mine.then(
        () => {},
        () => {},
      );
      tails.set(key, tail);
      void tail.then(() => {
        if (tails.get(key) === tail) tails.delete(key);
      });
      return mine;
    },
  };
}

/** A folder of its own under the system's temporary folder, readable only by its owner. */
export function openScratch(removeTree: (folder: string) => void) {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-tool-"));
  return {
    folder,
    write(path: string, bytes: Uint8Array, mode?: number) {
      const absolute = join(folder, path);
      mkdirSync(dirname(absolute), { recursive: true });
      writeFileSync(absolute, bytes);
      if (mode !== undefined) chmodSync(absolute, mode);
    },
    read(path: string) {
      const stats = lstatSync(join(folder, path), { throwIfNoEntry: false });
      return stats?.isFile() ? { bytes: readFileSync(join(folder, path)), mode: stats.mode & 0o7777 } : null;
    },
    remove: () => removeTree(folder),
  };
}

const OUTPUT_BYTES = 32 * 1024 ** 2;

/**
 * Programs that tools run beside jobs: git on a scratch folder, ripgrep. Output past the limit is dropped. `gitIn` says what
 * git may see in a folder.
 */
export function createProgramRunner(
  host: Readonly<Record<string, string | undefined>>,
  gitIn: (folder: string) => Readonly<Record<string, string>> = () => ({}),
): RunProgram {
  const base = jobEnvironment({ host, pass: [], view: {} });
  return ({ argv, cwd, env, input, timeoutMs, signal }) =>
    new Promise((resolve, reject) => {
      const [program, ...args] = argv;
      const child = spawn(program, args, {
        cwd,
        env: { ...base, ...env, ...(program === "git" && gitIn(cwd)) },
        stdio: ["pipe", "pipe", "pipe"],
        timeout: timeoutMs,
        killSignal: "SIGKILL",
        ...(signal !== undefined && { signal }),
      });
      const streams = { stdout: collector(), stderr: collector() };
      child.stdout.on("data", streams.stdout.add);
      child.stderr.on("data", streams.stderr.add);
      child.on("error", (cause: Error & { code?: string }) => {
        if (cause.name === "AbortError") reject(new ToolError("ABORTED", "the call was aborted", { cause }));
        else
          reject(
            cause.code === "ENOENT"
              ? new ToolError("REFUSED", `${program} is not installed`, { cause })
              : new ToolError("INTERNAL", `${program}: ${cause.message}`, { cause }),
          );
      });
      child.on("close", (exitCode) =>
        resolve({ exitCode, stdout: streams.stdout.bytes(), stderr: streams.stderr.bytes() }),
      );
      // A program that ends without reading its input closes the pipe; that is its own business.
      child.stdin.on("error", () => {});
      child.stdin.end(input ?? "");
    });
}

type ExecElsewhere = (request: {
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin: Uint8Array | undefined;
  readonly timeoutMs: number;
  readonly outputLimitBytes: number;
  readonly signal?: AbortSignal | undefined;
}) => Promise<{
  readonly outcome: string;
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}>;

/** The same where the project is not on this machine; programs that work on a private copy of a file run here all the same. */
export function createContainerProgramRunner(
  host: Readonly<Record<string, string | undefined>>,
  project: string,
  exec: ExecElsewhere,
): RunProgram {
  const runHere = createProgramRunner(host);
  return async (request) => {
    if (!request.cwd.startsWith(project)) return runHere(request);
    const { argv, input, ...rest } = request;
    const { outcome, exitCode, stdout, stderr } = await exec({
      command: argv,
      outputLimitBytes: OUTPUT_BYTES,
      stdin: input,
      ...rest,
    });
    if (outcome === "aborted") throw new ToolError("ABORTED", "the call was aborted");
    if (outcome === "not-started" || exitCode === 127)
      throw new ToolError("REFUSED", `${argv[0]} is not installed`);
    return { exitCode, stdout: Buffer.from(stdout), stderr: Buffer.from(stderr) };
  };
}

function collector() {
  const parts: Uint8Array[] = [];
  let size = 0;
  return {
    add: (chunk: Uint8Array) => {
      if (size < OUTPUT_BYTES) parts.push(chunk);
      size += chunk.length;
    },
    bytes: () => Buffer.concat(parts),
  };
}

/** A path of this machine: walks up to the nearest folder that exists; links on the way are followed. */
export function locateOnHost(absolute: string): { readonly folder: string; readonly path: string } {
  const missing: string[] = [];
  for (let at = absolute; ; at = dirname(at)) {
    const real = realPathOf(at);
    if (real !== null) {
      const isFolder = lstatSync(real).isDirectory();
      return isFolder
        ? { folder: real, path: join(...missing) }
        : { folder: dirname(real), path: join(basename(real), ...missing) };
    }
    missing.unshift(basename(at));
  }
}

/** Null for what is not there, a link into nowhere included. */
function realPathOf(path: string): string | null {
  return attemptOr(null, () => realpathSync(path));
}
