import {
  type AffectedTests,
  findAffectedTests,
  isTestFile,
  onlyAddsTests,
} from "../../domain/checks/affected-tests.ts";
import { filesHolding, titleOf } from "../../domain/checks/connected.ts";
import { changesImportsOnly } from "../../domain/checks/deciding-files.ts";
import { repeatsFailure } from "../../domain/checks/failures.ts";
import { type ProjectCheck, READ_FOR_CHECKS } from "../../domain/checks/find-checks.ts";
import { cheapenLine, narrowLine, selectData } from "../../domain/checks/narrow-check.ts";
import { findPatches } from "../../domain/checks/patched-code.ts";
import { decidesChecks, isCodePath, isTestPath } from "../../domain/checks/path-kinds.ts";
import { findRenamedTests } from "../../domain/checks/renamed-tests.ts";
import { bareTestName, countTests, holds } from "../../domain/checks/test-results.ts";
import {
  type CheckResult,
  countAsPassed,
  failingTests,
  type Judgement,
  judgeAll,
} from "../../domain/checks/verdict.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { foldersAbove } from "../../domain/platform/paths.ts";
import type { Checked, CheckRequest, CheckRun, Draft } from "../ports/jobs-draft.ts";
import { checkResults, readSmallFile } from "./baseline.ts";

export type RunDraftChecks = (
  checks: readonly ProjectCheck[],
  more?: Partial<CheckRequest>,
) => Promise<Checked>;

/** Folders without the project's own code. */
const FOREIGN =
  /(?:^|\/)(?:\.[^/]+|node_modules|vendor|venv|target|dist|build|out|coverage|__pycache__|site-packages)$/;
const MOST_FILES = 5000;
const MOST_BYTES = 512 * 1024;

/** The code nearest to the changed files first: a large project is not read whole. */
function readCode(files: Draft["files"], changed: readonly string[]): Map<string, string> {
  const texts = new Map<string, string>();
  const folders = new Set([...changed.flatMap((path) => [...foldersAbove(path)]), ""]);
  // A set lists each folder once, also those that are added meanwhile.
  for (const folder of folders)
    for (const name of attemptOr([], () => files.list(folder))) {
      const path = folder === "" ? name : `${folder}/${name}`;
      if (texts.size >= MOST_FILES || texts.has(path) || FOREIGN.test(path)) continue;
      const entry = files.look(path);
      if (entry.kind === "directory") folders.add(path);
      else if (entry.kind === "file" && entry.size <= MOST_BYTES && isCodePath(path))
        texts.set(path, new TextDecoder().decode(files.read(path)));
    }
  return texts;
}

/** The tests that a draft concerns, and how to run them alone. */
export interface Affected extends AffectedTests {
  readonly texts: ReadonlyMap<string, string>;
  /** A check with these test files alone; null if that is not possible. `older`: the texts of files in an old version. */
  narrow(
    check: ProjectCheck,
    files: readonly string[],
    older?: ReadonlyMap<string, string>,
  ): ProjectCheck | null;
  /** The same by a call that does less beside the tests, as far as the project's settings need that. */
  readonly cheaply: Affected["narrow"];
  /** The options of such a call. */
  cheaper(checks: readonly ProjectCheck[]): readonly string[];
}

/** The affected tests are unknown: all tests judge. */
export const NO_TESTS_FOUND: Affected = {
  files: [],
  touched: [],
  near: [],
  ranked: [],
  readers: new Map(),
  of: 0,
  texts: new Map(),
  narrow: () => null,
  cheaply: () => null,
  cheaper: () => [],
};

export function toChangedTexts(draft: Pick<Draft, "diff">) {
  const text = (bytes: Uint8Array | null | undefined) =>
    bytes == null ? null : new TextDecoder().decode(bytes);
  return draft.diff().map(({ path, before, after }) => ({ path, before: text(before), after: text(after) }));
}

