import { type AffectedTests, findAffectedTests, isCodePath } from "../../domain/checks/affected-tests.ts";
import { isTestPath, type ProjectCheck } from "../../domain/checks/find-checks.ts";
import { narrowLine } from "../../domain/checks/narrow-check.ts";
import {
  type AskedFor,
  bareTestName,
  type CheckResult,
  countAsPassed,
  type Judgement,
  judgeAll,
} from "../../domain/checks/verdict.ts";
import type { Checked, CheckRequest, CheckRun, Draft } from "../ports/jobs-draft.ts";
import { checkResults } from "./baseline.ts";

/** Runs checks over a draft. */
export type RunDraftChecks = (
  checks: readonly ProjectCheck[],
  more?: Partial<CheckRequest>,
) => Promise<Checked>;

/** Folders that hold nothing of the project's own. */
const FOREIGN =
  /(?:^|\/)(?:\.[^/]+|node_modules|vendor|venv|target|dist|build|out|coverage|__pycache__|site-packages)$/;
const MOST_FILES = 5000;
const MOST_BYTES = 512 * 1024;

/** The project's code with the draft's changes, each file read once. */
function readCode(files: Draft["files"]): Map<string, string> {
  const texts = new Map<string, string>();
  const folders = [""];
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift())
    for (const name of files.list(folder)) {
      const path = folder === "" ? name : `${folder}/${name}`;
      if (texts.size >= MOST_FILES || FOREIGN.test(path)) continue;
      const entry = files.look(path);
      if (entry.kind === "directory") folders.push(path);
      else if (entry.kind === "file" && entry.size <= MOST_BYTES && isCodePath(path))
        texts.set(path, new TextDecoder().decode(files.read(path)));
    }
  return texts;
}

/** The tests that a draft concerns, and how to run them alone. */
export interface Affected extends AffectedTests {
  readonly texts: ReadonlyMap<string, string>;
  /** A check with these test files alone; null where nobody knows how. */
  narrow(check: ProjectCheck, files: readonly string[]): ProjectCheck | null;
}

export function findAffected(draft: Pick<Draft, "files" | "diff">): Affected {
  const texts = readCode(draft.files);
  const decode = (bytes: Uint8Array | undefined | null) =>
    bytes == null ? null : new TextDecoder().decode(bytes);
  const changed = draft
    .diff()
    .map(({ path, before, after }) => ({ path, before: decode(before), after: decode(after) }));
  return {
    ...findAffectedTests({ texts, changed }),
    texts,
    narrow(check, files) {
      const line = narrowLine(check.runner ?? check.line, files, texts);
      if (line === null) return null;
      const { kind, command, home } = check;
      return { kind, command, line, ...(home !== undefined && { home }) };
    },
  };
}

export interface RepeatDeps {
  readonly checks: readonly ProjectCheck[];
  readonly results: readonly CheckResult[];
  readonly judgement: Judgement;
  readonly check: RunDraftChecks;
  /** Everything that the draft changes: without it the old code stands there. */
  readonly paths: readonly string[];
}

export interface RepeatedTests {
  readonly results: readonly CheckResult[];
  /** They passed once over the draft, or failed once over the old code. */
  readonly flaky: readonly string[];
}

/**
 * The tests that are worse, alone, twice over the draft and twice over the old code: a whole suite repeats the load that makes a test
 * flaky. Null where they cannot be run alone, or are red alone on the old code each time, so that only the whole can tell.
 */
export async function repeatWorse(parts: RepeatDeps, affected: Affected): Promise<RepeatedTests | null> {
  const { checks, results, judgement, check, paths } = parts;
  // One that is gone may have another place now, where it passes: that is for the verdict to say.
  const fails = (name: string) => results.some((one) => one.results?.tests.get(name) === "fail");
  const names = [...judgement.worse, ...judgement.newFailing].filter(fails);
  const tests = checks.filter(({ kind }) => kind === "test");
  const [test] = tests;
  if (test === undefined || tests.length > 1 || names.length === 0) return null;
  const files = filesOfTests(names, affected.texts);
  const alone = files === null ? null : affected.narrow(test, files);
  if (alone === null) return null;
  const flaky = new Set<string>();
  const run = async (more: Partial<CheckRequest>): Promise<CheckResult | null> => {
    const ran = await check([alone], more);
    return ran.ok ? (checkResults([alone], ran.runs)[0] ?? null) : null;
  };
  for (let round = 0; round < 2 && flaky.size < names.length; round++) {
    const result = await run({ withoutBuildLayer: true });
    if (result === null) return null;
    for (const name of names) if (passesIn(result, name)) flaky.add(name);
  }
  const red = judgement.worse.filter((name) => fails(name) && !flaky.has(name));
  const failures = new Map<string, number>();
  for (let round = 0; round < 2 && red.length > 0; round++) {
    const result = await run({ asBefore: paths });
    if (result === null) return null;
    for (const name of red)
      if (result.state !== "green" && !passesIn(result, name))
        failures.set(name, (failures.get(name) ?? 0) + 1);
  }
  if ([...failures.values()].some((times) => times === 2)) return null;
  for (const name of failures.keys()) flaky.add(name);
  const settled = results.map((result, at) =>
    checks[at] === test ? countAsPassed(result, [...flaky]) : result,
  );
  return { results: settled, flaky: [...flaky] };
}

