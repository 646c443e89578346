/**
 * Words about checks for people: the first line, the line, the brief, remarks, progress and the state before a change.
 * In: facts, live or from JSON, and a language's table of words. Out: sentences.
 * Invariant: the table decides nothing, and every language says the same in the same order.
 */

import type { SourcedCommand } from "../checks/command-sources.ts";
import {
  type ChecksFacts,
  type ChecksRecord,
  codesWith,
  type FindingRules,
  type FindingValues,
  type FirstLineCode,
  type Found,
  findingsByCode,
  type NewErrors,
  type ReasonedTest,
  type RemarkCode,
  type RunName,
  type Tie,
  type WhyNotChecked,
  type WhyNotRun,
} from "../checks/findings.ts";
import type { UnableCheck } from "../checks/outside-cause.ts";
import type { CodePatch } from "../checks/patched-code.ts";
import { countFailing, type NewTests, type TestCounts, totalTests } from "../checks/test-results.ts";
import { failingTests, type KnownCheck, type LowerRung } from "../checks/verdict.ts";
import { type CheckWords, checkWords as en, type Template } from "./en/checks.ts";
import { fillHoles } from "./format-text.ts";
import { checkWords as ja } from "./ja/checks.ts";
import type { Locale } from "./locale.ts";

/** The progress of running checks, for display. */
export interface ProgressFacts {
  readonly command: string;
  /** The name of a run that is not the first one of its command. */
  readonly run?: RunName;
  readonly done: number;
  /** The number of tests before the change; null if unknown. */
  readonly of: number | null;
  readonly seconds: number;
  /** How long the same checks took the last time; null if unknown. */
  readonly usual: number | null;
  /** The test that began or ended last. */
  readonly latest: string;
}

/** The state of the checks before a coder is asked. */
export interface ChecksState {
  /** Those that are going to judge, with their results over the current workspace if known. */
  readonly checks: readonly KnownCheck[];
  /** Why no check judges; null if one does, or it is not known yet. */
  readonly none: ChecksFacts | null;
}

/** The facts about the checks of a workspace. */
export interface ListedChecks {
  readonly state: ChecksState;
  /** The command that the user chose for the workspace. */
  readonly use: string | null;
  /** The command of another source that judged the last time, and is tried first. */
  readonly works: (Pick<SourcedCommand, "command" | "from"> & { readonly seconds: number }) | null;
  readonly tried: readonly { readonly command: string; readonly why: WhyNotChecked }[];
  /** Type checkers and linters that run after the tests. */
  readonly tools: readonly string[];
}

/** A judgement: a new one, or one that was stored as JSON. */
type JudgedFacts = ChecksFacts | ChecksRecord;

/** Without what is empty. */
function readFacts(facts: JudgedFacts): ChecksRecord {
  const { verdict, counts, commands, notChecked } = facts;
  return { verdict, counts, commands, notChecked, ...findingsByCode(facts) };
}

type Code = keyof CheckWords["said"];
type Holes = Readonly<Record<string, string | number>>;

/** One entry of a finding that is a list. */
type Listed = string | ReasonedTest | CodePatch;
/** Remarks about something else than a list: each has a function, since there is nothing to join. */
type UnlistedRemark = {
  [Code in RemarkCode]: FindingValues[Code] extends readonly Listed[] ? never : Code;
}[RemarkCode];

const nameOf = (one: Listed): string =>
  typeof one === "string" ? one : "test" in one ? one.test : `${one.path}: ${one.line}`;

const NAMES_SHOWN = 5;
const RED_SHOWN = 10;

