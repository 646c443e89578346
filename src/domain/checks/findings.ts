/**
 * The facts about the checks over a draft beside their verdict and counts: each finding's value, and its one entry in `FINDINGS`.
 * In: what the steps of a judgement add. Out: the facts that replies, reports, JSON and commits are worded from.
 * Invariant: an entry asks for its words, and a language or a report without them does not compile.
 */

import type { SourcedCommand } from "./command-sources.ts";
import type { UnableCheck } from "./outside-cause.ts";
import type { CodePatch } from "./patched-code.ts";
import type { NewTests, TestCounts } from "./test-results.ts";
import { type CheckResult, type Judgement, type LowerRung, TEST_CHANGES, type Verdict } from "./verdict.ts";

/**
 * Why a test that a coder declares as not its own counts all the same. `outcome`, `message`, `stack`: it ends in another way now, with
 * another error, or its failure passes through the change. `unknown`: no red test or check has the name.
 */
export type Tie = "outcome" | "message" | "stack" | "no-reason" | "passed-before" | "is-new" | "unknown";

/**
 * Why no check judged. `slow`: slower than `checks.auto_limit` at last. `unended`: ended at `checks.timeout`, or long after its usual
 * time. `untrusted`: the folder is not trusted, and no sandbox is available here. `unavailable`: no throw-away view can be made.
 * `blind`: the tests also pass if the changed files are broken. `none-passed`: all named tests are red, with the change and without.
 */
export type WhyNotChecked =
  | "no-checks"
  | "never"
  | "slow"
  | "unended"
  | "dependencies-missing"
  | "cannot-run"
  | "documentation"
  | "no-change"
  | "red-before"
  | "none-passed"
  | "untrusted"
  | "unavailable"
  | "blind"
  | "aborted";

/** `red` means red as before: the verdict names what got worse. */
export interface CheckBeside {
  readonly command: string;
  readonly state: CheckResult["state"] | "not-run";
  readonly counts?: TestCounts;
  /** The errors of a type checker or a linter that the old code has as well. */
  readonly errors?: number;
  /** Why it did not run, or said nothing. */
  readonly why?: WhyNotRun;
}

/** Why a type checker or a linter says nothing about a change. */
export type WhyNotRun = "tests-red" | "slow" | "not-installed" | "no-packages" | "cannot-run";

/** The errors of a type checker or a linter that the old code does not have, as printed. */
export interface NewErrors {
  readonly command: string;
  readonly errors: readonly string[];
}

/** A test, or the command of a check that names none, with the coder's reason. */
export interface ReasonedTest {
  readonly test: string;
  readonly reason: string;
}

