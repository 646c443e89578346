import { compileGlob } from "../platform/glob.ts";

/** More alternatives than any list of names has: longer ones are read as written. */
const MOST_ALTERNATIVES = 1_000;

/** The patterns that one with `{a,b}` stands for, without their braces. */
function expandBraces(pattern: string): readonly string[] {
  const pending = [pattern];
  const done: string[] = [];
  while (pending.length > 0 && pending.length + done.length < MOST_ALTERNATIVES) {
    const next = pending.pop()!;
    const found = /\{([^{},]*(?:,[^{},]*)+)\}/.exec(next);
    if (found === null) done.push(next);
    else {
      const [from, end] = [found.index, found.index + found[0].length];
      pending.push(...found[1]!.split(",").map((one) => next.slice(0, from) + one + next.slice(end)));
    }
  }
  return [...done, ...pending];
}

/** Compiles a pattern of names: git's globs, and `{a,b}`. `folder/**` is the folder, too. */
export function compileNames(
  pattern: string,
  { caseInsensitive: ignoreCase }: { readonly caseInsensitive: boolean },
): (text: string) => boolean {
  const tests = expandBraces(pattern)
    .flatMap((one) => [one, one.replace(/(?<=.)(?:\/\*\*)+$/, "")])
    .map((one) => compileGlob(one, { ignoreCase }) ?? ((text: string) => text === one));
  return (text) => text !== "." && text !== ".." && tests.some((test) => test(text));
}

/** The action when a job tries to touch a protected path. */
type ProtectedAction = "error" | "skip" | "log";

export interface Protection {
  protects(path: string): string | null;
  /** Why a path may never be edited, regardless of the configuration; null if it may. */
  forbids(path: string): "git" | "picoclaw" | null;
  /** The rule of a path that belongs to a home in the workspace; null where none does, or none is there. */
  ofHome(path: string): HomeRule | null;
  readonly action: ProtectedAction;
}

/** `obeyed`: the user's programs run or read it, or keep keys in it. `state`: some program's own. `cache`: it can be recreated. */
export type HomeRule = "obeyed" | "state" | "cache";

export interface ProtectionDeps {
  readonly patterns: readonly string[];
  readonly action: ProtectedAction;
  readonly caseInsensitive: boolean;
  /** PicoClaw's own folders, relative to the workspace. */
  readonly ownPaths: readonly string[];
  /** Absent: the workspace contains no home folder. */
  readonly ofHome?: Protection["ofHome"];
}

/** `.env.example` and its like are written to be shared: they name settings and hold none. */
const TEMPLATE = /^\.env(?:\.[\w-]+)*\.(?:example|sample|template|dist)$/i;

