import { isWorkflowPath } from "./protected-paths.ts";

/** Folders that tools fill, under names that nobody gives to anything else. */
export const TOOL_FOLDERS = [
  "node_modules",
  "bower_components",
  ".venv",
  "__pycache__",
  ".pytest_cache",
  ".mypy_cache",
  ".ruff_cache",
  ".hypothesis",
  ".ipynb_checkpoints",
  ".tox",
  ".nox",
  ".eggs",
  "site-packages",
  ".gradle",
  ".m2",
  ".npm",
  ".pnpm-store",
  ".cache",
  ".parcel-cache",
  ".turbo",
  ".nyc_output",
  ".next",
  ".nuxt",
  ".svelte-kit",
] as const;

/** Folders of honest names, which are a tool's where its manifest stands beside them. */
const BESIDE_MANIFEST: Readonly<Record<string, readonly string[]>> = {
  target: ["Cargo.toml", "pom.xml"],
  vendor: ["composer.json", "go.mod", "Gemfile"],
  build: ["build.gradle", "build.gradle.kts"],
};

const CLEAR: ReadonlySet<string> = new Set(TOOL_FOLDERS);
const TOOL_FILE = /(?:^|\/)(?:[^/]+\.py[co]|\.coverage|\.DS_Store|\.eslintcache|npm-debug\.log)$/;

export interface ChangedPaths {
  readonly changed: readonly string[];
  /** Every path of the commit that the change stands on. */
  readonly base: readonly string[];
  /** Whether a task may change what the forge's machines run. */
  readonly allowCi: boolean;
}

export interface LeftOutPath {
  readonly path: string;
  readonly why: "ci" | "tool";
}

/** What of a change is not published: files of the forge's CI, and what tools left behind, unless the project tracks it. */
export function findLeftOut({ changed, base, allowCi }: ChangedPaths): readonly LeftOutPath[] {
  const known = new Set(base);
  const folders = new Set(base.flatMap(foldersOf));
  const present = new Set([...base, ...changed]);
  const environments = new Set(
    changed.flatMap((path) => (path.endsWith("/pyvenv.cfg") ? [path.slice(0, -"/pyvenv.cfg".length)] : [])),
  );
  const isTools = (path: string): boolean => {
    if (known.has(path)) return false;
    const folder = foldersOf(path).find((each) => environments.has(each) || isToolFolder(each, present));
    return folder === undefined ? TOOL_FILE.test(path) : !folders.has(folder);
  };
  return changed.flatMap((path): LeftOutPath[] => {
    if (!allowCi && isWorkflowPath(path)) return [{ path, why: "ci" }];
    return isTools(path) ? [{ path, why: "tool" }] : [];
  });
}

function isToolFolder(folder: string, present: ReadonlySet<string>): boolean {
  const at = folder.lastIndexOf("/") + 1;
  const name = folder.slice(at);
  if (CLEAR.has(name) || name.endsWith(".egg-info")) return true;
  return (BESIDE_MANIFEST[name] ?? []).some((manifest) => present.has(folder.slice(0, at) + manifest));
}

/** `a/b/c` lies in `a` and `a/b`. */
function foldersOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, i) => parts.slice(0, i + 1).join("/"));
}
