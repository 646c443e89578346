import { spawn } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type {
  BlamedLine,
  CaseState,
  CommitLog,
  CommitRecord,
  ContentChange,
} from "../../application/ports/history.ts";
import type { TakenEdit } from "../../application/ports/platform-view.ts";
import { NAME } from "../../domain/history/case.ts";
import { isBinaryContent } from "../../domain/patch/compare-lines.ts";
import { gitCeiling, gitProgram, ISOLATED_GIT_ENV, ownGitOnly, rootsFor } from "../platform/git-roots.ts";

export interface GitAnswer {
  readonly code: number | null;
  readonly bytes: Buffer;
}

/** Asks the repository of a folder; `code` is null where there is no git, or it was ended. */
export type AskGit = (args: readonly string[], more?: GitRequest) => Promise<GitAnswer>;

interface GitRequest {
  readonly input?: string | Uint8Array;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Settings of a repository that would start a program, and tricks of names that would lead to one. */
const SAFE = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "safe.directory=*",
  "gc.auto=0",
  "maintenance.auto=false",
];

/** Git without the user's settings, hooks, filters of differences or a terminal. */
export function createAskGit(folder: string, path: string, scratch: string): AskGit {
  const folders = path.split(":").filter((one) => one.startsWith("/"));
  const program = gitProgram(folders, [folder]);
  const shared = { ...ISOLATED_GIT_ENV, ...IDENTITY, ...gitCeiling(rootsFor(folder)) };
  const own = ownGitOnly(folder);
  return async (args, { input, cwd = folder, env = {} } = {}) => {
    if (program === null) return { code: null, bytes: Buffer.alloc(0) };
    const { promise, resolve } = Promise.withResolvers<GitAnswer>();
    const child = spawn(program, [...SAFE.flatMap((one) => ["-c", one]), ...args], {
      cwd,
      env: { ...shared, PATH: path, HOME: scratch, LC_ALL: "C", ...(cwd === folder && own), ...env },
      stdio: ["pipe", "pipe", "ignore"],
    });
    const pieces: Buffer[] = [];
    child.stdout.on("data", (piece: Buffer) => pieces.push(piece));
    child.once("error", () => resolve({ code: null, bytes: Buffer.alloc(0) }));
    child.once("close", (code) => resolve({ code, bytes: Buffer.concat(pieces) }));
    child.stdin.on("error", () => {});
    child.stdin.end(input ?? "");
    return promise;
  };
}

const IDENTITY = {
  GIT_AUTHOR_NAME: "PicoClaw",
  GIT_AUTHOR_EMAIL: "picoclaw@localhost",
  GIT_COMMITTER_NAME: "PicoClaw",
  GIT_COMMITTER_EMAIL: "picoclaw@localhost",
} as const;

/** The commit of a line of the file as it is now; null for a line that is in no commit. */
export async function blameLine(git: AskGit, path: string, line: number): Promise<BlamedLine | null> {
  const { code, bytes } = await git(["blame", "--porcelain", "-L", `${line},${line}`, "--", path]);
  if (code !== 0) return null;
  const lines = bytes.toString().split("\n");
  const [commit = ""] = (lines[0] ?? "").split(" ");
  if (/^0+$/.test(commit)) return null;
  const field = (name: string) =>
    lines.find((one) => one.startsWith(`${name} `))?.slice(name.length + 1) ?? "";
  const at = new Date(Number(field("author-time")) * 1000).toISOString();
  return { commit, author: field("author"), at, subject: field("summary") };
}

/** The commits of a workspace that is the top of its repository. */
export function createCommitLog(git: AskGit): CommitLog {
  const read = (names: readonly string[]) => readObjects(git, names);
  return {
    async list(limit) {
      const prefix = await git(["rev-parse", "--show-prefix"]);
      if (prefix.code !== 0 || prefix.bytes.toString().trim() !== "") return [];
      const format = "--format=%x1e%H%x1f%P%x1f%cI%x1f%B%x1f";
      const { bytes } = await git([
        ...["log", "--no-merges", "--no-renames", `--max-count=${limit}`, format],
        ...["--raw", "--no-abbrev", "-z", "HEAD"],
      ]);
      return bytes.toString().split("\x1e").flatMap(readCommit);
    },
    read,
    findWords: (commits, words) => findWords(git, commits, words),
    async findBase(at, without) {
      const listed = await git(["rev-list", "--first-parent", "--max-count=50", `--before=${at}`, "HEAD"]);
      const commits =
        listed.code === 0
          ? listed.bytes
              .toString()
              .split("\n")
              .filter((one) => one !== "")
          : [];
      for (const commit of commits) {
        const found = await read([...without.keys()].map((path) => `${commit}:${path}`));
        const hasAny = [...without].some(([path, text]) => found.get(`${commit}:${path}`) === text);
        if (!hasAny) return commit;
      }
      return null;
    },
  };
}

