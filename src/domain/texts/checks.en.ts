import type { TestCounts } from "../checks/test-results.ts";
import type { ChecksFacts, WhyNotChecked } from "../checks/verdict.ts";

const WHY: Readonly<Record<WhyNotChecked, string>> = {
  "no-checks": "no tests or linters of the project are known (checks.command)",
  never: "checks.enabled is never",
  slow: "the checks take longer than checks.auto_limit",
  "dependencies-missing": "the dependencies are not installed here",
  "cannot-run": "the checks cannot run here",
  documentation: "only documentation was changed",
  "no-change": "nothing was changed",
  "red-before": "the checks failed before the change as well, and their output does not say by which tests",
  untrusted: "nothing confines commands here; run `picoclaw trust` in that folder to allow checks",
  unavailable: "the checks could not be run apart from the workspace",
  aborted: "the checks were stopped",
};

const NAMES_SHOWN = 5;

function names(list: readonly string[]): string {
  const rest = list.length - NAMES_SHOWN;
  return `${list.slice(0, NAMES_SHOWN).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

const tests = (count: number) => (count === 1 ? "1 test" : `${count} tests`);

function counts({ passed, failed, skipped }: TestCounts): string {
  return [
    `${passed} pass`,
    ...(failed > 0 ? [`${failed} fail`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ].join(", ");
}

function unended({ commands, seconds }: NonNullable<ChecksFacts["unended"]>): string {
  return `${commands.join(", ")} did not end in ${seconds} s`;
}

/** What the checks of the project say about a change. Nothing here ends in a newline. */
export const checksTexts = {
  counts,
  /** `checks: npm test, 426 pass, 3 mended`. */
  line: (facts: ChecksFacts): string => {
    if (facts.notChecked !== null) return `not checked: ${WHY[facts.notChecked]}`;
    const said = {
      same: [],
      better: facts.mended.length > 0 ? [`${facts.mended.length} mended`] : ["green again"],
      worse:
        facts.unended !== undefined
          ? [
              facts.unended.commands.length < facts.commands.length
                ? unended(facts.unended)
                : `did not end in ${facts.unended.seconds} s`,
            ]
          : [facts.worse.length > 0 ? `${facts.worse.length} worse` : "red, and was not before"],
      "new-failing": [`${facts.newFailing.length} new and failing`],
      "red-before": ["red as before, nothing worse"],
      unknown: ["red"],
      "not-checked": [],
    }[facts.verdict];
    const counted = facts.counts === null ? [] : [counts(facts.counts)];
    const green = facts.counts === null && facts.verdict === "same" ? ["green"] : [];
    return `checks: ${[facts.commands.join(", "), ...counted, ...green, ...said].join(", ")}`;
  },
  /** `3 of 426 fail`, for whoever watches. */
  brief: ({ counts: all, verdict, unended: endless }: ChecksFacts): string =>
    endless !== undefined
      ? unended(endless)
      : all !== null && all.failed > 0
        ? `${all.failed} of ${all.passed + all.failed} fail`
        : verdict === "worse"
          ? "checks got worse"
          : "",
  /** What a person should know beyond that line; each is a line of its own. */
  remarks: (facts: ChecksFacts): string[] => [
    ...(facts.worse.length > 0 ? [`Passed before, and fail now or are gone: ${names(facts.worse)}`] : []),
    ...(facts.newFailing.length > 0 ? [`New and failing: ${names(facts.newFailing)}`] : []),
    ...(facts.weakensTests
      ? [
          facts.weakened.length > 0
            ? `This weakens ${tests(facts.weakened.length)}: ${names(facts.weakened)}`
            : "This weakens tests: in their old version they do not pass.",
        ]
      : []),
    ...(facts.isFlaky ? ["A check is flaky: it was red once and not when it was run again."] : []),
  ],
};
