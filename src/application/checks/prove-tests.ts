import { builtAmong } from "../../domain/checks/deciding-files.ts";
import type { ProjectCheck } from "../../domain/checks/find-checks.ts";
import { isTestPath } from "../../domain/checks/path-kinds.ts";
import { breakFile, countProofs, noticesBreak } from "../../domain/checks/test-proofs.ts";
import type { NewTests } from "../../domain/checks/test-results.ts";
import { type CheckResult, countAsPassed, type Judgement } from "../../domain/checks/verdict.ts";
import { loadsByImport } from "../../domain/platform/code-imports.ts";
import type { Draft } from "../ports/jobs-draft.ts";
import { type Affected, filesOfTests, type OldTestsDeps, passesIn, textsOfTests } from "./affected.ts";
import { checkResults } from "./baseline.ts";

export interface ProofDeps extends Omit<OldTestsDeps, "baseline"> {
  readonly judgement: Judgement;
  /** Seconds that a run over old or broken code may take. */
  readonly limit: number;
  /** Only an exit code shows anything, so an import proves nothing. */
  readonly isBare?: boolean;
  readonly draft: Pick<Draft, "changes">;
  readonly affected: Affected;
  /** The draft's tests over the old code, where an earlier step ran them. */
  readonly overOld?: readonly CheckResult[] | undefined;
}

/** Each file costs a run; the other files of a large change are assumed to be tested as well as these. */
const MOST_BROKEN = 3;

/** Whether fixed or new tests prove that they depend on the change. Beside built files, fixed ones do not: those may have fixed them. */
export function seesChange(
  { judgement, draft }: Pick<ProofDeps, "judgement" | "draft">,
  newTests: NewTests | undefined,
): boolean {
  const built = builtAmong(draft.changes().map(({ path }) => path));
  return (
    (judgement.mended.length > 0 && built.length === 0) ||
    (newTests !== undefined && newTests.passWithout < newTests.count)
  );
}

const MOST_BY_CHANCE = 20;

/** Repeats these red tests of the baseline and counts those that pass now as passed; null if all are red again, or nothing is known. */
export async function repeatMended(
  { checks, results, names, check }: Omit<OldTestsDeps, "baseline"> & { readonly names: readonly string[] },
  affected: Affected,
): Promise<readonly CheckResult[] | null> {
  const at = checks.findIndex((_, place) => results[place]?.state === "red");
  const [red, before] = [checks[at], results[at]];
  if (red === undefined || before === undefined || names.length > MOST_BY_CHANCE) return null;
  const files = names.length === 0 ? null : filesOfTests(names, affected.texts);
  const which = files === null ? red : (affected.narrow(red, files) ?? red);
  const ran = await check([which], { over: "baseline", again: true });
  const again = ran.ok ? checkResults([which], ran.runs)[0] : undefined;
  if (again === undefined) return null;
  const passed = names.filter((name) => passesIn(again, name));
  const isGreen = before.results === null && again.state === "green";
  if (passed.length === 0 && !isGreen) return null;
  const settled = isGreen ? { ...before, state: "green" as const } : countAsPassed(before, passed);
  return results.map((result) => (result === before ? settled : result));
}

/** How many new tests pass without the change; null where there are none, or they could not be run. */
export async function runNewTests(deps: ProofDeps): Promise<NewTests | null> {
  const { checks, judgement, check, limit, affected } = deps;
  const tests = checks.filter(({ kind }) => kind === "test");
  const names = judgement.newPassing ?? [];
  const shown = (name: string) => deps.overOld?.some(({ results }) => results?.tests.has(name)) === true;
  if (deps.overOld !== undefined && names.length > 0 && names.every(shown))
    return countProofs(names, deps.overOld);
  const changes = deps.draft.changes();
  const code = changes.flatMap(({ path }) => (isTestPath(path) ? [] : [path]));
  const files = changes.flatMap(({ path, kind }) =>
    isTestPath(path) && kind !== "deleted" && affected.texts.has(path) ? [path] : [],
  );
  if ([tests, names, code, files].some(({ length }) => length === 0)) return null;
  const own = textsOfTests(names, affected.texts);
  const which = tests.map((test) => affected.narrow(test, files, own) ?? test);
  const old = await check(which, { asBefore: code, timeoutSeconds: limit });
  return old.ok ? countProofs(names, checkResults(which, old.runs)) : null;
}

/**
 * Breaks the changed files one by one: tests that stay green do not notice the file. `known`: files that earlier proofs saw noticed.
 * `isBlind`: no broken file is noticed, so the checks show nothing about the change.
 */
export async function breakChanges(deps: ProofDeps, known: readonly string[]) {
  const { affected, draft } = deps;
  const tests = deps.checks.filter(({ kind }) => kind === "test");
  if (tests.length === 0) return null;
  const built = builtAmong(draft.changes().map(({ path }) => path));
  const broken = draft.changes().flatMap(({ path, kind }) => {
    const text = kind === "deleted" || built.includes(path) ? undefined : affected.texts.get(path);
    const instead = text === undefined ? null : breakFile(path, text);
    return instead === null ? [] : [{ path, instead }];
  });
  const isLoaded = loadsByImport(affected.texts, affected.files);
  const isUnknown = ({ path }: { readonly path: string }) =>
    !known.includes(path) && (deps.isBare === true || !isLoaded(path));
  const asked = broken.filter(isUnknown);
  const unknown = asked.slice(0, MOST_BROKEN);
  const unnoticed: string[] = [];
  const noticed: string[] = [];
  const ladder = createLadder(deps);
  for (const { path, instead } of unknown) {
    const seen = await ladder.notices(new Map([[path, instead]]));
    if (seen === null) return null;
    (seen ? noticed : unnoticed).push(path);
  }
  const isBlind = unnoticed.length > 0 && noticed.length === 0 && broken.every(isUnknown);
  const rest = asked.slice(MOST_BROKEN);
  if (!isBlind || rest.length === 0) return { unnoticed, noticed, isBlind };
  // One run for all others: the first files of a large change may be those that no test needs.
  const seen = await ladder.notices(new Map(rest.map(({ path, instead }) => [path, instead])));
  if (seen === null) return null;
  if (!seen) unnoticed.push(...rest.map(({ path }) => path));
  return { unnoticed, noticed, isBlind: !seen };
}

/** Asks the affected tests first; if they notice nothing, all tests. */
function createLadder({ check, limit, results, checks, affected }: ProofDeps) {
  const tests = checks.filter(({ kind }) => kind === "test");
  const isPart = affected.files.length > 0 && affected.files.length < affected.of;
  const narrowed = isPart ? tests.flatMap((test) => affected.narrow(test, affected.files) ?? []) : [];
  const whole = { which: tests, before: tests.map((test) => results[checks.indexOf(test)] ?? null) };
  const rungs: { readonly which: readonly ProjectCheck[]; before: readonly (CheckResult | null)[] | null }[] =
    [...(narrowed.length === tests.length ? [{ which: narrowed, before: null }] : []), whole];
  return {
    /** Null where it could not be run. */
    async notices(replaced: ReadonlyMap<string, string>): Promise<boolean | null> {
      for (const rung of rungs) {
        const ran = await check(rung.which, { replaced, timeoutSeconds: limit });
        if (!ran.ok) return null;
        if (rung.before === null) {
          const fine = await check(rung.which);
          if (!fine.ok) return null;
          rung.before = checkResults(rung.which, fine.runs);
        }
        const { before } = rung;
        const now = checkResults(rung.which, ran.runs);
        if (now.some((one, at) => before[at] != null && noticesBreak(before[at], one))) return true;
      }
      return false;
    },
  };
}
