import { countFailing, type TestCounts } from "../../checks/test-results.ts";
import {
  type CheckBeside,
  type CheckResult,
  type ChecksFacts,
  failingTests,
  helpfulInstall,
  type KnownCheck,
  leadingCommands,
  newlyRedCase,
  type WhyNotChecked,
} from "../../checks/verdict.ts";

const WHY: Readonly<Record<WhyNotChecked, string>> = {
  "no-checks": "no tests or linters were found (checks.command can name them)",
  never: "checks are switched off (checks.enabled: never)",
  slow: "the checks take too long to run automatically",
  "dependencies-missing": "the dependencies are not installed here",
  "cannot-run": "the checks cannot run here",
  documentation: "only documentation was changed",
  "no-change": "nothing was changed",
  "red-before":
    "the checks failed before the change as well, and their output does not say which tests failed",
  untrusted: "commands cannot be confined here; to allow checks anyway, run `picoclaw trust` in that folder",
  unavailable: "the checks could not be run separately from the workspace",
  blind: "the tests do not notice when what was changed is broken",
  aborted: "the checks were stopped",
};

interface ProgressFacts {
  readonly command: string;
  readonly done: number;
  readonly of: number | null;
  readonly seconds: number;
  readonly latest: string;
}

interface ChecksState {
  readonly checks: readonly KnownCheck[];
  /** Why none judges; null where one does. */
  readonly none: ChecksFacts | null;
}

const NAMES_SHOWN = 5;

function names(list: readonly string[]): string {
  const rest = list.length - NAMES_SHOWN;
  return `${list.slice(0, NAMES_SHOWN).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

/** Why nothing judged, with the program that is not there, and what would help. */
function whyNot(facts: ChecksFacts): string {
  const { notChecked: why, absent = [], unnoticed = [], commands, install } = facts;
  if (why === null) return "";
  if (why === "blind")
    return `the tests (${commands.join(", ")}) do not notice when ${names(unnoticed)} is broken`;
  if (why === "dependencies-missing")
    return `${WHY[why]}${install === undefined ? "" : `; ${install} installs them`}`;
  if (why !== "cannot-run") return `${WHY[why]}${HELPS[why] ?? ""}`;
  const help = helpfulInstall(facts);
  const helps = help === null ? "checks.command in picoclaw.yaml can name others" : `${help} may help`;
  if (absent.length === 0) return `${commands.join(", ") || "the checks"} cannot run here; ${helps}`;
  return `${absent.join(", ")} is not installed here, so ${commands.join(", ")} cannot run; ${helps}`;
}

const HELPS: Partial<Readonly<Record<WhyNotChecked, string>>> = {
  slow: "; raise the limit (checks.auto_limit), or name faster ones (checks.command)",
};

const WHY_LOWER = {
  "cannot-run": "cannot run here",
  "timed-out": "takes too long to run automatically (checks.auto_limit)",
  unread: "does not say which tests fail",
  home: "needs what earlier jobs installed in the private home",
} as const;

function rungs({ rungs: lower = [] }: ChecksFacts): string[] {
  return lower.map(({ insteadOf, why }) => `${insteadOf} ${WHY_LOWER[why]}`);
}

/** `pnpm test cannot run here, so vitest run was used instead.` */
function rungRemarks({ rungs: lower = [] }: ChecksFacts): string[] {
  return lower.map(({ command, insteadOf, why }) =>
    why === "home"
      ? `${insteadOf} ${WHY_LOWER[why]}.`
      : `${insteadOf} ${WHY_LOWER[why]}, so ${command} was used instead.`,
  );
}

/** The command of the coder's own, and whether it judged. */
function proposedRemark({ proposed, commands }: ChecksFacts): string[] {
  if (proposed === undefined) return [];
  const { command, why } = proposed;
  if (why === null)
    return [
      `The coder proposed the check ${commands.join(", ")}, because none of the project's own checks can be used here.`,
    ];
  return [
    `The coder proposed the check ${command}, which cannot be used either: ${PROPOSED_WHY[why] ?? WHY[why]}.`,
  ];
}

const PROPOSED_WHY: Partial<Readonly<Record<WhyNotChecked, string>>> = {
  "cannot-run": "it cannot run here",
  blind: "it does not notice when what was changed is broken",
  "red-before": "it fails before the change as well",
  slow: "it takes too long to run automatically (checks.auto_limit)",
};

const RED_SHOWN = 10;

