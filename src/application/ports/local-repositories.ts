import type { CloneRange } from "../../domain/containers/environments-clone-plan.ts";

/** Repositories that lie on this machine. They are read by git as the user who runs PicoClaw. */
export interface LocalRepositories {
  /** Looks at a folder; a failure says why it cannot be cloned. */
  look(path: string, ref: string | undefined, signal?: AbortSignal): Promise<LocalRepository | LocalFailure>;
  /**
   * A repository without files of its own (`.git`), cloned from it as the range says, as an archive. What the user has
   * not committed is not in it.
   */
  pack(path: string, range: CloneRange, signal: AbortSignal): Promise<LocalPack | LocalFailure>;
}

export interface LocalRepository {
  readonly ok: true;
  /** All paths of the commit that will be checked out. */
  readonly files: readonly string[];
  /** Changes that no commit has. */
  readonly uncommitted: number;
}

export interface LocalPack {
  readonly ok: true;
  /** The branch or commit to check out. */
  readonly head: string;
  /** A tar archive with `.git` at its top; read once. */
  readonly archive: AsyncIterable<Uint8Array>;
  /** Removes what was made on this machine. Idempotent. */
  remove(): void;
}

export interface LocalFailure {
  readonly ok: false;
  readonly code: "missing" | "not-a-repository" | "empty" | "ref-missing" | "no-git" | "failed" | "aborted";
  readonly message: string;
}