export interface FindingValues extends Required<Omit<Judgement, "verdict" | "counts">> {
  /** Those still red that the coder declared neither as fixed nor as not its own. */
  readonly unnamed: readonly string[];
  /** Red before and still red; the coder declares why they are not its own. */
  readonly notMine: readonly ReasonedTest[];
  /** New and failing; the coder declares that they are meant to fail. */
  readonly meantToFail: readonly ReasonedTest[];
  /** Gone or skipped; the coder declares that it removes them. */
  readonly removed: readonly string[];
  /** Gone with the code that they test. */
  readonly removedWithCode: readonly string[];
  /** The checks beside the one whose tests are counted, each with its own result. */
  readonly beside: readonly CheckBeside[];
  /** A repeated red result was different. */
  readonly isFlaky: boolean;
  /** Checks that ended before the change, and did not end within the limit with it. */
  readonly unended: { readonly commands: readonly string[]; readonly seconds: number };
  /** How long all judgements so far took, their runs and their wait for others. */
  readonly seconds: number;
  /** Formatters of the project that changed files before they were judged. */
  readonly formatted: readonly string[];
  /** Checks that are red now and were green before. */
  readonly newlyRed: readonly string[];
  readonly newErrors: readonly NewErrors[];
  /** Commands that judged instead of others. */
  readonly rungs: readonly (Pick<LowerRung, "insteadOf" | "why" | "cause"> & { readonly command: string })[];
  /** The error of a check that was red before the change and names no tests. */
  readonly errorBefore: string;
  /** Checks that end before any test for a cause outside the sources, with the change and without it. */
  readonly cannotRun: readonly UnableCheck[];
  /** The failures that the coder declares as not its own, and the fact for which that does not count. */
  readonly refused: readonly (ReasonedTest & { readonly tie: Tie })[];
  /** How long the checks took, or ran until they were ended, where they take too long; and the limit, in seconds. */
  readonly tooLong: { readonly seconds: number; readonly limit: number };
  /** Programs that are not installed. */
  readonly absent: readonly string[];
  readonly install: string;
  /** The command that the coder proposed because no check of the project judges; `why`: the reason if it cannot judge either. */
  readonly proposed: { readonly command: string; readonly why: WhyNotChecked | null };
  /** Where the command that judged is from; `own`: the declared checks, and why they could not judge. */
  readonly sourced: Pick<SourcedCommand, "from"> & {
    readonly own: readonly string[];
    readonly why: WhyNotChecked;
  };
  /** Changed files that decide how checks run: with their old version, the checks are worse. */
  readonly onlyWith: readonly string[];
  /** Files that the draft's commands installed in the private home: without them, the checks are not green. */
  readonly installed: readonly string[];
  /** New lines outside of tests that refer to the test run. */
  readonly testRunLines: readonly { readonly path: string; readonly line: string }[];
  /** Lines of the change's tests that replace parts of the code: without them, old tests fail. */
  readonly patches: readonly CodePatch[];
  /** Changed files that the tests do not notice when they are broken. */
  readonly unnoticed: readonly string[];
  /** How new tests that pass end without the change. */
  readonly newTests: NewTests;
  /** Tests that were red once, and passed when repeated. */
  readonly flaky: readonly string[];
  /**
   * Of tests that failed with the change and passed alone: those that are connected with it, and those that passed in no run with the
   * others. They were never red without the change, and do not count as passed.
   */
  readonly unstable: readonly string[];
  /** Tests that pass alone, and failed in two runs with the others. */
  readonly together: readonly string[];
  /** Services at whose ports nothing answered to red checks. */
  readonly services: readonly string[];
  /** Test files that hang here without the change, and were left out. */
  readonly hung: readonly string[];
  /** Options by which the affected tests did less than the project's own call does beside its tests. */
  readonly cheaper: readonly string[];
  /** The affected tests judged alone; `wholeSeconds`: the duration of all tests, or their time limit where `isAtLeast`. */
  readonly affectedOnly: {
    readonly files: number;
    /** How many test files are affected; more than ran if there are many. */
    readonly affected?: number;
    readonly of: number;
    readonly wholeSeconds: number;
    readonly isAtLeast: boolean;
    /** Every test that ran is new, so the tests of the old code did not judge. */
    readonly isOnlyNew?: boolean;
    /** All tests were red before the change, and the output names none. */
    readonly isUnread?: boolean;
  };
}

export type FindingCode = keyof FindingValues;

/** One fact about the checks beside the verdict and its counts. */
export type Finding = {
  readonly [Code in FindingCode]: { readonly code: Code; readonly found: FindingValues[Code] };
}[FindingCode];

/** The name of a run of checks that is not the first one of its command. */
export type RunName = "again" | "alone" | "part" | "old-code" | "old-files";

/** Findings by their codes, for readers that need several of them. */
export type Found = Partial<FindingValues>;

/** The result of the checks over a draft. */
export interface ChecksFacts {
  readonly verdict: Verdict;
  /** Of the draft. */
  readonly counts: TestCounts | null;
  /** The commands as people type them. */
  readonly commands: readonly string[];
  /** Null where checks judged. */
  readonly notChecked: WhyNotChecked | null;
  /** Each code at most once. */
  readonly findings: readonly Finding[];
}

/** Whether the checks judged and are green: only then does a sentence about results agree with the verdict. */
export function isJudgedGreen(facts: Pick<ChecksFacts, "verdict"> | undefined): boolean {
  return facts?.verdict === "better" || facts?.verdict === "same";
}

