import type { CommandResult } from "../../domain/jobs/result.ts";
import { mayMatterToGit } from "../../domain/policy/git-names.ts";
import type { JobEvent } from "../ports/journal.ts";
import type { SealedChanges, Transaction, ValidateDifference } from "../ports/jobs-transaction.ts";
import type { WorkspaceDeps } from "./workspace-parts.ts";

/** The judgements of one job beyond those of its commands; what they find is told to its journal. */
export interface JobValidator {
  /** When the processes of some commands are gone. */
  settle(ran: readonly CommandResult[]): Promise<readonly CommandResult[]>;
  /** Seals what the last judgement passes; the results with what it did not. */
  seal(
    results: readonly CommandResult[],
    end: { readonly preview: boolean },
  ): Promise<{ readonly sealed: SealedChanges; readonly judged: readonly CommandResult[] }>;
}

/** Nothing of the kind was told; should it be there all the same, it does not land. */
const dropGitPaths: ValidateDifference = ({ changes }) => ({
  drop: changes.map(({ path }) => path).filter(mayMatterToGit),
  rewrite: new Map(),
});

export function createJobValidator(
  { policy, planOptions }: Pick<WorkspaceDeps, "policy" | "planOptions">,
  transaction: Transaction,
  emit: (event: JobEvent) => void,
): JobValidator {
  const parts = { transaction, protection: policy.protection, sha1: planOptions.sha1 };
  const tell = (before: readonly CommandResult[], after: readonly CommandResult[]) => {
    for (const [index, { success, error }] of after.entries())
      if (error !== before[index]?.error) emit({ type: "command_judged", index, success, error });
  };
  return {
    async settle(ran) {
      if (ran.every(({ command }) => command.type === "file_edit")) return ran;
      const { validateSettled } = await import("./final-validation.ts");
      const results = validateSettled(parts, ran);
      tell(ran, results);
      return results;
    },
    async seal(results, end) {
      // Each path of an edit was checked when it was used; only together can they make a git directory.
      const isPlain = results.every(({ changes }) => !changes.some(({ path }) => mayMatterToGit(path)));
      if (transaction.kind === "direct" && isPlain)
        return { sealed: await transaction.seal(dropGitPaths, end), judged: results };
      const { sealValidated } = await import("./final-validation.ts");
      const ended = await sealValidated(parts, results, end);
      tell(results, ended.judged);
      return ended;
    },
  };
}