/** `npm test (as it stands: 458 passed, 2 failed: a, b; 12 s)`. */
function knownCheck({ command, result, seconds }: KnownCheck): string {
  if (result === null) return command;
  const found = result.results === null ? WORD_STATE[result.state] : counts(result.results.counts);
  const red = failingTests(result);
  const more = red.length > RED_SHOWN ? ` and ${red.length - RED_SHOWN} more` : "";
  const failing = red.length === 0 ? "" : `: ${red.slice(0, RED_SHOWN).join(", ")}${more}`;
  const parts = [
    `as it stands: ${found}${failing}`,
    ...(seconds === undefined ? [] : [`${seconds} s`]),
    ...(result.rung === undefined ? [] : [`${result.rung.insteadOf} ${WHY_LOWER[result.rung.why]}`]),
  ];
  return `${command} (${parts.join("; ")})`;
}

const WORD_STATE: Readonly<Record<CheckResult["state"], string>> = {
  green: "green",
  red: "red",
  "timed-out": "did not end",
  "cannot-run": "cannot run here",
};

function listed(title: string, list: readonly string[] = []): string[] {
  return list.length === 0 ? [] : [`${title}: ${names(list)}`];
}

const tests = (count: number) => (count === 1 ? "1 test" : `${count} tests`);

function counts({ passed, failed, skipped, unable = 0, xfailed = 0, xpassed = 0 }: TestCounts): string {
  const left = skipped - xfailed - xpassed;
  return [
    `${passed} passed`,
    ...(failed > unable ? [`${failed - unable} failed`] : []),
    ...(unable > 0 ? [`${unable} cannot run`] : []),
    ...(left > 0 ? [`${left} skipped`] : []),
    ...(xfailed > 0 ? [`${xfailed} failed as expected`] : []),
    ...(xpassed > 0 ? [`${xpassed} passed against expectation`] : []),
  ].join(", ");
}

function unended({ commands, seconds }: NonNullable<ChecksFacts["unended"]>): string {
  return `${commands.join(", ")} did not end in ${seconds} s`;
}

/** `1 of 2 still red`: of the tests that were to be fixed. */
function stillRed({ stillRed: red = [], mended }: Pick<ChecksFacts, "stillRed" | "mended">): string {
  if (red.length === 0) return "still red";
  return mended.length === 0
    ? `${red.length} still red`
    : `${red.length} of ${red.length + mended.length} still red`;
}

/** `npm run lint is red, was green before`: which of several checks; else what shows that they are worse. */
function newlyRed(facts: Pick<ChecksFacts, "newlyRed" | "commands" | "counts">): string {
  return {
    "no-test": "no longer shows any tests",
    fewer: "fewer tests, or fewer that pass, than before",
    all: "red, was green before",
    some: `${facts.newlyRed?.join(", ")} is red, was green before`,
  }[newlyRedCase(facts)];
}

/** `1 test expects something else now: adds`: it was to be fixed. */
function rewritten({ rewritten: changed = [] }: ChecksFacts): string {
  return changed.length === 1
    ? `1 test expects something else now: ${names(changed)}`
    : `${changed.length} tests expect something else now: ${names(changed)}`;
}

/** `1 expects something else`: of the tests that pass. */
function expectingElse({ expectsElse = [], rewritten: changed = [] }: ChecksFacts): string[] {
  const count = expectsElse.length + changed.length;
  return count === 0 ? [] : [count === 1 ? "1 expects something else" : `${count} expect something else`];
}

/** `, 2 were red before and still are (the coder: build output missing)`. */
function stillAsBefore({ redBefore = [], notMine = [] }: ChecksFacts): string {
  const count = redBefore.length + notMine.length;
  if (count === 0) return "";
  const reasons = [...new Set(notMine.map(({ reason }) => reason))];
  const said = reasons.length === 0 ? "" : ` (the coder: ${names(reasons)})`;
  return `, ${count === 1 ? "1 was red before and still is" : `${count} were red before and still are`}${said}`;
}

/** `458 passed, ` before what is red. */
function figures({ counts: all }: ChecksFacts): string {
  return all === null ? "" : `${all.passed} passed, `;
}

/** `, 1 new test fails, as meant (the coder: shows the bug)`. */
function meant({ meantToFail = [] }: ChecksFacts): string {
  if (meantToFail.length === 0) return "";
  const reasons = names([...new Set(meantToFail.map(({ reason }) => reason))]);
  const fails = meantToFail.length === 1 ? "1 new test fails" : `${meantToFail.length} new tests fail`;
  return `, ${fails}, as meant (the coder: ${reasons})`;
}

/** `; the whole suite (5 min) was not run`. */
function notWhole({ affectedOnly: part }: ChecksFacts): string {
  if (part === undefined) return "";
  const { wholeSeconds: seconds, isAtLeast, isUnread = false } = part;
  if (isUnread) return "; the whole suite was red before the change and names no test";
  const time = seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
  return `; the whole suite (${isAtLeast ? "over " : ""}${time}) was not run`;
}