export function toTexts(draft: Pick<Draft, "diff">) {
  const texts = toChangedTexts(draft);
  return texts.map(({ path, before, after }) => ({ path, before: before ?? "", after: after ?? "" }));
}

/** Whether the draft leaves every test as it was and adds others at most. */
export function onlyAdds(draft: Pick<Draft, "diff">): boolean {
  return onlyAddsTests(toTexts(draft).filter(({ path }) => isTestPath(path)));
}

/** Files of these name the files that they use. A file of Go uses all others of its package. */
const NAMES_USED = /\.(?:java|py|[cm]?[jt]sx?)$/;

/** Whether a draft leaves what a test demands as it was: it changes other files of tests alone, which the test's file does not name. */
export function findSameDemands(draft: Pick<Draft, "diff">, texts: ReadonlyMap<string, string>) {
  const changed = toChangedTexts(draft).filter((one) => isTestPath(one.path) && !changesImportsOnly(one));
  const areTests = changed.every(({ path, before, after }) => isTestFile(path, before ?? after ?? ""));
  const names = changed.map(({ path }) => path.replace(/^.*\/|\.\w+$/g, ""));
  const isOther = (path: string) =>
    NAMES_USED.test(path) &&
    !changed.some((one) => one.path === path) &&
    !names.some((name) => texts.get(path)?.includes(name));
  return (test: string): boolean => {
    const files = filesHolding(test, texts);
    return changed.length === 0 || (areTests && files.length > 0 && files.every(isOther));
  };
}

export function findAffected(draft: Pick<Draft, "files" | "diff">): Affected {
  const changed = toChangedTexts(draft);
  const paths = changed.map(({ path }) => path);
  const texts = readCode(draft.files, paths);
  const found = findAffectedTests({ texts, changed });
  const read = (path: string) =>
    texts.get(path) ?? attemptOr(null, () => readSmallFile(draft.files, path, MOST_BYTES)) ?? "";
  let settings: string | null = null;
  const cheapen = ({ line, runner = line }: ProjectCheck) => {
    settings ??= [...READ_FOR_CHECKS, ...[...texts.keys()].filter((path) => decidesChecks(path))]
      .map(read)
      .join("\n");
    return cheapenLine(runner, settings);
  };
  const narrow: Affected["narrow"] = (check, files, older = texts) => {
    const narrowed = narrowLine(check.runner ?? check.line, files, older);
    if (narrowed === null) return null;
    const line = selectData(narrowed, files, found.readers);
    const { kind, command, home } = check;
    return { kind, command, line, ...(home !== undefined && { home }) };
  };
  return {
    ...found,
    texts,
    narrow,
    cheaply: (check, files, older) => narrow({ ...check, runner: cheapen(check) }, files, older),
    cheaper: (checks) =>
      checks.flatMap((check) => {
        const known = (check.runner ?? check.line).split(" ");
        return cheapen(check)
          .split(" ")
          .filter((word) => !known.includes(word));
      }),
  };
}

/** Repeats failing tests. If the draft only adds tests, their old version runs first: if all are red there, it was enough. */
async function repeatFailing<Ran extends Pick<AffectedJudgement, "results">>(
  draft: Pick<Draft, "diff">,
  names: readonly string[],
  run: (more: Partial<CheckRequest>) => Promise<Ran | null>,
): Promise<Ran | null> {
  const old = toTexts(draft).filter((one) => isTestPath(one.path) && one.before !== "");
  const isOld = (name: string) => onlyAdds(draft) && old.some((one) => one.before.includes(titleOf(name)));
  const ran = names.every(isOld) ? await run({ asBefore: old.map(({ path }) => path) }) : null;
  const red = ran?.results.flatMap(failingTests) ?? [];
  return names.every((name) => red.includes(name)) ? ran : run({ again: true });
}