/** The rules of one finding: who is informed of it, in which order, and what it does to the verdict. */
export interface FindingRules {
  /** The place in remarks, first lines and the coder's report; findings of one place make one statement. */
  readonly order: number;
  /** A sentence below the verdict. */
  readonly remark?: true;
  /** Words in the verdict's first line: `doubt` begins it, `after` follows the figures, `declared` ends it. */
  readonly inFirstLine?: "doubt" | "after" | "declared";
  /** `listed`: as a list below a title. */
  readonly forCoder?: "sentence" | "listed" | "both";
  /** `doubtful`: a verdict that would land becomes doubtful. `red`: it may be why the verdict is red. */
  readonly makes?: "doubtful" | "red";
}

/** A doubt without a first line, a remark or a sentence for the coder does not compile; nor does a red one without that sentence. */
type WholeFinding =
  | (FindingRules & { readonly makes?: never })
  | (FindingRules & { readonly makes: "red"; readonly forCoder: "sentence" | "both" })
  | (FindingRules & {
      readonly makes: "doubtful";
      readonly inFirstLine: "doubt" | "after";
      readonly forCoder: "sentence" | "both";
      readonly remark: true;
    });

/** Every finding that anyone is informed of; the others are facts for words and JSON. A table of words lacks no code that its entry here asks for: the tables are typed by these entries. */
export const FINDINGS = {
  proposed: { order: 10, remark: true },
  sourced: { order: 12, remark: true },
  worse: { order: 20, remark: true, makes: "red", forCoder: "both" },
  newErrors: { order: 25, remark: true, makes: "red", forCoder: "sentence" },
  newFailing: { order: 30, remark: true, makes: "red", forCoder: "both" },
  stillRed: { order: 40, remark: true, makes: "red", forCoder: "both" },
  unnamed: { order: 40, makes: "red", forCoder: "sentence" },
  redBefore: { order: 50, remark: true, forCoder: "listed" },
  testRunLines: { order: 60, remark: true, makes: "doubtful", inFirstLine: "doubt", forCoder: "sentence" },
  rewritten: { order: 70, remark: true, makes: "doubtful", inFirstLine: "doubt", forCoder: "sentence" },
  expectsElse: { order: 80, remark: true },
  moved: { order: 90, remark: true },
  meantToFail: { order: 100, inFirstLine: "declared" },
  removed: { order: 110, inFirstLine: "declared" },
  removedWithCode: { order: 120, remark: true },
  unable: { order: 130, remark: true, forCoder: "listed" },
  cheaper: { order: 131, remark: true },
  cannotRun: { order: 132, remark: true, forCoder: "sentence" },
  refused: { order: 134, remark: true, forCoder: "sentence" },
  hung: { order: 140, remark: true },
  services: { order: 145, remark: true },
  weakened: { order: 150, remark: true, inFirstLine: "declared" },
  onlyWith: { order: 160, remark: true, makes: "red", forCoder: "sentence" },
  patches: { order: 170, remark: true, makes: "red", forCoder: "sentence" },
  unended: { order: 180, makes: "red", forCoder: "sentence" },
  installed: { order: 190, remark: true },
  weakensTests: { order: 200, remark: true },
  newTests: { order: 210, remark: true },
  unnoticed: { order: 220, remark: true },
  flaky: { order: 230, remark: true },
  unstable: { order: 240, remark: true, makes: "doubtful", inFirstLine: "after", forCoder: "sentence" },
  together: { order: 250, remark: true, forCoder: "listed" },
  formatted: { order: 260, remark: true, forCoder: "sentence" },
  isFlaky: { order: 270, remark: true },
  seconds: { order: 280, remark: true },
  notMine: { order: 370, forCoder: "sentence" },
} as const satisfies Partial<Readonly<Record<FindingCode, WholeFinding>>>;

