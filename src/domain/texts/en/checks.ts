import type {
  CheckBeside,
  FirstLineCode,
  RemarkCode,
  RunName,
  Tie,
  WhyNotChecked,
  WhyNotRun,
} from "../../checks/findings.ts";
import type { CheckResult, LowerRung } from "../../checks/verdict.ts";

/** A sentence with `{holes}`; two where one thing and several are worded differently, by the hole `{n}`. */
export type Template = string | readonly [one: string, several: string];

/** All words about checks in one language: a table that decides nothing. The codes beside those of findings name parts of sentences. */
export interface CheckWords<Code extends string = keyof typeof checkWords.said> {
  readonly why: Readonly<Record<WhyNotChecked, string>>;
  readonly whyLower: Readonly<Record<LowerRung["why"], string>>;
  readonly whyNotRun: Readonly<Record<WhyNotRun, string>>;
  readonly whyRefused: Readonly<Record<Tie, string>>;
  readonly state: Readonly<Record<CheckResult["state"], string>>;
  readonly beside: Readonly<Record<CheckBeside["state"], string>>;
  readonly runs: Readonly<Record<RunName, string>>;
  /** Parts of the first line, by the finding that each is about. */
  readonly firstLine: Readonly<Record<FirstLineCode, Template>>;
  readonly said: Readonly<Record<Code, Template>> & Readonly<Record<RemarkCode, Template>>;
}

const states = { green: "green", red: "red", "timed-out": "did not end", "cannot-run": "cannot run here" };

