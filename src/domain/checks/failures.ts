import {
  bareTestName,
  type CheckFailure,
  failedIn,
  type TestFailure,
  type TestOutcome,
} from "./test-results.ts";

const LONGEST_LINE = 2000;
const MOST_PLACES = 60;
const MOST_FAILURES = 300;
const TAIL_LINES = 20;
const MOST_LINES = 400;

/** Addresses and digests, then numbers with the unit of a time. */
const VARIABLE = /\b0x[0-9a-f]+\b|\b(?=[a-f]*\d)[0-9a-f]{8,}\b|\d+(?:[.,:]\d+)*(?: ?(?:ms|s|µs|ns)\b)?/gi;

/** A text without what may differ from one run to the next: paths, addresses, digits, times. Takes linear time. */
export function blankVariables(text: string): string {
  const words = text.split(/\s+/).map((word) => (/[/\\]/.test(word) ? "<path>" : word));
  return words.join(" ").replace(VARIABLE, "#").trim();
}

/** Marks before and after a test's title in the lines of runners. */
const BEFORE_TITLE =
  /^(?:(?:not )?ok \d+(?: -)? |[✗✘✖×✓✔√●] |--- (?:FAIL|PASS|SKIP): |=== (?:RUN|NAME) +|_{3,} (?:ERROR (?:collecting|at (?:setup|teardown) of) )?|-{4} |\d+\) |(?:FAIL|FAILED|ERROR|PASS|PASSED):? +|\[(?:ERROR|INFO)\] )/;
