import { existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import type {
  LocalFailure,
  LocalPack,
  LocalRepositories,
  LocalRepository,
} from "../../application/ports/containers.ts";
import type { ProcessResult, ProcessRunner } from "../../application/ports/jobs-transaction.ts";
import type { CloneRange } from "../../domain/containers/clone-plan.ts";
import { tarFolder } from "./tar-archive.ts";

export interface LocalRepositoryDeps {
  readonly processes: ProcessRunner;
  /** The environment of git: what finds programs, no secrets. */
  readonly env: Readonly<Record<string, string>>;
  /** Where clones are made on their way. */
  readonly temporary: string;
  readonly timeoutMs: number;
  /** Takes a credential out of an address. */
  readonly cleanAddress: (address: string) => string;
  /** The owner of the files inside. */
  readonly owner: { readonly uid: number; readonly gid: number };
}

const OUTPUT_BYTES = 32 * 1024 ** 2;

type Git = (args: readonly string[], signal?: AbortSignal) => Promise<ProcessResult>;

export function createLocalRepositories(parts: LocalRepositoryDeps): LocalRepositories {
  const git: Git = (args, signal) =>
    parts.processes.runProcess({
      argv: [
        "git",
        "--no-optional-locks",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
        ...args,
      ],
      cwd: "/",
      env: { ...parts.env, GIT_TERMINAL_PROMPT: "0", LC_ALL: "C" },
      timeoutMs: parts.timeoutMs,
      outputLimitBytes: OUTPUT_BYTES,
      jobMarker: "prepare",
      ...(signal !== undefined && { signal }),
    });
  return {
    look: (path, ref, signal) => lookAtRepository(git, path, ref, signal),
    pack: (path, range, signal) => packRepository(parts, git, path, range, signal),
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
  { temporary, owner, cleanAddress }: LocalRepositoryDeps,
  git: Git,
  path: string,
  { ref, target, depth }: CloneRange,
  signal: AbortSignal,
): Promise<LocalPack | LocalFailure> {
  const folder = mkdtempSync(join(temporary, "picoclaw-clone-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const project = join(folder, "project");
  try {
    const from = await topOf(git, path, signal);
    const how = depth === null ? [] : [`--depth=${depth}`, "--single-branch"];
    const full = ref?.startsWith("refs/") ?? false;
    const steps = [
      [
        ...["clone", "--quiet", "--no-checkout", ...how],
        ...(ref !== undefined && !full ? ["--branch", ref] : []),
        ...["--", depth === null ? from : `file://${encodeURI(from)}`, project],
      ],
      ...(ref !== undefined && full ? [fetchArguments(project, depth, `+${ref}:refs/picoclaw/source`)] : []),
      ...(target === undefined
        ? []
        : [fetchArguments(project, depth, `+refs/heads/${target}:refs/remotes/origin/${target}`)]),
      ["-C", project, "remote", "set-url", "origin", await originOf(git, from, cleanAddress, signal)],
    ];
    for (const step of steps) {
      const done = await git(step, signal);
      if (done.exitCode === 0) continue;
      remove();
      return gitRunFailure(done);
    }
    const archive = tarFolder(join(project, ".git"), ".git", owner, signal);
    return { ok: true, head: ref ?? "HEAD", archive, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

function fetchArguments(project: string, depth: number | null, spec: string): string[] {
  const how = depth === null ? [] : [`--depth=${depth}`];
  return ["-C", project, "fetch", "--quiet", ...how, "origin", spec];
}

async function topOf(git: Git, path: string, signal: AbortSignal): Promise<string> {
  const top = await git(["-C", path, "rev-parse", "--show-toplevel"], signal);
  return top.exitCode === 0 ? top.stdout.trim() : realpathSync(path);
}

/** Where the repository itself came from; a folder that came from nowhere is its own origin. */
async function originOf(
  git: Git,
  path: string,
  clean: (address: string) => string,
  signal: AbortSignal,
): Promise<string> {
  const origin = await git(["-C", path, "config", "--get", "remote.origin.url"], signal);
  return origin.exitCode === 0 && origin.stdout.trim() !== "" ? clean(origin.stdout.trim()) : path;
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
