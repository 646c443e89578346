import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import type { Published, Publisher, PublishRequest } from "../../application/ports/forges.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import type { OwnerNames } from "../platform/process-table.ts";
import { removeTree } from "../platform/remove-tree.ts";
import {
  askGit,
  type ChangeIndex,
  createHostGit,
  fetchFailure,
  GitFailed,
  type GitRun,
  type HostGit,
  type HostGitDeps,
  type IndexEntry,
  leaveOutOfIndex,
  pushFailure,
  putEntries,
  SECRET_DESCRIPTOR,
  STRANGE_QUESTION,
} from "./host-git.ts";

/** Shorter values occur in ordinary text. */
const SHORTEST_CHARS = 8;
/** Names are passed to git as arguments, whose total length is limited. */
const MOST_ASKED = 200;

/** Paths whose change adds a known secret: to the content (also binary), a link's target, or a name in the path. Throws `GitFailed`. */
async function findBroughtSecrets(
  { git, index, onto }: ChangeIndex,
  changed: readonly IndexEntry[],
  secrets: readonly string[],
): Promise<readonly string[]> {
  const patterns = searchableSecrets(secrets);
  if (patterns.length === 0) return [];
  const present = changed.filter(({ mode }) => mode.startsWith("1"));
  const named = present.flatMap(({ path }) => (patterns.some((text) => path.includes(text)) ? [path] : []));
  if (named.length > 0) {
    const asked = ["--", ...named.slice(0, MOST_ASKED)];
    const known = await askGit(git, ["ls-tree", "-z", "--name-only", onto, ...asked]);
    const fresh = named.filter((path) => !known.split("\0").includes(path));
    if (fresh.length > 0) return fresh;
  }
  // Git searches files alone, so the target of a link is searched as a file.
  const files = present
    .filter(({ mode }) => mode !== "160000")
    .map((entry) => ({ ...entry, mode: entry.mode === "120000" ? "100644" : entry.mode }));
  if (files.length === 0) return [];
  const own = `${index}.brought`;
  await putEntries(git, own, files);
  const tree = (await askGit(git, ["write-tree"], { index: own })).trim();
  const list = `${index}.patterns`;
  writeFileSync(list, `${patterns.join("\n")}\n`, { mode: 0o600 });
  try {
    const now = await pathsWith(git, list, tree);
    const before = now.length === 0 ? [] : await pathsWith(git, list, onto);
    return now.filter((path) => !before.includes(path));
  } finally {
    rmSync(list, { force: true });
  }
}

async function pathsWith(git: HostGit, patterns: string, tree: string): Promise<string[]> {
  const found = await git.run(["grep", "--text", "-l", "-z", "-F", "-f", patterns, tree]);
  if (found.code !== 0 && found.code !== 1) throw new GitFailed(found);
  return found.stdout.split("\0").flatMap((line) => (line === "" ? [] : [line.slice(tree.length + 1)]));
}

export function searchableSecrets(secrets: readonly string[]): string[] {
  return [...new Set(secrets.map(longestLine))].filter((text) => text.length >= SHORTEST_CHARS);
}

/** Git searches line by line. */
function longestLine(secret: string): string {
  return secret
    .split(/\r?\n/)
    .map((line) => line.trim())
    .reduce((longest, line) => (line.length > longest.length ? line : longest), "");
}

/** The data that a patch would make git hold and write, by its own declarations, before git reads it. */
export interface PatchSize {
  readonly files: number;
  /** Segments of all paths: each may become a tree of its own. */
  readonly segments: number;
  /** Bytes of its binary files, unpacked. */
  readonly unpackedBytes: number;
}

const PATCH_LIMITS: PatchSize = {
  files: 20_000,
  segments: 200_000,
  unpackedBytes: 256 * 1024 ** 2,
};

const PATH_SEGMENTS = 100;

/**
 * Why a patch is not given to git; null when it may be. Untrusted code made it: a few bytes may unpack to gigabytes, a delta may copy
 * its base over and over, and a path may nest without end. Our own patches have no copies.
 */