/** `.env*`, `config/.env.*`: meant for environment files in general, not for one of them by its name. */
const FOR_ENVIRONMENT_FILES = /(?:^|\/)\.env[^/]*[*?[{(][^/]*$/i;

/** Patterns are tried on name, path and every folder. A template of an environment file stays writable unless a pattern names it. */
export function createProtection({
  patterns,
  action,
  caseInsensitive,
  ownPaths,
  ofHome = () => null,
}: ProtectionDeps): Protection {
  const compiled = patterns.map((pattern) => ({
    pattern,
    // A secret is one in any case, whatever the file system makes of its name.
    matches: compileNames(pattern, { caseInsensitive: true }),
    // No path with a folder in it matches such a pattern, and without one the path is the name.
    ofNames: !pattern.includes("/") && !pattern.includes("**"),
    sparesTemplates: FOR_ENVIRONMENT_FILES.test(pattern),
  }));
  // The paths of a large change come folder by folder.
  let last: { readonly folder: string; readonly protecting: number } | null = null;
  const protectingFolder = (folder: string) => {
    if (last?.folder !== folder) {
      const names = folder.split("/");
      last = { folder, protecting: compiled.findIndex(({ matches }) => names.some((name) => matches(name))) };
    }
    return last.protecting;
  };
  return {
    action,
    ofHome,
    protects(path) {
      const slash = path.lastIndexOf("/");
      const name = path.slice(slash + 1);
      const byFolder = slash < 0 ? -1 : protectingFolder(path.slice(0, slash));
      const isTemplate = name.startsWith(".") && TEMPLATE.test(name);
      for (let index = 0; index < compiled.length; index++) {
        const { pattern, matches, ofNames, sparesTemplates } = compiled[index] as (typeof compiled)[number];
        const spared = isTemplate && sparesTemplates;
        if (index === byFolder || (!spared && (matches(name) || (!ofNames && matches(path))))) return pattern;
      }
      return null;
    },
    forbids(path) {
      if (holdsGitName(path)) return "git";
      const fold = (text: string) => (caseInsensitive ? text.toLowerCase() : text);
      const folded = fold(path);
      const isOwn = (own: string) => `${folded}/`.startsWith(`${fold(own)}/`);
      return folded === "picoclaw.yaml" || [".picoclaw", ...ownPaths].some(isOwn) ? "picoclaw" : null;
    },
  };
}

/** This alone distinguishes nearly every path; listings ask for thousands. */
const MAY_BE_GIT = /git|[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/i;

/** `.git` in the spellings that some file system takes for it: case, NTFS short names, ignorable characters. */
export function isGitName(part: string): boolean {
  const plain = part.replace(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, "").replace(/[. ]+$/, "");
  return /^\.git$/i.test(plain) || /^git~\d$/i.test(plain);
}

export function holdsGitName(path: string): boolean {
  return MAY_BE_GIT.test(path) && path.split("/").some(isGitName);
}

export function inDependencyFolder(path: string): boolean {
  return dependencyFolderOf(path) !== null;
}

/** The outermost folder above a path that tools fill; null where there is none. */
function dependencyFolderOf(path: string): string | null {
  const parts = path.split("/").slice(0, -1);
  // The contents of such a folder are a tool's, even if a name in it matches a protected pattern.
  const at = parts.findIndex((part) => DEPENDENCIES.has(part));
  return at < 0 ? null : parts.slice(0, at + 1).join("/");
}

/** The files that package managers write whenever they replace a package with another. */
const MANIFEST =
  /^(?:package\.json|\.package-lock\.json|\.modules\.yaml|\.yarn-state\.yml|\.yarn-integrity|composer\.json|installed\.json|modules\.txt|go\.mod|Cargo\.toml|\.cargo-checksum\.json|METADATA|RECORD|PKG-INFO|pyvenv\.cfg|\.?bower\.json|.*\.gemspec|.*\.pom)$/;

/**
 * Which protected names in folders that tools fill a job may have changed: those of a folder in which a package manager
 * has been at work or that is gone as a whole, and those of a tool's own cache. A file that is changed alone is changed
 * by the job.
 */
export function createToolsWork(
  paths: Iterable<string>,
  isGone: (folder: string) => boolean,
): (path: string) => boolean {
  let folders: Set<string> | null = null;
  const findFolders = () => {
    const found = new Set<string>();
    for (const path of paths) {
      if (!MANIFEST.test(path.slice(path.lastIndexOf("/") + 1))) continue;
      const folder = dependencyFolderOf(path);
      if (folder !== null) found.add(folder);
    }
    return found;
  };
  return (path) => {
    const folder = dependencyFolderOf(path);
    if (folder === null) return false;
    if (path.slice(folder.length).startsWith("/.cache/")) return true;
    folders ??= findFolders();
    return folders.has(folder) || isGone(folder);
  };
}

/** Folders that tools fill: every part of the program that treats them differently uses these lists. */

/** Folders that package managers fill: others' code, which the project needs. */
const INSTALLED = `
  node_modules bower_components .venv venv vendor site-packages dist-packages .tox .nox .eggs .gradle .m2
  .cargo .npm .pnpm-store
`
  .trim()
  .split(/\s+/);

/** Folders that compilers and bundlers fill from the project. */
const BUILT = ["target", "dist", "build", ".next", ".nuxt", ".svelte-kit"] as const;

/** Folders that checks and other commands leave behind and recreate. */
const CACHES = `
  __pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis .ipynb_checkpoints .nyc_output coverage
  htmlcov .cache .parcel-cache .turbo
`
  .trim()
  .split(/\s+/);

const CACHE_FOLDERS: ReadonlySet<string> = new Set(CACHES.filter((name) => name !== "coverage"));

const CACHE_FILE = /(?:^|\/)(?:[^/]+\.py[co]|[^/]+\.tsbuildinfo|\.coverage(?:\.[^/]+)?|\.eslintcache)$/;

/** A folder with this ordinary name is a report if it contains one of these. */
const REPORT =
  /^((?:.*\/)?coverage)\/(?:lcov\.info|lcov-report\/.*|clover\.xml|coverage-(?:final|summary)\.json|cobertura-coverage\.xml|tmp\/coverage-.*\.json)$/;

/** By path: the uppermost cache that is or contains it, a folder or the file itself. Paths of the project's own are absent. */
export function findCaches(paths: readonly string[]): ReadonlyMap<string, string> {
  const reports = new Set<string>();
  for (const path of paths) {
    const report = path.includes("coverage/") ? REPORT.exec(path)?.[1] : undefined;
    if (report !== undefined) reports.add(report);
  }
  const found = new Map<string, string>();
  for (const path of paths) {
    const top = uppermostCache(path, reports);
    if (top !== null) found.set(path, top);
    else if (CACHE_FILE.test(path)) found.set(path, path);
  }
  return found;
}

function uppermostCache(path: string, reports: ReadonlySet<string>): string | null {
  for (let start = 0; start <= path.length; ) {
    const slash = path.indexOf("/", start);
    const end = slash === -1 ? path.length : slash;
    if (CACHE_FOLDERS.has(path.slice(start, end))) return path.slice(0, end);
    if (reports.size > 0 && reports.has(path.slice(0, end))) return path.slice(0, end);
    start = end + 1;
  }
  return null;
}

/** Names that people give to folders of their own as well; they are a tool's where something else says so. */
const HONEST: ReadonlySet<string> = new Set("venv vendor target dist build coverage .cargo".split(" "));

/** Folders that tools fill, under names that are used for nothing else. */
export const CLEAR_TOOL_FOLDERS: readonly string[] = [...INSTALLED, ...BUILT, ...CACHES].filter(
  (name) => !HONEST.has(name),
);

const DEPENDENCIES: ReadonlySet<string> = new Set([...INSTALLED, "target", "__pycache__"]);

const WITHOUT_SOURCES: ReadonlySet<string> = new Set(
  [...INSTALLED, ...BUILT, ...CACHES].filter(
    (name) => name !== "build" && name !== "vendor" && name !== ".cargo",
  ),
);

/** Whether a coder finds nothing of the project's own in a folder of this name. */
export function holdsNoSources(name: string): boolean {
  return WITHOUT_SOURCES.has(name);
}

const UNLISTED: ReadonlySet<string> = new Set(
  [...INSTALLED, "target", ...CACHES].filter((name) => name !== ".cargo"),
);

/** Whether a folder of this name has too many files, or files of too little weight, to look at each of them. */
export function isSeenAsWhole(name: string): boolean {
  return UNLISTED.has(name);
}

const FOREIGN: ReadonlySet<string> = new Set([
  ...INSTALLED,
  ...BUILT,
  ...CACHES,
  "third_party",
  "docs",
  "doc",
  "examples",
  "example",
]);

/** Whether files below a path's folders say nothing of the project's own language. */
export function isForeignPath(path: string): boolean {
  return path
    .split("/")
    .slice(0, -1)
    .some((part) => FOREIGN.has(part));
}