/**
 * Repeats the tests that got worse, alone, over the draft; those that fail again also over the old code. A run of the whole suite
 * would repeat the load that makes a test flaky. Null where only a whole run can decide: a test cannot run alone, or fails alone over
 * the old code, too.
 */
export async function repeatWorse(
  deps: AffectedDeps & Pick<AffectedJudgement, "results" | "judgement" | "runs">,
  affected: Affected,
) {
  const { checks, results, judgement, check, draft } = deps;
  // A test that is gone cannot be repeated; it may have moved, which the verdict decides.
  const fails = (name: string) => results.some((one) => one.results?.tests.get(name) === "fail");
  const names = [...judgement.worse, ...judgement.newFailing].filter(fails);
  const tests = checks.filter(({ kind }) => kind === "test");
  const [test] = tests;
  if (test === undefined || tests.length > 1 || names.length === 0) return null;
  const files = filesOfTests(names, affected.texts);
  const alone = files === null ? null : affected.narrow(test, files, textsOfTests(names, affected.texts));
  if (alone === null) return null;
  const run = async (more: Partial<CheckRequest>) => {
    const ran = await check([alone], more);
    return ran.ok ? { results: checkResults([alone], ran.runs) } : null;
  };
  const passes = (ran: Awaited<ReturnType<typeof run>>, name: string) =>
    ran?.results.every((one) => passesIn(one, name)) === true;
  const again = await repeatFailing(draft, names, run);
  if (again === null) return null;
  const flaky = names.filter((name) => passes(again, name));
  const red = judgement.worse.filter((name) => fails(name) && !flaky.includes(name));
  const before = red.length === 0 ? null : await run({ asBefore: draft.changes().map(({ path }) => path) });
  if (red.some((name) => !passes(before, name))) return null;
  const isAll = red.length === 0;
  const once = await repeatTogether(isAll ? flaky : [], deps, async () => {
    const ran = await check([test], { again: true });
    return ran.ok ? checkResults([test], ran.runs) : null;
  });
  const passed = flaky.filter((name) => !once.together.includes(name));
  const settled = results.map((result, at) => (checks[at] === test ? countAsPassed(result, passed) : result));
  return { ...once, results: settled, flaky: passed, unrepeated: isAll ? once.unrepeated : passed };
}

/** Tests that failed in a run and passed alone. */
export interface OnceFailed {
  /** They failed in a second run of the same tests, too. */
  readonly together: readonly string[];
  /** The same tests were not run again, so these passed in no run with the others. */
  readonly unrepeated: readonly string[];
}

/** Repeats a whole run for its tests that failed and passed alone: state that tests share shows only when they run together. */
async function repeatTogether(
  names: readonly string[],
  { runs, repeatedMs }: Pick<AffectedJudgement, "runs"> & Pick<AffectedDeps, "repeatedMs">,
  run: () => Promise<readonly CheckResult[] | null>,
): Promise<OnceFailed> {
  if (names.length === 0) return { together: [], unrepeated: [] };
  const took = runs.reduce((sum, { durationMs }) => sum + durationMs, 0);
  const again = took > repeatedMs ? null : await run();
  const ended = again?.filter(({ state }) => state === "green" || state === "red") ?? [];
  const named = (name: string) => ended.filter(({ results }) => showsTest(results, name));
  const passes = (name: string) => named(name).length > 0 && named(name).every((one) => passesIn(one, name));
  const fails = (name: string) => ended.flatMap(failingTests).includes(name);
  return {
    together: names.filter(fails),
    unrepeated: names.filter((name) => !fails(name) && !passes(name)),
  };
}

function showsTest(results: CheckResult["results"], name: string): boolean {
  if (results === null || results.listed === "failed") return true;
  const bare = bareTestName(name);
  return [...results.tests.keys()].some((one) => one === name || bareTestName(one) === bare);
}