export function findPatchTrouble(patch: Uint8Array, limits: PatchSize = PATCH_LIMITS): string | null {
  const text = Buffer.from(patch.buffer, patch.byteOffset, patch.byteLength).toString("latin1");
  let files = 0;
  let segments = 0;
  let unpacked = 0;
  // Lines of a hunk begin with a blank, a sign or a backslash, and packed lines hold no blank.
  for (const { 0: line, index } of text.matchAll(PATCH_HEADER)) {
    if (line.startsWith("copy ")) return `not a patch of ours: ${line.slice(0, 80)}`;
    if (line.startsWith("diff --git ")) {
      files += 1;
      const deep = Math.ceil(line.split("/").length / 2);
      if (deep > PATH_SEGMENTS) return `a path of more than ${PATH_SEGMENTS} folders`;
      segments += deep;
    } else {
      const [, kind, size] = /^(literal|delta) (\d+)$/.exec(line) ?? [];
      if (kind === undefined) return `not a patch of ours: ${line.slice(0, 80)}`;
      unpacked += Number(size);
      if (unpacked > limits.unpackedBytes) break;
      if (kind === "delta") unpacked += deltaResult(text, index + line.length + 1, Number(size));
    }
  }
  if (files > limits.files) return `more than ${limits.files} files`;
  if (segments > limits.segments) return `more than ${limits.segments} folders in its paths`;
  if (!(unpacked <= limits.unpackedBytes))
    return `its binary files unpack to more than ${limits.unpackedBytes / 1024 ** 2} MB`;
  return null;
}

/** Only a line feed ends a line of a patch. */
const PATCH_HEADER = /(?<![^\n])(?:diff --git|copy (?:from|to)|literal|delta) [^\n]*/g;

/** The size of the result of a packed delta; `NaN` if it is not a delta. */
function deltaResult(text: string, from: number, declared: number): number {
  const end = text.indexOf("\n\n", from);
  const packed = unbase85(text.slice(from, end === -1 ? undefined : end).split("\n"));
  try {
    const delta = inflateSync(packed, { maxOutputLength: Math.max(declared, 1) });
    const base = readSize(delta, 0);
    return readSize(delta, base.next).value;
  } catch {
    return Number.NaN;
  }
}

function readSize(bytes: Uint8Array, at: number): { readonly value: number; readonly next: number } {
  let value = 0;
  let scale = 1;
  for (let i = at; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return { value, next: i + 1 };
    scale *= 128;
  }
  return { value: Number.NaN, next: bytes.length };
}

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/** Git's lines: a letter for the length (A–Z: 1–26, a–z: 27–52), then five digits for four bytes. */
function unbase85(lines: readonly string[]): Buffer {
  const parts = lines.map((line) => {
    const first = line.charCodeAt(0);
    const length = first >= 97 ? first - 97 + 27 : first - 65 + 1;
    const bytes = Buffer.alloc(Math.floor((line.length - 1) / 5) * 4);
    for (let at = 1, to = 0; to < bytes.length; at += 5, to += 4) {
      let value = 0;
      for (let i = at; i < at + 5; i++) value = value * 85 + Math.max(0, DIGITS.indexOf(line[i] ?? "0"));
      bytes.writeUInt32BE(value % 2 ** 32, to);
    }
    return bytes.subarray(0, length);
  });
  return Buffer.concat(parts);
}

const PREFIX = "publish-";
const OWNER = "picoclaw-owner";
/** A folder without an owner has just been created by another process. */
const YOUNG_MS = 10 * 60_000;

/** A private folder for one publication. It names its owner before it contains a secret. */
export function makePublishFolder(below: string, owner: string): string {
  mkdirSync(below, { recursive: true, mode: 0o700 });
  const folder = mkdtempSync(join(below, PREFIX));
  writeFileSync(join(folder, OWNER), owner, { mode: 0o600 });
  return folder;
}

/** PicoClaw's folder for publications, without the files that killed processes left. */
export function openPublishFolder(home: string, deps: Parameters<typeof sweepPublishFolders>[1]): string {
  const folder = join(home, "publish");
  sweepPublishFolders(folder, deps);
  return folder;
}

