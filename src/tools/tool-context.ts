import type { Workspace } from "../application/ports/jobs-workspace.ts";
import { ALLOW_ALL, type ToolPolicy, type WriteScope } from "./policy.ts";

export interface ProgramRequest {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: Uint8Array;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface ProgramResult {
  /** Null when a signal or the time limit ended it. */
  readonly exitCode: number | null;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

/**
 * Runs a program that only reads, or that works in a scratch folder. Rejects with a `ToolError` where it cannot be
 * started; the environment is the allow-list of jobs.
 */
export type RunProgram = (request: ProgramRequest) => Promise<ProgramResult>;

/** A private folder outside of every workspace and repository. */
export interface Scratch {
  readonly folder: string;
  write(path: string, bytes: Uint8Array, mode?: number): void;
  /** Null when there is no such file any more. */
  read(path: string): { readonly bytes: Uint8Array; readonly mode: number } | null;
  remove(): void;
}

/** Sizes in bytes, lengths in characters. */
export interface ToolLimits {
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
  readonly policy?: ToolPolicy;
  readonly writeScope?: WriteScope;
  readonly limits?: Partial<ToolLimits>;
  /** The jobs of one message or turn share a group. */
  readonly groupId?: string;
  readonly sessionKey?: string;
}

/** What tools are given instead of the world. */
export interface ToolContext extends ToolContextDeps {
  readonly policy: ToolPolicy;
  readonly writeScope: WriteScope;
  readonly limits: ToolLimits;
  /** Folders opened so far beside the workspace. */
  readonly opened: Map<string, Workspace>;
  /** Edits take turns path by path. */
  readonly gate: Gate;
  /** Commands run beside them, so that a long one holds up no edit. */
  readonly commands: Gate;
}

/** Jobs of one context that run at once; the rest wait their turn. */
const EDITS_AT_ONCE = 16;
const COMMANDS_AT_ONCE = 8;

export function createToolContext(parts: ToolContextDeps): ToolContext {
  return {
    ...parts,
    policy: parts.policy ?? ALLOW_ALL,
    writeScope: parts.writeScope ?? "workspace-write",
    limits: { ...DEFAULT_LIMITS, ...parts.limits },
    opened: new Map(),
    gate: createGate(EDITS_AT_ONCE),
    commands: createGate(COMMANDS_AT_ONCE),
  };
}

/** Lets work through in turns: what has the same key one after the other, and only so much at once in all. */
interface Gate {
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
}

function createGate(atOnce: number): Gate {
  const tails = new Map<string, Promise<unknown>>();
  const waiting: (() => void)[] = [];
  let free = atOnce;

  async function inRoom<T>(work: () => Promise<T>): Promise<T> {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  }

  return {
    run(key, work) {
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