const AFTER_TITLE =
  /(?:(?: --|(?:\([\w.$]+\))? ) Time elapsed: .*| _{3,}| stdout -{4}| \(?[\d.]+ ?m?s\)?| # .*| \([\w.]+\)|:)$/;
/** The line with the error message; other lines of an account give the place, the source and the duration. */
const MESSAGE =
  /^\s*(?:E {3}|error: |message: |[\w.]*(?:Error|Exception|Failure|AssertionError)\b|thread '|panic: |[\w/.-]+_test\.go:\d+: )/;
/** A missing service or host, which checks cannot reach here: such a failure shows nothing about the code. */
const NO_SERVICE =
  /\b(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|connection refused|network is unreachable|no such host|could not resolve host(?:name)?|name or service not known|temporary failure in name resolution)\b/i;
const BETWEEN = /[\s"'`()[\]<>,;|]+/;

/** The account of each failing test in an output; a test whose lines cannot be separated from another's has none. */
export function readFailures(
  lines: readonly string[],
  tests: ReadonlyMap<string, TestOutcome>,
): TestFailure[] {
  const failing = failedIn(tests);
  if (failing.length === 0) return [];
  const accounts = new Map<string, string[]>();
  for (const { line, test, isTitle } of ownLines(lines, tests)) {
    if (test === null) continue;
    const account = accounts.get(test) ?? [];
    accounts.set(test, account);
    // The text after the name in a runner's summary.
    const said = isTitle ? line.indexOf(" - ") : 0;
    if (isTitle ? said > 0 : account.length < MOST_LINES) account.push(isTitle ? line.slice(said + 3) : line);
  }
  return failing.slice(0, MOST_FAILURES).flatMap((test) => {
    const account = accounts.get(test);
    return account === undefined
      ? []
      : [{ test, message: findMessage(account), places: findPlaces(account) }];
  });
}

interface OwnedLine {
  readonly line: string;
  /** The test whose account the line is part of; null where that is not known. */
  readonly test: string | null;
  readonly isTitle: boolean;
}

/** Each line of an output with its test: a title, and the lines after it. */
function ownLines(lines: readonly string[], tests: ReadonlyMap<string, TestOutcome>): OwnedLine[] {
  const byTitle = Map.groupBy(tests.keys(), titleOfName);
  let open: string | null = null;
  return lines.map((line) => {
    const isShort = line.length <= LONGEST_LINE;
    const named = isShort ? findTest(line, byTitle, tests) : undefined;
    if (named !== undefined) open = named;
    // The end of all accounts, or the account of a test whose name is not clear.
    else if (isShort && /^(?:=+ .+ =+|_{3,} .+ _{3,})$/.test(line)) open = null;
    return { line, test: isShort ? open : null, isTitle: named !== undefined };
  });
}

/** Without the accounts of these tests, which are red for another reason; a line that may belong to something else stays. */
export function foldAccounts(
  output: string,
  tests: ReadonlyMap<string, TestOutcome>,
  others: readonly string[],
): string {
  const folded = new Set(others.filter((name) => tests.has(name)));
  if (folded.size === 0) return output;
  const seen = new Set<string>();
  let title = "";
  let at = -1;
  const kept: string[] = [];
  for (const { line, test, isTitle } of ownLines(output.split("\n"), tests)) {
    // pytest's progress.
    if (folded.has(line.split(" ", 1)[0] as string)) continue;
    if (isTitle) title = line;
    const isBelow = title.startsWith("___") || line.trim() === "" || indentOf(line) > indentOf(title);
    if (test === null || !folded.has(test) || !(isTitle || isBelow)) kept.push(line);
    else {
      if (at === -1) at = kept.length;
      seen.add(test);
    }
  }
  const many = seen.size === 1 ? "1 test" : `${seen.size} tests`;
  if (at !== -1) kept.splice(at, 0, `… the output of ${many} that cannot pass without your change either …`);
  return kept.join("\n");
}

export function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** Tests that failed because a service is missing. */
export function findUnserved(failures: readonly TestFailure[]): string[] {
  return failures.flatMap(({ test, message }) => (NO_SERVICE.test(message) ? [test] : []));
}

export const namesMissingService = (text: string) => NO_SERVICE.test(text);

/** A line about one test, or the number of them, in the output of a runner whose format is not known. */
const TEST_LINE =
  /^[^\w\n]*(?:(?:not )?ok|pass(?:ed|es)?|fail(?:ed|s)?(?! to )|[✓✔√✗✘✖×])(?![\w-])|[\d#] (?:tests? )?(?:pass|fail)(?:ed|ing|ures?)?\b/im;

/** Whether an output has the result of any test, in any format. */
export const showsTests = (text: string) => TEST_LINE.test(text);

/** Whether a run without named tests ended for lack of a service before its first test. */
export function lacksService({ message, tail }: CheckFailure): boolean {
  return namesMissingService(tail) && !showsTests(message);
}

/** The output of a red check without named tests. */
export function readCheckFailure(output: string): CheckFailure {
  const lines = output.split("\n").filter((line) => line.trim() !== "" && line.length <= LONGEST_LINE);
  const blanked = [...new Set(lines.slice(-MOST_LINES).map(blankVariables))];
  return {
    message: blanked.sort().join("\n"),
    places: findPlaces(lines.slice(-MOST_LINES)),
    tail: lines.slice(-TAIL_LINES).join("\n"),
  };
}

/** Whether a red run without named tests printed the failure of an earlier one, or a part of it. */
export function repeatsFailure(now: CheckFailure | undefined, before: CheckFailure | undefined): boolean {
  const known = new Set(before?.message.split("\n"));
  return now !== undefined && now.message !== "" && now.message.split("\n").every((line) => known.has(line));
}

/** Whether one of these places is the file at this path. Tools name files from the root of the project or of the machine. */
export function namesPath(places: readonly string[], path: string): boolean {
  return places.some((place) => place === path || place.endsWith(`/${path}`));
}

function titleOfName(name: string): string {
  return bareTestName(name).replace(/ #\d+$/, "");
}

function findTest(
  line: string,
  byTitle: ReadonlyMap<string, readonly string[]>,
  tests: ReadonlyMap<string, TestOutcome>,
): string | undefined {
  const bare = line.trim().replace(BEFORE_TITLE, "").replace(AFTER_TITLE, "").trim();
  const said = bare.split(" - ", 1)[0] as string;
  for (const title of [bare, said]) {
    if (tests.has(title)) return title;
    const same =
      byTitle.get(title) ?? byTitle.get(bareTestName(title)) ?? byTitle.get(title.split(".").at(-1) ?? "");
    if (same?.length === 1) return same[0];
  }
  return undefined;
}

function findMessage(account: readonly string[]): string {
  const said = account.filter((line) => line.trim() !== "" && line.trim() !== "---");
  const at = said.findIndex((line) => MESSAGE.test(line));
  const first = said[at === -1 ? 0 : at] ?? "";
  // `error: |-` and `thread 'x' panicked at src/lib.rs:3:5:` say it in the next line.
  const next = /(?:[|>]-?|:)$/.test(first.trim()) ? (said[Math.max(at, 0) + 1] ?? "") : "";
  return blankVariables(`${first.trim()} ${next.trim()}`);
}

export function findPlaces(lines: readonly string[]): string[] {
  const places = new Set<string>();
  for (const word of lines.flatMap((line) => line.split(BETWEEN))) {
    const place = word.replace(/^file:\/\//, "").replace(/(?::\d+){0,2}:?$/, "");
    if (/\w\.[A-Za-z]\w{0,5}$/.test(place)) places.add(place.replaceAll("\\", "/"));
    if (places.size >= MOST_PLACES) break;
  }
  return [...places];
}
