import { type IgnoreRule, parseIgnoreRules } from "./ignore-rules.ts";

/** Names that no listing and no search enters: git's folder, notes of tasks, and a storage of jobs in the workspace. */
const NEVER_IGNORED = /^(\.git|\.picoclaw(-[0-9a-f]{16})?)$/;

export interface IgnoreMatcher {
  /** Whether listings and searches leave the path out. A path below an ignored folder is ignored. */
  has(path: string, isFolder: boolean): boolean;
}

export interface IgnoreMatcherOptions {
  /** The text of a file of rules; null where there is none. */
  readonly read: (path: string) => string | null;
  readonly includeIgnored: boolean;
}

/**
 * The `.gitignore` files of a folder and its `.git/info/exclude`, read once each. The user's global file and those above
 * the folder do not count, so that a workspace looks the same on every machine.
 */
export function createIgnoreMatcher(options: IgnoreMatcherOptions): IgnoreMatcher {
  const rules = new Map<string, readonly IgnoreRule[]>();
  const folders = new Map<string, boolean>();

  const read = (path: string): readonly IgnoreRule[] => {
    const text = options.read(path);
    return text === null ? [] : parseIgnoreRules(text);
  };
  const rulesOf = (folder: string): readonly IgnoreRule[] => {
    const known = rules.get(folder);
    if (known !== undefined) return known;
    const found =
      folder === "" ? [...read(".git/info/exclude"), ...read(".gitignore")] : read(`${folder}/.gitignore`);
    rules.set(folder, found);
    return found;
  };
  const ruledBelow = new Map<string, boolean>();
  /** Whether any rule speaks of what lies in a folder: in most of them only the root's do. */
  const isRuled = (folder: string): boolean => {
    const known = ruledBelow.get(folder);
    if (known !== undefined) return known;
    const answer = rulesOf(folder).length > 0 || (folder !== "" && isRuled(parentOf(folder)));
    ruledBelow.set(folder, answer);
    return answer;
  };
  /** The last rule that matches decides; a deeper file speaks after a higher one. */
  const ruled = (path: string, isFolder: boolean): boolean => {
    if (!isRuled(parentOf(path))) return false;
    const parts = path.split("/");
    for (let depth = parts.length - 1; depth >= 0; depth--) {
      const rules = rulesOf(parts.slice(0, depth).join("/"));
      if (rules.length === 0) continue;
      const below = parts.slice(depth).join("/");
      const rule = rules.findLast(({ foldersOnly, matches }) => (isFolder || !foldersOnly) && matches(below));
      if (rule !== undefined) return !rule.negated;
    }
    return false;
  };
  const folderIgnored = (path: string): boolean => {
    const known = folders.get(path);
    if (known !== undefined) return known;
    const answer = has(path, true);
    folders.set(path, answer);
    return answer;
  };
  const has = (path: string, isFolder: boolean): boolean => {
    if (path === "") return false;
    const slash = path.lastIndexOf("/");
    if (NEVER_IGNORED.test(path.slice(slash + 1))) return true;
    if (slash > 0 && folderIgnored(path.slice(0, slash))) return true;
    return !options.includeIgnored && ruled(path, isFolder);
  };
  return { has };
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
