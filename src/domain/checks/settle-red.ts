import { compareLines } from "../patch/compare-lines.ts";
import { importsOf } from "../platform/code-imports.ts";
import { findTestLines } from "./affected-tests.ts";
import {
  type Connection,
  filesHolding,
  findCheckConnection,
  findConnection,
  findLink,
  findTestFile,
  isTied,
  titleOf,
} from "./connected.ts";
import { type Declaration, type Declared, resolveDeclarations } from "./declarations.ts";
import type { ProjectCheck } from "./find-checks.ts";
import type { FindingValues, Found, ReasonedTest, Tie } from "./findings.ts";
import { type ChangedText, isCodePath, isTestPath } from "./path-kinds.ts";
import { bareTestName } from "./test-results.ts";
import type { CheckResult, Judgement, Verdict } from "./verdict.ts";

export interface RedTests {
  /** The declarations in the coder's plans so far. */
  readonly declarations: readonly Declaration[];
  readonly changed: readonly string[];
  /** The checks over the old code, and over the draft. */
  readonly before: readonly CheckResult[];
  readonly results: readonly CheckResult[];
  readonly checks: readonly ProjectCheck[];
  readonly judgement: Judgement;
  readonly texts: ReadonlyMap<string, string>;
  readonly diff?: readonly ChangedText[];
  /** The paths among these that the message names: with its red tests, a change that touches none of them mends nothing. */
  readonly named?: (paths: readonly string[]) => readonly string[];
}

/**
 * Decides which red tests a change answers for, by no phrase of the request. One that the coder declared to fix, that is connected with the
 * change, or whose file the message names, is `still-red`. One that the coder declares as not its own, with a reason, is excused unless
 * it is tied to the change.
 */
export function settleRedTests(red: RedTests): { readonly judgement: Judgement; readonly found: Found } {
  const { texts, judgement } = red;
  const pairs = red.results.flatMap((now, at) => {
    const before = red.before.find(({ command }) => command === now.command);
    const check = red.checks[at] ?? { line: now.command };
    return before === undefined || now.kind !== "test" ? [] : [{ now, check, before }];
  });
  const unread = pairs.filter(
    ({ now, before }) =>
      now.state === "red" && before.state === "red" && (now.results === null || before.results === null),
  );
  const pairOf = (test: string) =>
    pairs.find(({ before, now }) => before.results?.tests.has(test) || now.results?.tests.has(test));
  const fileOf = (test: string) => {
    const pair = pairOf(test);
    const failures = [...(pair?.now.results?.failures ?? []), ...(pair?.before.results?.failures ?? [])];
    const own = failures.find((one) => one.test === test);
    return findTestFile(test, own, texts);
  };
  const namesOf = (test: string): readonly string[] => {
    const pair = pairOf(test);
    const file = fileOf(test);
    return [test, bareTestName(test), ...(file === null ? [] : [file]), ...(pair ? [pair.now.command] : [])];
  };
  const { redBefore = [], silenced = [], rewritten = [], unable = [], newFailing, weakened } = judgement;
  const isMissing = (test: string) => red.results.every(({ results }) => !results?.tests.has(test));
  const gone = judgement.worse.filter(isMissing);
  const told = [...redBefore, ...silenced, ...rewritten, ...unable, ...newFailing, ...weakened, ...gone];
  // Beside a new test, a missing one would count as one of other demands.
  const goneElse = (judgement.expectsElse ?? []).filter(isMissing);
  const withCode = removedWithCode([...weakened, ...gone, ...goneElse], red);
  const isGreen = red.results.every(({ state }) => state === "green");
  // A command covers the tests that can run.
  const isVague = (test: string, name: string) =>
    unable.includes(test) && pairs.some(({ now }) => now.command === name);
  const targets = new Map<string, readonly string[]>([
    ...told.map((test) => [test, namesOf(test).filter((name) => !isVague(test, name))] as const),
    ...unread.map(({ now, check }) => [now.command, [now.command, check.line]] as const),
  ]);
  const declared = resolveDeclarations(red.declarations, targets);
  for (const test of withCode) declared.set(test, { kind: "removes", reason: "" });
  const connection = (test: string) => {
    const whole = unread.find(({ now }) => now.command === test);
    if (whole !== undefined) return findCheckConnection(whole.check, { ...red, ...whole });
    const pair = pairOf(test);
    return pair === undefined ? null : findConnection(test, { ...red, ...pair });
  };
  // A set-up problem belongs to the change if the coder declared to fix it, or if it is tied to the change.
  const isOwn = (test: string) => {
    const how = connection(test);
    return declared.get(test)?.kind === "fixes" || (how !== null && isTied(how));
  };
  const own = unable.filter(isOwn);
  const others = unable.filter((test) => !own.includes(test));
  const expectsElse = (judgement.expectsElse ?? []).filter((test) => !withCode.includes(test));
  const owned = { ...judgement, expectsElse, redBefore: [...redBefore, ...own], unable: others };
  const commands = unread.map(({ now }) => now.command);
  const left = withoutRenamed(withoutGone(owned, { gone, declared, isGreen }), red);
  const isGoal = findGoals(red, fileOf);
  const settled = settleRed(left, { gone, withCode, declared, unread: commands, connection, isGoal });
  const refused = findRefused(red, targets, (test) => {
    const how = declared.get(test)?.kind === "not-mine" ? connection(test) : null;
    return how !== null && isTied(how) ? how : null;
  });
  return { ...settled, found: { ...settled.found, refused } };
}

