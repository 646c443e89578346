import type { CommandResult } from "../../domain/patch/result.ts";
import { mayMatterToGit } from "../../domain/policy/git-names.ts";
import type { JobEvent } from "../ports/journal.ts";
import type { Judge, Sealed, Transaction } from "../ports/transaction.ts";
import type { WorkspaceParts } from "./workspace-parts.ts";

/** The judgements of one job beyond those of its commands; what they find is told to its journal. */
export interface JobJudge {
  /** When the processes of some commands are gone. */
  settle(ran: readonly CommandResult[]): Promise<readonly CommandResult[]>;
  /** Seals what the last judgement passes; the results with what it did not. */
  seal(
    results: readonly CommandResult[],
    end: { readonly preview: boolean },
  ): Promise<{ readonly sealed: Sealed; readonly judged: readonly CommandResult[] }>;
}

/** Nothing of the kind was told; should it be there all the same, it does not land. */
const passes: Judge = ({ changes }) => ({
  drop: changes.map(({ path }) => path).filter(mayMatterToGit),
  rewrite: new Map(),
});

export function createJobJudge(
  { policy, planOptions }: Pick<WorkspaceParts, "policy" | "planOptions">,
  transaction: Transaction,
  emit: (event: JobEvent) => void,
): JobJudge {
  const parts = { transaction, protection: policy.protection, sha1: planOptions.sha1 };
  const tell = (before: readonly CommandResult[], after: readonly CommandResult[]) => {
    for (const [index, { success, error }] of after.entries())
      if (error !== before[index]?.error) emit({ type: "command_judged", index, success, error });
  };
  return {
    async settle(ran) {
      if (ran.every(({ command }) => command.type === "file_edit")) return ran;
      const { judgeSettled } = await import("./last-judgement.ts");
      const results = judgeSettled(parts, ran);
      tell(ran, results);
      return results;
    },
    async seal(results, end) {
      // Each path of an edit was checked when it was used; only together can they make a git directory.
      const isPlain = results.every(({ changes }) => !changes.some(({ path }) => mayMatterToGit(path)));
      if (transaction.kind === "direct" && isPlain)
        return { sealed: await transaction.seal(passes, end), judged: results };
      const { sealJudged } = await import("./last-judgement.ts");
      const ended = await sealJudged(parts, results, end);
      tell(results, ended.judged);
      return ended;
    },
  };
}
