import { CLEAR_TOOL_FOLDERS } from "../policy/protection.ts";

/** Files that decide what runs on the forge's machines, near its secrets. A link may take the place of their folder. */
const WORKFLOWS = [
  /^\.(?:github|gitea|forgejo)(?:\/(?:workflows|actions)(?:\/|$)|$)/i,
  /^\.gitlab-ci(?:\/|$)/i,
  /(?:^|\/)[^/]*\.gitlab-ci\.ya?ml$/i,
  /(?:^|\/)action\.ya?ml$/i,
  /^\.gitlab(?:\/ci(?:\/|$)|$)/i,
  /^\.(?:circleci|buildkite|semaphore|teamcity|tekton|harness|builds|zuul\.d|azure-pipelines|azuredevops|buddy)(?:\/|$)/i,
  /^\.woodpecker(?:\/|\.ya?ml$|$)/i,
  /^\.drone\.(?:ya?ml|star|jsonnet)$/i,
  /^\.cirrus\.(?:ya?ml|star)$/i,
  /^\.?(?:travis|appveyor|build|zuul|vela|buddy|codeship-steps|semaphore)\.ya?ml$/i,
  /^(?:azure-pipelines|bitbucket-pipelines|circle|wercker|codefresh|bitrise|codemagic|screwdriver|cloudbuild|buildspec)\.ya?ml$/i,
  /(?:^|\/)Jenkinsfile(?:\.[^/]*)?$/i,
];

/** Whether a path belongs to a forge's CI. Paths are those of the repository, `/`-separated. */
export function isWorkflowPath(path: string): boolean {
  return WORKFLOWS.some((pattern) => pattern.test(path));
}

/** Folders with ordinary names that belong to a tool if its manifest is beside them. */
const BESIDE_MANIFEST = new Map([
  ["target", ["Cargo.toml", "pom.xml"]],
  ["vendor", ["composer.json", "go.mod", "Gemfile"]],
  ["build", ["build.gradle", "build.gradle.kts"]],
]);

const CLEAR: ReadonlySet<string> = new Set(CLEAR_TOOL_FOLDERS);
const TOOL_FILE = /(?:^|\/)(?:[^/]+\.py[co]|\.coverage|\.DS_Store|\.eslintcache|npm-debug\.log)$/;

export interface ChangedPaths {
  readonly changed: readonly string[];
  /** Every path of the commit that the change is based on. */
  readonly base: readonly string[];
  /** Changed paths that are links out of the tree: on the forge's machines they would lead to files of its own. */
  readonly linksOut: readonly string[];
  /** Whether a task may change what the forge's machines run. */
  readonly allowCi: boolean;
}

export interface LeftOutPath {
  readonly path: string;
  readonly why: "ci" | "tool";
}

/** Whether a link at this path leads out of the tree, by what it names. */
export function isLinkOut(path: string, target: string): boolean {
  if (target.startsWith("/") || /^[A-Za-z]:/.test(target)) return true;
  let depth = path.split("/").length - 1;
  for (const part of target.split(/[\\/]/)) {
    if (part === "..") depth -= 1;
    else if (part !== "" && part !== ".") depth += 1;
    if (depth < 0) return true;
  }
  return false;
}

/** Paths that are not published: the forge's CI, links out of the tree, and untracked files that tools left behind. */
export function findLeftOut({ changed, base, linksOut, allowCi }: ChangedPaths): readonly LeftOutPath[] {
  const known = new Set(base);
  const leading = new Set(linksOut);
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
    if (!allowCi && (isWorkflowPath(path) || leading.has(path))) return [{ path, why: "ci" }];
    return isTools(path) ? [{ path, why: "tool" }] : [];
  });
}

function isToolFolder(folder: string, present: ReadonlySet<string>): boolean {
  const at = folder.lastIndexOf("/") + 1;
  const name = folder.slice(at);
  if (CLEAR.has(name) || name.endsWith(".egg-info")) return true;
  return (BESIDE_MANIFEST.get(name) ?? []).some((manifest) => present.has(folder.slice(0, at) + manifest));
}

/** `a/b/c` is in `a` and `a/b`. */
function foldersOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, i) => parts.slice(0, i + 1).join("/"));
}

const EDIT_TOOLS: ReadonlySet<unknown> = new Set(["create", "str_replace", "insert", undefined]);
const PROJECT_PREFIX = /^(?:\/workspace\/project\/|\.\/)+/;

/** Why an edit of this path is refused at once: a text for the model. Null where it is not. */
export function refusedEdit(tool: string, args: unknown): string | null {
  if (tool !== "text_editor") return null;
  const { command, path } = (args ?? {}) as { command?: unknown; path?: unknown };
  if (typeof path !== "string" || !EDIT_TOOLS.has(command)) return null;
  const plain = plainPath(path);
  if (!isWorkflowPath(plain)) return null;
  return `refused: ${plain} decides what runs on the forge's own machines, and a task may not change it. Do the rest of the task without it, and say in your summary what a person has to change there. (The operator can allow it with tasks.allow_ci_files.)`;
}

function plainPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.replace(PROJECT_PREFIX, "").split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts.join("/");
}

const SLUG_CHARS = 40;

/** `picoclaw/7-fix-the-login`: letters that every forge, file system and shell takes. `attempt` counts names that were taken. */
export function branchName(number: number, title: string, attempt = 1): string {
  const slug = title
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, SLUG_CHARS)
    .replace(/^-+|-+$/g, "");
  return [`picoclaw/${number}`, ...(slug === "" ? [] : [slug]), ...(attempt > 1 ? [attempt] : [])].join("-");
}
