import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type {
  BranchPush,
  GitRemote,
  ProjectRepository,
  PushRequest,
  RemoteDiff,
  RemoteHeads,
  RepositoryReading,
  WorkBeyond,
} from "../../application/ports/forges.ts";
import { gitVariables } from "../../domain/policy/git-files.ts";
import { findGit, type GitPlaces, gitProgram, ISOLATED_GIT_ENV } from "../platform/git-roots.ts";
import { createProcessRunner } from "../platform/process-runner.ts";
import { fetchFailure, type HostGit, pickVariables, pushFailure } from "./host-git.ts";
import { type PublisherDeps, parseRemoteHeads, searchableSecrets, withHostGit } from "./publisher.ts";

export interface ProjectRepositoryDeps extends Omit<PublisherDeps, "path"> {
  /** The workspace; the repository may begin above it. */
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const READ_MS = 30_000;
/** A remote that does not say its branches by then is one that cannot be asked. */
const HEADS_MS = 30_000;
const READ_BYTES = 8 * 1024 ** 2;
const DIFF_CHARS = 60_000;
const SUBJECTS = 8;
const MOST_FILTERS = 500;

/** The variables by which the user's own git and ssh know whose they are. */
const USER_VARIABLES = ["HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK", "GIT_SSH_COMMAND"];

export function createProjectRepository(deps: ProjectRepositoryDeps): ProjectRepository {
  return {
    async read(signal) {
      const opened = await openReader(deps, signal);
      return "status" in opened ? opened : readState(opened);
    },
    async compare(bases, signal, paths = []) {
      const opened = await openReader(deps, signal);
      return "status" in opened ? null : compareWith(opened, bases, paths);
    },
    async hasBranch(name, signal) {
      const opened = await openReader(deps, signal);
      if ("status" in opened) return false;
      return (await opened.ask("rev-parse", "--verify", "--quiet", `refs/heads/${name}`)) !== null;
    },
    readHeads: (request) =>
      withProjectGit({ ...deps, timeoutMs: Math.min(deps.timeoutMs, HEADS_MS) }, request, (git) =>
        headsOf(git, request.url),
      ),
    diffThere: (request) => withProjectGit(deps, request, (git) => diffIn(git, request)),
    push: (request) => pushBranch(deps, request),
  };
}

type OnText = (text: string) => void;

/** Asks git a question about the repository: what it printed, or null where it failed. */
interface RepositoryReader {
  readonly places: GitPlaces;
  ask(...args: string[]): Promise<string | null>;
  /** The same, with all that it prints as it arrives: the answer has only the beginning and the end of more than 8 MB. */
  listen(onText: OnText, ...args: string[]): Promise<string | null>;
}

type Setting = readonly [name: string, value: string];

/** Files of the workspace that look like a repository are not one, and nothing that its settings name is run. */
const HARMLESS: readonly Setting[] = [
  ["core.fsmonitor", "false"],
  ["core.hooksPath", "/dev/null"],
  ["safe.bareRepository", "explicit"],
  ["log.showSignature", "false"],
];

async function openReader(
  { root, env }: ProjectRepositoryDeps,
  signal: AbortSignal,
): Promise<RepositoryReader | { readonly status: "no-git" | "no-repository" }> {
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder.startsWith("/"));
  const program = gitProgram(folders, [root]);
  if (program === null) return { status: "no-git" };
  const places = findGit(root);
  if (places === null) return { status: "no-repository" };
  const harmless: readonly Setting[] = [...HARMLESS, ["safe.directory", places.topLevel]];
  const processes = createProcessRunner();
  const run = async (settings: readonly Setting[], args: readonly string[], onText?: OnText) => {
    signal.throwIfAborted();
    const { exitCode, stdout } = await processes.runProcess({
      argv: [program, "--no-optional-locks", ...args],
      cwd: root,
      env: {
        ...ISOLATED_GIT_ENV,
        PATH: folders.join(delimiter),
        HOME: "/",
        LC_ALL: "C",
        GIT_ALLOW_PROTOCOL: "none",
        GIT_NO_LAZY_FETCH: "1",
        ...gitVariables(settings),
      },
      timeoutMs: READ_MS,
      outputLimitBytes: READ_BYTES,
      jobMarker: "repository",
      signal,
      onOutput: (stream, text) => void (stream === "stdout" && onText?.(text)),
    });
    signal.throwIfAborted();
    return exitCode === 0 ? stdout : null;
  };
  const filters = await run(harmless, ["config", "-z", "--name-only", "--get-regexp", "^filter\\."]);
  const filtered = new Set((filters ?? "").split("\0").filter((name) => name !== ""));
  const names = [...filtered].slice(0, MOST_FILTERS);
  const settings: readonly Setting[] = [
    ...harmless,
    ...names.map((name): Setting => [name, name.endsWith(".required") ? "false" : ""]),
  ];
  const listen: RepositoryReader["listen"] = (onText, ...args) => run(settings, args, onText);
  return { places, listen, ask: (...args) => run(settings, args) };
}

