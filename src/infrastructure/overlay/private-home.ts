import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { makeWhiteout } from "../runtime/confined-process.ts";
import { tryFlock } from "../runtime/file-lock.ts";

/** What commands of a job may not even read in the user's home. */
const SECRET_PATHS = [
  ".ssh",
  ".aws",
  ".azure",
  ".gnupg",
  ".kube",
  ".docker",
  ".netrc",
  ".git-credentials",
  ".pypirc",
  ".pgpass",
  ".my.cnf",
  ".vault-token",
  ".password-store",
  ".mozilla",
  ".thunderbird",
  ".bash_history",
  ".zsh_history",
  ".python_history",
  ".node_repl_history",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".gem/credentials",
  ".config/gcloud",
  ".config/gh",
  ".config/glab-cli",
  ".config/hub",
  ".config/op",
  ".config/rclone",
  ".config/google-chrome",
  ".config/chromium",
  ".config/BraveSoftware",
  ".config/microsoft-edge",
  ".config/Signal",
  ".local/share/keyrings",
  ".claude",
  ".claude.json",
  ".codex",
  ".gemini",
] as const;

export interface PrivateHome {
  readonly folder: string;
  readonly release: () => void;
}

/**
 * The home that the jobs of a workspace share, so that caches persist; while another job holds it, one of the job's
 * own, which goes with the job.
 */
export async function openPrivateHome(at: {
  readonly shared: string;
  readonly own: string;
  readonly home: string;
  readonly secrets: readonly string[];
}): Promise<PrivateHome> {
  mkdirSync(at.shared, { recursive: true, mode: 0o700 });
  const fd = openSync(at.shared, "r");
  const locked = tryFlock(fd, "exclusive");
  if (!locked.ok) closeSync(fd);
  const folder = locked.ok ? at.shared : at.own;
  preparePrivateHome(folder, at.home, at.secrets);
  return { folder, release: () => (locked.ok ? closeSync(fd) : removeOverlayFolder(at.own)) };
}

/** The kernel leaves a folder without permissions inside a work folder; it must be opened to be removed. */
export function removeOverlayFolder(folder: string): void {
  const work = join(folder, "w");
  for (const name of lstatSync(work, { throwIfNoEntry: false }) ? readdirSync(work) : [])
    chmodSync(join(work, name), 0o700);
  rmSync(folder, { recursive: true, force: true });
}

/**
 * Lays out the upper of a private home. Secrets are marked as absent in it, once: reads find nothing there, and what a
 * command makes in their place stays in the upper, which is never committed.
 */
function preparePrivateHome(folder: string, home: string, more: readonly string[]): void {
  for (const name of ["u", "w"]) mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
  const paths = [...SECRET_PATHS, ...more, ...(holdsToken(join(home, ".npmrc")) ? [".npmrc"] : [])];
  for (const path of paths) {
    const mark = join(folder, "u", path);
    if (!exists(join(home, path)) || exists(mark)) continue;
    mkdirSync(dirname(mark), { recursive: true });
    makeWhiteout(mark);
  }
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function holdsToken(file: string): boolean {
  try {
    return /_auth(Token)?\s*=|_password\s*=/.test(readFileSync(file, "utf8"));
  } catch {
    return false;
  }
}
