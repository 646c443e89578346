import { lstatSync, readlinkSync } from "node:fs";
import { relative } from "node:path";
import type { ExecRequest, ExecResult, SandboxManager } from "../../application/ports/containers.ts";
import { readNoFollow } from "../engine/content.ts";
import { isInside } from "../engine/git-roots.ts";
import type { Credentials } from "./credentials.ts";

/** In the container's own layer, which goes with it; whatever its user's number, it may write there. */
export const CONTAINER_HOME = "/var/tmp/home";
/** Memory, never a disk. */
const SECRETS_FOLDER = "/dev/shm/picoclaw";
const QUICK_MS = 30_000;

type Exec = (
  request: Omit<ExecRequest, "timeoutMs" | "outputLimitBytes"> &
    Partial<Pick<ExecRequest, "outputLimitBytes">>,
) => Promise<ExecResult>;

function quickExec(sandbox: SandboxManager, container: string): Exec {
  return (request) =>
    sandbox.exec(container, { cwd: "/workspace", timeoutMs: QUICK_MS, outputLimitBytes: 4096, ...request });
}

/**
 * Puts a login's files where the CLI looks for them: their folders in memory, a link in HOME, so that what the CLI
 * writes beside them is in memory too. Null when all went well.
 */
export async function placeCredentials(
  sandbox: SandboxManager,
  container: string,
  { files }: Credentials,
): Promise<string | null> {
  const exec = quickExec(sandbox, container);
  const made = await exec({ command: ["mkdir", "-p", CONTAINER_HOME] });
  if (made.exitCode !== 0) return execFailureText(made);
  const link =
    'umask 077; mkdir -p -- "$(dirname -- "$2")" "$(dirname -- "$1")"; [ -z "$3" ] || mkdir -p -- "$1"; ln -sfn -- "$1" "$2"';
  for (const top of new Set(files.map(({ path }) => topOf(path)))) {
    const isFolder = files.some(({ path }) => path.startsWith(`${top}/`));
    const at = [`${SECRETS_FOLDER}/${top}`, `${CONTAINER_HOME}/${top}`, isFolder ? "folder" : ""] as const;
    const linked = await exec({ command: ["sh", "-c", link, "sh", ...at] });
    if (linked.exitCode !== 0) return execFailureText(linked);
  }
  const put = 'umask 077; mkdir -p -- "$(dirname -- "$1")" && cat > "$1"';
  for (const { path, bytes } of files) {
    const result = await exec({
      command: ["sh", "-c", put, "sh", `${SECRETS_FOLDER}/${path}`],
      stdin: bytes,
    });
    if (result.exitCode !== 0) return execFailureText(result);
  }
  return null;
}

/** `.codex` of `.codex/auth.json`, `.config/claude` of what lies below. */
function topOf(path: string): string {
  const [first = "", second = ""] = path.split("/");
  return first === ".config" ? `${first}/${second}` : first;
}

/** A small file of HOME as it is now; null when it cannot be read. */
export async function readInside(
  sandbox: SandboxManager,
  container: string,
  path: string,
): Promise<string | null> {
  const exec = quickExec(sandbox, container);
  const result = await exec({
    command: ["cat", "--", `${CONTAINER_HOME}/${path}`],
    outputLimitBytes: 2 * 1024 ** 2,
  });
  return result.exitCode === 0 && result.truncatedBytes === 0 ? result.stdout : null;
}

/** The first of these programs that the container does not have. Builtins of its shell count; an empty name is passed over. */
export async function firstMissing(
  sandbox: SandboxManager,
  container: string,
  programs: readonly string[],
): Promise<string | null> {
  const exec = quickExec(sandbox, container);
  for (const program of programs) {
    if (program === "") continue;
    const found = await exec({ command: ["sh", "-c", 'command -v -- "$1" >/dev/null', "sh", program] });
    if (found.outcome === "exited" && found.exitCode !== 0) return program;
  }
  return null;
}

/** Brings paths inside back to what the host has. Best effort: what is left out of a job never reaches the host. */
export async function restoreInside(
  sandbox: SandboxManager,
  container: string,
  roots: readonly { readonly path: string; readonly target: string }[],
  paths: readonly string[],
): Promise<void> {
  const exec = quickExec(sandbox, container);
  for (const absolute of paths) {
    const root = roots.find(({ path }) => isInside(path, absolute));
    if (root === undefined) continue;
    const inside = `${root.target}/${relative(root.path, absolute)}`;
    const stats = lstatSync(absolute, { throwIfNoEntry: false });
    const gone = 'rm -rf -- "$1"';
    const parent = 'mkdir -p -- "$(dirname -- "$1")"';
    if (stats?.isFile()) {
      const put = `${gone}; ${parent}; cat > "$1" && chmod "$2" "$1"`;
      const mode = (stats.mode & 0o7777).toString(8);
      await exec({ command: ["sh", "-c", put, "sh", inside, mode], stdin: readNoFollow(absolute) });
    } else if (stats?.isSymbolicLink()) {
      const link = `${gone}; ${parent}; ln -s -- "$2" "$1"`;
      await exec({ command: ["sh", "-c", link, "sh", inside, readlinkSync(absolute)] });
    } else if (stats === undefined) await exec({ command: ["sh", "-c", gone, "sh", inside] });
  }
}

export function execFailureText(result: ExecResult): string {
  return result.failure?.detail ?? (result.stderr.trim() || `exit ${result.exitCode ?? result.outcome}`);
}