/** Whether a test passes in a result, under any name that the run gave it. */
export function passesIn({ state, results }: CheckResult, name: string): boolean {
  if (results === null) return state === "green";
  const bare = bareTestName(name);
  const same = [...results.tests].filter(([one]) => one === name || bareTestName(one) === bare);
  if (same.length === 0) return results.listed === "failed" && state !== "timed-out";
  return same.every(([, outcome]) => holds(outcome));
}

/** The texts that a line for these tests alone is made from: in Go, a file's lines that begin them, where it has any. */
export function textsOfTests(names: readonly string[], texts: ReadonlyMap<string, string>) {
  const titles = new Set(names.map(titleOf));
  const isOwn = (line: string) => titles.has(/^func (\w+)/.exec(line)?.[1] ?? "");
  const own = (text: string) => text.split("\n").filter(isOwn).join("\n") || text;
  return new Map([...texts].map(([path, text]) => [path, path.endsWith(".go") ? own(text) : text]));
}

/** The files of these tests, by their names or by what the files say; null where one is not found. */
export function filesOfTests(names: readonly string[], texts: ReadonlyMap<string, string>): string[] | null {
  const holding = names.map((name) =>
    filesHolding(name, texts, (path) => isTestPath(path) || /test|spec/i.test(path)),
  );
  return holding.some(({ length }) => length === 0) ? null : [...new Set(holding.flat())];
}

/** Whether the tests are red and name none of them, so that nothing can be compared. */
export function isUnreadRed(results: readonly CheckResult[]): boolean {
  const tests = results.filter(({ kind }) => kind === "test");
  return tests.length > 0 && tests.every(({ state, results: read }) => state === "red" && read === null);
}

export interface AffectedDeps {
  readonly checks: readonly ProjectCheck[];
  readonly check: RunDraftChecks;
  readonly draft: Pick<Draft, "changes" | "diff">;
  /** A run that took longer is not repeated for tests that pass alone. */
  readonly repeatedMs: number;
  /** The results of all tests over the old code, where they are known by now. */
  readonly known?: readonly CheckResult[];
}

export interface AffectedJudgement extends Partial<OnceFailed> {
  readonly judgement: Judgement;
  readonly runs: readonly CheckRun[];
  readonly checks: readonly ProjectCheck[];
  readonly results: readonly CheckResult[];
  /** Over the old code. */
  readonly before: readonly CheckResult[];
  /** The draft's tests over the old code, new ones among them; absent where another run shows those. */
  readonly overOld?: readonly CheckResult[] | undefined;
  readonly flaky: readonly string[];
  readonly files: number;
  readonly of: number;
  /** All tests are red without names, and the run over the draft shows the same failure. */
  readonly isAsBefore?: true;
}

/** Whether so few of the tests are affected that they are worth a run of their own. */
export function isWorthFirst({ files, of }: AffectedTests): boolean {
  return files.length > 0 && files.length * 2 <= of;
}

/** The baseline of new test files. */
const NO_TESTS_YET = {
  state: "green",
  results: { formats: [], listed: "all", tests: new Map(), counts: countTests(new Map()) },
} as const;

