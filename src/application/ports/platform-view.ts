/**
 * The view: the files that a job sees and changes until commit. Paths are relative to its root, `/`-separated, without empty
 * components or `..`. No operation follows a symlink: a path whose parent is a symlink or a file does not exist here (following
 * links inside the root is `resolve-target.ts`). Operations throw `ViewFault` for failures that a user or a model can act on.
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
  /** Makes all of these edits or none, as `takeInEdits` does, where one call is cheaper than one for each path. */
  readonly takeIn?: (edits: readonly TakenEdit[]) => void;
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

/** No symlink is followed in any component. Throws `ViewFault`. */
export interface WorkspaceFiles extends Pick<View, "look" | "list" | "read"> {
  /** Up to `length` bytes from `offset` on; fewer only at the end of the file. */
  readPart(path: string, offset: number, length: number): Uint8Array;
  /** When a file was last written or replaced, in milliseconds; null if there is none. Absent where that is unknown. */
  readonly changedAt?: (path: string) => number | null;
}

export interface EntryState {
  readonly kind: "file" | "directory" | "symlink" | "other";
  /** Permissions with the bits 07000. */
  readonly mode: number;
  /** Bytes of a file. */
  readonly size: number;
}

export interface TakenEdit {
  readonly path: string;
  readonly entry: Entry;
  /** Of a file. */
  readonly bytes: Uint8Array | null;
}

/** Makes edits of one view in another that shows the same workspace, all or none. Throws `ViewFault`. */
export function takeInEdits(view: View, edits: readonly TakenEdit[]): void {
  if (view.takeIn !== undefined) {
    view.takeIn(edits);
    return;
  }
  const before = readEntries(view, edits);
  try {
    applyEdits(view, edits);
  } catch (error) {
    applyEdits(view, before);
    throw error;
  }
}

/** The view at the paths of edits and at the folders above them. */
function readEntries(view: View, edits: readonly TakenEdit[]): TakenEdit[] {
  const paths = edits.flatMap(({ path }) =>
    path.split("/").map((_, at, names) => names.slice(0, at + 1).join("/")),
  );
  return [...new Set(paths)].map((path) => {
    const entry = view.look(path);
    return { path, entry, bytes: entry.kind === "file" ? view.read(path) : null };
  });
}

function applyEdits(view: View, edits: readonly TakenEdit[]): void {
  const byDepth = [...edits].sort((x, y) => x.path.length - y.path.length);
  for (const { path, entry } of byDepth.toReversed()) {
    const { kind } = view.look(path);
    if (kind !== "missing" && kind !== entry.kind) view.remove(path);
  }
  for (const { path, entry, bytes } of byDepth) {
    switch (entry.kind) {
      case "directory":
        view.makeDirectory(path);
        break;
      case "file":
        view.write(path, bytes ?? new Uint8Array(), entry.mode);
        break;
      case "symlink":
        if (view.look(path).kind !== "missing") view.remove(path);
        view.makeSymlink(path, entry.target);
        break;
      case "missing":
      case "other":
        break;
    }
  }
}

export interface Repository {
  /** The workspace's path in the folder that git tracks: empty, or `packages/api`. */
  readonly workspaceAt: string;
  readonly index: string;
  readonly objects: string;
  readonly history: GitHistory;
}

/** Git's objects when the job began. Paths are relative to the folder that git tracks. */
export interface GitHistory {
  /** The object of the file that a commit has at a path; `unknown` when git did not have that commit. */
  at(commit: string, path: string): string | "nothing" | "unknown";
  /** Whether any commit that a branch, a tag or the checkout leads to had this object at the path. */
  had(path: string, object: string): boolean;
}
