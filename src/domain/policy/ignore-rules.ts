/** `.gitignore`, as git reads it: the rules of one file, for paths below its folder. */
export interface IgnoreRule {
  readonly negated: boolean;
  readonly foldersOnly: boolean;
  readonly matches: (path: string) => boolean;
}

export function parseIgnoreRules(text: string): readonly IgnoreRule[] {
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
  const test = matcherOf(body.startsWith("/") ? body.slice(1) : body);
  if (test === null) return [];
  // Without a slash it is about names, wherever they stand.
  const subject = (path: string) => (anchored ? path : path.slice(path.lastIndexOf("/") + 1));
  return [{ negated, foldersOnly, matches: (path) => test(subject(path)) }];
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
  return isRegExp(source) ? source : null;
}

function escapeRegExpChar(char: string): string {
  return /[\\^$.*+?()[\]{}|/]/.test(char) ? `\\${char}` : char;
}

function isRegExp(source: string): boolean {
  try {
    new RegExp(source, "su");
    return true;
  } catch {
    return false;
  }
}
