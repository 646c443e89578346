/**
 * Finds the tests that a change only renames, together with the code that they test: it takes the changed files and the project's
 * code, and gives a predicate over names of tests. The facts alone decide: with the new names in the place of the old ones, a test's
 * old file is its new one. A name counts as new only if the change defines it itself, in a line that is the old one but for names.
 * Invariant: a changed value, assertion or helper of a test is never a new name.
 */
import { compareLines } from "../patch/compare-lines.ts";
import { beginsTest, isTestFile, onlyAddsTests } from "./affected-tests.ts";
import { titleOf } from "./connected.ts";
import { type ChangedText, isCodePath, isTestPath } from "./path-kinds.ts";

/** A word, a quoted text, or one other character. */
const TOKEN = /(["'`])(?:\\.|(?!\1).)*\1|\w+|[^\w\s]|\s+/g;
/** A quoted path or dotted name, as in an import. */
const QUOTED_NAME = /^["'`][\w@~/.-]*[/.][\w@~/.-]*["'`]$/;
/** A name that a file of tests defines for itself. */
const DEFINED = /\b(?:class|def|func|fn|function|const|let|var|type|struct|enum|interface)\s+(\w+)/g;
/** A member, an assignment or a method, whose name begins the line. */
const MEMBER =
  /^(?:(?:export|pub|async|static|public|private|protected)\s+|(?:module\.)?exports\.)*([A-Za-z_]\w*)\s*(?:=(?!=)|:|\()|^func\s*\([^)]*\)\s*(\w+)/;

type Names = ReadonlyMap<string, string>;

const wordsIn = (text: string): readonly string[] => text.match(/\w+/g) ?? [];
const tokensIn = (line: string): readonly string[] => line.match(TOKEN) ?? [];
const definedIn = (text: string) => new Set([...text.matchAll(DEFINED)].map(([, name = ""]) => name));

function defines(line: string, word: string): boolean {
  const [, name, method] = MEMBER.exec(line) ?? [];
  return name === word || method === word || definedIn(line).has(word);
}

const stemOf = (path: string) => path.replace(/^.*\/|\.\w+$/g, "");

/** A line with the new names in the place of the old ones, which in quotes are replaced in paths and dotted names alone. */
function renameIn(line: string, names: Names): string {
  const word = (one: string) => names.get(one) ?? one;
  return tokensIn(line)
    .map((token) =>
      QUOTED_NAME.test(token) ? token.replace(/\w+/g, word) : /^\w/.test(token) ? word(token) : token,
    )
    .join("");
}

/** A file of tests before and after, with its words and its titles that have others now. */
interface Pair {
  readonly old: string;
  readonly now: string;
  readonly words: readonly (readonly [string, string])[];
  /** By the old line. */
  readonly titles: ReadonlyMap<string, readonly [string, string]>;
}

/** Null where a line has more than other names. */
function pairFiles(old: string, now: string): Pair | null {
  const [before, after] = [old.split("\n"), now.split("\n")];
  const words = new Map<string, readonly [string, string]>();
  const titles = new Map<string, readonly [string, string]>();
  for (const change of compareLines(before, after)) {
    const [left, come] = [before.slice(...change.old), after.slice(...change.now)];
    // Beside renamed lines, a change may only add.
    if (left.length > come.length) return null;
    for (const [at, line] of left.entries()) {
      const next = come[at] ?? "";
      const [title, other] = [beginsTest(line), beginsTest(next)];
      const isTitled = title !== undefined && other !== undefined;
      if (isTitled && title !== other) titles.set(line, [title, other]);
      const [a, b] = [tokensIn(isTitled ? line.replace(title, other) : line), tokensIn(next)];
      if (a.length !== b.length) return null;
      for (const [place, token] of a.entries()) {
        const [was, is] = [wordsIn(token), wordsIn(b[place] ?? "")];
        if (was.length !== is.length) return null;
        for (const [n, one] of was.entries())
          if (one !== is[n]) words.set(`${one} ${is[n]}`, [one, is[n] ?? ""]);
      }
    }
  }
  return { old, now, words: [...words.values()], titles };
}

/** The new names of words by this change: each word has one, no two have the same; null otherwise. */
function namesOf(pairs: readonly Pair[]): Names | null {
  const names = new Map<string, string>();
  for (const [word, name] of pairs.flatMap((one) => one.words)) {
    if ((names.get(word) ?? name) !== name) return null;
    names.set(word, name);
  }
  return new Set(names.values()).size === names.size ? names : null;
}

/** Whether the code has each of these names in the place of the old one, or a file of tests defines it for itself. */
function areRenamed(names: Names, diff: readonly ChangedText[], pairs: readonly Pair[]): boolean {
  const code = diff.filter(({ path }) => isCodePath(path) && !isTestPath(path));
  const linesOf = (text: string | null) => (text ?? "").split("\n").map((line) => line.trim());
  const before = code.flatMap((one) => linesOf(one.before));
  const after = new Set(code.flatMap((one) => linesOf(one.after)));
  const known = new Set(before.flatMap(wordsIn));
  const has = (word: string, side: "before" | "after") =>
    code.some((one) => one[side === "before" ? "after" : "before"] === null && stemOf(one.path) === word);
  const isMovedFile = (word: string, name: string) => has(word, "before") && has(name, "after");
  const isOwn = (word: string, name: string) =>
    pairs.some(({ old, now }) => definedIn(old).has(word) && definedIn(now).has(name)) &&
    pairs.every(({ old }) => !wordsIn(old).includes(name));
  const isOfCode = (word: string, name: string) => {
    const naming = before.filter((line) => wordsIn(line).includes(word));
    return (
      !known.has(name) &&
      naming.some((line) => defines(line, word)) &&
      naming.every((line) => after.has(renameIn(line, names)))
    );
  };
  return [...names].every(
    ([word, name]) => isMovedFile(word, name) || isOfCode(word, name) || isOwn(word, name),
  );
}

/** Whether a pair's old file, under the new names, is the new one with new tests at most. */
function isRenamedFile({ old, now, titles }: Pair, names: Names): boolean {
  const lines = old.split("\n").map((line) => {
    const [title, other] = titles.get(line) ?? [];
    const titled = title === undefined || other === undefined ? line : line.replace(title, other);
    return renameIn(titled, names);
  });
  return onlyAddsTests([{ before: lines.join("\n"), after: now }]);
}

/** Which tests the change only renames, by their old or their new names; none where another file of tests changes otherwise. */
export function findRenamedTests(diff: readonly ChangedText[]): (test: string) => boolean {
  const none = () => false;
  const tests = diff.filter(({ path }) => isTestPath(path));
  const gone = tests.filter(({ after }) => after === null);
  const come = tests.filter(({ before }) => before === null);
  const [first, second] = [gone[0]?.before, come[0]?.after];
  // Which of several moved files became which is not asked.
  if (gone.length > 1 || (gone.length === 1 && come.length !== 1)) return none;
  const texted = tests.flatMap(({ before, after }) =>
    before !== null && after !== null ? [[before, after] as const] : [],
  );
  if (first != null && second != null) texted.push([first, second]);
  if (!tests.every(({ path, before, after }) => isTestFile(path, before ?? after ?? ""))) return none;
  const pairs = texted.flatMap(([old, now]) => pairFiles(old, now) ?? []);
  const names = pairs.length === 0 || pairs.length < texted.length ? null : namesOf(pairs);
  if (names === null || !areRenamed(names, diff, pairs)) return none;
  if (!pairs.every((pair) => isRenamedFile(pair, names))) return none;
  const titlesOf = (text: string) => text.split("\n").flatMap((line) => beginsTest(line) ?? []);
  const titles = new Set(pairs.flatMap(({ old }) => titlesOf(old)));
  const renamed = new Set(pairs.flatMap((pair) => [...pair.titles.values()].map(([, title]) => title)));
  return (test) => {
    const title = titleOf(test);
    return titles.has(title) || renamed.has(title);
  };
}