/** Runs the affected tests over draft and old code; null if they cannot run alone. `first`: null, too, if none is red over the draft. */
export async function judgeAffected(
  deps: AffectedDeps,
  affected: Affected,
  { first = false }: { readonly first?: boolean } = {},
): Promise<AffectedJudgement | null> {
  const { checks, known = [] } = deps;
  const tests = checks.filter(({ kind }) => kind === "test");
  const [test] = tests;
  if (test === undefined || tests.length > 1) return null;
  const now = await runFiles(deps, affected, { test, files: affected.files });
  const hanging = now === null || !first ? null : judgeHanging(deps, now);
  if (hanging !== null) return hanging;
  // Without a named failure, nothing can be sent back to the coder early: all tests judge.
  if (now === null || (first && !now.results.some((one) => failingTests(one).length > 0))) return null;
  const repeats = ({ failure }: CheckResult) => known.some((one) => repeatsFailure(failure, one.failure));
  if (!first && known.length === 1 && now.results.every(repeats)) {
    const judgement = judgeAll({ baseline: known, draft: known, old: null });
    return { ...now, before: known, judgement, isAsBefore: true };
  }
  const compared = first ? null : await compareWithOldCode(deps, affected, now);
  if (!first && (compared === null || !isRed(compared))) return compared;
  const red = compared?.judgement ?? { worse: now.results.flatMap(failingTests), newFailing: [] };
  const names = [...red.worse, ...red.newFailing];
  const ran = new Map(affected.files.map((path) => [path, affected.texts.get(path) ?? ""]));
  const files = names.length === 0 ? null : filesOfTests(names, ran);
  const repeat = (more: Partial<CheckRequest>) =>
    runFiles(deps, affected, { test, files: files ?? [], more });
  const again = files === null ? null : await repeatFailing(deps.draft, names, repeat);
  if (again === null) return compared ?? compareWithOldCode(deps, affected, now);
  const second = (first: CheckResult) => again.results.find(({ command }) => command === first.command);
  const flaky = now.results.flatMap((one) =>
    failingTests(one).filter((name) => names.includes(name) && passesIn(second(one) ?? one, name)),
  );
  const isAll = !first && names.every((name) => flaky.includes(name));
  const { repeatedMs } = deps;
  const once = await repeatTogether(isAll ? flaky : [], { runs: now.runs, repeatedMs }, async () => {
    const ran = await runFiles(deps, affected, { test, files: affected.files, more: { again: true } });
    return ran?.results ?? null;
  });
  const passed = flaky.filter((name) => !once.together.includes(name));
  const settled = first ? again : now;
  const results = settled.results.map((result) => countAsPassed(result, passed));
  const judged = await compareWithOldCode(deps, affected, { ...settled, flaky: passed, results });
  return judged && { ...judged, ...once, unrepeated: isAll || first ? once.unrepeated : passed };
}

/** Affected tests that do not end, though all tests ended over the old code, are not begun a second time among all tests. */
function judgeHanging({ known: before = [] }: AffectedDeps, { known: _, ...now }: FilesRun) {
  const ended = before.filter(({ kind, state }) => kind === "test" && state !== "timed-out");
  if (ended.length === 0 || !now.results.some(({ state }) => state === "timed-out")) return null;
  const baseline = [...ended, ...addedBefore(now)];
  return { ...now, before: baseline, judgement: judgeAll({ baseline, draft: now.results, old: null }) };
}

/** New test files over the old code. */
function addedBefore({ checks }: Pick<FilesRun, "checks">) {
  return checks.slice(1).map(({ kind, command }) => ({ kind, command, ...NO_TESTS_YET }));
}

export function isRed({ judgement: { verdict } }: Pick<AffectedJudgement, "judgement">): boolean {
  return verdict === "worse" || verdict === "new-failing";
}

/** A run of some test files over the draft: the first check runs files that existed before, the second one new files. */
interface FilesRun extends Pick<AffectedJudgement, "runs" | "checks" | "results" | "flaky" | "files" | "of"> {
  readonly known: ProjectCheck;
}

async function runFiles(
  { check, draft }: AffectedDeps,
  affected: Affected,
  what: {
    readonly test: ProjectCheck;
    readonly files: readonly string[];
    readonly more?: Partial<CheckRequest>;
  },
): Promise<FilesRun | null> {
  const { test, files, more } = what;
  const changes = draft.changes();
  const isNew = (path: string) => changes.some((one) => one.path === path && one.kind === "added");
  const old = files.filter((path) => !isNew(path));
  const known = affected.narrow(test, old);
  if (known === null) return null;
  const added = affected.narrow(test, files.filter(isNew));
  const checks = [known, ...(added === null ? [] : [{ ...added, command: `${test.command} (new tests)` }])];
  const ran = await check(checks, more);
  if (!ran.ok) return null;
  const results = checkResults(checks, ran.runs);
  const runs = ran.runs.map((run) => ({ ...run, partOf: test.line }));
  return { runs, checks, results, flaky: [], files: files.length, of: affected.of, known };
}