function passesIn({ state, results }: CheckResult, name: string): boolean {
  if (results === null) return state === "green";
  const bare = bareTestName(name);
  const same = [...results.tests].filter(([one]) => one === name || bareTestName(one) === bare);
  if (same.length === 0) return results.listed === "failed" && state !== "timed-out";
  return same.every(([, outcome]) => outcome === "pass");
}

/** The files of these tests, by their names or by what the files say; null where one is not found. */
function filesOfTests(names: readonly string[], texts: ReadonlyMap<string, string>): string[] | null {
  const found = new Set<string>();
  for (const name of names) {
    const [first = ""] = name.split(/::| > | › /);
    const bare = bareTestName(name).replace(/ #\d+$|\[.*\]$/, "");
    const holding = texts.has(first)
      ? [first]
      : [...texts].flatMap(([path, text]) => (/test|spec/i.test(path) && text.includes(bare) ? [path] : []));
    if (holding.length === 0) return null;
    for (const path of holding) found.add(path);
  }
  return [...found];
}

export interface AffectedDeps {
  readonly checks: readonly ProjectCheck[];
  readonly check: RunDraftChecks;
  readonly changes: ReturnType<Draft["changes"]>;
  readonly asked: AskedFor;
}

export interface AffectedJudgement {
  readonly judgement: Judgement;
  readonly runs: readonly CheckRun[];
  readonly checks: readonly ProjectCheck[];
  readonly results: readonly CheckResult[];
  readonly flaky: readonly string[];
  readonly files: number;
  readonly of: number;
}

/** Whether so few of the tests are affected that they are worth a run of their own. */
export function isWorthFirst({ files, of }: AffectedTests): boolean {
  return files.length > 0 && files.length * 2 <= of;
}

/** Nothing was there before, and nothing was red. */
const NO_TESTS_YET = {
  state: "green",
  results: {
    formats: [],
    listed: "all",
    tests: new Map(),
    counts: { passed: 0, failed: 0, skipped: 0 },
  },
} as const;

/** The affected tests over the draft and over the old code, by the same line; null where they cannot be run alone. */
export async function judgeAffected(
  { checks, check, changes, asked }: AffectedDeps,
  affected: Affected,
): Promise<AffectedJudgement | null> {
  const tests = checks.filter(({ kind }) => kind === "test");
  const [test] = tests;
  if (test === undefined || tests.length > 1) return null;
  const isNew = (path: string) => changes.some((one) => one.path === path && one.kind === "added");
  const known = affected.narrow(
    test,
    affected.files.filter((path) => !isNew(path)),
  );
  const added = affected.narrow(test, affected.files.filter(isNew));
  const which = [
    ...(known === null ? [] : [known]),
    ...(added === null ? [] : [{ ...added, command: `${test.command} (new tests)` }]),
  ];
  if (known === null) return null;
  const now = await check(which);
  if (!now.ok) return null;
  const paths = changes.map(({ path }) => path);
  const code = await check([known], { asBefore: paths });
  if (!code.ok) return null;
  const changedTests = paths.filter((path) => isTestPath(path) && !isNew(path));
  const olderTests = changedTests.length === 0 ? null : await check([known], { asBefore: changedTests });
  if (olderTests?.ok === false) return null;
  const old = olderTests === null ? null : checkResults([known], olderTests.runs);
  const before = [
    ...checkResults([known], code.runs),
    ...which.slice(1).map(({ kind, command }) => ({ kind, command, ...NO_TESTS_YET })),
  ];
  const results = checkResults(which, now.runs);
  const judgement = judgeAll({ baseline: before, draft: results, old, asked });
  const about = { runs: now.runs, checks: which, files: affected.files.length, of: affected.of };
  const again =
    judgement.verdict === "worse" || judgement.verdict === "new-failing"
      ? await repeatWorse({ checks: [test], results: results.slice(0, 1), judgement, check, paths }, affected)
      : null;
  if (again === null || again.flaky.length === 0) return { judgement, results, flaky: [], ...about };
  const settled = results.map((result) => countAsPassed(result, again.flaky));
  const rejudged = judgeAll({ baseline: before, draft: settled, old, asked });
  return { judgement: rejudged, results: settled, flaky: again.flaky, ...about };
}
