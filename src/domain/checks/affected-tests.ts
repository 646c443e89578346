import { importDistances } from "../platform/code-imports.ts";
import { parentOf } from "../platform/paths.ts";
import { wordsOfName } from "../platform/request-terms.ts";
import names from "./names.json" with { type: "json" };
import { type ChangedText, isCodePath, isTestPath } from "./path-kinds.ts";

export interface AffectedInput {
  /** The code files of the project with the change, tests among them. */
  readonly texts: ReadonlyMap<string, string>;
  readonly changed: readonly ChangedText[];
}

export interface AffectedTests {
  /** Tests that the change touches, then the first fifth by rank. */
  readonly files: readonly string[];
  /** The first of them: those that the change touches, or whose data it touches. */
  readonly touched: readonly string[];
  /** Those, and the best of those that lie beside a changed source. */
  readonly near: readonly string[];
  /** All with any sign of a connection: the near ones, then the best first. */
  readonly ranked: readonly string[];
  /** Test files that read data which the change touches, each with these files. */
  readonly readers: ReadonlyMap<string, readonly string[]>;
  /** All test files. */
  readonly of: number;
}

const FIXTURES = /(?:^|\/)(?:fixtures?|__fixtures__|testdata|snapshots?|__snapshots__|node_modules)\//i;
const HOLDS_TESTS =
  /\b(?:test|it|describe|suite|tape|context)\s*(?:\.\w+)*\s*[(`]|\bdef test|\bclass \w*Tests?\b|\bfunc (?:Test|Fuzz|Example)|#\[(?:\w+::)?test|@Test\b/;

/** Whether a file contains tests, and is not a fixture of other tests. */
export function isTestFile(path: string, text: string): boolean {
  return isCodePath(path) && isTestPath(path) && !FIXTURES.test(path) && HOLDS_TESTS.test(text);
}

const BEGINS_TEST =
  /^\s*(?:(?:async )?def (test\w*)|(?:test|it|describe|suite)(?:\.\w+)?\s*\(\s*["'`](.+?)["'`]|func ((?:Test|Fuzz|Example)\w*))/;

/** The title of the test, or of the group of tests, that a line begins. */
export function beginsTest(line: string): string | undefined {
  const [, ...names] = BEGINS_TEST.exec(line) ?? [];
  return names.find((one) => one !== undefined);
}

/** The lines of the tests with one of these titles, each up to the next test. */
export function findTestLines(text: string, titles: readonly string[]): string {
  let isOwn = false;
  return text
    .split("\n")
    .filter((line) => {
      const begins = BEGINS_TEST.exec(line) ?? /^\s*(?:pub )?fn (\w+)/.exec(line);
      if (begins !== null) isOwn = begins.slice(1).some((name) => titles.includes(name));
      return isOwn;
    })
    .join("\n");
}

/** A decorator or an attribute of the test that follows. */
const MARKS_TEST = /^\s*(?:@|#\[)/;

/** How many brackets a line leaves open. */
function openedBy(line: string): number {
  const bare = line.replace(/(["'`])(?:\\.|(?!\1).)*\1/g, "");
  return (bare.match(/[([{]/g)?.length ?? 0) - (bare.match(/[)\]}]/g)?.length ?? 0);
}

/** Whether all old lines remain in order and each new block begins with a test of a new name: old tests then demand the same. */
export function onlyAddsTests(
  differences: readonly { readonly before: string; readonly after: string }[],
): boolean {
  return differences.every(({ before, after }) => {
    const [old = [], now = []] = [before, after].map((text) =>
      text.split("\n").filter((line) => line.trim() !== ""),
    );
    let at = 0;
    let place: "old" | "decorated" | "new" = "old";
    let opened = 0;
    for (const line of now) {
      if (line === old[at] && place !== "decorated") {
        at++;
        place = "old";
        // A fixture may change the old tests, and so may code after a new test or a second test of an old name.
      } else if (/^\s*@.*fixture/.test(line)) return false;
      else if (place !== "new" || /^\w/.test(line) || BEGINS_TEST.test(line)) {
        const name = beginsTest(line);
        const isMark = MARKS_TEST.test(line) || (place === "decorated" && opened > 0);
        opened = openedBy(line) + (place === "decorated" ? opened : 0);
        if (name === undefined ? !isMark : before.includes(name)) return false;
        place = name === undefined ? "decorated" : "new";
      }
    }
    return at === old.length && place !== "decorated";
  });
}

/** The share of ranked tests that counts as affected; in 94 of 100 fixes it includes the touched test. */
const SHARE = 0.2;
const AT_LEAST = 3;
/** So many of the tests beside a source are run with those that the change touches. */
const MOST_BESIDE = 5;

const WORTH = {
  sameName: 6,
  near: [3, 1.5, 0.5],
  identifier: 1.2,
  functionInName: 2.5,
  beside: 2,
} as const;

/** Which test files a change concerns, by names, imports and the identifiers of the changed lines. */
export function findAffectedTests({ texts, changed }: AffectedInput): AffectedTests {
  const readers = findReaders(texts, changed);
  const isTest = (path: string) => readers.has(path) || isTestFile(path, texts.get(path) ?? "");
  const named = [...texts.keys()].filter(isTest);
  // A module `tests.py` that the sources import is one of them: it may define what users test for.
  const isLoaded = (path: string) =>
    [...importDistances(texts, [path]).keys()].some((one) => !isTestPath(one));
  const tests = named.filter((path) => !/(?:^|\/)tests?\.py$/.test(path) || !isLoaded(path));
  const written = changed.filter(({ path, after }) => after !== null && tests.includes(path));
  const touched = [...new Set([...written.map(({ path }) => path), ...readers.keys()])];
  const sources = changed.filter(({ path }) => isCodePath(path) && !isTestPath(path));
  const ranked = rankTests(texts, tests, sources).filter((path) => !touched.includes(path));
  const most = sources.length === 0 ? 0 : Math.max(AT_LEAST, Math.ceil(tests.length * SHARE));
  const isBeside = (path: string) => sources.some((source) => liesBeside(path, source.path));
  // Cases in files of data are few beside all tests of the files that read such data.
  const lie = readers.size > 0 ? [] : ranked.filter(isBeside);
  const near = [...touched, ...lie.slice(0, MOST_BESIDE)];
  return {
    files: [...touched, ...ranked.slice(0, most)],
    touched,
    near,
    ranked: [...new Set([...near, ...ranked])],
    readers,
    of: tests.length,
  };
}

const LITERAL = /(["'`])([^"'`\n]{3,100})\1/g;

/** Test files that name a changed file of test data, in full or by a pattern that has its beginning or its end. */
function findReaders(
  texts: ReadonlyMap<string, string>,
  changed: readonly ChangedText[],
): ReadonlyMap<string, readonly string[]> {
  const data = changed.flatMap(({ path }) => (isTestPath(path) && !isCodePath(path) ? [path] : []));
  const readIn = (text: string) => {
    const literals = [...text.matchAll(LITERAL)].map(([, , literal = ""]) => literal);
    return data.filter((file) => literals.some((literal) => namesFile(literal, file)));
  };
  const tests = data.length === 0 ? [] : [...texts].filter(([path]) => isTestPath(path));
  const read = tests.map(([path, text]) => [path, readIn(text)] as const);
  return new Map(read.filter(([, files]) => files.length > 0));
}

function namesFile(literal: string, path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const [, pattern = ""] = /([^/]+)$/.exec(literal) ?? [];
  if (!pattern.includes("*")) return pattern === name;
  const parts = pattern.split("*");
  const [head = "", tail = ""] = [parts[0], parts.at(-1)];
  // `*` alone, and an ending such as `*.py`, are read by nearly every test.
  return parts.length === 2 && head.length > 1 && name.startsWith(head) && name.endsWith(tail);
}

/** Best first; tests without any sign of a connection are left out. */
function rankTests(
  texts: ReadonlyMap<string, string>,
  tests: readonly string[],
  sources: readonly ChangedText[],
): string[] {
  if (sources.length === 0) return [];
  const changed = sources.map(({ path }) => path);
  const distance = importDistances(texts, changed);
  const words = new Map(tests.map((path) => [path, new Set(identifiersIn(texts.get(path) ?? ""))]));
  const worth = identifierWorth(sources, words);
  const functions = new Set(
    sources.flatMap((one) => [...changedIdentifiers(one).functions].flatMap(wordsOfName)),
  );
  const score = (path: string): number => {
    const parts = testParts(path);
    const near = distance.get(path);
    const held = words.get(path) ?? new Set<string>();
    return [
      sources.some((source) => isSameName(source.path, parts)) ? WORTH.sameName : 0,
      near === undefined ? 0 : (WORTH.near[Math.min(near, WORTH.near.length) - 1] ?? WORTH.sameName),
      [...worth].reduce((sum, [word, one]) => (held.has(word) ? sum + one : sum), 0),
      parts.some((part) => functions.has(part)) ? WORTH.functionInName : 0,
      sources.some((source) => liesBeside(path, source.path)) ? WORTH.beside : 0,
    ].reduce((sum, one) => sum + one, 0);
  };
  return tests
    .map((path) => ({ path, score: score(path) }))
    .filter((one) => one.score > 0)
    .sort((a, b) => b.score - a.score || (a.path < b.path ? -1 : 1))
    .map(({ path }) => path);
}

/** Folders that hold tests, or sources apart from tests. */
const OF_KIND = /(?:^|\/)(?:src|lib|main|java|tests?|specs?|__tests__|unit)(?=\/|$)/g;

/** Whether a test lies in the folder of a source, in one for tests there, or in the same folder among the tests. */
function liesBeside(test: string, source: string): boolean {
  const [own, other] = [test, source].map((path) => parentOf(path).replace(OF_KIND, ""));
  return own === other && own !== "";
}

const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1).replace(/\.\w+$/, "");

const OF_TESTS = new Set(["test", "tests", "spec", "specs", "unit", "e2e"]);

function testParts(path: string): string[] {
  return wordsOfName(nameOf(path)).filter((part) => !OF_TESTS.has(part));
}

/** A file with one of these common names is identified by its folder. */
const COMMON_NAMES = /^(?:index|main|mod|lib|__init__|core|utils?)$/;

/** `copy.js` and `copy-sync-file.test.js`. */
function isSameName(source: string, test: readonly string[]): boolean {
  const name = nameOf(source);
  const parts = wordsOfName(COMMON_NAMES.test(name) ? nameOf(parentOf(source)) : name);
  return parts.length > 0 && parts.every((part) => test.includes(part));
}

/** Whether a test file bears the name of a source. */
export function sharesName(source: string, test: string): boolean {
  return isSameName(source, testParts(test));
}

const IDENTIFIER = /[A-Za-z_$][\w$]{2,}/g;
const KEYWORDS: ReadonlySet<string> = new Set(names.keywords);

function identifiersIn(text: string): string[] {
  return text.match(IDENTIFIER) ?? [];
}

/** The last such line above a changed line names the definition that contains it. */
const DEFINES =
  /^\s*(?:export\s+)?(?:default\s+)?(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?(?:function\*?|def|class|func(?:\s*\([^)]*\))?|fn|const|let|var)\s+([A-Za-z_$][\w$]*)|^\s+(?:static\s+|async\s+|public\s+|private\s+)*([A-Za-z_$][\w$]*)\s*\([^)]*\)\s*(?::[^{]+)?\{/;

/** The most identifiers of one change that tests are searched for. */
const MOST_WORDS = 60;

/** `functions`: names of the definitions that contain the changed lines. */
function changedIdentifiers({ before, after }: ChangedText) {
  const words = new Set<string>();
  const functions = new Set<string>();
  for (const [text, other] of [
    [after ?? "", before ?? ""],
    [before ?? "", after ?? ""],
  ] as const) {
    const known = new Set(other.split("\n"));
    let inside: string | undefined;
    for (const line of text.split("\n")) {
      const defined = DEFINES.exec(line);
      const name = defined?.[1] ?? defined?.[2];
      if (name !== undefined && !KEYWORDS.has(name)) inside = name;
      if (known.has(line)) continue;
      if (inside !== undefined && inside.length > 2) functions.add(inside);
      for (const word of identifiersIn(line))
        if (!KEYWORDS.has(word) && words.size < MOST_WORDS) words.add(word);
    }
  }
  return { words, functions };
}

/** The weight of an identifier that few tests mention; the function around a changed line counts double. */
function identifierWorth(
  sources: readonly ChangedText[],
  tests: ReadonlyMap<string, ReadonlySet<string>>,
): Map<string, number> {
  const worth = new Map<string, number>();
  for (const source of sources) {
    const { words, functions } = changedIdentifiers(source);
    for (const word of new Set([...words, ...functions])) {
      const holding = [...tests.values()].filter((held) => held.has(word)).length;
      if (holding === 0) continue;
      const one = WORTH.identifier * Math.log(tests.size / holding) * (functions.has(word) ? 2 : 1);
      worth.set(word, Math.max(one, worth.get(word) ?? 0));
    }
  }
  return worth;
}