async function readState(reader: RepositoryReader): Promise<RepositoryReading> {
  const head = await reader.ask("rev-parse", "--verify", "--quiet", "HEAD");
  if (head === null) return { status: "unborn" };
  const branch = (await reader.ask("symbolic-ref", "--quiet", "--short", "HEAD"))?.trim() ?? null;
  const status = await reader.ask(...STATUS);
  if (status === null) return { status: "failed", message: "git status failed" };
  const prefix = (await reader.ask("rev-parse", "--show-prefix"))?.trim() ?? "";
  const entries = status
    .split("\0")
    .filter((line) => line.length > 3)
    .map((line) => ({ state: line.slice(0, 2), path: belowPrefix(line.slice(3), prefix) }));
  const subjects = await reader.ask("log", `-${SUBJECTS}`, "--no-merges", "--format=%s");
  return {
    status: "read",
    branch,
    head: head.trim(),
    remote: await findRemote(reader, branch),
    changed: entries.map(({ path }) => path),
    staged: entries.filter(({ state }) => !" ?".includes(state[0] ?? " ")).map(({ path }) => path),
    conflicted: entries.filter(({ state }) => IN_CONFLICT.has(state)).map(({ path }) => path),
    subjects: (subjects ?? "").split("\n").filter((line) => line !== ""),
  };
}

const STATUS =
  "status --porcelain=v1 -z --untracked-files=all --ignore-submodules=all --no-renames -- .".split(" ");
/** Nothing that the repository's settings name is run for a difference. */
const PLAIN = ["--no-ext-diff", "--no-textconv"];

const IN_CONFLICT: ReadonlySet<string> = new Set(["DD", "AU", "UD", "UA", "DU", "AA", "UU"]);

function belowPrefix(path: string, prefix: string): string {
  return path.startsWith(prefix) ? path.slice(prefix.length) : path;
}

async function findRemote(reader: RepositoryReader, branch: string | null): Promise<GitRemote | null> {
  const listed = ((await reader.ask("remote")) ?? "").split("\n").filter((name) => name !== "");
  const pushed = branch === null ? null : await reader.ask("config", "--get", `branch.${branch}.remote`);
  const name = [pushed?.trim(), "origin", listed[0]].find((one) => one !== undefined && listed.includes(one));
  if (name === undefined) return null;
  const url =
    (await reader.ask("config", "--get", `remote.${name}.pushurl`)) ??
    (await reader.ask("config", "--get", `remote.${name}.url`));
  if (url === null) return null;
  return { name, url: url.trim(), defaultBranch: await findDefaultBranch(reader, name) };
}

async function findDefaultBranch(reader: RepositoryReader, remote: string): Promise<string | null> {
  const named = await reader.ask("symbolic-ref", "--quiet", "--short", `refs/remotes/${remote}/HEAD`);
  if (named !== null) return named.trim().slice(remote.length + 1);
  for (const name of ["main", "master"])
    if ((await reader.ask("rev-parse", "--verify", "--quiet", `refs/remotes/${remote}/${name}`)) !== null)
      return name;
  return null;
}

async function compareWith(
  reader: RepositoryReader,
  bases: readonly string[],
  paths: readonly string[],
): Promise<WorkBeyond | null> {
  const shown = paths.length === 0 ? ["."] : paths.map((path) => `:(literal)${path}`);
  for (const base of bases) {
    // A name that begins with a dash would be an option.
    const from = base.startsWith("-") ? null : await reader.ask("merge-base", base, "HEAD");
    if (from === null) continue;
    const commit = from.trim();
    const commits = await reader.ask("log", "--format=%s", "--max-count=200", `${commit}..HEAD`);
    const diff = await reader.ask("diff", ...PLAIN, "--no-color", commit, "--", ...shown);
    return {
      from: commit,
      commits: (commits ?? "").split("\n").filter((line) => line !== ""),
      diff: (diff ?? "").slice(0, DIFF_CHARS),
    };
  }
  return null;
}

