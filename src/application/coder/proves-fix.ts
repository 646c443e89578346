import { judgeAll } from "../../domain/checks/judge-all.ts";
import { isTestPath } from "../../domain/checks/path-kinds.ts";
import type { Draft } from "../jobs/draft.ts";
import type { Baseline, BaselineDeps } from "../checks/baseline.ts";
import { checkResults } from "../checks/check-results.ts";

/** Whether a draft brings a test that fails on the old code: its tests run over the code as the workspace has it. */
export async function provesFix(
  { checks, settings, signal }: BaselineDeps,
  draft: Pick<Draft, "check" | "changes">,
  baseline: Baseline,
): Promise<boolean> {
  const paths = draft.changes().map(({ path }) => path);
  const code = paths.filter((path) => !isTestPath(path));
  const tests = checks.filter(({ kind }) => kind === "test");
  if (!baseline.ok || tests.length === 0 || code.length === 0 || code.length === paths.length) return false;
  const checked = await draft.check({
    commands: tests.map(({ line }) => line),
    over: "draft",
    asBefore: code,
    network: settings.network,
    timeoutSeconds: settings.timeout,
    signal,
  });
  if (!checked.ok) return false;
  const results = checkResults(tests, checked.runs);
  const { verdict, newFailing } = judgeAll({ baseline: baseline.results, draft: results, old: null });
  return newFailing.length > 0 || verdict === "worse" || verdict === "new-failing";
}