/** Removes the folders of processes that were killed while they published: they contain a token. */
export function sweepPublishFolders(
  below: string,
  { isGone, now }: Pick<OwnerNames, "isGone"> & { readonly now: () => Date },
): void {
  for (const name of attemptOr([], () => readdirSync(below).filter((name) => name.startsWith(PREFIX)))) {
    const folder = join(below, name);
    const owner = attemptOr(null, () => readFileSync(join(folder, OWNER), "utf8"));
    const old = () =>
      now().getTime() - (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0) > YOUNG_MS;
    if (owner === null ? old() : isGone(owner)) removeTree(folder);
  }
}

export interface PublisherDeps {
  /** A folder of PicoClaw's own, where a private folder is made for each call and removed again. */
  readonly folder: string;
  readonly path: string;
  /** Proxies and certificates of the host's environment. */
  readonly passed: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** This process, so that its files can be removed if it is killed. */
  readonly owner: string;
}

/**
 * Git asks it "Username for 'https://host': " and "Password for 'https://user@host': ", after a redirect with the new host. The token is
 * in a file without a name, in no process's environment, and given only for questions that the repository's own address leads to.
 */
const ASKPASS = `#!/bin/sh
is_one_of() { case "
$2
" in *"
$1
"*) ;; *) return 1 ;; esac; }
if is_one_of "$1" "$PICOCLAW_GIT_USER_QUESTIONS"; then printf '%s\\n' "$PICOCLAW_GIT_USER"
elif is_one_of "$1" "$PICOCLAW_GIT_SECRET_QUESTIONS"; then cat "$PICOCLAW_GIT_SECRET"
else printf '%s%s\\n' "${STRANGE_QUESTION}" "$1" >&2; exit 1; fi
`;