/** Words the facts about checks by the table of one language. The sentences and their order are the same in every language. */
function createChecksMessages(words: CheckWords) {
  const { why, whyLower, whyNotRun, whyRefused, state, beside: besides, firstLine, runs, said } = words;
  const fill = (template: Template, holes: Holes) =>
    fillHoles(typeof template === "string" ? template : template[holes.n === 1 ? 0 : 1], holes);
  const say = (code: Code, holes: Holes = {}): string => fill(said[code], holes);
  const count = (code: Code, n: number, holes: Holes = {}) => (n > 0 ? [say(code, { n, ...holes })] : []);
  const join = (parts: readonly string[]) => parts.join(say("separator"));
  const names = (list: readonly string[], shown = NAMES_SHOWN) =>
    list.length > shown
      ? say("more", { list: join(list.slice(0, shown)), rest: list.length - shown })
      : join(list);
  const reasons = (list: readonly { readonly reason: string }[]) =>
    names([...new Set(list.map(({ reason }) => reason))]);

  const counts = ({ passed, failed, skipped, unable = 0, xfailed = 0, xpassed = 0 }: TestCounts): string =>
    join([
      say("passed", { n: passed }),
      ...count("failed", failed - unable),
      ...count("unable-count", unable),
      ...count("skipped", skipped - xfailed - xpassed),
      ...count("xfailed", xfailed),
      ...count("xpassed", xpassed),
    ]);

  const wordUnable = ({ command, cause }: UnableCheck) => say("unable-because", { commands: command, cause });

  function whyNot(facts: ChecksRecord): string {
    const { notChecked: reason, absent = [], unnoticed = [], install } = facts;
    const commands = join(facts.commands);
    if (reason === null) return "";
    if (reason === "blind") return say("blind", { commands, names: names(unnoticed) });
    if (reason === "dependencies-missing" && install !== undefined)
      return say("installs", { why: why[reason], install });
    if (reason === "red-before" && facts.errorBefore !== undefined)
      return say("broken-before", { commands: commands || say("the-checks"), error: facts.errorBefore });
    if (facts.tooLong !== undefined)
      return say("in-brackets", { text: why[reason], more: say("too-long", facts.tooLong) });
    if (reason === "no-checks" && facts.beside !== undefined) return say("no-tests");
    if (reason !== "cannot-run") return why[reason];
    const cause = join((facts.cannotRun ?? []).map(wordUnable));
    // An installation does not help where its own program is missing as well.
    const helps =
      install === undefined || absent.includes(install.split(" ", 1)[0] ?? "")
        ? say("name-others")
        : say("may-help", { install });
    if (cause !== "") return say("unable-any", { cause, helps });
    if (absent.length === 0) return say("cannot-run-any", { commands: commands || say("the-checks"), helps });
    return say("absent", { absent: join(absent), commands, helps });
  }

  const unended = ({ commands, seconds }: NonNullable<Found["unended"]>) =>
    say("unended", { commands: join(commands), seconds });

  /** `1 of 2 still red`: of the tests that the change answers for. */
  function stillRed({ stillRed: red = [], mended = [], errorBefore: error }: Found): string {
    if (red.length === 0) return error ? say("still-red-because", { error }) : say("still-red-any");
    const all = red.length + mended.length;
    return say(mended.length === 0 ? "still-red-all" : "still-red-of", { red: red.length, all });
  }

  /** The commands whose result the verdict and the counts report. */
  const leading = ({ commands, beside: others = [] }: ChecksRecord) =>
    join(commands.filter((command) => !others.some((one) => one.command === command)));

  /** `npm run lint is red, was green before`: which of several checks; else what shows that they are worse. */
  function newlyRed({ commands, counts: all, newlyRed: red = [] }: ChecksRecord): string {
    if (red.length === 0) return say(all === null || totalTests(all) === 0 ? "no-test" : "fewer");
    return say(commands.length === 1 ? "newly-red" : "newly-red-some", { commands: join(red) });
  }

  /** `tsc --noEmit: 2 new errors`. */
  const newErrors = (tools: readonly NewErrors[]) =>
    join(tools.map(({ command, errors }) => say("new-errors", { command, n: errors.length })));

  function wordWorse(facts: ChecksRecord): string {
    const { unended: endless, worse = [], newErrors: tools } = facts;
    if (tools !== undefined) return newErrors(tools);
    if (endless === undefined)
      return worse.length > 0 ? say("worse-count", { n: worse.length }) : newlyRed(facts);
    return endless.commands.length < facts.commands.length
      ? unended(endless)
      : say("unended-short", { seconds: endless.seconds });
  }

  const timeOf = (seconds: number) =>
    seconds < 120 ? say("in-seconds", { seconds }) : say("in-minutes", { minutes: Math.round(seconds / 60) });

  /** `3 of 6 affected files`: how much of what the change concerns ran. */
  function ranOf({ files, affected = files, isOnlyNew }: NonNullable<Found["affectedOnly"]>): string {
    if (isOnlyNew) return say("affected-new");
    return files < affected ? say("affected-part", { files, affected }) : say("affected-all", { n: files });
  }

  /** `; the whole suite (5 min) was not run`. */
  function notWhole({ affectedOnly: part }: Found): string {
    if (part === undefined) return "";
    const { wholeSeconds: seconds, isAtLeast, isUnread = false } = part;
    if (isUnread) return say("whole-unread");
    const time = timeOf(seconds);
    return say("not-whole", { time: isAtLeast ? say("at-least", { time }) : time });
  }

  /** `, ruff check . green, not run: mypy, pyright (not installed)`: the checks beside the one that the line is about. */
  const besideOf = ({ beside: others = [] }: Found) => {
    const notRun = new Map<WhyNotRun, string[]>();
    const ran = others.flatMap(({ command, state: ended, counts: own, errors = 0, why: reason }) => {
      if (own !== undefined) return [`${command} ${counts(own)}`];
      if (errors > 0) return [`${command} ${say("errors-before", { n: errors })}`];
      if (reason === undefined) return [`${command} ${besides[ended]}`];
      notRun.set(reason, [...(notRun.get(reason) ?? []), command]);
      return [];
    });
    const not = [...notRun].map(([reason, commands]) =>
      say("in-brackets", { text: `${besides["not-run"]}: ${join(commands)}`, more: whyNotRun[reason] }),
    );
    return [...ran, ...not].map((text) => `${say("separator")}${text}`).join("");
  };

  /** `2 were red before and still are (the coder: build output missing)`. */
  function asBefore({ redBefore = [], notMine = [] }: Found): string[] {
    const [text] = count("as-before", redBefore.length + notMine.length);
    if (text === undefined || notMine.length === 0) return text === undefined ? [] : [text];
    return [say("as-before-said", { text, reasons: reasons(notMine) })];
  }

  /** The findings of one place in the first line, each with its number, its names and the coder's reasons. */
  const inFirstLine = (facts: Found, place: FindingRules["inFirstLine"]): string[] =>
    codesWith("inFirstLine", place).flatMap((code: FirstLineCode) => {
      const list = facts[code] ?? [];
      const why = list.flatMap((one) => (typeof one === "object" && "reason" in one ? [one.reason] : []));
      const holes = { n: list.length, names: names(list.map(nameOf)), reasons: names([...new Set(why)]) };
      return list.length === 0 ? [] : [fill(firstLine[code], holes)];
    });

  /** `458 passed (3 new)`, or the colour where nothing is counted. */
  function passedOf(facts: ChecksRecord): string {
    const { counts: all, affectedOnly, newPassing = [], mended = [] } = facts;
    const { expectsElse = [], rewritten = [], unnoticed = [] } = facts;
    const files = say("files", { n: affectedOnly?.files ?? 0 });
    const ran = (all: TestCounts) => say("ran-in", { n: all.passed, files });
    const passed = (all: TestCounts) =>
      affectedOnly === undefined
        ? say("passed", { n: all.passed })
        : say("affected-passed", { ran: ran(all) });
    const text = all === null ? state.green : passed(all);
    const more = join([
      ...count("new-count", newPassing.length),
      ...count("fixed-count", mended.length),
      ...count("else-count", expectsElse.length + rewritten.length),
      ...count("unnoticed-count", unnoticed.length),
    ]);
    const figures = more === "" ? text : say("in-brackets", { text, more });
    return affectedOnly === undefined ? figures : join([figures, ranOf(affectedOnly)]);
  }

  /** The verdict for a reply's first line; empty if that line already contains it. */
  function headlineParts(facts: ChecksRecord): readonly string[] {
    const { counts: all, verdict, newFailing = [] } = facts;
    if (verdict === "worse" || verdict === "unknown" || verdict === "not-checked") return [];
    const figures = all === null ? [] : [passedOf(facts)];
    const red = asBefore(facts);
    const green = () => [passedOf(facts), ...count("unable-here", all?.unable ?? 0), ...red];
    const parts = {
      same: green,
      better: green,
      "red-before": () => [...figures, ...red, say("nothing-worse")],
      "still-red": () => [...figures, stillRed(facts), ...count("new-failing-count", newFailing.length)],
      "new-failing": () => [...figures, say("new-failing-count", { n: newFailing.length })],
      doubtful: () => {
        const [first, last] = [inFirstLine(facts, "doubt").slice(0, 1), inFirstLine(facts, "after")];
        return [...first, ...(last.length + red.length > 0 ? [...figures, ...red] : []), ...last];
      },
    }[verdict]();
    return [...parts, ...inFirstLine(facts, "declared")];
  }

  function lineParts(facts: ChecksRecord): readonly string[] {
    const { mended = [], newFailing = [], affectedOnly: part, rungs = [] } = facts;
    const said = {
      same: () => (facts.counts === null ? [state.green] : []),
      better: () => (mended.length > 0 ? [] : [say("green-again")]),
      worse: () => [wordWorse(facts)],
      "new-failing": () => [say("new-failing-count", { n: newFailing.length })],
      "red-before": () => [say("red-before-line")],
      "still-red": () => [stillRed(facts)],
      doubtful: () => [...inFirstLine(facts, "doubt").slice(0, 1), ...inFirstLine(facts, "after")],
      unknown: () => [state.red],
      "not-checked": () => [],
    }[facts.verdict]();
    const counted = facts.counts === null ? [] : [counts(facts.counts)];
    const fixed = counted.map((text) =>
      mended.length > 0 ? say("in-brackets", { text, more: say("fixed-count", { n: mended.length }) }) : text,
    );
    const affected = part === undefined ? [] : [ranOf(part)];
    return [...fixed, ...said, ...inFirstLine(facts, "declared"), ...affected, ...rungs.map(wordRung)];
  }

  const wordRung = ({ insteadOf, why: reason }: Pick<LowerRung, "insteadOf" | "why">) =>
    say("rung", { insteadOf, why: whyLower[reason] });

  /** How new tests end over the old code: all of them in one way, or in several. */
  function wordNewTests({ count: n, passWithout, cannotRun = 0, isEndless }: NewTests): string {
    const failing = n - passWithout - cannotRun;
    if (passWithout === n) return say("new-pass-too", { n });
    if (passWithout === 0 && isEndless) return say("new-endless", { n });
    if (cannotRun === n) return say("new-cannot-run", { n });
    if (passWithout + cannotRun === 0) return say("new-fail", { n });
    const shares = [
      ...count(isEndless ? "new-endless-share" : "new-failing-share", failing),
      ...count("unable-count", cannotRun),
      ...count("new-passing-share", passWithout),
    ];
    return say("newTests", { n, shares: join(shares) });
  }

  const named = (code: Code, list: readonly string[]) => count(code, list.length, { names: names(list) });

  type Worded<Codes extends RemarkCode> = {
    readonly [Code in Codes]: (found: FindingValues[Code], facts: ChecksRecord) => string[];
  };
  /** Findings that need more than their names in a sentence; none where another part of the reply says it. */
  const remarks: Worded<UnlistedRemark> & Partial<Worded<RemarkCode>> = {
    proposed: ({ command, why: reason }, { commands }) =>
      reason === null
        ? [say("proposed", { commands: join(commands) })]
        : [say("proposed-unable", { command, why: why[reason] })],
    sourced({ from: { name, file }, own, why: reason }, { commands }) {
      const where = say(`source-${name}`, { file: file ?? "" });
      const cause =
        own.length === 0 ? why[reason] : say("sourced-because", { own: join(own), why: why[reason] });
      return [say("sourced", { commands: join(commands), where, cause })];
    },
    newErrors: (tools) =>
      tools.map(({ command, errors }) => say("newErrors", { command, names: names(errors) })),
    cannotRun: (checks, { notChecked }) =>
      notChecked === "cannot-run" ? [] : checks.map((one) => say("cannotRun", { text: wordUnable(one) })),
    refused: (tests) => tests.map(({ test: name, tie }) => say("refused", { name, why: whyRefused[tie] })),
    weakensTests: (_, { weakened }) => (weakened === undefined ? [say("weakensTests")] : []),
    newTests: (tests) => [wordNewTests(tests)],
    unnoticed: (paths, { notChecked }) => (notChecked === "blind" ? [] : named("unnoticed", paths)),
    flaky(tests, { unstable = [] }) {
      const others = tests.filter((test) => !unstable.includes(test));
      return named("flaky", others);
    },
    isFlaky: (_, { flaky }) => (flaky === undefined ? [say("isFlaky")] : []),
    seconds: (seconds) => [say("seconds", { time: timeOf(seconds) })],
  };

  function wordRemark(facts: ChecksRecord, code: RemarkCode): string[] {
    const { [code]: found } = facts;
    if (found === undefined) return [];
    const word = remarks[code] as ((found: unknown, facts: ChecksRecord) => string[]) | undefined;
    return word?.(found, facts) ?? named(code, (found as readonly Listed[]).map(nameOf));
  }

  /** `npm test (currently: 458 passed, 2 failed: a, b; 12 s)`. */
  function knownCheck({ command, result, seconds }: KnownCheck): string {
    if (result === null) return command;
    const found = result.results === null ? state[result.state] : counts(result.results.counts);
    const red = failingTests(result);
    const failing = red.length === 0 ? "" : `: ${names(red, RED_SHOWN)}`;
    const parts = [
      say("known-state", { found: `${found}${failing}` }),
      ...(seconds === undefined ? [] : [say("in-seconds", { seconds })]),
      ...(result.rung === undefined ? [] : [wordRung(result.rung)]),
    ];
    return say("in-brackets", { text: command, more: parts.join("; ") });
  }

  return {
    counts,
    refusal: (tie: Tie): string => whyRefused[tie],
    /** `npm test: 426 passed (3 fixed)`. */
    line(judged: JudgedFacts): string {
      const facts = readFacts(judged);
      if (facts.notChecked !== null) return `${say("not-checked", { why: whyNot(facts) })}${besideOf(facts)}`;
      return `${leading(facts)}: ${join(lineParts(facts))}${notWhole(facts)}${besideOf(facts)}`;
    },
    /** The end of a reply's first line: `npm test 458 passed (3 new)`. */
    headline(judged: JudgedFacts): string {
      const facts = readFacts(judged);
      if (facts.notChecked === "documentation" || facts.notChecked === "no-change") return "";
      if (facts.notChecked !== null)
        return `${say("not-checked-headline", { why: whyNot(facts) })}${besideOf(facts)}`;
      const parts = headlineParts(facts);
      if (parts.length === 0) return "";
      const commands = leading(facts);
      const by = facts.proposed === undefined ? commands : say("own-check", { commands });
      return `${by} ${join(parts)}${notWhole(facts)}${besideOf(facts)}`;
    },
    /** `3 of 426 tests fail`, for those who watch. */
    brief(judged: JudgedFacts): string {
      const facts = readFacts(judged);
      const { counts: all, verdict, unended: endless, stillRed: red = [], worse = [] } = facts;
      const failing = all === null ? 0 : countFailing(all);
      if (verdict === "doubtful") return join(headlineParts(facts));
      if (endless !== undefined) return unended(endless);
      if (facts.newErrors !== undefined) return newErrors(facts.newErrors);
      if (verdict === "still-red" && red.length > 0)
        return say("brief-names", { text: stillRed(facts), names: names(red) });
      if (failing > 0) return say("brief-failing", { failing, all: (all?.passed ?? 0) + failing });
      if (verdict === "still-red") {
        const [commands, error] = [leading(facts), facts.errorBefore];
        return error ? `${commands}: ${error}` : say("still-red-check", { commands });
      }
      if (verdict !== "worse") return join(headlineParts(facts));
      if (facts.newlyRed !== undefined) return newlyRed(facts);
      return worse.length > 0
        ? say("brief-names", { text: say("worse-count", { n: worse.length }), names: names(worse) })
        : `${join(facts.commands)}: ${newlyRed(facts)}`;
    },
    /** `npm test: 45 s the last time`, then `npm test: 120 of 458 tests, 12 s of about 45 s, parses a header`. */
    progress: ({ command, run, done, of, seconds, usual, latest }: ProgressFacts): string => {
      const isKnown = of !== null && done <= of;
      const counted = isKnown ? say("progress-of", { done, n: of }) : say("progress-tests", { n: done });
      const time =
        usual === null
          ? say("in-seconds", { seconds })
          : say(seconds === 0 ? "progress-usual" : "progress-seconds", { seconds, time: timeOf(usual) });
      const parts = [...(done === 0 ? [] : [counted]), time, latest];
      const name = run === undefined ? command : say("in-brackets", { text: command, more: runs[run] });
      return `${name}: ${join(parts.filter((part) => part !== ""))}`;
    },
    /** The state of the checks before a change, in one line. */
    state: ({ checks, none }: ChecksState): string =>
      none === null
        ? checks.map(knownCheck).join("; ")
        : say("not-checked-state", { why: whyNot(readFacts(none)) }),
    /** All that is known of the checks, for the one who may name a better one. */
    listed({ state: all, use, works, tried, tools }: ListedChecks): string {
      const judging =
        all.none === null
          ? all.checks.map(knownCheck)
          : [say("not-checked-state", { why: whyNot(readFacts(all.none)) })];
      const where = works === null ? "" : say(`source-${works.from.name}`, { file: works.from.file ?? "" });
      return [
        ...judging,
        ...(works === null
          ? []
          : [say("listed-works", { command: works.command, where, time: timeOf(works.seconds) })]),
        ...tried.map(({ command, why: reason }) => say("listed-tried", { command, why: why[reason] })),
        ...(tools.length === 0 ? [] : [say("listed-tools", { names: join(tools) })]),
        say(use === null ? "listed-help" : "listed-use", { command: use ?? "" }),
      ].join("\n");
    },
    /** Below a first line that says the rest: which commands judged in the place of others. */
    beside: (facts: JudgedFacts): string[] =>
      (findingsByCode(facts).rungs ?? []).map(({ command, insteadOf, why: reason, cause }) => {
        const text = whyLower[reason];
        const because = cause === undefined ? text : say("in-brackets", { text, more: cause });
        return say(reason === "home" || reason === "options" ? "rung-home" : "rung-instead", {
          command,
          insteadOf,
          why: because,
        });
      }),
    /** Information for the user beyond that line; each is a separate line. */
    remarks(judged: JudgedFacts): string[] {
      const facts = readFacts(judged);
      return codesWith("remark", true).flatMap((code) => wordRemark(facts, code));
    },
  };
}

const MESSAGES = { en: createChecksMessages(en), ja: createChecksMessages(ja) };

/** Texts about the checks over a draft. */
export type ChecksMessages = ReturnType<typeof createChecksMessages>;

export const checksMessagesFor = (locale: Locale): ChecksMessages => MESSAGES[locale];
