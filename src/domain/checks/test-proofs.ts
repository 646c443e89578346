import { isTestPath } from "./path-kinds.ts";
import { holds, type NewTests } from "./test-results.ts";
import type { CheckResult } from "./verdict.ts";

/** The results of new tests over the old code; null where its run does not name them. */
export function countProofs(names: readonly string[], old: readonly CheckResult[]): NewTests | null {
  if (old.some(({ kind, state, results }) => kind === "test" && state === "green" && results === null))
    return null;
  const outcome = (name: string) => old.map(({ results }) => results?.tests.get(name)).find((one) => one);
  const absent = names.filter((name) => [undefined, "error", "skip"].includes(outcome(name)));
  // If only failures are listed, an unlisted test may have passed; in a green run, it did not run.
  const isVague = old.some(({ state, results }) => state === "green" || results?.listed === "failed");
  if (absent.length > 0 && isVague) return null;
  const isEndless = old.some(({ state }) => state === "timed-out");
  return {
    count: names.length,
    passWithout: names.filter((name) => outcome(name) === "pass").length,
    ...(isEndless ? { isEndless } : absent.length > 0 && { cannotRun: absent.length }),
  };
}

const BROKEN = "broken on purpose: do the tests notice?";

/** A text that cannot be loaded or compiled, by file extension. */
const UNLOADABLE: readonly (readonly [RegExp, string])[] = [
  [/\.[cm]?[jt]sx?$/, `throw new Error("${BROKEN}");\n`],
  [/\.pyi?$/, `raise RuntimeError("${BROKEN}")\n`],
  [/\.rb$/, `raise "${BROKEN}"\n`],
  [/\.rs$/, `compile_error!("${BROKEN}");\n`],
  [/\.(?:c|cc|cpp|cxx|h|hh|hpp|m)$/, `#error "${BROKEN}"\n`],
  [/\.php$/, `<?php throw new Exception("${BROKEN}");\n`],
  [/\.(?:go|java|kt|scala|swift|cs|dart|ex|exs|hs|ml)$/, `${BROKEN}\n`],
  [/\.(?:sh|bash)$/, `echo "${BROKEN}" >&2; exit 97\n`],
];

/** Lines without an effect at run time: types, re-exports, comments. */
const NOTHING_RUNS =
  /^\s*(?:$|\/\/|\/?\*|export\s+(?:type\s+|declare\s+)?(?:\*|\{[^}]*\})(?:\s+as\s+\w+)?\s+from\s|(?:export\s+)?(?:declare\s|type\s|interface\s)|import\s+type\s|import\s[^;]*from\s|[}\]);|&]|\s+(?:readonly\s+)?[\w"'[\]]+\??\s*:)/;

/** The text that breaks a file; null where breaking it says nothing: data, documentation, types, tests. */
export function breakFile(path: string, text: string): string | null {
  if (isTestPath(path) || /\.d\.[cm]?ts$|\.pyi$/.test(path)) return null;
  const broken = UNLOADABLE.find(([ending]) => ending.test(path))?.[1] ?? null;
  if (broken === null || text.trim() === "") return null;
  const isTyped = /\.[cm]?tsx?$/.test(path);
  if (isTyped && text.split("\n").every((line) => NOTHING_RUNS.test(line))) return null;
  return broken;
}

/** Whether a test that passes, or a test file that loads, no longer does over the broken file; without names, any other result counts. */
export function noticesBreak(whole: CheckResult, broken: CheckResult): boolean {
  const [before, now] = [whole.results, broken.results];
  if (before?.listed === "all" && now?.listed === "all")
    return [...before.tests.keys(), ...[...now.tests.keys()].filter(isTestPath)].some(
      (name) => holds(before.tests.get(name) ?? "pass") && !holds(now.tests.get(name)),
    );
  if (whole.state !== broken.state) return true;
  if (before === null || now === null) return before !== now;
  const { passed, failed, skipped } = before.counts;
  return now.counts.passed !== passed || now.counts.failed !== failed || now.counts.skipped !== skipped;
}
