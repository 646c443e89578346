import type { Scratch } from "../../tool-context.ts";

export interface ApplyPatchInput {
  readonly filePath: string;
  readonly patch: string;
}

/** Errors that the job machinery adds (a conflict, a protected file) keep their own code. */
export type ApplyPatchErrorCode =
  | "INVALID_ARGUMENT"
  | "NOT_FOUND"
  | "FILE_TOO_LARGE"
  | "APPLY_FAILED"
  | "INTERNAL";

export interface SpawnOptions {
  /** Where git works: the private copy, never the workspace. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly input: string;
}

interface SpawnResult {
  readonly exitCode: number;
  readonly stderr: string;
}

export type Spawn = (command: string, args: readonly string[], options: SpawnOptions) => Promise<SpawnResult>;

/** Lower-case hex; SHA-256 unless a test says otherwise. */
type Hasher = (bytes: Uint8Array) => string;

export interface ApplyPatchDependencies {
  readonly spawn?: Spawn;
  readonly hasher?: Hasher;
}

/** The dependencies of one application; the usecase knows nothing of contexts. */
export interface PatchRunDeps {
  readonly spawn: Spawn;
  readonly hasher: Hasher;
  readonly openScratch: () => Scratch;
  readonly mask: (text: string) => string;
  readonly maxErrorChars: number;
}

export interface PatchTarget {
  /** As the patch names it, relative to the workspace. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly mode: number;
  /** The `.gitattributes` files above it, with their paths: they rule white space and line ends. */
  readonly attributes: readonly { readonly path: string; readonly bytes: Uint8Array }[];
}