/** The codes whose entry has one of these values. */
type CodesWith<Key extends keyof FindingRules, Value> = {
  [Code in keyof typeof FINDINGS]: (typeof FINDINGS)[Code] extends Readonly<Record<Key, Value>>
    ? Code
    : never;
}[keyof typeof FINDINGS];
export type RemarkCode = CodesWith<"remark", true>;
export type FirstLineCode = CodesWith<"inFirstLine", string>;
/** Findings of which the coder reads a sentence. */
export type SaidToCoder = CodesWith<"forCoder", "sentence" | "both">;
/** Findings of which the coder reads a list. */
export type ListedForCoder = CodesWith<"forCoder", "listed" | "both">;

export function makesOf(code: FindingCode): FindingRules["makes"] {
  return (FINDINGS as Partial<Readonly<Record<FindingCode, FindingRules>>>)[code]?.makes;
}

/** The codes with one of these values of a rule, in their order. */
export function codesWith<Key extends keyof FindingRules, Value extends FindingRules[Key]>(
  key: Key,
  ...values: readonly Value[]
): readonly CodesWith<Key, Value>[] {
  const entries = Object.entries(FINDINGS as Readonly<Record<keyof typeof FINDINGS, FindingRules>>);
  const wanted = entries.filter(([, rules]) => values.includes(rules[key] as Value));
  return wanted.sort(([, a], [, b]) => a.order - b.order).map(([code]) => code as CodesWith<Key, Value>);
}

/** The findings with these; an earlier one of the same code is replaced. An empty or false value adds none. */
export function addFindings(findings: readonly Finding[], more: Found): Finding[] {
  const others = findings.filter(({ code }) => more[code] === undefined);
  const added = Object.entries(more).flatMap(([code, found]) =>
    found === undefined || found === false || found === "" || (Array.isArray(found) && found.length === 0)
      ? []
      : [{ code, found } as Finding],
  );
  return [...others, ...added];
}

export function withFound(facts: ChecksFacts, more: Found): ChecksFacts {
  return { ...facts, findings: addFindings(facts.findings, more) };
}

export function notChecked(why: WhyNotChecked, commands: readonly string[] = []): ChecksFacts {
  return { verdict: "not-checked", counts: null, commands, notChecked: why, findings: [] };
}

/** The facts as JSON: a finding is a field, and a list of tests is one even where it is empty. Older versions wrote fewer. */
export type ChecksRecord = Omit<ChecksFacts, "findings"> & Found;

export function toChecksRecord({ findings, ...facts }: ChecksFacts): ChecksRecord {
  const lists = Object.fromEntries(TEST_CHANGES.map((code) => [code, []]));
  return { ...lists, weakensTests: false, isFlaky: false, ...facts, ...findingsByCode({ findings }) };
}

export function readChecksRecord(record: ChecksRecord): ChecksFacts {
  const { verdict, counts, commands, notChecked: why, ...found } = record;
  return { verdict, counts, commands, notChecked: why, findings: addFindings([], found) };
}

export function findingsByCode(facts: Pick<ChecksFacts, "findings"> | ChecksRecord): Found {
  const { findings } = "findings" in facts ? facts : readChecksRecord(facts);
  return Object.fromEntries(findings.map(({ code, found }) => [code, found]));
}

/** The beginning of a line that puts the dependencies' programs on the PATH and builds what the tests load. */
export const OWN_PROGRAMS = /^export PATH="\$PWD\/node_modules\/\.bin:\$PATH"; (?:\{ .*?; \} \|\| exit; )?/;

/** The search for a Python, and what names the tests of pytest in its output. */
const OWN_PYTHON =
  /^(?:PYTHONPATH="[^"]*" )?(?:"\$\(command -v python \|\| command -v python3\)"|\.?venv\/bin\/python)(?= -m )/;
const OWN_PYTEST = /^(python -m pytest) -v -rpxXsfE --continue-on-collection-errors/;

/** A check as people type it, without the set-up of its PATH and its build, and without flags that only its reader needs. */
export function nameCheck(command: string): string {
  return command.replace(OWN_PROGRAMS, "").replace(OWN_PYTHON, "python").replace(OWN_PYTEST, "$1 -q");
}