export const checkWords = {
  why: {
    "no-checks": "no tests or linters were found (checks.command can name them)",
    never: "checks are switched off (checks.enabled: never)",
    slow: "the checks take too long to run automatically; raise the limit (checks.auto_limit), or name faster ones (checks.command)",
    unended:
      "the checks were ended at their time limit (checks.timeout, or four times as long as usual); checks.command can name faster ones",
    "dependencies-missing": "the dependencies are not installed here",
    "cannot-run": "the checks cannot run here",
    documentation: "only documentation was changed",
    "no-change": "nothing was changed",
    "red-before":
      "the checks failed before the change as well, and their output does not say which tests failed",
    "none-passed": "no test passed before the change, and none passes with it",
    untrusted:
      "nothing confines commands here, and tests are the project's own code; install bubblewrap, or run `picoclaw trust` in that folder",
    unavailable: "the checks could not be run separately from the workspace",
    blind: "the tests do not notice when the changed code is broken",
    aborted: "the checks were stopped",
  },
  whyLower: {
    "cannot-run": "cannot run here",
    "timed-out": "takes too long to run automatically (checks.auto_limit)",
    unread: "does not say which tests fail",
    home: "needs what earlier jobs installed in the private home",
  },
  whyNotRun: {
    "tests-red": "tests are red",
    slow: "took too long",
    "not-installed": "is not installed",
    "no-packages": "packages are missing",
    "cannot-run": "cannot run here",
  },
  whyRefused: {
    outcome: "it ends in another way with this change",
    message: "its error is another one with this change",
    stack: "its error names a file of this change",
    "no-reason": "the line gives no reason",
    "passed-before": "it passed before this change",
    "is-new": "this change adds it; declare a test that is meant to fail as such",
    unknown: "no red test or check has this name",
  },
  state: states,
  beside: { ...states, red: "red as before", "not-run": "not run" },
  firstLine: {
    testRunLines: "DOUBTFUL: new code refers to the test run",
    rewritten: [
      "DOUBTFUL: 1 test passes only with the changed tests: {names}",
      "DOUBTFUL: {n} tests pass only with the changed tests: {names}",
    ],
    unstable: "UNSTABLE since this change: {names}",
    meantToFail: [
      "1 new test fails, as meant (the coder: {reasons})",
      "{n} new tests fail, as meant (the coder: {reasons})",
    ],
    removed: ["1 test removed by the coder: {names}", "{n} tests removed by the coder: {names}"],
    weakened: ["1 test removed or skipped", "{n} tests removed or skipped"],
  },
  runs: {
    again: "again",
    alone: "again, alone",
    part: "affected tests",
    "old-code": "old code",
    "old-files": "old files",
  },
  said: {
    separator: ", ",
    more: "{list} and {rest} more",
    "not-checked": "not checked: {why}",
    "not-checked-headline": "NOT CHECKED: {why}",
    "not-checked-state": "Not checked: {why}",
    "broken-before":
      "{commands} failed before the change as well, and its output does not say which tests failed: {error}",
    "unable-because": "{commands} cannot run here, with this change or without it: {cause}",
    "unable-any": "{cause}; {helps}",
    blind: "the tests ({commands}) do not notice when {names} is broken",
    installs: "{why}; {install} installs them",
    "may-help": "{install} may help",
    "name-others": "checks.command in picoclaw.yaml can name others",
    "the-checks": "the checks",
    "cannot-run-any": "{commands} cannot run here; {helps}",
    absent: "{absent} is not installed here, so {commands} cannot run; {helps}",
    rung: "{insteadOf} {why}",
    "rung-instead": "{insteadOf} {why}, so {command} was used instead.",
    "rung-home": "{insteadOf} {why}.",
    "known-state": "currently: {found}",
    "in-seconds": "{seconds} s",
    "in-minutes": "{minutes} min",
    "too-long": "they ran {seconds} s; the limit is {limit} s",
    "at-least": "over {time}",
    passed: "{n} passed",
    failed: "{n} failed",
    "unable-count": "{n} cannot run",
    skipped: "{n} skipped",
    xfailed: "{n} failed as expected",
    xpassed: "{n} passed against expectation",
    unended: "{commands} did not end in {seconds} s",
    "unended-short": "did not end in {seconds} s",
    "still-red-any": "still red",
    "still-red-because": "still red: {error}",
    "still-red-check": "{commands} is still red",
    "still-red-all": "{red} still red",
    "still-red-of": "{red} of {all} still red",
    "no-test": "no longer shows any tests",
    fewer: "fewer tests, or fewer that pass, than before",
    "errors-before": ["1 error as before", "{n} errors as before"],
    "new-errors": ["{command}: 1 new error", "{command}: {n} new errors"],
    "no-tests": "no tests were found (checks.command can name them)",
    "newly-red": "red, was green before",
    "newly-red-some": "{commands} is red, was green before",
    "green-again": "green again",
    "worse-count": "{n} worse",
    "new-failing-count": "{n} new and failing",
    "red-before-line": "still red as before, nothing worse",
    "affected-only": "affected tests only ({files} of {of} files)",
    "affected-part": "{files} of {affected} affected test files ran",
    "affected-passed": "{n} affected passed",
    "not-whole": "; the whole suite ({time}) was not run",
    "whole-unread":
      "; the whole suite was red before the change, and its output does not say which tests failed",
    "own-check": "{commands} (the coder's own check)",
    "new-count": "{n} new",
    "fixed-count": "{n} fixed",
    "unnoticed-count": ["1 changed file not noticed", "{n} changed files not noticed"],
    "else-count": ["1 expects something else", "{n} expect something else"],
    "in-brackets": "{text} ({more})",
    "unable-here": "{n} cannot run here",
    "as-before": ["1 was red before and still is", "{n} were red before and still are"],
    "as-before-said": "{text} (the coder: {reasons})",
    "nothing-worse": "nothing is worse",
    "brief-failing": "{failing} of {all} tests fail",
    "brief-names": "{text}: {names}",
    "progress-usual": "{time} the last time",
    "progress-seconds": "{seconds} s of about {time}",
    "progress-of": ["{done} of 1 test", "{done} of {n} tests"],
    "progress-tests": ["1 test", "{n} tests"],
    "new-failing-share": ["1 fails", "{n} fail"],
    "new-endless-share": ["1 does not end", "{n} do not end"],
    "new-passing-share": [
      "1 passes (it guards what already worked)",
      "{n} pass (they guard what already worked)",
    ],
    proposed:
      "The coder proposed the check {commands}, because none of the project's own checks can be used here.",
    "proposed-unable": "The coder proposed the check {command}, which cannot be used either: {why}.",
    sourced: "{commands} judged; it is {where}. Not the declared check: {cause}.",
    "sourced-because": "{own}: {why}",
    "source-script": "a script in {file}",
    "source-runner": "the runner that {file} configures",
    "source-ci": "in {file}",
    "source-tasks": "in {file}",
    "source-docs": "in {file}",
    "source-request": "in the request",
    "source-coder": "the coder's",
    "source-ran": "what the coder ran",
    worse: "Newly failing, skipped or missing: {names}",
    newErrors: "New errors of {command}: {names}",
    newFailing: "New and failing: {names}",
    stillRed: "Red before and still red: {names}",
    redBefore: "Still red as before: {names}",
    rewritten: "Was red and passes only with this change's tests; with the old tests it still fails: {names}",
    expectsElse: [
      "1 test expects something else now: {names}",
      "{n} tests expect something else now: {names}",
    ],
    moved: ["1 test moved", "{n} tests moved"],
    removedWithCode: "Removed with the code that they test: {names}",
    unable: "Cannot run here, now as before: {names}",
    cannotRun: "{text}.",
    refused: "Counts, although the coder declares it as not its own: {name} ({why}).",
    services: "Nothing answers here for services that the tests call: {names}. Checks have no network.",
    hung: "Left out because they did not end without the change: {names}",
    weakened: [
      "This change weakens 1 test (removed or skipped): {names}",
      "This change weakens {n} tests (removed or skipped): {names}",
    ],
    weakensTests: "This change weakens the tests: none is shown any more.",
    onlyWith: "Passes only with the changed version of: {names}",
    patches: "Pass only because new tests replace parts of the code: {names}",
    installed: "Passes only with what the job installed in its private home: {names}",
    testRunLines: "New code that refers to the test run: {names}",
    unnoticed: "The tests do not notice when it is broken: {names}",
    flaky: "Flaky, not worse (failed once with this change, and passed when it ran again alone): {names}",
    unstable: "Failed once with this change and passed alone; never seen red without it: {names}",
    together: "Passes alone, and fails with the other tests (twice): {names}",
    formatted: "Formatted: {names}",
    seconds: "The checks took {time}.",
    isFlaky: "A check is flaky: it failed once and passed when it was run again.",
    "new-pass-too": [
      "1 new test, passes without the change as well, so it does not test it.",
      "{n} new tests, all pass without the change as well, so they do not test it.",
    ],
    "new-endless": [
      "1 new test; without the change it does not end",
      "{n} new tests; without the change they do not end",
    ],
    "new-cannot-run": [
      "1 new test, cannot run without the change",
      "{n} new tests, none can run without the change",
    ],
    "new-fail": ["1 new test, fails without the change", "{n} new tests, all fail without the change"],
    newTests: "{n} new tests; without the change {shares}.",
  },
} satisfies CheckWords<string>;
