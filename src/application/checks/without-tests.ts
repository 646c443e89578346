/**
 * Old tests over a change without what the change does for them elsewhere: without its new tests where those replace parts of the code,
 * and with the values that its tests expected before where those are in files outside of the tests. In: the checks over old code and
 * draft. Out: the tests that pass only with it. Both run nothing unless the change has such a file.
 */
import { onlyAddsTests } from "../../domain/checks/affected-tests.ts";
import { filesHolding } from "../../domain/checks/connected.ts";
import { findExpectedValues } from "../../domain/checks/expected-values.ts";
import type { ProjectCheck } from "../../domain/checks/find-checks.ts";
import { findPatches } from "../../domain/checks/patched-code.ts";
import { isCodePath, isTestPath } from "../../domain/checks/path-kinds.ts";
import { holds } from "../../domain/checks/test-results.ts";
import type { CheckResult, Judgement } from "../../domain/checks/verdict.ts";
import type { Draft } from "../ports/jobs-draft.ts";
import {
  type Affected,
  filesOfTests,
  passesIn,
  type RunDraftChecks,
  textsOfTests,
  toChangedTexts,
} from "./affected.ts";
import { checkResults } from "./baseline.ts";

export interface WithoutTestsDeps {
  readonly checks: readonly ProjectCheck[];
  readonly check: RunDraftChecks;
  readonly draft: Pick<Draft, "diff" | "files">;
  readonly affected: Affected;
  /** Over the draft, and over the old code. */
  readonly results: readonly CheckResult[];
  readonly before: readonly CheckResult[];
}

/** The checks of tests that had tests before, each with its results. */
function oldChecks({ checks, results, before }: WithoutTestsDeps) {
  return checks.flatMap((check, at) => {
    const now = results[at];
    const old = before.find(({ command }) => command === now?.command);
    const hasTests = (old?.results?.counts.passed ?? 0) > 0;
    return check.kind === "test" && now !== undefined && old !== undefined && hasTests
      ? [{ check, now, old }]
      : [];
  });
}

/** Whether a test passed, if the result can say so. */
function passed({ results }: CheckResult, name: string): boolean {
  return results !== null && holds(results.tests.get(name) ?? (results.listed === "failed" ? "pass" : null));
}

/** Old tests that pass beside the change's tests, and fail without those that replace parts of the code; null where none does. */
export async function judgeUnpatched(deps: WithoutTestsDeps) {
  const { check, draft, affected } = deps;
  const diff = toChangedTexts(draft);
  const patches = findPatches(diff, affected.texts);
  const about = oldChecks(deps);
  if (patches.length === 0 || about.length === 0) return null;
  const tests = diff.filter(({ path }) => isTestPath(path) && isCodePath(path));
  const patched = tests.filter((one) => one.before === null || patches.some(({ path }) => path === one.path));
  if (patched.length === 0) return null;
  const asBefore = patched.map(({ path }) => path);
  const which = about.map((one) => one.check);
  const ran = await check(which, { asBefore });
  if (!ran.ok) return null;
  const results = checkResults(which, ran.runs);
  // A changed test may need what is changed beside it.
  const onlyAdds = ({ before, after }: (typeof tests)[number]) =>
    before !== null && after !== null && onlyAddsTests([{ before, after }]);
  const changed = new Set(tests.filter((one) => !onlyAdds(one)).map(({ path }) => path));
  const older = new Map(affected.texts);
  for (const { path, before } of patched) {
    older.delete(path);
    if (before !== null) older.set(path, before);
  }
  const isOld = (name: string) => {
    const files = filesHolding(name, older);
    return files.length === 0
      ? [...changed].every((path) => !older.has(path))
      : files.some((path) => !changed.has(path));
  };
  const names = about.flatMap(({ now, old }, at) => {
    const without = results[at];
    if (without === undefined || without.results === null) return [];
    const all = new Set([...(now.results?.tests.keys() ?? []), ...without.results.tests.keys()]);
    const isLost = (name: string) => passed(now, name) && passed(old, name) && !passed(without, name);
    return [...all].filter((name) => isLost(name) && isOld(name));
  });
  if (names.length === 0) return null;
  // By chance, too, a test may fail once.
  const files = filesOfTests(names, older);
  const [first] = which;
  const alone =
    files === null || first === undefined ? null : affected.narrow(first, files, textsOfTests(names, older));
  const again = alone === null ? null : await check([alone], { asBefore, again: true });
  const second = again?.ok === true && alone !== null ? checkResults([alone], again.runs)[0] : undefined;
  const worse = names.filter((name) => second === undefined || !passesIn(second, name));
  return worse.length === 0 ? null : { worse, patches, runs: ran.runs, results, which };
}

/** The judgement with the tests that pass only with new values of files outside of the tests; null where none does. */
export async function judgeExpectedValues(
  deps: WithoutTestsDeps & { readonly judgement: Judgement },
): Promise<Judgement | null> {
  const { check, draft, affected, judgement } = deps;
  const values = findExpectedValues(toChangedTexts(draft), affected.texts, readManifests(draft.files));
  const about = oldChecks(deps);
  if (values.length === 0 || about.length === 0) return null;
  const files = [...new Set(values.flatMap(({ tests }) => tests))];
  const which = about.map((one) => affected.narrow(one.check, files) ?? one.check);
  const ran = await check(which, { asBefore: values.map(({ path }) => path) });
  if (!ran.ok) return null;
  const results = checkResults(which, ran.runs);
  const lost = about.flatMap(({ now }, at) =>
    [...(results[at]?.results?.tests ?? [])].flatMap(([name, outcome]) =>
      passed(now, name) && (outcome === "fail" || outcome === "error") ? [name] : [],
    ),
  );
  const isOld = (name: string) => about.some(({ old }) => passed(old, name));
  const isPlain = values.every((one) => one.isPlain);
  const { expectsElse = [], rewritten = [], mended } = judgement;
  const others = lost.filter((name) => isOld(name) && !expectsElse.includes(name));
  const made = isPlain ? lost.filter((name) => mended.includes(name)) : [];
  if (others.length + made.length === 0) return null;
  return {
    ...judgement,
    expectsElse: [...expectsElse, ...others],
    rewritten: [...rewritten, ...made],
    mended: mended.filter((name) => !made.includes(name)),
  };
}

const MANIFESTS = ["package.json", "pyproject.toml", "setup.py", "setup.cfg"];

function readManifests(files: Draft["files"]): string {
  const read = (path: string) =>
    files.look(path).kind === "file" ? new TextDecoder().decode(files.read(path)) : "";
  return MANIFESTS.map(read).join("\n");
}