/** `3 new tests, all fail without the change`. */
function newTests({ newTests: proof }: ChecksFacts): string[] {
  if (proof === undefined) return [];
  const { count, passWithout, cannotRun = 0, isEndless = false } = proof;
  const all = count === 1 ? "1 new test" : `${count} new tests`;
  if (passWithout === count)
    return [
      count === 1
        ? `${all}, passes without the change as well, so it does not test it.`
        : `${all}, all pass without the change as well, so they do not test it.`,
    ];
  if (passWithout === 0 && isEndless)
    return [`${all}; without the change ${count === 1 ? "it does" : "they do"} not end`];
  if (cannotRun === count)
    return [
      count === 1 ? `${all}, cannot run without the change` : `${all}, none can run without the change`,
    ];
  if (passWithout + cannotRun === 0)
    return [count === 1 ? `${all}, fails without the change` : `${all}, all fail without the change`];
  const failing = count - passWithout - cannotRun;
  const fails = isEndless ? "does not end" : "fails";
  const fail = isEndless ? "do not end" : "fail";
  const parts = [
    ...(failing === 0 ? [] : [`${failing} ${failing === 1 ? fails : fail}`]),
    ...(cannotRun === 0 ? [] : [`${cannotRun} cannot run`]),
    ...(passWithout === 0
      ? []
      : [
          passWithout === 1
            ? "1 passes (it guards what already worked)"
            : `${passWithout} pass (they guard what already worked)`,
        ]),
  ];
  return [`${all}; without the change ${parts.join(", ")}.`];
}

const WORD_BESIDE: Readonly<Record<CheckBeside["state"], string>> = {
  green: "green",
  red: "red as before",
  "timed-out": "did not end",
  "cannot-run": "cannot run here",
  "not-run": "not run",
};

/** `, ruff check . green`: the checks beside the one that the line is about. */
function beside({ beside: others = [] }: ChecksFacts): string {
  return others
    .map(({ command, state, counts: own }) =>
      own === undefined ? `, ${command} ${WORD_BESIDE[state]}` : `, ${command} ${counts(own)}`,
    )
    .join("");
}