/** The bare repository only borrows the project's objects: no hook, filter or address of its settings is used. */
async function pushBranch(deps: ProjectRepositoryDeps, request: PushRequest): Promise<BranchPush> {
  const { signal } = request;
  const reader = await openReader(deps, signal);
  if ("status" in reader) return { status: "failed", reason: "other", message: reader.status };
  const adds = await addsSecret(reader, request);
  if (adds === true) return { status: "secret" };
  if (adds === null)
    return { status: "failed", reason: "other", message: "the commits could not be searched for secrets" };
  try {
    return await withProjectGit(deps, request, (git) => pushFrom(git, request));
  } catch (error) {
    if (!signal.aborted) throw error;
    return { status: "failed", reason: "aborted", message: "aborted" };
  }
}

/** Git over the network, with the objects of the project. */
function withProjectGit<T>(
  deps: ProjectRepositoryDeps,
  request: Pick<PushRequest, "url" | "credentials" | "insecureTls" | "signal">,
  work: (git: HostGit) => Promise<T>,
): Promise<T> {
  const user = pickVariables(deps.env, USER_VARIABLES);
  return withHostGit({ ...deps, path: deps.env.PATH ?? "" }, { ...request, user }, (git, folder) => {
    borrowObjects(folder, findGit(deps.root));
    return work(git);
  });
}

function borrowObjects(folder: string, places: GitPlaces | null): void {
  if (places === null) return;
  mkdirSync(join(folder, "objects/info"), { recursive: true });
  writeFileSync(join(folder, "objects/info/alternates"), `${join(places.commonDirectory, "objects")}\n`);
  const shallow = join(places.commonDirectory, "shallow");
  if (existsSync(shallow)) copyFileSync(shallow, join(folder, "shallow"));
}

async function headsOf(git: HostGit, url: string): Promise<RemoteHeads> {
  const listed = await git.run(["ls-remote", "--symref", url, "HEAD", "refs/heads/*"]);
  if (listed.code !== 0) return fetchFailure(listed);
  return {
    status: "read",
    defaultBranch: /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(listed.stdout)?.[1] ?? null,
    branches: parseRemoteHeads(listed.stdout),
  };
}

async function diffIn(
  git: HostGit,
  { url, base, head }: RemoteDiff,
): Promise<{ readonly diff: string } | string> {
  const wanted = [`+${base}:refs/base`, `+${head}:refs/head`];
  const fetched = await git.run(["fetch", "--quiet", "--no-tags", url, ...wanted]);
  if (fetched.code !== 0) return fetched.stderr.trim().slice(-500) || "git fetch failed";
  const diff = await git.run(["diff", ...PLAIN, "--no-color", "refs/base...refs/head"]);
  return diff.code === 0 ? { diff: diff.stdout.slice(0, DIFF_CHARS) } : diff.stderr.trim().slice(-500);
}

async function pushFrom(git: HostGit, { url, commit, branch }: PushRequest): Promise<BranchPush> {
  const push = await git.run(["push", "--porcelain", url, `${commit}:refs/heads/${branch}`]);
  if (push.code === 0) return { status: "pushed" };
  // As ssh says it, which the forge's own answers do not.
  if (/Could not read from remote repository|Permission denied \(/.test(push.stderr))
    return { status: "failed", reason: "unauthorized", message: "" };
  return pushFailure(push);
}

/** Null where the commits cannot be read. Without a known base, those count that no remote is known to have. */
async function addsSecret(reader: RepositoryReader, request: PushRequest): Promise<boolean | null> {
  const secrets = searchableSecrets(request.secrets);
  if (secrets.length === 0) return false;
  const range =
    request.from === null ? [request.commit, "--not", "--remotes"] : [`${request.from}..${request.commit}`];
  let line = "";
  let isAdded = false;
  const look = (text: string) => {
    const lines = (line + text).split("\n");
    // Removed lines and context lines add nothing.
    isAdded ||= lines.some((one) => !/^[- ]/.test(one) && secrets.some((secret) => one.includes(secret)));
    // Of a line without an end: its sign, and what may be the first half of a secret.
    const rest = lines.at(-1) ?? "";
    line = rest.slice(0, 1) + rest.slice(1).slice(-10_000);
  };
  const listed = await reader.listen(look, "log", "--format=%B", "-p", "--text", ...PLAIN, ...range);
  return listed === null ? null : isAdded;
}