/** Larger files are no sources. */
const LARGEST_BYTES = 1024 ** 2;

/** A commit as `git log --raw -z` prints it; the first of a repository has no parent and is left out. */
function readCommit(record: string): CommitRecord[] {
  const [commit = "", parent = "", at = "", message = "", raw = ""] = record.split("\x1f");
  if (parent === "") return [];
  const words = raw.split("\0").map((word) => word.trimStart());
  const changes: ContentChange[] = [];
  for (let n = words.findIndex((word) => word.startsWith(":")); n >= 0 && n + 1 < words.length; n += 2) {
    const [modeBefore = "", modeAfter = "", before = "", after = ""] = (words[n] ?? "").slice(1).split(" ");
    const path = words[n + 1] ?? "";
    if (path === "") break;
    const isFile = (mode: string) => mode.startsWith("100");
    changes.push({
      path,
      before: isFile(modeBefore) ? before : null,
      after: isFile(modeAfter) ? after : null,
    });
  }
  return [{ commit: commit.trim(), parent, at, message: message.trim(), changes }];
}

interface GitObject {
  /** As it was asked for, and its own name; empty where there is no such object. */
  readonly name: string;
  readonly id: string;
  readonly kind: string;
  readonly content: Buffer;
}

/** Objects that one process is asked for: their contents are in memory together. */
const AT_ONCE = 1_000;

async function* walkObjects(git: AskGit, names: readonly string[]): AsyncGenerator<GitObject> {
  const plain = names.filter((name) => !name.includes("\n"));
  for (let from = 0; from < plain.length; from += AT_ONCE) {
    const asked = plain.slice(from, from + AT_ONCE);
    const { bytes } = await git(["cat-file", "--batch"], { input: `${asked.join("\n")}\n` });
    let at = 0;
    for (const name of asked) {
      const end = bytes.indexOf(10, at);
      const header = /^([0-9a-f]+) (\w+) (\d+)$/.exec(bytes.toString("utf8", at, end));
      const [, id = "", kind = "", size = "0"] = header ?? [];
      const length = Number(size);
      yield { name, id, kind, content: bytes.subarray(end + 1, end + 1 + length) };
      at = end + 1 + (header === null ? 0 : length + 1);
    }
  }
}

async function readObjects(
  git: AskGit,
  names: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  const texts = new Map<string, string | null>();
  for await (const { name, kind, content } of walkObjects(git, names))
    texts.set(name, kind === "blob" && isShortText(content) ? content.toString() : null);
  return texts;
}

const isShortText = (content: Buffer) => content.length <= LARGEST_BYTES && !isBinaryContent(content);

/** Trees are walked level by level; a content or a folder that many commits share is read once. */
async function findWords(
  git: AskGit,
  commits: readonly string[],
  words: ReadonlySet<string>,
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const roots = new Map<string, string>();
  const inside = new Map<string, readonly string[]>();
  const found = new Map<string, ReadonlySet<string>>();
  let names: readonly string[] = commits.map((commit) => `${commit}^{tree}`);
  while (names.length > 0) {
    const below = new Set<string>();
    for await (const { name, id, kind, content } of walkObjects(git, names)) {
      if (name.endsWith("^{tree}")) roots.set(name.slice(0, -"^{tree}".length), id);
      if (kind === "blob") found.set(id, isShortText(content) ? pickWords(content, words) : new Set());
      if (kind !== "tree" || inside.has(id)) continue;
      const entries = readTree(content, id.length / 2);
      inside.set(id, entries);
      for (const entry of entries) below.add(entry);
    }
    names = [...below].filter((id) => !inside.has(id) && !found.has(id));
  }
  const collect = (id: string): ReadonlySet<string> => {
    const known = found.get(id) ?? new Set((inside.get(id) ?? []).flatMap((entry) => [...collect(entry)]));
    found.set(id, known);
    return known;
  };
  return new Map(commits.map((commit) => [commit, collect(roots.get(commit) ?? "")]));
}