/** The failures that the coder declares as not its own, and those that count all the same by a fact: each has its answer. */
function findRefused(
  { judgement: { worse, newFailing }, declarations, before, results }: RedTests,
  targets: ReadonlyMap<string, readonly string[]>,
  tieOf: (test: string) => Tie | null,
): FindingValues["refused"] {
  const lines = declarations.filter(({ kind }) => kind === "not-mine");
  const ran = lines.length === 0 ? [] : [...before, ...results];
  const others = [...worse, ...ran.flatMap((one) => [one.command, ...(one.results?.tests.keys() ?? [])])];
  const named = new Map([...others.map((name) => [name, [name, bareTestName(name)]] as const), ...targets]);
  const refused = lines.flatMap((line): FindingValues["refused"] => {
    const found = [...resolveDeclarations([line], named)];
    if (found.length === 0) return [{ test: line.text.slice(0, MOST_NAMED), reason: "", tie: "unknown" }];
    return found.flatMap(([test, { reason }]) => {
      const open = !targets.has(test) ? null : reason === "" ? "no-reason" : tieOf(test);
      const tie = worse.includes(test) ? "passed-before" : newFailing.includes(test) ? "is-new" : open;
      return tie === null ? [] : [{ test, reason, tie }];
    });
  });
  return [...new Map(refused.map((one) => [one.test, one])).values()];
}

/** Characters of a declaration that names nothing. */
const MOST_NAMED = 80;

/** The goals of a message: tests of a file that it names, or of a named file of code that the change leaves as it is. None if one is mended. */
function findGoals(
  { named = () => [], texts, changed, judgement }: RedTests,
  fileOf: (test: string) => string | null,
): (test: string) => boolean {
  const paths = named([...texts.keys()]);
  const code = paths.some((path) => changed.includes(path)) ? [] : paths.filter((path) => !isTestPath(path));
  const isGoal = (test: string) => {
    const file = fileOf(test);
    return file !== null && (paths.includes(file) || findLink(file, code, texts) !== null);
  };
  return paths.length === 0 || judgement.mended.some(isGoal) ? () => false : isGoal;
}

/** The names that a line defines for other files: functions and methods, and other names without an indentation. */
const DEFINES =
  /^(?:\s*(?:export\s+(?:default\s+)?|pub(?:\([^)]*\))?\s+|async\s+|static\s+)*(?:function\*?|def|func(?:\s*\([^)]*\))?|fn|class)|(?:export\s+)?(?:const|let|var|type|struct|enum|interface))\s+(\w+)/gm;

const wordsIn = (text: string): readonly string[] => text.match(/\w+/g) ?? [];

/** Code files that the change deletes, that no code imports any more, and whose lines are in no other file of the change now. */
function deletedCode({ diff = [], texts }: RedTests): string[] {
  const paths = [...new Set([...texts.keys(), ...diff.map(({ path }) => path)])];
  const deleted = diff.filter(({ path, after }) => after === null && isCodePath(path) && !isTestPath(path));
  if (deleted.length === 0) return [];
  const imported = new Set([...texts].flatMap(([path, text]) => importsOf(paths, path, text)));
  const left = new Set(diff.flatMap(({ after }) => (after ?? "").split("\n").map((line) => line.trim())));
  return deleted.flatMap(({ path, before }) => {
    const lines = (before ?? "").split("\n").flatMap((line) => (/\w.*\w/.test(line) ? [line.trim()] : []));
    const isMoved = lines.filter((line) => left.has(line)).length * 2 >= lines.length;
    return imported.has(path) || isMoved ? [] : [path];
  });
}

