import type { WhyNotChecked } from "../../domain/checks/checks-facts.ts";
import { settleFlaky } from "../../domain/checks/flaky.ts";
import type { CheckResult } from "../../domain/checks/verdict.ts";
import type { ProjectCheck } from "../../domain/checks/project-check.ts";
import type { CheckMemory } from "../ports/checks.ts";
import type { CheckRequest, CheckRun, Draft } from "../jobs/draft.ts";
import { checkResults } from "./check-results.ts";
import type { CheckSettings } from "./check-settings.ts";
import { recallChecks } from "./recall-checks.ts";

export type Baseline =
  | {
      readonly ok: true;
      readonly fingerprint: string;
      readonly results: readonly CheckResult[];
      readonly isFlaky: boolean;
    }
  | { readonly ok: false; readonly why: WhyNotChecked };

export interface BaselineDeps {
  readonly checks: readonly ProjectCheck[];
  readonly settings: CheckSettings;
  readonly memory: CheckMemory;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/**
 * The checks over the workspace as it stands: remembered where nothing changed since, else run. While nobody knows how long they
 * take, they are ended at `checks.auto_limit`.
 */
export async function measureBaseline(parts: BaselineDeps, draft: Pick<Draft, "check">): Promise<Baseline> {
  const { checks, memory, now } = parts;
  const fingerprint = memory.fingerprint();
  const lines = checks.map(({ line }) => line);
  const known = recallChecks(memory, checks);
  if (known?.results != null && known.fingerprint === fingerprint)
    return { ok: true, fingerprint, results: known.results, isFlaky: known.isFlaky };
  const limit = limitSeconds(parts.settings, known !== null && !known.wasEnded);
  const first = await runBaseline(parts, draft, { lines, limit });
  if (!first.ok) return first;
  const durationMs = first.runs.reduce((sum, one) => sum + one.durationMs, 0);
  const results = checkResults(checks, first.runs);
  const wasEnded = results.some(({ state }) => state === "timed-out") && limit < parts.settings.timeout;
  const about = { lines, fingerprint, at: now(), durationMs, wasEnded };
  if (wasEnded) {
    memory.keep({ ...about, isFlaky: false, results: null });
    return { ok: false, why: "slow" };
  }
  const settled = await repeatRed(parts, draft, { results, runs: first.runs, limit });
  if (settled === null) return { ok: false, why: "aborted" };
  memory.keep({ ...about, ...settled });
  return { ok: true, fingerprint, ...settled };
}

function limitSeconds({ timeout, auto_limit: autoLimit, enabled }: CheckSettings, isKnown: boolean): number {
  return enabled === "always" || isKnown ? timeout : Math.min(timeout, Math.max(autoLimit, 1));
}

type BaselineRun =
  | { readonly ok: true; readonly runs: readonly CheckRun[] }
  | { readonly ok: false; readonly why: WhyNotChecked };

async function runBaseline(
  { settings, signal }: BaselineDeps,
  draft: Pick<Draft, "check">,
  {
    lines,
    limit,
    ...more
  }: { readonly lines: readonly string[]; readonly limit: number } & Partial<CheckRequest>,
): Promise<BaselineRun> {
  const { network } = settings;
  return draft.check({
    commands: lines,
    over: "baseline",
    attempt: 0,
    network,
    timeoutSeconds: limit,
    signal,
    ...more,
  });
}

/** A baseline that is red by chance would make everything look mended. */
async function repeatRed(
  parts: BaselineDeps,
  draft: Pick<Draft, "check">,
  { results, runs, limit }: { results: readonly CheckResult[]; runs: readonly CheckRun[]; limit: number },
): Promise<{ readonly results: readonly CheckResult[]; readonly isFlaky: boolean } | null> {
  const red = parts.checks.filter((_, at) => results[at]?.state === "red" && runs[at]?.repeated !== true);
  if (red.length === 0) return { results, isFlaky: false };
  const again = await runBaseline(parts, draft, { lines: red.map(({ line }) => line), limit });
  if (!again.ok) return null;
  const second = checkResults(red, again.runs);
  const settled = results.map((result) => {
    const other = second.find(({ command }) => command === result.command);
    return other === undefined ? { result, isFlaky: false } : settleFlaky(result, other);
  });
  return { results: settled.map(({ result }) => result), isFlaky: settled.some(({ isFlaky }) => isFlaky) };
}
