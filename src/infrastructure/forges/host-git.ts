import { closeSync, openSync, writeFileSync } from "node:fs";
import type { Published, PublishRequest } from "../../application/ports/forges.ts";
import { isLinkOut, type LeftOutPath } from "../../domain/forges/publishable-change.ts";
import { trySystemCall } from "../../domain/platform/error-text.ts";
import { spawnChild } from "../platform/process-calls.ts";

export interface HostGit {
  /** Runs git in the folder, under limits of memory and of a file's size; ends it with KILL when aborted or too slow. */
  run(args: readonly string[], options?: GitOptions): Promise<GitRun>;
}

interface GitOptions {
  readonly index?: string;
  /** The file that git reads as its standard input. */
  readonly input?: string;
}

export interface GitRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A call of git's that has to succeed did not. */
export class GitFailed extends Error {
  constructor(readonly run: GitRun) {
    super(run.stderr);
  }
}

/** Runs git and returns its output. Throws `GitFailed`. */
export async function askGit(
  git: HostGit,
  args: readonly string[],
  options: GitOptions = {},
): Promise<string> {
  const ran = await git.run(args, options);
  if (ran.code !== 0) throw new GitFailed(ran);
  return ran.stdout;
}

export interface HostGitDeps {
  readonly folder: string;
  readonly path: string;
  /** A program that answers git's questions for a user and a password. */
  readonly askpass: string;
  /** A descriptor that `askpass` gets as its number `SECRET_DESCRIPTOR`. */
  readonly secret: number;
  /** Of the host's environment: proxies and certificates only. */
  readonly passed: Readonly<Record<string, string>>;
  /** The committer, and the variables that `askpass` needs. */
  readonly own: Readonly<Record<string, string>>;
  /** Signs in as the user does, by these variables of theirs, instead of with the secret. */
  readonly user?: Readonly<Record<string, string>> | undefined;
  readonly insecureTls: boolean;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The settings that no setting of a person or of a repository may change. */
const FIXED_SETTINGS = [
  "core.hooksPath=/dev/null",
  "protocol.allow=never",
  "protocol.https.allow=always",
  "protocol.http.allow=always",
  "core.fsmonitor=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "http.followRedirects=initial",
  // Within the memory below: small windows, large files as streams.
  "core.packedGitWindowSize=32m",
  "core.packedGitLimit=256m",
  "core.bigFileThreshold=32m",
  "pack.windowMemory=64m",
  "pack.threads=1",
];

const MEMORY_BYTES = 2 * 1024 ** 3;
const FILE_BYTES = 8 * 1024 ** 3;

/** Limits that a system does not know are left out. */
const LIMITED_SHELL = `ulimit -v ${MEMORY_BYTES / 1024} 2>/dev/null; ulimit -f ${FILE_BYTES / 512} 2>/dev/null; exec "$@"`;

export const SECRET_DESCRIPTOR = 3;

/** `askpass` writes this before a question of git's for another host than the repository's, which it does not answer. */
export const STRANGE_QUESTION = "picoclaw-askpass: ";

export function createHostGit(deps: HostGitDeps): HostGit {
  const { folder, path, askpass, passed, own, insecureTls, timeoutMs, signal } = deps;
  const isUser = deps.user !== undefined;
  const settings = [
    ...FIXED_SETTINGS,
    isUser ? "protocol.ssh.allow=always" : "credential.helper=",
    ...(insecureTls ? ["http.sslVerify=false"] : []),
  ].flatMap((setting) => ["-c", setting]);
  const env = {
    ...passed,
    ...own,
    PATH: path,
    LC_ALL: "C",
    GIT_DIR: folder,
    GIT_TERMINAL_PROMPT: "0",
    ...(isUser
      ? deps.user
      : { HOME: folder, GIT_ASKPASS: askpass, GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" }),
  };
  return {
    async run(args, { index, input } = {}) {
      signal.throwIfAborted();
      const stdin = input === undefined ? null : openSync(input, "r");
      const child = spawnChild({
        argv: ["/bin/sh", "-c", LIMITED_SHELL, "git", "git", ...settings, ...args],
        cwd: folder,
        env: { ...env, ...(index !== undefined && { GIT_INDEX_FILE: index }) },
        stdio: [stdin ?? "ignore", "pipe", "pipe", deps.secret],
        // In a session of its own, ssh has no terminal to ask for a passphrase.
        detached: isUser,
      });
      if (stdin !== null) closeSync(stdin);
      // A session of its own is a group of its own: ssh ends with its git.
      const kill = () => (isUser ? process.kill(-child.pid, "SIGKILL") : child.kill("SIGKILL"));
      const end = () => trySystemCall(kill);
      const timer = setTimeout(end, timeoutMs);
      signal.addEventListener("abort", end);
      try {
        const [stdout, stderr, { exitCode }] = await Promise.all([
          new Response(child.stdout).text(),
          new Response(child.stderr).text(),
          child.exited,
        ]);
        return { code: exitCode, stdout, stderr };
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
      }
    },
  };
}

const SHOWN_CHARS = 500;

type FailedGit = Extract<Published, { status: "failed" }>;

/** The failure when git could not read from the forge. Git reports it only in prose; the locale is fixed. */
export function fetchFailure({ stderr, code }: GitRun): FailedGit {
  const fail = (reason: FailedGit["reason"], message = stderr.trim().slice(-SHOWN_CHARS)): FailedGit => ({
    status: "failed",
    reason,
    message,
  });
  const strange = stderr.split("\n").find((line) => line.startsWith(STRANGE_QUESTION));
  if (strange !== undefined) return fail("other", wordRedirect(strange));
  if (code === null) return fail("unreachable");
  if (/Authentication failed|could not read (?:Username|Password)|error: 40[13]/i.test(stderr))
    return fail("unauthorized");
  if (/not found|error: 404|not our ref/i.test(stderr)) return fail("not-found");
  if (/Could not resolve|Failed to connect|Connection|timed out|error: 5\d\d|SSL|certificate/i.test(stderr))
    return fail("unreachable");
  return fail("other");
}

function wordRedirect(question: string): string {
  const asked = URL.parse(/'(.*)'/.exec(question)?.[1] ?? "");
  return `the repository's address redirects git to ${asked?.origin ?? "another host"}, which gets no token`;
}

/** The forge's answer to a push. */
export function pushFailure(
  run: GitRun,
): Extract<Published, { status: "failed" | "rejected" | "branch-taken" }> {
  const said = `${run.stderr}\n${run.stdout}`;
  const message = said
    .split("\n")
    .filter((line) => /^remote:|\[(?:remote )?rejected\]|^fatal:|^error:/.test(line))
    .join("\n")
    .slice(0, SHOWN_CHARS);
  if (/protected branch|GH006|GH013/i.test(said))
    return { status: "rejected", reason: "protected-branch", message };
  if (/stale info|fetch first|non-fast-forward|already exists/i.test(said)) return { status: "branch-taken" };
  if (
    /error: 403|not allowed to push|write access|Permission .* denied|without `?workflow`? scope/i.test(said)
  )
    return { status: "rejected", reason: "no-permission", message };
  if (/\[remote rejected\]|hook declined/i.test(said))
    return { status: "rejected", reason: "declined", message };
  return fetchFailure(run);
}

export interface ChangeIndex {
  readonly git: HostGit;
  readonly index: string;
  readonly onto: string;
}

export interface IndexEntry {
  readonly mode: string;
  readonly blob: string;
  readonly path: string;
}

interface KeptChange {
  readonly left: readonly LeftOutPath[];
  readonly entries: readonly IndexEntry[];
}

/** Puts back in the index what is not to be published. Throws `GitFailed`. */
export async function leaveOutOfIndex(
  { git, index, onto }: ChangeIndex,
  ask: PublishRequest["leftOut"],
): Promise<KeptChange> {
  const changed = await changedEntries({ git, index, onto });
  const listed = await askGit(git, ["ls-tree", "-r", "-z", "--full-tree", onto]);
  const base = listed.split("\0").flatMap((line) => {
    const [facts = "", path] = line.split("\t");
    const [mode = "", , blob = ""] = facts.split(" ");
    return path === undefined ? [] : [{ mode, blob, path }];
  });
  const left = ask({
    changed: changed.map(({ path }) => path),
    base: base.map(({ path }) => path),
    linksOut: await findLinksOut(git, changed),
  });
  if (left.length === 0) return { left, entries: changed };
  const paths = new Set(left.map(({ path }) => path));
  const before = base.filter(({ path }) => paths.has(path));
  const gone = [...paths].map((path) => ({ mode: "0", blob: "0".repeat(onto.length), path }));
  // Removals first: a file may replace a folder.
  await putEntries(git, index, [...gone, ...before]);
  return { left, entries: await changedEntries({ git, index, onto }) };
}

const LINK_MODE = "120000";
/** Each is read by a process of its own; a change with more is one of links, and needs consent for them. */
const MOST_LINKS = 100;

async function findLinksOut(git: HostGit, changed: readonly IndexEntry[]): Promise<readonly string[]> {
  const found: string[] = [];
  const links = changed.filter(({ mode }) => mode === LINK_MODE);
  for (const [n, { blob, path }] of links.entries()) {
    const target = n < MOST_LINKS ? await git.run(["cat-file", "blob", blob]) : null;
    if (target === null || target.code !== 0 || isLinkOut(path, target.stdout)) found.push(path);
  }
  return found;
}

/** The entries of the index that differ from the base, path by path; a removed one has the mode `000000`. */
async function changedEntries({ git, index, onto }: ChangeIndex): Promise<readonly IndexEntry[]> {
  const options = ["--cached", "--no-renames", "--full-index", "-z"];
  const parts = (await askGit(git, ["diff-index", ...options, onto], { index })).split("\0");
  const entries: IndexEntry[] = [];
  for (let i = 0; i + 1 < parts.length; i += 2) {
    const [, mode = "", , blob = ""] = (parts[i] ?? "").slice(1).split(" ");
    entries.push({ mode, blob, path: parts[i + 1] ?? "" });
  }
  return entries;
}

/** Throws `GitFailed`. */
export function putEntries(git: HostGit, index: string, entries: readonly IndexEntry[]): Promise<string> {
  const input = `${index}.entries`;
  writeFileSync(input, entries.map(({ mode, blob, path }) => `${mode} ${blob}\t${path}\0`).join(""));
  return askGit(git, ["update-index", "-z", "--index-info"], { index, input });
}

const PASSED_VARIABLES = "HTTP_PROXY HTTPS_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR GIT_SSL_CAINFO".split(
  " ",
);

/** The variables of the host's environment that git needs to reach a forge. */
export function gitVariables(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return pickVariables(
    env,
    PASSED_VARIABLES.flatMap((name) => [name, name.toLowerCase()]),
  );
}

export function pickVariables(
  env: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}
