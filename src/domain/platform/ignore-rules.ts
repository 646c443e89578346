import { succeeds } from "./error-text.ts";
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
  const trimmed = line.replace(/(?<!\\) +$/, "");
  const negated = trimmed.startsWith("!");
  const written = negated ? trimmed.slice(1) : trimmed;
  const foldersOnly = written.endsWith("/");
  const body = foldersOnly ? written.slice(0, -1) : written;
  if (body === "" || body === "/") return [];
  const anchored = body.includes("/");
  const matches = matcherOf(body.startsWith("/") ? body.slice(1) : body);
  return matches === null ? [] : [{ negated, foldersOnly, anchored, matches }];
}

/** Most rules are a name or an ending, and need no regular expression. */
function matcherOf(glob: string): ((subject: string) => boolean) | null {
  if (!/[*?[\\]/.test(glob)) return (subject) => subject === glob;
  if (/^\*[^*?[\\/]+$/.test(glob)) {
    const ending = glob.slice(1);
    return (subject) => subject.endsWith(ending) && !subject.includes("/");
  }
  const source = globSource(glob);
  if (source === null) return null;
  const regExp = new RegExp(`^${source}$`, "su");
  return (subject) => regExp.test(subject);
}

/** git's wildmatch as a regular expression; null for a pattern that matches nothing. */
export function globSource(glob: string): string | null {
  let source = "";
  for (let at = 0; at < glob.length; at++) {
    const char = glob.charAt(at);
    if (char === "*") {
      const stars = /^\*+/.exec(glob.slice(at))?.[0].length ?? 1;
      const whole = stars >= 2 && (at === 0 || glob.charAt(at - 1) === "/");
      const next = glob.charAt(at + stars);
      at += stars - 1;
      if (whole && next === "/") {
        source += "(?:.*/)?";
        at += 1;
      } else source += whole && next === "" ? ".*" : "[^/]*";
    } else if (char === "?") source += "[^/]";
    else if (char === "[") {
      const found = /^\[([!^]?)(\]?(?:\\.|[^\]\\])*)\]/s.exec(glob.slice(at));
      if (found === null) return null;
      at += found[0].length - 1;
      const members = (found[2] ?? "").replace(/\\(.)/gs, "$1").replace(/[\\\]^&~|[(){}/]/g, "\\$&");
      source += `(?!/)[${found[1] === "" ? "" : "^"}${members}]`;
    } else if (char === "\\") {
      at += 1;
      source += escapeRegExpChar(glob.charAt(at));
    } else source += escapeRegExpChar(char);
  }
  return succeeds(() => new RegExp(source, "su")) ? source : null;
}

function escapeRegExpChar(char: string): string {
  return /[\\^$.*+?()[\]{}|/]/.test(char) ? `\\${char}` : char;
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