/** Tests that the change deletes and that use code which it removes: no code names it any more, so they could not run. */
function removedWithCode(tests: readonly string[], red: RedTests): string[] {
  const { diff = [], texts } = red;
  if (tests.length === 0) return [];
  const deleted = deletedCode(red);
  const before = new Map(diff.map((one) => [one.path, one.before ?? ""]));
  const sources = diff.filter(({ path }) => isCodePath(path) && !isTestPath(path));
  const code = sources.map((one) => (one.before ?? "").replace(/#\[cfg\(test\)\].*/s, ""));
  const removed = new Set(code.flatMap((text) => [...text.matchAll(DEFINES)].map(([, name = ""]) => name)));
  for (const text of texts.values()) for (const word of wordsIn(text)) removed.delete(word);
  const paths = [...new Set([...texts.keys(), ...deleted])];
  return tests.filter((test) => {
    const titles = [test, ...test.split(/::|\//)].map(titleOf);
    const own = (text = "") => wordsIn(findTestLines(text, titles));
    /** A test, or a deleted file of tests, loads no other code than what is deleted. */
    const loadsDeleted = (path: string) => {
      const text = before.get(path) ?? "";
      const whole = texts.has(path) ? findTestLines(text, titles) : text;
      const loaded = deleted.length === 0 ? [] : importsOf(paths, path, whole);
      return loaded.length > 0 && loaded.every((one) => deleted.includes(one));
    };
    const files = filesHolding(test, before).filter((path) => own(before.get(path)).length > 0);
    const isUsed = (word: string) => removed.has(word) && !titles.includes(word);
    const isGone = (path: string) =>
      own(texts.get(path)).length === 0 && (own(before.get(path)).some(isUsed) || loadsDeleted(path));
    return files.length > 0 && files.every(isGone);
  });
}

/** Tests that the coder declares as removed are not worse; the rest of the judgement stays. */
function withoutGone(
  judgement: Judgement,
  about: {
    readonly gone: readonly string[];
    readonly declared: ReadonlyMap<string, Declared>;
    readonly isGreen: boolean;
  },
): Judgement {
  const removed = about.gone.filter((test) => about.declared.get(test)?.kind === "removes");
  const worse = judgement.worse.filter((test) => !removed.includes(test));
  if (removed.length === 0 || worse.length > 0 || !about.isGreen) return judgement;
  if ((judgement.counts?.passed ?? 0) === 0) return judgement;
  return { ...judgement, worse, verdict: judgement.mended.length > 0 ? "better" : "same" };
}

/** Missing tests of a file count as renamed if it has as many new tests, and its new lines have most words of those that it lost. */
function withoutRenamed(judgement: Judgement, { diff = [], texts }: RedTests): Judgement {
  const { weakened, newPassing = [], moved = [] } = judgement;
  const renamed: string[] = [];
  const known: string[] = [];
  for (const { path, before, after } of diff) {
    if (before === null || after === null || weakened.length === 0) continue;
    const [old, now] = [before.split("\n"), after.split("\n")];
    const changes = compareLines(old, now);
    const isOf = (text: string) => (test: string) =>
      findTestFile(test, { places: [path] }, new Map([[path, text]])) === path;
    const left = weakened.filter(isOf(before));
    const come = newPassing.filter(isOf(texts.get(path) ?? after));
    // A name demands nothing.
    const names = new Set(left.flatMap(wordsIn));
    const words = changes.flatMap((one) => old.slice(...one.old)).flatMap(wordsIn);
    const lost = words.filter((word) => !names.has(word));
    const gained = new Set(changes.flatMap((one) => now.slice(...one.now)).flatMap(wordsIn));
    const isLost = lost.filter((word) => gained.has(word)).length * 2 < lost.length;
    if (left.length === 0 || come.length < left.length || isLost) continue;
    renamed.push(...left);
    known.push(...come.slice(0, left.length));
  }
  if (renamed.length === 0) return judgement;
  const rest = weakened.filter((test) => !renamed.includes(test));
  return {
    ...judgement,
    weakened: rest,
    weakensTests: rest.length > 0,
    moved: [...moved, ...renamed],
    newPassing: newPassing.filter((test) => !known.includes(test)),
  };
}

type Duty = "still-red" | "not-mine" | "removed" | "red-before";

/** `unread`: commands that are red, were red before, and name no tests; each counts as one test. */
function settleRed(
  judgement: Judgement,
  about: Readonly<Record<"gone" | "withCode" | "unread", readonly string[]>> & {
    readonly declared: ReadonlyMap<string, Declared>;
    readonly connection: (test: string) => Connection | null;
    readonly isGoal: (test: string) => boolean;
  },
) {
  const { gone, withCode, unread, connection, isGoal } = about;
  const declared = (test: string) => about.declared.get(test);
  const silenced = judgement.silenced ?? [];
  // The checks are green only with the draft's version of deciding files.
  const isForced = judgement.verdict === "still-red";
  const red = [...(judgement.redBefore ?? []), ...silenced, ...unread];
  const duties = Map.groupBy(red, (test) =>
    isForced && !silenced.includes(test)
      ? "still-red"
      : dutyOf(declared(test), connection(test) ?? (isGoal(test) ? "name" : null), silenced.includes(test)),
  );
  const of = (duty: Duty) => duties.get(duty) ?? [];
  const said = (kind: Declared["kind"]) => (test: string) => {
    const one = declared(test);
    return one?.kind === kind && (kind === "removes" || one.reason !== "");
  };
  const named = (tests: readonly string[]) => tests.filter((test) => !unread.includes(test));
  const isMeant = said("meant-to-fail");
  const isRewritten = said("changes-checks");
  const isRemoved = said("removes");
  const rewritten = judgement.rewritten ?? [];
  const weakened = judgement.weakened.filter((test) => !isRemoved(test));
  const settled = {
    ...judgement,
    stillRed: named(of("still-red")),
    redBefore: named(of("red-before")),
    newFailing: judgement.newFailing.filter((test) => !isMeant(test)),
    rewritten: rewritten.filter((test) => !isRewritten(test)),
    expectsElse: [...(judgement.expectsElse ?? []), ...rewritten.filter(isRewritten)],
    weakened,
    weakensTests: judgement.weakensTests && (weakened.length > 0 || judgement.weakened.length === 0),
  };
  const reasoned = (tests: readonly string[]): ReasonedTest[] =>
    tests.map((test) => ({ test, reason: declared(test)?.reason ?? "" }));
  const notMine = reasoned(of("not-mine"));
  const unnamed = of("still-red").filter((test) => declared(test)?.kind !== "fixes");
  const meantToFail = reasoned(judgement.newFailing.filter(isMeant));
  const removed = [...of("removed"), ...[...judgement.weakened, ...gone].filter(isRemoved)].filter(
    (test) => !withCode.includes(test),
  );
  const isRed = of("still-red").length > 0;
  return {
    judgement: { ...settled, verdict: settledVerdict(settled, { isRed, isBefore: notMine.length > 0 }) },
    found: { unnamed, notMine, meantToFail, removed, removedWithCode: withCode },
  };
}

function dutyOf(declared: Declared | undefined, how: Connection | null, isSilenced: boolean): Duty {
  if (isSilenced && declared?.kind === "removes") return "removed";
  const isDisowned = declared?.kind === "not-mine" && declared.reason !== "";
  if (isDisowned && (how === null || !isTied(how))) return "not-mine";
  return declared?.kind === "fixes" || how !== null ? "still-red" : "red-before";
}

/** `worse` outranks everything; a test that passes only because the draft rewrote it is doubtful, not fixed. */
function settledVerdict(
  { verdict, rewritten = [], newFailing, mended, redBefore = [] }: Judgement,
  { isRed, isBefore }: { readonly isRed: boolean; readonly isBefore: boolean },
): Verdict {
  if (verdict === "worse" || verdict === "not-checked") return verdict;
  if (isRed) return "still-red";
  if (rewritten.length > 0) return "doubtful";
  if (newFailing.length > 0) return "new-failing";
  // Every failing new test is declared as meant to fail.
  if (verdict === "new-failing")
    return mended.length > 0 ? "better" : redBefore.length > 0 || isBefore ? "red-before" : "same";
  return verdict === "unknown" && isBefore ? "red-before" : verdict;
}
