/**
 * The secret files of a workspace, which a model's commands may not read. In: the roots of a job, what counts as secret, what
 * `worker.env_files` allows. Out: the paths, and a layer of whiteouts that hides them below a job's upper. Invariant: a file that git
 * tracks, a template and whatever a package manager filled stay readable, and the layer is never part of a change.
 */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { readGitIndex } from "../../domain/platform/git-index.ts";
import { isInside } from "../../domain/platform/paths.ts";
import { inDependencyFolder } from "../../domain/policy/protection.ts";
import { SYSTEM_PATH } from "../platform/find-program.ts";
import { findGit } from "../platform/git-roots.ts";
import { copyXattrs } from "../platform/xattr.ts";

/** What counts as a secret, by paths relative to a root. */
export interface SecretRules {
  readonly patterns: readonly string[];
  readonly protects: (path: string) => boolean;
  /** `worker.env_files`, by paths relative to the workspace. */
  readonly allows: (path: string) => boolean;
}

export interface SecretFilesDeps {
  readonly workspace: string;
  readonly roots: readonly string[];
  readonly rules: SecretRules;
  /** The folder that remembers what was found. */
  readonly memory: string;
  /** PicoClaw's own folders. */
  readonly ownFolders: readonly string[];
}

/** One folder as it was last read. A later change of its names changes its ctime, which no program can set. */
interface KnownFolder {
  readonly ctime: string;
  readonly folders: readonly string[];
  /** Names that the patterns protect. */
  readonly secrets: readonly string[];
  readonly hasGit?: true;
}

type KnownFolders = Record<string, KnownFolder>;

/** A folder that changed this short a time before it was read may change again within the clock's step. */
const SETTLED_NS = 2_000_000_000n;

/** The files, and the links with these names, that no command of a model may read; absolute, uppermost first. */
export function findSecretFiles(deps: SecretFilesDeps): string[] {
  const { workspace, rules, memory } = deps;
  const file = join(memory, "secret-files.json");
  const asked = JSON.stringify([rules.patterns, deps.roots]);
  const before = recallFolders(file, asked);
  const now: KnownFolders = {};
  const found = new Set<string>();
  let isChanged = false;
  for (const root of deps.roots) {
    const trackers: { readonly top: string; readonly tracked: ReadonlySet<string> }[] = [];
    const above = findGit(root);
    if (above !== null) trackers.push(readTracked(above));
    const pending = [root];
    for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
      const known = lookInto(folder, root, before[folder], rules);
      if (known === null) continue;
      if (known !== before[folder]) isChanged = true;
      now[folder] = known;
      if (known.hasGit === true && folder !== above?.topLevel) {
        const nested = findGit(folder);
        if (nested !== null) trackers.push(readTracked(nested));
      }
      for (const name of known.folders) {
        const path = join(folder, name);
        if (!deps.ownFolders.includes(path)) pending.push(path);
      }
      for (const name of known.secrets) {
        const path = join(folder, name);
        if (rules.allows(relative(workspace, path))) continue;
        if (trackers.some(({ top, tracked }) => tracked.has(relative(top, path)))) continue;
        found.add(path);
      }
    }
  }
  if (isChanged || Object.keys(before).length !== Object.keys(now).length)
    attemptOr(undefined, () => {
      writeFileSync(`${file}.new`, JSON.stringify({ asked, folders: now }), { mode: 0o600 });
      renameSync(`${file}.new`, file);
    });
  for (const path of otherNames([...found], deps)) found.add(path);
  return [...found].sort();
}

function recallFolders(file: string, asked: string): KnownFolders {
  return attemptOr({}, () => {
    const memory = JSON.parse(readFileSync(file, "utf8")) as { asked: string; folders: KnownFolders };
    return memory.asked === asked ? memory.folders : {};
  });
}

/** Null where a folder is gone, cannot be read, or is a virtual environment with a protected name. */
function lookInto(
  folder: string,
  root: string,
  known: KnownFolder | undefined,
  rules: SecretRules,
): KnownFolder | null {
  return attemptOr(null, () => {
    const { ctimeNs } = lstatSync(folder, { bigint: true });
    if (known !== undefined && known.ctime === String(ctimeNs)) return known;
    const below = relative(root, folder);
    const at = (name: string) => (below === "" ? name : `${below}/${name}`);
    const entries = readdirSync(folder, { withFileTypes: true });
    if (entries.some(({ name }) => name === "pyvenv.cfg")) return null;
    const folders = entries
      .filter(
        (entry) => entry.isDirectory() && entry.name !== ".git" && !inDependencyFolder(`${at(entry.name)}/x`),
      )
      .map(({ name }) => name);
    const secrets = entries
      .filter((entry) => (entry.isFile() || entry.isSymbolicLink()) && rules.protects(at(entry.name)))
      .map(({ name }) => name);
    const isSettled = BigInt(Date.now()) * 1_000_000n - ctimeNs > SETTLED_NS;
    const hasGit = entries.some(({ name }) => name === ".git");
    return { ctime: isSettled ? String(ctimeNs) : "", folders, secrets, ...(hasGit && { hasGit }) };
  });
}

function readTracked({ topLevel: top, gitDirectory }: { topLevel: string; gitDirectory: string }) {
  const index = join(gitDirectory, "index");
  const entries = attemptOr(null, () => readGitIndex(readFileSync(index))) ?? askTracked(top);
  return { top, tracked: new Set(entries.map(({ path }) => path)) };
}

