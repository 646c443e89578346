/**
 * git's wildmatch without backtracking: a pattern is cut at its slashes into segments, a segment into runs between its
 * stars. Each star and each `**` takes the first place at which the run after it fits, and never returns to an earlier
 * one, so the work is at most the length of the path times the length of the run that is sought.
 */

/** About one character of a name, which is never `/`. */
type CharTest = (char: string) => boolean;
/** The runs between the stars of a segment, in order; a single run means that the segment has no star. */
type Segment = readonly (readonly CharTest[])[];
const ANY_NAME: Segment = [[], []];

export interface GlobOptions {
  readonly ignoreCase?: boolean;
}

/** Whether a path matches the whole glob; null for a pattern that git matches with nothing. */
export function compileGlob(
  glob: string,
  { ignoreCase = false }: GlobOptions = {},
): ((path: string) => boolean) | null {
  const fold = (text: string) => (ignoreCase ? text.toLowerCase() : text);
  if (!/[*?[\\]/.test(glob)) return (path) => fold(path) === fold(glob);
  if (/^\*[^*?[\\/]+$/.test(glob)) {
    const ending = fold(glob.slice(1));
    return (path) => fold(path).endsWith(ending) && !path.includes("/");
  }
  const groups: Segment[][] = [[]];
  for (const part of splitSegments(glob)) {
    if (/^\*{2,}$/.test(part)) groups.push([]);
    else {
      const segment = parseSegment(part, fold);
      if (segment === null) return null;
      groups.at(-1)!.push(segment);
    }
  }
  // At the end it means what is below, never the folder itself.
  if (groups.length > 1 && groups.at(-1)!.length === 0) groups.at(-1)!.push(ANY_NAME);
  return (path) => {
    const names = path.split("/");
    return fitsRuns(groups, names.length, (segment, at) => {
      const chars = [...names[at]!];
      return fitsRuns(segment, chars.length, (test, i) => test(chars[i]!));
    });
  };
}

/** The parts between slashes; a slash within brackets divides nothing. */
function splitSegments(glob: string): string[] {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < glob.length; at++) {
    const escapes = glob[at] === "\\" ? 1 : 0;
    if (glob[at + escapes] === "/") {
      parts.push(glob.slice(from, at));
      at += escapes;
      from = at + 1;
    } else if (glob[at] === "[") at = Math.max(at, bracketEnd(glob, at) - 1);
    else at += escapes;
  }
  return [...parts, glob.slice(from)];
}

/** Just past the bracket that closes a set; 0 if none does. */
function bracketEnd(glob: string, open: number): number {
  const first = open + (/[!^]/.test(glob.charAt(open + 1)) ? 2 : 1);
  for (let at = first; at < glob.length; at++) {
    if (glob[at] === "\\") at++;
    else if (glob.startsWith("[:", at) && namedEnd(glob, at) > 0) at = namedEnd(glob, at);
    else if (glob[at] === "]" && at > first) return at + 1;
  }
  return 0;
}

/** The bracket that closes `[:name:]`; 0 where it is not one. */
function namedEnd(text: string, open: number): number {
  const end = text.indexOf("]", open + 2);
  return end > open + 2 && text[end - 1] === ":" ? end : 0;
}

function parseSegment(part: string, fold: (text: string) => string): Segment | null {
  const runs: CharTest[][] = [[]];
  const isChar =
    (char: string): CharTest =>
    (other) =>
      fold(other) === fold(char);
  for (let at = 0; at < part.length; ) {
    const char = String.fromCodePoint(part.codePointAt(at)!);
    const run = runs.at(-1)!;
    at += char.length;
    if (char === "*") {
      if (run.length > 0 || runs.length === 1) runs.push([]);
    } else if (char === "?") run.push(() => true);
    else if (char === "[") {
      const end = bracketEnd(part, at - 1);
      const holds = end === 0 ? null : parseSet(part.slice(at, end - 1), fold("A") === "a");
      if (holds === null) return null;
      run.push(holds);
      at = end;
    } else if (char === "\\") {
      if (at >= part.length) return null;
      const escaped = String.fromCodePoint(part.codePointAt(at)!);
      run.push(isChar(escaped));
      at += escaped.length;
    } else run.push(isChar(char));
  }
  return runs;
}

const NAMED_SETS: Readonly<Record<string, RegExp>> = {
  alnum: /[A-Za-z0-9]/,
  alpha: /[A-Za-z]/,
  blank: /[ \t]/,
  cntrl: /[\0-\x1f\x7f]/,
  digit: /[0-9]/,
  graph: /[!-~]/,
  lower: /[a-z]/,
  print: /[ -~]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /\s/,
  upper: /[A-Z]/,
  xdigit: /[0-9A-Fa-f]/,
};

/** Between brackets: characters, ranges, escapes and `[:names:]`; null for a name that git does not know. */
function parseSet(body: string, ignoreCase: boolean): CharTest | null {
  const isNegated = /^[!^]/.test(body);
  const text = body.slice(isNegated ? 1 : 0);
  const tests: CharTest[] = [];
  const ranges: [low: number, high: number][] = [];
  let before = -1;
  for (let at = 0; at < text.length; ) {
    const end = text.startsWith("[:", at) ? namedEnd(text, at) : 0;
    if (end > 0) {
      const named = NAMED_SETS[text.slice(at + 2, end - 1)];
      if (named === undefined) return null;
      tests.push((char) => named.test(char));
      [at, before] = [end + 1, -1];
      continue;
    }
    const isRange = text[at] === "-" && before >= 0 && at + 1 < text.length;
    if (isRange) at++;
    if (text[at] === "\\") at++;
    const code = text.codePointAt(at) ?? -1;
    ranges.push([isRange ? before : code, code]);
    before = isRange ? -1 : code;
    at += code > 0xffff ? 2 : 1;
  }
  tests.push((char) =>
    ranges.some(([low, high]) => low <= char.codePointAt(0)! && char.codePointAt(0)! <= high),
  );
  const holds = (char: string) => tests.some((test) => test(char));
  const holdsAnyCase = (char: string) => [char, char.toLowerCase(), char.toUpperCase()].some(holds);
  return (char) => (ignoreCase ? holdsAnyCase(char) : holds(char)) !== isNegated;
}

/** By the rule of both levels: the first run at the start, the last one at the end, each other at its first place. */
function fitsRuns<T>(runs: readonly (readonly T[])[], count: number, fits: (item: T, at: number) => boolean) {
  const isAt = (run: readonly T[], at: number) => run.every((item, i) => fits(item, at + i));
  const [first, last] = [runs[0]!, runs.at(-1)!];
  if (runs.length === 1) return first.length === count && isAt(first, 0);
  const end = count - last.length;
  let at = first.length;
  if (at > end || !isAt(first, 0) || !isAt(last, end)) return false;
  for (const run of runs.slice(1, -1)) {
    while (at + run.length <= end && !isAt(run, at)) at++;
    if (at + run.length > end) return false;
    at += run.length;
  }
  return true;
}
