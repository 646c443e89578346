/** What a sandbox is made of. */
export type SandboxPart = "bubblewrap" | "setpriv" | "user-namespaces" | "overlay";

/** What is promised of commands on this machine. */
export type MachinePromise = "undo" | "confined" | "preview-offline" | "loopback-reachable";

/** What `doctor` and refusals advise. */
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
  | "create-workspace"
  | "own-storage"
  | "writable-home"
  | "trust-workspace"
  | "set-git-identity"
  | "start-docker"
  | "start-ollama";