export interface OldTestsDeps {
  readonly checks: readonly ProjectCheck[];
  /** Over the draft. */
  readonly results: readonly CheckResult[];
  readonly baseline: readonly CheckResult[];
  readonly check: RunDraftChecks;
}

/**
 * Runs only the changed test files, in their old version, and those of fixed tests, over the draft's code; other tests keep their result
 * over the draft. Null where only a whole run can decide: the draft changes a file that other tests use, an old test file cannot be
 * loaded any more, or a fixed test of an unchanged file fails alone.
 */
export async function runOldFiles(
  { checks, results, baseline, check }: OldTestsDeps,
  affected: Affected,
  old: Record<"asBefore" | "fixed", readonly string[]> & { readonly draft: Pick<Draft, "diff"> },
): Promise<readonly CheckResult[] | null> {
  const at = checks.findIndex(({ kind }) => kind === "test");
  const [test, now] = [checks[at], results[at]];
  const before = baseline.find(({ command }) => command === now?.command)?.results;
  if (test === undefined || now?.results?.listed !== "all" || before?.listed !== "all") return null;
  const changed = new Map(toChangedTexts(old.draft).map((one) => [one.path, one.before]));
  const texts = new Map(
    [...changed].flatMap(([path, text]) => (isTestPath(path) && text ? [[path, text]] : [])),
  );
  if (![...texts].every(([path, text]) => isTestFile(path, text))) return null;
  const others = filesOfTests(old.fixed, affected.texts)?.filter((path) => !changed.has(path));
  if (others === undefined) return null;
  for (const path of others) texts.set(path, affected.texts.get(path) ?? "");
  const alone = texts.size === 0 ? null : affected.narrow(test, [...texts.keys()], texts);
  const ran = alone === null ? null : await check([alone], { asBefore: old.asBefore });
  if (alone === null || ran?.ok !== true) return null;
  const [result] = checkResults([alone], ran.runs);
  const seen = result?.results;
  if (result === undefined || seen?.listed !== "all" || seen.tests.size === 0) return null;
  const isKnown = ([name, outcome]: [string, string]) => outcome !== "error" && before.tests.has(name);
  if (![...seen.tests].every(isKnown)) return null;
  if (others.length > 0 && !old.fixed.every((name) => passesIn(result, name))) return null;
  const tests = new Map([...now.results.tests, ...seen.tests]);
  const isGreen = result.state === "green" && now.state === "green";
  const merged = { ...now.results, tests, counts: countTests(tests) };
  return [{ ...now, state: isGreen ? "green" : "red", results: merged }];
}