/** Git's questions for the sign-in at an address. It writes a user's name as it is, or encoded from 2.48 on. */
function signInQuestions(url: string, username: string): { readonly user: string; readonly secret: string } {
  const [, scheme = "", host = ""] = /^(https?):\/\/(?:[^/?#@]*@)?([^/?#]*)/.exec(url) ?? [];
  // As for the forge's API, the step from http to https on the usual ports stays on the site.
  const schemes = scheme === "http" && !/:\d+$/.test(host) ? ["http", "https"] : [scheme];
  const users = [...new Set([username, encodeURIComponent(username)])];
  return {
    user: schemes.map((each) => `Username for '${each}://${host}': `).join("\n"),
    secret: schemes
      .flatMap((each) => users.map((user) => `Password for '${each}://${user}@${host}': `))
      .join("\n"),
  };
}

/** Works in a bare repository without a work tree: no filter, hook or attribute of the project is used. */
export function createPublisher(deps: PublisherDeps): Publisher {
  return {
    async publish(request) {
      const { cloneUrl: url, patch, author, at, signal } = request;
      const trouble = findPatchTrouble(patch);
      if (trouble !== null) return { status: "failed", reason: "bad-patch", message: trouble };
      if (patch.length === 0) return { status: "nothing", leftOut: [] };
      const date = `${Math.floor(at.getTime() / 1000)} +0000`;
      const own = {
        GIT_AUTHOR_NAME: author.name,
        GIT_AUTHOR_EMAIL: author.email,
        GIT_AUTHOR_DATE: date,
        GIT_COMMITTER_NAME: author.name,
        GIT_COMMITTER_EMAIL: author.email,
        GIT_COMMITTER_DATE: date,
      };
      try {
        return await withHostGit(deps, { ...request, url, own }, (git, folder) =>
          publishIn(git, folder, request),
        );
      } catch (error) {
        if (error instanceof GitFailed) return publishFailure("other", error.run);
        if (!signal.aborted) throw error;
        return { status: "failed", reason: "aborted", message: "aborted" };
      }
    },
  };
}

export interface GitAccess extends Pick<PublishRequest, "insecureTls" | "signal"> {
  readonly url: string;
  /** Null: git signs in as the user does, by these variables. */
  readonly credentials: PublishRequest["credentials"] | null;
  readonly user?: HostGitDeps["user"];
  readonly own?: HostGitDeps["own"];
}

/** Git over the network, in a bare repository that is removed after the work. */
export async function withHostGit<T>(
  { folder: below, owner, path, passed, timeoutMs }: PublisherDeps,
  { url, credentials, user, own, insecureTls, signal }: GitAccess,
  work: (git: HostGit, folder: string) => Promise<T>,
): Promise<T> {
  const folder = makePublishFolder(below, owner);
  const signIn = credentials === null ? null : openSignIn(folder, url, credentials);
  const secret = signIn?.secret ?? openSync("/dev/null", "r");
  try {
    const git = createHostGit({
      ...{ folder, path, passed, insecureTls, timeoutMs, signal, secret },
      askpass: signIn?.askpass ?? "",
      own: { ...signIn?.own, ...own },
      user: signIn === null ? user : undefined,
    });
    await git.run(["init", "--quiet", "--bare", "--template=", folder]);
    return await work(git, folder);
  } finally {
    closeSync(secret);
    removeTree(folder);
  }
}

type SignIn = Pick<HostGitDeps, "askpass" | "secret" | "own">;

/** Keeps a token in a private folder while git may ask for it at this address. */
function openSignIn(folder: string, url: string, { username, token }: PublishRequest["credentials"]): SignIn {
  const isNameless = process.platform === "linux";
  const secret = openSecret(join(folder, "secret"), token);
  const askpass = join(folder, "askpass");
  writeFileSync(askpass, ASKPASS, { mode: 0o700 });
  chmodSync(askpass, 0o700);
  const questions = signInQuestions(url, username);
  return {
    askpass,
    secret,
    own: {
      PICOCLAW_GIT_USER: username,
      PICOCLAW_GIT_USER_QUESTIONS: questions.user,
      PICOCLAW_GIT_SECRET_QUESTIONS: questions.secret,
      PICOCLAW_GIT_SECRET: isNameless ? `/proc/self/fd/${SECRET_DESCRIPTOR}` : join(folder, "secret"),
    },
  };
}

/** The file is unlinked before the token is written. Elsewhere than on Linux an unlinked file cannot be read twice. */
function openSecret(path: string, token: string): number {
  const descriptor = openSync(path, "wx+", 0o600);
  if (process.platform === "linux") unlinkSync(path);
  writeSync(descriptor, `${token}\n`);
  return descriptor;
}

type PushedCommit = Extract<Published, { status: "pushed" }>;

async function publishIn(git: HostGit, folder: string, request: PublishRequest): Promise<Published> {
  const { cloneUrl, baseCommit, baseBranch, branch, previous } = request;
  const refs = await git.run(["ls-remote", "--heads", cloneUrl, baseBranch, branch]);
  if (refs.code !== 0) return fetchFailure(refs);
  const heads = parseRemoteHeads(refs.stdout);
  const taken = heads.get(branch) ?? null;
  const fetched = await git.run(["fetch", "--quiet", "--no-tags", "--depth=1", cloneUrl, baseCommit]);
  if (fetched.code !== 0) return fetchFailure(fetched);

  const patch = join(folder, "change.patch");
  writeFileSync(patch, request.patch);
  const applied = await commitOn(git, request, { patch, onto: baseCommit, threeWay: false });
  if ("status" in applied) return applied;
  const { paths, leftOut } = applied;
  let { commit } = applied;
  let base: PushedCommit["base"] = "same";
  const tip = heads.get(baseBranch);
  if (tip === undefined)
    return { status: "failed", reason: "not-found", message: `the branch ${baseBranch} is gone` };
  if (tip !== baseCommit) {
    const got = await git.run(["fetch", "--quiet", "--no-tags", "--depth=1", cloneUrl, tip]);
    if (got.code !== 0) return fetchFailure(got);
  }
  if (tip !== baseCommit && tip !== previous) {
    const moved = await moveOntoBase(git, request, { patch, tip });
    if (moved === null && branch === baseBranch) return { status: "branch-taken" };
    base = moved === null ? "conflicts" : "moved";
    commit = moved ?? commit;
  }
  const brought = await protectedBetween(git, request, tip, commit);
  if (brought !== null) return brought;
  // After a push that completed before a crash, the branch holds this very commit.
  if (taken === commit) return { status: "pushed", commit, paths, leftOut, base };
  const ours = taken === null || taken === previous || branch === baseBranch;
  if (!ours) return { status: "branch-taken" };
  const lease = `--force-with-lease=refs/heads/${branch}:${taken ?? ""}`;
  const push = await git.run(["push", "--porcelain", lease, cloneUrl, `${commit}:refs/heads/${branch}`]);
  return push.code === 0 ? { status: "pushed", commit, paths, leftOut, base } : pushFailure(push);
}

/** The container named the base, and forges serve commits of forks: protected paths are those of the forge's own branch. */
async function protectedBetween(
  git: HostGit,
  { isProtected }: PublishRequest,
  tip: string,
  commit: string,
): Promise<Published | null> {
  const names = await askGit(git, ["diff-tree", "-r", "--no-renames", "--name-only", "-z", tip, commit]);
  const paths = names.split("\0").filter((path) => path !== "" && isProtected(path));
  return paths.length === 0 ? null : { status: "protected", paths };
}

/** The change on the newer base; null if it does not apply cleanly. */
async function moveOntoBase(
  git: HostGit,
  request: PublishRequest,
  { patch, tip }: { readonly patch: string; readonly tip: string },
): Promise<string | null> {
  try {
    const moved = await commitOn(git, request, { patch, onto: tip, threeWay: true });
    return "status" in moved ? null : moved.commit;
  } catch (error) {
    if (error instanceof GitFailed) return null;
    throw error;
  }
}

/** Its objects do not match their names: the checked content would differ from the published content. */
const WRONG_TREE: Published = {
  status: "failed",
  reason: "bad-patch",
  message: "the patch does not make the tree that its container named",
};

type MadeCommit = Pick<PushedCommit, "commit" | "paths" | "leftOut">;

/** The commit, or why none was made. Throws `GitFailed`. */
async function commitOn(
  git: HostGit,
  request: PublishRequest,
  how: { readonly patch: string; readonly onto: string; readonly threeWay: boolean },
): Promise<MadeCommit | Published> {
  const index = `${how.patch}.${how.onto}.index`;
  const writeTree = async () => (await askGit(git, ["write-tree"], { index })).trim();
  await askGit(git, ["read-tree", how.onto], { index });
  const mode = how.threeWay ? ["--3way"] : [];
  const apply = ["apply", "--cached", "--binary", "--whitespace=nowarn", ...mode, how.patch];
  const applied = await git.run(apply, { index });
  if (applied.code !== 0) return publishFailure("bad-patch", applied);
  const made = how.threeWay || request.tree === null ? null : await git.run(["write-tree"], { index });
  if (made !== null && made.stdout.trim() !== request.tree) return WRONG_TREE;
  const change = { git, index, onto: how.onto };
  const { left, entries } = await leaveOutOfIndex(change, request.leftOut);
  const paths = entries.map(({ path }) => path);
  if (paths.length === 0) return { status: "nothing", leftOut: left };
  const forbidden = paths.filter(request.isProtected);
  if (forbidden.length > 0) return { status: "protected", paths: forbidden };
  const secret = await findBroughtSecrets(change, entries, request.secrets);
  if (secret.length > 0) return { status: "secret", paths: secret };
  const tree = made !== null && left.length === 0 ? made.stdout.trim() : await writeTree();
  const commit = await askGit(git, ["commit-tree", tree, "-p", how.onto, "-m", request.message]);
  return { commit: commit.trim(), paths, leftOut: left };
}

/** Branches and their commits, as `git ls-remote` lists them. */
export function parseRemoteHeads(listing: string): ReadonlyMap<string, string> {
  const heads = new Map<string, string>();
  for (const line of listing.split("\n")) {
    const [commit = "", ref = ""] = line.split("\t");
    if (ref.startsWith("refs/heads/")) heads.set(ref.slice("refs/heads/".length), commit);
  }
  return heads;
}

function publishFailure(reason: Extract<Published, { status: "failed" }>["reason"], run: GitRun): Published {
  return { status: "failed", reason, message: run.stderr.trim().slice(0, 500) };
}
