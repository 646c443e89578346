/**
 * The secret files of a workspace, which a model's commands may not read. In: the roots of a job, what counts as secret, what
 * `worker.env_files` allows. Out: their paths. Invariant: a file that git tracks, a template and whatever a package manager filled
 * stay readable.
 */
import { spawnSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { readGitIndex } from "../../domain/platform/git-index.ts";
import { isInside } from "../../domain/platform/paths.ts";
import { inDependencyFolder } from "../../domain/policy/protection.ts";
import { SYSTEM_PATH } from "../platform/find-program.ts";
import { findGit } from "../platform/git-roots.ts";

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
    if (below !== "" && rules.protects(below) && entries.some(({ name }) => name === "pyvenv.cfg"))
      return null;
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
