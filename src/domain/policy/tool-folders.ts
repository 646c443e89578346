/**
 * Folders that tools fill, by what they hold. Every part of the program that treats such a folder differently from the project's
 * own uses this list.
 */

/** Folders that package managers fill: others' code, which the project needs. */
const INSTALLED = [
  "node_modules",
  "bower_components",
  ".venv",
  "venv",
  "vendor",
  "site-packages",
  "dist-packages",
  ".tox",
  ".nox",
  ".eggs",
  ".gradle",
  ".m2",
  ".cargo",
  ".npm",
  ".pnpm-store",
] as const;

/** Folders that compilers and bundlers fill from the project. */
const BUILT = ["target", "dist", "build", ".next", ".nuxt", ".svelte-kit"] as const;

/** Folders that checks and other commands leave behind and recreate. */
const CACHES = [
  "__pycache__",
  ".pytest_cache",
  ".mypy_cache",
  ".ruff_cache",
  ".hypothesis",
  ".ipynb_checkpoints",
  ".nyc_output",
  "coverage",
  "htmlcov",
  ".cache",
  ".parcel-cache",
  ".turbo",
] as const;

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
const HONEST: ReadonlySet<string> = new Set([
  "venv",
  "vendor",
  "target",
  "dist",
  "build",
  "coverage",
  ".cargo",
]);

/** Folders that tools fill, under names that are used for nothing else. */
export const CLEAR_TOOL_FOLDERS: readonly string[] = [...INSTALLED, ...BUILT, ...CACHES].filter(
  (name) => !HONEST.has(name),
);

const DEPENDENCIES: ReadonlySet<string> = new Set([...INSTALLED, "target", "__pycache__"]);

/** Whether the contents of a folder of this name are a tool's, even if a name in it matches a protected pattern. */
export function isDependencyFolder(name: string): boolean {
  return DEPENDENCIES.has(name);
}

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
