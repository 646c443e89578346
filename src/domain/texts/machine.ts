import type { MachinePromise, Remedy, SandboxPart } from "../jobs/machine-trouble.ts";
import { listPaths } from "./list-paths.ts";

const REMEDIES: Readonly<Record<Remedy, string>> = {
  "let-write": "Let this user write there (for example: chown), or name another folder (--workspace DIR).",
  "install-git": "Install git (for example: apt install git).",
  "init-repository": "Make a repository with `git init`, or turn auto_commit off.",
  "install-bubblewrap": "Install bubblewrap (for example: apt install bubblewrap).",
  "install-util-linux": "Install util-linux (setpriv).",
  "other-file-system":
    "Keep the workspace on ext4, xfs, btrfs or tmpfs outside of a container's own layers. Until then a copy serves.",
  "allow-user-namespaces":
    "Allow bwrap to use user namespaces (`picoclaw doctor` prints the AppArmor profile).",
  "raise-copy-limit": "Raise worker.copy_limit.",
  "transaction-none": "Set worker.transaction: none to run in place (shell effects can then not be undone).",
  "raise-undo-quota": "Raise worker.undo_quota.",
  "free-space": "Free some disk space.",
  "create-workspace": "Create the folder, or name another one with --workspace.",
  "writable-home": "Name a home that can be written with PICOCLAW_HOME: jobs are kept or registered there.",
  "own-storage":
    "Remove it or make it yours alone (chown, chmod 700), or name another home with PICOCLAW_HOME.",
  "trust-workspace": "Read it, then run `picoclaw trust` in that folder.",
  "set-git-identity": "Set `git config user.name` and `git config user.email`.",
  "start-docker": "Start Docker.",
  "start-ollama": "Start Ollama (`ollama serve`).",
};

const PARTS: Readonly<Record<SandboxPart, string>> = {
  bubblewrap: "bubblewrap (bwrap)",
  setpriv: "setpriv",
  "user-namespaces": "User namespaces",
  overlay: "An overlay on the file system of the workspace",
};

const PROMISES: Readonly<Record<MachinePromise, readonly [yes: string, no: string]>> = {
  undo: ["Undo covers what commands do in the workspace.", "Undo does NOT cover what commands do."],
  confined: [
    "Commands are confined: they change nothing but the workspace, and of your home they see only what tools need (worker.home_allow).",
    "Commands are NOT confined: they can read and change whatever you can.",
  ],
  "preview-offline": [
    "A preview has no network (unless --allow-net).",
    "A preview is NOT kept from the network.",
  ],
  "loopback-reachable": [
    "Where the network is on, commands also reach 127.0.0.1 and abstract sockets of this machine.",
    "Commands reach no port of this machine.",
  ],
};

/** What this machine lets jobs do, and what helps. */
export const machineTexts = {
  remedy: (remedy: Remedy) => REMEDIES[remedy],
  sandboxPart: (part: SandboxPart, works: boolean) => `${PARTS[part]}: ${works ? "works" : "does not work"}`,
  fileSystems: (type: string, storage: string, storageType: string) =>
    `File systems: workspace ${type}, jobs and undo ${storageType} (${storage})`,
  mountsBelow: (list: readonly string[]) =>
    `Mounted below the workspace, so that jobs run in a copy:${listPaths(list, (rest) => `… and ${rest} more`)}`,
  promise: (promised: MachinePromise, kept: boolean) => PROMISES[promised][kept ? 0 : 1],
};