async function compareWithOldCode(
  { check, checks, draft, known: before = [] }: Omit<AffectedDeps, "repeatedMs">,
  affected: Affected,
  { known, ...now }: FilesRun,
): Promise<AffectedJudgement | null> {
  const added = addedBefore(now);
  const failing = now.results.flatMap(failingTests);
  const whole = before.find(({ kind }) => kind === "test");
  const all = whole?.results?.listed === "all" ? whole.results : null;
  const named = new Set([...(all?.tests.keys() ?? [])].map(bareTestName));
  // No failing test existed before, so a run over the old code would show nothing about them.
  const areNew = failing.length > 0 && !failing.some((name) => named.has(bareTestName(name)));
  if (whole !== undefined && all !== null && areNew) {
    const ran = (name: string) => now.results.some(({ results }) => results?.tests.has(name));
    const tests = new Map([...all.tests].filter(([name]) => ran(name)));
    const baseline = [{ ...whole, results: { ...all, tests, counts: countTests(tests) } }, ...added];
    return { ...now, before: baseline, judgement: judgeAll({ baseline, draft: now.results, old: null }) };
  }
  const changes = draft.changes();
  const proof = await runNewOverOldCode({ check, draft }, affected, now);
  const code = proof === null ? await check([known], { asBefore: changes.map(({ path }) => path) }) : null;
  if (code?.ok === false) return null;
  const baseline = [...(proof?.before ?? checkResults([known], code?.runs ?? [])), ...added];
  // Red without a test on either side: the line itself fails here, such as where a test reads the runner's arguments.
  if (isUnreadRed([...baseline.slice(0, 1), ...now.results.slice(0, 1)])) return null;
  const plain = judgeAll({ baseline, draft: now.results, old: null });
  // A new test may be why an old one fails or passes now.
  const isShown = plain.verdict !== "worse" && plain.mended.length === 0 && onlyAdds(draft);
  // Tests that time out over the old code would time out in their old version, too.
  const isAsked = !isShown && baseline.every(({ state }) => state !== "timed-out");
  const asBefore = changes.flatMap(({ path, kind }) =>
    isAsked && isTestPath(path) && kind !== "added" ? [path] : [],
  );
  const tests = checks.filter(({ kind }) => kind === "test");
  const judged = { checks: tests, results: now.results, baseline, check };
  const about = { asBefore, draft, fixed: plain.mended };
  const alone = asBefore.length === 0 ? null : await runOldFiles(judged, affected, about);
  const every = asBefore.length === 0 || alone !== null ? null : await check([known], { asBefore });
  if (every?.ok === false) return null;
  const old = alone ?? (every && checkResults([known], every.runs));
  const demandsSame = findSameDemands(draft, affected.texts);
  const isRenamed = findRenamedTests(toChangedTexts(draft));
  const judgement = judgeAll({ baseline, draft: now.results, old, demandsSame, isRenamed });
  return { ...now, before: baseline, judgement, ...(proof !== null && { overOld: proof.overOld }) };
}

/**
 * Where the draft only adds tests, one run of its test files over the old code shows how the old tests ended there and whether the new
 * ones test the change. Null where that run does not show every old test: a new one may keep a file from being loaded.
 */
async function runNewOverOldCode(
  { check, draft }: Pick<AffectedDeps, "check" | "draft">,
  { texts }: Pick<Affected, "texts">,
  { results, checks }: Pick<FilesRun, "results" | "checks">,
): Promise<{ readonly before: readonly CheckResult[]; readonly overOld: readonly CheckResult[] } | null> {
  const changes = draft.changes();
  const code = changes.flatMap(({ path }) => (isTestPath(path) ? [] : [path]));
  const changed = toTexts(draft).filter(({ path }) => isTestPath(path));
  const [known, now] = [checks[0], results[0]?.results];
  const isPlain = changed.every(({ path, before, after }) => isTestFile(path, before || after));
  if (known === undefined || now?.listed !== "all" || code.length === 0) return null;
  if (!isPlain || changed.every(({ before }) => before === "") || !onlyAdds(draft)) return null;
  // A new test may replace parts of the code for the rest of the run.
  if (findPatches(toChangedTexts(draft), texts).length > 0) return null;
  const ran = await check([known], { asBefore: code });
  const [result] = ran.ok ? checkResults([known], ran.runs) : [];
  const seen = result?.results;
  if (result === undefined || seen?.listed !== "all") return null;
  const added = new Map(changed.map((one) => [one.path, one] as const));
  const isNew = (name: string) => {
    return filesHolding(name, texts).every(
      (path) => added.get(path)?.before.includes(titleOf(name)) === false,
    );
  };
  const old = new Map([...seen.tests].filter(([name]) => !isNew(name)));
  if (old.size === 0 || ![...now.tests.keys()].every((name) => isNew(name) || old.has(name))) return null;
  const counts = countTests(old);
  const state = counts.failed === 0 ? ("green" as const) : result.state;
  return { before: [{ ...result, state, results: { ...seen, tests: old, counts } }], overOld: [result] };
}