/** Texts about the result of the project's checks on a change. Nothing here ends in a newline. */
export const checksTexts = {
  counts,
  /** `npm test: 426 passed (3 fixed)`. */
  line: (facts: ChecksFacts): string => {
    if (facts.notChecked !== null) return `not checked: ${whyNot(facts)}`;
    const said = {
      same: [],
      better: facts.mended.length > 0 ? [] : ["green again"],
      worse:
        facts.unended !== undefined
          ? [
              facts.unended.commands.length < facts.commands.length
                ? unended(facts.unended)
                : `did not end in ${facts.unended.seconds} s`,
            ]
          : [facts.worse.length > 0 ? `${facts.worse.length} worse` : newlyRed(facts)],
      "new-failing": [`${facts.newFailing.length} new and failing`],
      "red-before": ["still red as before, nothing worse"],
      "still-red": [stillRed(facts)],
      doubtful: [],
      unknown: ["red"],
      "not-checked": [],
    }[facts.verdict];
    const fixed = facts.mended.length > 0 ? ` (${facts.mended.length} fixed)` : "";
    const counted = facts.counts === null ? [] : [`${counts(facts.counts)}${fixed}`];
    const green = facts.counts === null && facts.verdict === "same" ? ["green"] : [];
    const part = facts.affectedOnly;
    const affected = part === undefined ? [] : [`affected tests only (${part.files} of ${part.of} files)`];
    return `${leadingCommands(facts).join(", ")}: ${[...counted, ...green, ...said, ...affected, ...rungs(facts)].join(", ")}${notWhole(facts)}${beside(facts)}`;
  },
  /** The end of a reply's first line: `npm test 458 passed (3 new)`. */
  headline: (facts: ChecksFacts): string => {
    if (facts.notChecked === "documentation" || facts.notChecked === "no-change") return "";
    if (facts.notChecked !== null) return `NOT CHECKED: ${whyNot(facts)}`;
    const by = `${leadingCommands(facts).join(", ")}${facts.proposed === undefined ? "" : " (the coder's own check)"}`;
    const { newPassing = [], mended } = facts;
    switch (facts.verdict) {
      case "same":
      case "better": {
        const more = [
          ...(newPassing.length > 0 ? [`${newPassing.length} new`] : []),
          ...(mended.length > 0 ? [`${mended.length} fixed`] : []),
          ...expectingElse(facts),
        ];
        const passed =
          facts.counts === null
            ? "green"
            : `${facts.counts.passed}${facts.affectedOnly === undefined ? "" : " affected"} passed`;
        const unable = facts.counts?.unable ?? 0;
        const apart = unable > 0 ? `, ${unable} cannot run here` : "";
        const red = `${apart}${stillAsBefore(facts)}${meant(facts)}`;
        return `${by} ${passed}${more.length > 0 ? ` (${more.join(", ")})` : ""}${red}${notWhole(facts)}${beside(facts)}`;
      }
      case "red-before":
        return `${by} ${facts.counts === null ? "" : `${facts.counts.passed} passed`}${stillAsBefore(facts).slice(facts.counts === null ? 2 : 0)}, nothing is worse${meant(facts)}${beside(facts)}`;
      case "still-red":
        return `${by} ${figures(facts)}${stillRed(facts)}${beside(facts)}`;
      case "new-failing":
        return `${by} ${figures(facts)}${facts.newFailing.length} new and failing${beside(facts)}`;
      case "doubtful":
        return (facts.testRunLines ?? []).length === 0
          ? `${by} DOUBTFUL: ${rewritten(facts)}`
          : `${by} DOUBTFUL: new code refers to the test run`;
      case "worse":
      case "unknown":
      case "not-checked":
        return "";
    }
  },
  /** `3 of 426 tests fail`, for whoever watches. */
  brief: ({ counts: all, verdict, unended: endless, ...facts }: ChecksFacts): string =>
    endless !== undefined
      ? unended(endless)
      : verdict === "still-red" && (facts.stillRed ?? []).length > 0
        ? `${stillRed(facts)}: ${names(facts.stillRed ?? [])}`
        : all !== null && countFailing(all) > 0
          ? `${countFailing(all)} of ${all.passed + countFailing(all)} tests fail`
          : verdict === "worse"
            ? facts.newlyRed === undefined
              ? facts.worse.length > 0
                ? `${facts.worse.length} worse: ${names(facts.worse)}`
                : `${facts.commands.join(", ")}: ${newlyRed({ ...facts, counts: all })}`
              : newlyRed({ ...facts, counts: all })
            : verdict === "still-red"
              ? "still red"
              : "",
  /** `npm test: 120 of 458 tests, 12 s, parses a header`. */
  progress: ({ command, done, of, seconds, latest }: ProgressFacts): string => {
    const counted = done === 0 ? [] : [of === null || done > of ? tests(done) : `${done} of ${tests(of)}`];
    return `${command}: ${[...counted, `${seconds} s`, ...(latest === "" ? [] : [latest])].join(", ")}`;
  },
  /** The state of the checks before a change, in one line. */
  state: ({ checks, none }: ChecksState): string =>
    none === null ? checks.map(knownCheck).join("; ") : `Not checked: ${whyNot(none)}`,
  /** Below a first line that says the rest: which commands judged in the place of others. */
  beside: (facts: ChecksFacts): string[] => rungRemarks(facts),
  /** Information for the user beyond that line; each is a separate line. */
  remarks: (facts: ChecksFacts): string[] => [
    ...proposedRemark(facts),
    ...(facts.worse.length > 0 ? [`Newly failing or missing: ${names(facts.worse)}`] : []),
    ...(facts.newFailing.length > 0 ? [`New and failing: ${names(facts.newFailing)}`] : []),
    ...listed("Red before and still red", facts.stillRed),
    ...listed("Still red as before", facts.redBefore),
    ...listed(
      "Was red and passes only because this change rewrote the test; its old version still fails",
      facts.rewritten,
    ),
    ...listed(
      facts.expectsElse?.length === 1
        ? "1 test expects something else now"
        : `${facts.expectsElse?.length ?? 0} tests expect something else now`,
      facts.expectsElse,
    ),
    ...(facts.moved !== undefined && facts.moved.length > 0 ? [`${tests(facts.moved.length)} moved`] : []),
    ...listed("Removed, as the coder says or with the code that they test", facts.removed),
    ...listed("Cannot be set up, now as before", facts.unable),
    ...listed("Left out because they do not end here, with or without the change", facts.hung),
    ...(facts.weakensTests
      ? [
          facts.weakened.length > 0
            ? `This change weakens ${tests(facts.weakened.length)} (removed or skipped): ${names(facts.weakened)}`
            : "This change weakens the tests: none is shown any more.",
        ]
      : []),
    ...listed("Passes only with the changed version of", facts.onlyWith),
    ...listed("Passes only with what the job installed in its private home", facts.installed),
    ...listed(
      "New code that refers to the test run",
      facts.testRunLines?.map(({ path, line }) => `${path}: ${line}`),
    ),
    ...newTests(facts),
    ...(facts.notChecked === "blind"
      ? []
      : listed("The tests do not notice when it is broken", facts.unnoticed)),
    ...listed("Flaky, not worse (alone it passes, or it fails on the old code as well)", facts.flaky),
    ...(facts.isFlaky && facts.flaky === undefined
      ? ["A check is flaky: it failed once and passed when it was run again."]
      : []),
  ],
};
