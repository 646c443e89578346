/** `error`: it could not be set up and shows nothing. `parent`: a suite, or a test with subtests, that did not fail by itself. */
export type TestOutcome = "pass" | "fail" | "skip" | "error" | "parent";

/** A parent that did not fail by itself passed. */
export const holds = (outcome: string | null | undefined) => outcome === "pass" || outcome === "parent";

export interface TestCounts {
  readonly passed: number;
  /** Includes those that could not be set up. */
  readonly failed: number;
  /** Includes tests that are marked to fail, whether they failed or passed. */
  readonly skipped: number;
  /** Of the skipped: those that failed as marked; absent where there are none. */
  readonly xfailed?: number;
  /** Of the skipped: those that passed although they are marked to fail; absent where there are none. */
  readonly xpassed?: number;
  /** Of the failed: those that could not be set up; absent where there are none. */
  readonly unable?: number;
}

/** A test's name without its file and suite; a renamed file does not change it. */
export function bareTestName(name: string): string {
  return name.split(/::| > | › |\/(?=\w+$)/).at(-1) ?? name;
}

export function totalTests({ passed, failed, skipped }: TestCounts): number {
  return passed + failed + skipped;
}

/** Failed tests without those that could not be set up. */
export function countFailing({ failed, unable = 0 }: TestCounts): number {
  return failed - unable;
}

/** New tests, run over the code as it was before the change. */
export interface NewTests {
  readonly count: number;
  /** Those that pass there, too, and so show nothing about the change. */
  readonly passWithout: number;
  /** Those that cannot be loaded or compiled there, which shows less than a failure; absent where there are none. */
  readonly cannotRun?: number;
  /** They had not ended there in several times their usual time. */
  readonly isEndless?: true;
}

/** The output's account of one failing test. Plain JSON, so that a baseline can store it. */
export interface TestFailure {
  readonly test: string;
  /** The first line of its message without digits, paths, addresses and times; empty where none is found. */
  readonly message: string;
  /** Paths that its account names, a stack among them. */
  readonly places: readonly string[];
}

/** Why a check ended before its first test, where the cause lies outside the sources. */
export interface OutsideCause {
  /** As printed. */
  readonly cause: string;
  /** The lines that say it, blanked and sorted. */
  readonly lines: readonly string[];
  /** The files that its errors name. */
  readonly places: readonly string[];
}

/** The output of a red check that names no tests. */
export interface CheckFailure {
  readonly outside?: OutsideCause;
  /** Its lines, blanked, each once and sorted: tests that run side by side print in any order. */
  readonly message: string;
  readonly places: readonly string[];
  /** The last lines as printed. */
  readonly tail: string;
}

export interface TestResults {
  /** The formats that were found in the output, by the names that their runners give them. */
  readonly formats: readonly string[];
  /** `all`: every test that ran is in `tests`. `failed`: only those that failed, and what passed is only counted. */
  readonly listed: "all" | "failed";
  readonly tests: ReadonlyMap<string, TestOutcome>;
  readonly counts: TestCounts;
  /** The output's accounts of failed tests; absent if there are none. */
  readonly failures?: readonly TestFailure[];
}

/** Collects tests in their order; a name that is added twice counts as two tests. */
export type TestList = ReturnType<typeof createTestList>;

export function createTestList() {
  const tests = new Map<string, TestOutcome>();
  /** Counts each name: TAP may have thousands of assertions with the same one. */
  const given = new Map<string, number>();
  return {
    tests,
    add(name: string, outcome: TestOutcome) {
      let count = (given.get(name) ?? 0) + 1;
      while (tests.has(count === 1 ? name : `${name} #${count}`)) count++;
      given.set(name, count);
      tests.set(count === 1 ? name : `${name} #${count}`, outcome);
    },
    /** Another outcome of the same test; a failure stays. */
    note(name: string, outcome: TestOutcome) {
      const known = tests.get(name);
      if (known !== "fail" && known !== "error") tests.set(name, outcome);
    },
  };
}

export function countTests(tests: ReadonlyMap<string, TestOutcome>): TestCounts {
  const outcomes = [...tests.values()];
  const count = (wanted: TestOutcome) => outcomes.filter((outcome) => outcome === wanted).length;
  const unable = count("error");
  const counts = { passed: count("pass"), failed: count("fail") + unable, skipped: count("skip") };
  return unable === 0 ? counts : { ...counts, unable };
}

/** Names count as far as the tool's summary confirms them: all, or the failed ones. Skipped ones are not compared: some name none. */
export function confirmTestCounts(
  format: string,
  counts: TestCounts,
  tests: ReadonlyMap<string, TestOutcome>,
  failures: Iterable<string> = failedIn(tests),
): TestResults | null {
  const seen = countTests(tests);
  if (seen.passed === counts.passed && seen.failed === counts.failed)
    return { formats: [format], listed: "all", tests, counts: withUnable(counts, seen) };
  const failed = new Map([...failures].map((name) => [name, tests.get(name) ?? ("fail" as const)]));
  if (failed.size !== counts.failed) return null;
  return { formats: [format], listed: "failed", tests: failed, counts: withUnable(counts, seen) };
}

export function failedIn(tests: ReadonlyMap<string, TestOutcome>): string[] {
  return [...tests].flatMap(([name, outcome]) => (outcome === "fail" || outcome === "error" ? [name] : []));
}

function withUnable(counts: TestCounts, { unable }: TestCounts): TestCounts {
  return unable === undefined ? counts : { ...counts, unable };
}
