import { existsSync, mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  LocalFailure,
  LocalPack,
  LocalRepositories,
  LocalRepository,
} from "../../application/ports/containers.ts";
import type { ProcessResult } from "../../application/ports/platform-processes.ts";
import { type CloneRange, cloneCalls, withoutCredential } from "../../domain/containers/clone-plan.ts";
import { jobEnvironment } from "../../domain/policy/job-environment.ts";
import { createProcessRunner } from "../platform/process-runner.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { archivePieces, listEntries } from "./tar-archive.ts";

export interface LocalRepositoryDeps {
  /** Git is given as much of it as a job is: what finds programs, no secrets. */
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
}

const OWNER = { uid: 10_001, gid: 10_001 };

const HARMLESS = ["core.fsmonitor=false", "core.hooksPath=/dev/null"].flatMap((setting) => ["-c", setting]);
const OUTPUT_BYTES = 32 * 1024 ** 2;

type Git = (args: readonly string[], signal?: AbortSignal) => Promise<ProcessResult>;

export function createLocalRepositories({ hostEnv, timeoutMs }: LocalRepositoryDeps): LocalRepositories {
  const processes = createProcessRunner();
  const env = jobEnvironment({ host: hostEnv, pass: [], view: {} });
  const git: Git = (args, signal) =>
    processes.runProcess({
      argv: ["git", "--no-optional-locks", ...HARMLESS, ...args],
      cwd: "/",
      env: { ...env, GIT_TERMINAL_PROMPT: "0", LC_ALL: "C" },
      timeoutMs,
      outputLimitBytes: OUTPUT_BYTES,
      jobMarker: "prepare",
      ...(signal !== undefined && { signal }),
    });
  return {
    look: (path, ref, signal) => lookAtRepository(git, path, ref, signal),
    pack: (path, range, signal) => packRepository(git, path, range, signal),
  };
}

async function lookAtRepository(
  git: Git,
  path: string,
  ref: string | undefined,
  signal?: AbortSignal,
): Promise<LocalRepository | LocalFailure> {
  if (!existsSync(path)) return localFailure("missing", `no such folder: ${path}`);
  const top = await git(["-C", path, "rev-parse", "--git-dir"], signal);
  if (top.outcome === "not-started") return localFailure("no-git", "git is not installed");
  if (top.outcome === "aborted") return localFailure("aborted", "aborted");
  if (top.exitCode !== 0) return localFailure("not-a-repository", firstLine(top.stderr));
  const listed = await git(
    ["-C", path, "ls-tree", "-r", "-z", "--full-tree", "--name-only", ref ?? "HEAD"],
    signal,
  );
  if (listed.outcome === "aborted") return localFailure("aborted", "aborted");
  if (listed.exitCode !== 0)
    return ref === undefined
      ? localFailure("empty", "the repository has no commit yet")
      : localFailure("ref-missing", `no such branch or tag: ${ref}`);
  const status = await git(["-C", path, "status", "--porcelain", "-z", "--no-renames"], signal);
  return { ok: true, files: splitNulls(listed.stdout), uncommitted: splitNulls(status.stdout).length };
}

async function packRepository(
  git: Git,
  path: string,
  range: CloneRange,
  signal: AbortSignal,
): Promise<LocalPack | LocalFailure> {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-clone-"));
  const remove = () => removeTree(folder);
  const project = join(folder, "project");
  try {
    const from = await topOf(git, path, signal);
    // Git ignores a depth where it is given a path.
    const address = range.depth === null ? from : `file://${encodeURI(from)}`;
    const steps = [
      ...cloneCalls(address, project, range),
      ["-C", project, "remote", "set-url", "origin", await originOf(git, from, signal)],
    ];
    for (const step of steps) {
      const done = await git(step, signal);
      if (done.exitCode === 0) continue;
      remove();
      return gitRunFailure(done);
    }
    const archive = archivePieces(listEntries(join(project, ".git"), ".git", OWNER));
    return { ok: true, head: range.ref ?? "HEAD", archive, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

async function topOf(git: Git, path: string, signal: AbortSignal): Promise<string> {
  const top = await git(["-C", path, "rev-parse", "--show-toplevel"], signal);
  return top.exitCode === 0 ? top.stdout.trim() : realpathSync(path);
}

/** The origin of the repository itself; a folder without one is its own origin. */
async function originOf(git: Git, path: string, signal: AbortSignal): Promise<string> {
  const origin = await git(["-C", path, "config", "--get", "remote.origin.url"], signal);
  return origin.exitCode === 0 && origin.stdout.trim() !== ""
    ? withoutCredential(origin.stdout.trim())
    : path;
}

function gitRunFailure({ outcome, stderr, error }: ProcessResult): LocalFailure {
  if (outcome === "aborted") return localFailure("aborted", "aborted");
  if (outcome === "not-started") return localFailure("no-git", error?.message ?? "git could not be started");
  if (outcome === "timed-out") return localFailure("failed", "git took too long");
  const code = /Remote branch .* not found|couldn't find remote ref/.test(stderr) ? "ref-missing" : "failed";
  return localFailure(code, stderr.trim());
}

function localFailure(code: LocalFailure["code"], message: string): LocalFailure {
  return { ok: false, code, message };
}

function splitNulls(text: string): readonly string[] {
  return text.split("\0").filter((part) => part !== "");
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