function pickWords(content: Buffer, words: ReadonlySet<string>): ReadonlySet<string> {
  return new Set((content.toString().match(NAME) ?? []).filter((word) => words.has(word)));
}

/** The names of the files and folders of a tree: each entry is its mode, its name, a zero and the name in bytes. */
function readTree(content: Buffer, idBytes: number): string[] {
  const ids: string[] = [];
  for (let at = 0; at < content.length; ) {
    const zero = content.indexOf(0, at);
    const mode = content.toString("latin1", at, content.indexOf(32, at));
    if (mode.startsWith("100") || mode === "40000")
      ids.push(content.toString("hex", zero + 1, zero + 1 + idBytes));
    at = zero + 1 + idBytes;
  }
  return ids;
}

/** Lets a fetch ask for a commit that no branch leads to any more. */
const ANY_COMMIT = "git -c uploadpack.allowAnySHA1InWant=true -c safe.directory=* upload-pack";

/** Brings a commit with everything that leads to it, and nothing else, into a repository. */
async function fetchCommit(git: AskGit, into: string, from: CaseState): Promise<void> {
  const fetch = ["fetch", "-q", "--no-tags", "--no-write-fetch-head", `--upload-pack=${ANY_COMMIT}`];
  await must(git, [...fetch, from.repository, from.commit], { cwd: into });
}

async function must(git: AskGit, args: readonly string[], more: Parameters<AskGit>[1]): Promise<string> {
  const { code, bytes } = await git(args, more);
  if (code !== 0) throw new Error(`git ${args[0]}: exit code ${code}`);
  return bytes.toString().trim();
}

/** A working tree of a state with git's history up to it: no later object, no log of refs, no name of its origin. */
export async function checkOutState(git: AskGit, state: CaseState, into: string): Promise<void> {
  mkdirSync(into, { recursive: true, mode: 0o700 });
  await must(git, ["-c", "core.logAllRefUpdates=false", "init", "-q", "--template=", "-b", "main", "."], {
    cwd: into,
  });
  await must(git, ["config", "core.logAllRefUpdates", "false"], { cwd: into });
  await fetchCommit(git, into, state);
  await must(git, ["reset", "-q", "--hard", state.commit], { cwd: into });
  rmSync(join(into, ".git/ORIG_HEAD"), { force: true });
}

/** Writes a state as a commit over its base into a repository of its own. */
export async function commitState(
  git: AskGit,
  repository: string,
  {
    name,
    base,
    files,
  }: { readonly name: string; readonly base: CaseState | null; readonly files: readonly TakenEdit[] },
): Promise<CaseState> {
  if (!existsSync(join(repository, "HEAD"))) {
    mkdirSync(repository, { recursive: true, mode: 0o700 });
    await must(git, ["init", "-q", "--bare", "--template=", "."], { cwd: repository });
  }
  if (base !== null) await fetchCommit(git, repository, base);
  const index = join(repository, `index-${crypto.randomUUID()}`);
  const more = { cwd: repository, env: { GIT_INDEX_FILE: index } };
  try {
    await must(git, base === null ? ["read-tree", "--empty"] : ["read-tree", base.commit], more);
    const lines: string[] = [];
    for (const { path, entry, bytes } of files) {
      if (entry.kind === "directory") continue;
      const content = entry.kind === "symlink" ? Buffer.from(entry.target) : bytes;
      if (content === null) lines.push(`0 ${"0".repeat(40)}\t${path}`);
      else {
        const object = await must(git, ["hash-object", "-w", "--no-filters", "--stdin"], {
          ...more,
          input: content,
        });
        const mode =
          entry.kind === "symlink"
            ? "120000"
            : entry.kind === "file" && entry.mode & 0o100
              ? "100755"
              : "100644";
        lines.push(`${mode} ${object}\t${path}`);
      }
    }
    await must(git, ["update-index", "--index-info"], { ...more, input: `${lines.join("\n")}\n` });
    const tree = await must(git, ["write-tree"], more);
    const parents = base === null ? [] : ["-p", base.commit];
    const commit = await must(git, ["commit-tree", tree, ...parents, "-m", "Work in progress"], more);
    await must(git, ["update-ref", `refs/cases/${name}`, commit], more);
    return { repository, commit };
  } finally {
    rmSync(index, { force: true });
  }
}
