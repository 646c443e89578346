/**
 * The view: what a job sees and changes until commit. Paths are relative to the view's root, `/`-separated,
 * never empty components, never `..`. No operation follows a symlink in any component: a path whose parent is
 * a symlink or a file does not exist here. Following links (inside the root only) is `resolve-path.ts`.
 *
 * Operations throw `ViewFault` for what a user or a model can act on; anything else is a bug.
 */
export interface View {
  look(path: string): Entry;
  read(path: string): Uint8Array;
  /** Replaces or creates a file, making parents. Keeps the mode of an existing file unless `mode` is given. */
  write(path: string, bytes: Uint8Array, mode?: number): void;
  makeSymlink(path: string, target: string): void;
  /** Makes the folder and its parents; an existing folder is fine. */
  makeDirectory(path: string): void;
  /** Removes a file, a symlink or an empty folder. */
  remove(path: string): void;
  /** Moves a file, a symlink or a whole folder. The destination must not exist (files: is replaced). */
  rename(from: string, to: string): void;
  /** Copies one file with its mode, or a symlink as such. */
  copy(from: string, to: string): void;
  list(path: string): string[];
}

export type Entry =
  | { readonly kind: "missing" }
  | { readonly kind: "file"; readonly mode: number; readonly size: number }
  | { readonly kind: "directory"; readonly mode: number }
  | { readonly kind: "symlink"; readonly target: string }
  | { readonly kind: "other" };

export type ViewFaultCode =
  | "missing"
  | "is-directory"
  | "not-directory"
  | "not-empty"
  | "exists"
  | "not-a-file"
  | "no-space"
  | "read-only"
  | "permission"
  | "name-too-long"
  | "loop"
  | "outside"
  | "io";

export class ViewFault extends Error {
  constructor(
    readonly code: ViewFaultCode,
    readonly path: string,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = "ViewFault";
  }
}

const CODES: Record<string, ViewFaultCode> = {
  ENOENT: "missing",
  EISDIR: "is-directory",
  ENOTDIR: "not-directory",
  ENOTEMPTY: "not-empty",
  EEXIST: "exists",
  ENOSPC: "no-space",
  EDQUOT: "no-space",
  EROFS: "read-only",
  EACCES: "permission",
  EPERM: "permission",
  ENAMETOOLONG: "name-too-long",
  ELOOP: "not-directory",
};

/** Turns a system error into a fault that names the path the user knows. */
export function toViewFault(error: unknown, path: string): ViewFault {
  if (error instanceof ViewFault) return error;
  const code = (error as { code?: string }).code ?? "";
  return new ViewFault(CODES[code] ?? "io", path, describe(CODES[code], path, error), { cause: error });
}

function describe(code: ViewFaultCode | undefined, path: string, error: unknown): string {
  switch (code) {
    case "missing":
      return `no such file or directory: ${path}`;
    case "is-directory":
      return `is a directory: ${path}`;
    case "not-directory":
      return `a parent is not a directory: ${path}`;
    case "not-empty":
      return `directory not empty: ${path}`;
    case "exists":
      return `already exists: ${path}`;
    case "no-space":
      return `no space left on device: ${path}`;
    case "read-only":
      return `read-only file system: ${path}`;
    case "permission":
      return `permission denied: ${path}`;
    case "name-too-long":
      return `file name too long: ${path.slice(0, 80)}…`;
    default:
      return `${path}: ${(error as Error).message}`;
  }
}
