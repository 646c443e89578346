import { compileGlob } from "./glob.ts";
import { parentOf } from "./paths.ts";

/** `.gitignore`, as git reads it: the rules of one file, for paths below its folder. */
interface IgnoreRule {
  readonly negated: boolean;
  readonly foldersOnly: boolean;
  /** It matches the whole path; without a slash it matches names at any depth. */
  readonly anchored: boolean;
  readonly matches: (subject: string) => boolean;
}

function parseIgnoreRules(text: string): readonly IgnoreRule[] {
  return text
    .replace(/^\uFEFF/, "")
    .split("\n")
    .flatMap((line) => parseRule(line.replace(/\r$/, "")));
}

function parseRule(line: string): IgnoreRule[] {
  if (line.startsWith("#")) return [];
  const trimmed = trimTrailingBlanks(line);
  const negated = trimmed.startsWith("!");
  const written = negated ? trimmed.slice(1) : trimmed;
  const foldersOnly = written.endsWith("/");
  const body = foldersOnly ? written.slice(0, -1) : written;
  if (body === "" || body === "/") return [];
  const anchored = body.includes("/");
  const glob = body.startsWith("/") ? body.slice(1) : body;
  // git compares the letters before the first wildcard by themselves: `a**/b` means what `**/b` means behind an `a`.
  const [, letters = "", rest = ""] = (anchored && /^([^*?[\\]*[^*?[\\/])\*{2,}\/(.*)$/s.exec(glob)) || [];
  const globs = letters === "" ? [glob] : [letters + rest, `${letters}*/**/${rest}`];
  return globs.flatMap((one) => {
    const matches = compileGlob(one);
    return matches === null ? [] : [{ negated, foldersOnly, anchored, matches }];
  });
}

/** The blanks at the end do not count, unless a backslash is before the first of them. */
function trimTrailingBlanks(line: string): string {
  let end = line.length;
  while (line[end - 1] === " ") end--;
  let escapes = 0;
  while (line[end - 1 - escapes] === "\\") escapes++;
  return line.slice(0, end + (escapes % 2));
}

/** Names that no listing and no search enters: git's folder, notes of tasks, and a storage of jobs in the workspace. */
const NEVER_IGNORED = /^(\.git|\.picoclaw(-[0-9a-f]{16})?)$/;

export interface IgnoreMatcher {
  /** Whether listings and searches leave the path out. A path below an ignored folder is ignored. */
  has(path: string, isFolder: boolean): boolean;
}

/** A folder, as far as its entries are concerned. */
interface IgnorePlace {
  readonly ignored: boolean;
  /** The files of rules that speak about the entries, the nearest first: their paths count from there. */
  readonly ruling: readonly { readonly rules: readonly IgnoreRule[]; readonly from: number }[];
}

const NO_PLACE: IgnorePlace = { ignored: false, ruling: [] };

/** The last rule that matches decides; a deeper file speaks after a higher one. */
function isRuledOut(path: string, name: string, isFolder: boolean, ruling: IgnorePlace["ruling"]): boolean {
  for (const { rules, from } of ruling) {
    const below = from === 0 ? path : path.slice(from);
    for (let at = rules.length - 1; at >= 0; at--) {
      const { negated, foldersOnly, anchored, matches } = rules[at] as IgnoreRule;
      if ((isFolder || !foldersOnly) && matches(anchored ? below : name)) return !negated;
    }
  }
  return false;
}

export interface IgnoreMatcherOptions {
  /** The text of a file of rules; null if it does not exist. */
  readonly read: (path: string) => string | null;
  readonly includeIgnored: boolean;
}

/** A folder's `.gitignore` files and `.git/info/exclude`, read once; no others, so a workspace looks the same on every machine. */
export function createIgnoreMatcher(options: IgnoreMatcherOptions): IgnoreMatcher {
  const read = (path: string): readonly IgnoreRule[] => {
    const text = options.read(path);
    return text === null ? [] : parseIgnoreRules(text);
  };
  const rulesOf = (folder: string): readonly IgnoreRule[] =>
    folder === "" ? [...read(".git/info/exclude"), ...read(".gitignore")] : read(`${folder}/.gitignore`);
  const places = new Map<string, IgnorePlace>();
  /** Everything about the entries of a folder that does not depend on their names, asked once a folder. */
  const placeOf = (folder: string): IgnorePlace => {
    const known = places.get(folder);
    if (known !== undefined) return known;
    const above = folder === "" ? NO_PLACE : placeOf(parentOf(folder));
    const ignored = folder !== "" && isLeftOut(folder, true, above);
    const own = ignored || options.includeIgnored ? [] : rulesOf(folder);
    const place = {
      ignored,
      ruling:
        own.length === 0
          ? above.ruling
          : [{ rules: own, from: folder === "" ? 0 : folder.length + 1 }, ...above.ruling],
    };
    places.set(folder, place);
    return place;
  };
  const isLeftOut = (path: string, isFolder: boolean, { ignored, ruling }: IgnorePlace): boolean => {
    const name = lastPathName(path);
    if (ignored || (name.startsWith(".") && NEVER_IGNORED.test(name))) return true;
    return !options.includeIgnored && isRuledOut(path, name, isFolder, ruling);
  };
  // Listings ask folder by folder.
  let last: { readonly folder: string; readonly place: IgnorePlace } | null = null;
  const has = (path: string, isFolder: boolean): boolean => {
    if (path === "") return false;
    const folder = parentOf(path);
    if (last?.folder !== folder) last = { folder, place: placeOf(folder) };
    return isLeftOut(path, isFolder, last.place);
  };
  return { has };
}

export function lastPathName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