/** An index of another version. An empty answer hides too much, never too little. */
function askTracked(top: string): readonly { readonly path: string }[] {
  const ran = spawnSync("git", ["-c", "core.fsmonitor=false", "-C", top, "ls-files", "-z"], {
    env: {
      PATH: SYSTEM_PATH,
      GIT_OPTIONAL_LOCKS: "0",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
    },
    encoding: "utf8",
    timeout: 20_000,
    stdio: ["ignore", "pipe", "ignore"],
  });
  return (ran.stdout ?? "").split("\0").map((path) => ({ path }));
}

/** The targets of links with a secret's name, and further names of the same file, inside the roots. */
function otherNames(found: readonly string[], { roots }: SecretFilesDeps): string[] {
  const more: string[] = [];
  const linked: string[] = [];
  for (const path of found) {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    const real = stats?.isSymbolicLink() ? attemptOr(null, () => realpathSync(path)) : null;
    const isOurs = real !== null && roots.some((root) => real !== root && isInside(root, real));
    if (isOurs && lstatSync(real).isFile()) more.push(real);
    if (stats?.isFile() && stats.nlink > 1) linked.push(path);
  }
  if (linked.length === 0) return more;
  const tests = linked.flatMap((path, i) => [...(i === 0 ? [] : ["-o"]), "-samefile", path]);
  const ran = spawnSync("find", [...roots, "-xdev", "(", ...tests, ")", "-print0"], {
    env: { PATH: SYSTEM_PATH, LC_ALL: "C" },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    timeout: 60_000,
  });
  return [...more, ...(ran.stdout ?? "").split("\0").filter((path) => path !== "")];
}

/** Shorter values occur in honest text: `true`, `local`, a port. */
const SHORTEST_VALUE = 8;
const LARGEST_SECRET = 256 * 1024;
const MOST_VALUES = 500;

/** Masks the values of these files wherever a text repeats them; undefined where there are none. */
export function maskOf(paths: readonly string[]): ((text: string) => string) | undefined {
  const values = paths.flatMap((path) =>
    attemptOr([] as string[], () =>
      lstatSync(path).size > LARGEST_SECRET ? [] : valuesIn(readFileSync(path, "utf8")),
    ),
  );
  const secrets = [...new Set(values)].slice(0, MOST_VALUES).sort((a, b) => b.length - a.length);
  if (secrets.length === 0) return undefined;
  return (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, "****"), text);
}

/** What follows `NAME=` or `name:`, without quotes; a line without a name is a value as a whole. Words of letters alone are none. */
function valuesIn(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    if (/^\s*(#|$|-----)/.test(line)) return [];
    const named = /^\s*(?:export\s+)?["']?[\w.$-]+["']?\s*[=:]\s*(\S.*?),?\s*$/.exec(line)?.[1];
    const value = (named ?? line.trim()).replace(/^(["'])(.*)\1$/, "$2");
    const isWord = /^[A-Za-z_-]*$/.test(value) && value.length < 20;
    return value.length < SHORTEST_VALUE || isWord ? [] : [value];
  });
}

/** Those of the hidden files that these words name, relative to the workspace: why a command may have failed. */
export function namedIn(words: string, hidden: readonly string[], workspace: string): string[] {
  const isNamed = (path: string) => {
    const name = basename(path);
    for (let at = words.indexOf(name); at >= 0; at = words.indexOf(name, at + 1))
      if (
        !/[\w.-]/.test(words.charAt(at - 1)) &&
        !/[\w-]|\.\w/.test(words.slice(at + name.length, at + name.length + 2))
      )
        return true;
    return false;
  };
  return hidden.filter(isNamed).map((path) => relative(workspace, path));
}

/**
 * A layer for an overlay, between a root and the upper: whiteouts at the paths, in folders that look like the root's. Null where none of
 * the paths is below the root. The kernel shows neither the file nor the mark, and a new file of that name goes to the upper.
 */
export function layWhiteouts(root: string, paths: readonly string[], layer: string): string | null {
  const inRoot = paths.filter((path) => path !== root && isInside(root, path));
  if (inRoot.length === 0) return null;
  mkdirSync(layer, { recursive: true, mode: 0o700 });
  const folders = new Set<string>();
  let first: string | null = null;
  for (const path of inRoot) {
    const below = relative(root, path);
    for (let at = dirname(below); at !== "." && !folders.has(at); at = dirname(at)) folders.add(at);
    const to = join(layer, below);
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    if (first === null) {
      const made = spawnSync("mknod", [to, "c", "0", "0"], { env: { PATH: SYSTEM_PATH }, encoding: "utf8" });
      if (made.status !== 0) throw new Error(`${basename(to)} could not be hidden: ${made.stderr}`);
      first = to;
    } else linkSync(first, to);
  }
  // Innermost first: what is made in a folder changes its times.
  for (const folder of [...folders].sort().reverse()) adoptFolder(join(root, folder), join(layer, folder));
  return layer;
}

/** A merged folder shows what the uppermost layer says of it. */
function adoptFolder(from: string, to: string): void {
  const stats = lstatSync(from);
  const descriptor = openSync(to, "r");
  copyXattrs(from, descriptor);
  closeSync(descriptor);
  if (process.getuid?.() === 0) chownSync(to, stats.uid, stats.gid);
  chmodSync(to, stats.mode & 0o7777);
  utimesSync(to, stats.atime, stats.mtime);
}
