export type SandboxPart = "bubblewrap" | "setpriv" | "user-namespaces" | "overlay";

export type MachinePromise = "undo" | "confined" | "preview-offline" | "loopback-reachable";

export type Remedy =
  | "let-write"
  | "install-git"
  | "init-repository"
  | "install-bubblewrap"
  | "install-util-linux"
  | "other-file-system"
  | "allow-user-namespaces"
  | "raise-copy-limit"
  | "transaction-none"
  | "raise-undo-quota"
  | "free-space"
  | "temporary-folder"
  | "create-workspace"
  | "own-storage"
  | "writable-home"
  | "writable-workspace"
  | "trust-workspace"
  | "set-git-identity"
  | "start-docker"
  | "start-ollama";

export type FileTrouble =
  | "no-space"
  | "disk-error"
  | "read-only"
  | "too-many-files"
  | "other-mount"
  | "permission-denied"
  | "not-text"
  | "is-directory"
  | "not-directory"
  | "vanished"
  | "exists"
  | "not-found"
  | "busy"
  | "name-too-long"
  | "too-large";

/** As the runtime says of a module that it knew of and does not find any more. */
const GONE = [/^ENOENT reading "(.+)"$/, /^Cannot find module '(.+?)'/];

/** The program's piece that an error says is gone, or null: it was replaced or moved while this process ran. */
export function missingPiece(error: unknown): string | null {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at.name !== "BuildMessage" && at.name !== "ResolveMessage") continue;
    for (const pattern of GONE) {
      const path = pattern.exec(at.message)?.[1];
      if (path !== undefined) return path;
    }
  }
  return null;
}
