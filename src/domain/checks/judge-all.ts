import { type CheckResult, type Judgement, judgeCheck, type Verdict } from "./verdict.ts";

export interface JudgeAllInput {
  readonly baseline: readonly CheckResult[] | null;
  readonly draft: readonly CheckResult[];
  readonly old: readonly CheckResult[] | null;
}

/** All checks of a project as one: what any check finds worse is worse; beyond that, tests say more than linters. */
export function judgeAll({ baseline, draft, old }: JudgeAllInput): Judgement {
  const of = (results: readonly CheckResult[] | null, { command }: CheckResult) =>
    results?.find((one) => one.command === command) ?? null;
  const judged = draft.map((result) => ({
    kind: result.kind,
    ...judgeCheck({ baseline: of(baseline, result), draft: result, old: of(old, result) }),
  }));
  const all = (key: "worse" | "mended" | "newFailing" | "weakened") => judged.flatMap((one) => one[key]);
  return {
    verdict: combineVerdicts(judged),
    worse: all("worse"),
    mended: all("mended"),
    newFailing: all("newFailing"),
    weakened: all("weakened"),
    weakensTests: judged.some((one) => one.weakensTests),
    counts: judged.find(({ kind, counts }) => kind === "test" && counts !== null)?.counts ?? null,
  };
}

function combineVerdicts(judged: readonly { readonly kind: string; readonly verdict: Verdict }[]): Verdict {
  const ran = judged.filter(({ verdict }) => verdict !== "not-checked");
  const verdicts = ran.map(({ verdict }) => verdict);
  if (verdicts.includes("worse")) return "worse";
  if (verdicts.includes("new-failing")) return "new-failing";
  const leading = ran.find(({ kind }) => kind === "test") ?? ran[0];
  if (leading?.verdict === "same" && verdicts.includes("better")) return "better";
  return leading?.verdict ?? "not-checked";
}
