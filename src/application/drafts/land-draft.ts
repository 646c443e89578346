import type { CommandResult, JobResult } from "../../domain/jobs/result.ts";
import type { Draft, DraftConflict, MergedNote } from "../ports/jobs-draft.ts";
import type { WorkspaceFiles } from "../ports/platform-view.ts";
import { type OtherChange, type StaleEdit, textOf } from "./shown-files.ts";

export type Landing<Judged> =
  | { readonly kind: "ended"; readonly result: JobResult }
  /** The checks are red over the current workspace. */
  | { readonly kind: "red"; readonly judged: Judged }
  /** The draft's commands ran again to write their files, and failed. */
  | { readonly kind: "failing"; readonly failed: readonly CommandResult[] }
  /** Others changed the same lines; those files are reset to the workspace's. */
  | { readonly kind: "conflict"; readonly stale: readonly StaleEdit[] }
  /** Without a judge: files that the coder was shown have changed; reported once. */
  | { readonly kind: "outdated"; readonly paths: readonly string[] };

/** Judges a draft over the current workspace, as the project's checks do. */
export interface LandingJudge<Judged extends { readonly verdict: string }> {
  judge(draft: Draft, attempt: number): Promise<Judged>;
  /** As `judge`, where nothing was merged since. */
  confirm(draft: Draft, attempt: number): Promise<Judged>;
  holds(draft: Draft): Promise<boolean>;
  rememberLanded(draft: Draft, files: Pick<WorkspaceFiles, "look" | "read">): () => void;
}

export interface LandDeps<Judged extends { readonly verdict: string }> {
  readonly draft: Draft;
  /** Null without a judge. */
  readonly checks: LandingJudge<Judged> | null;
  readonly attempt: number;
  /** Whether a conflict may be sent back to the coder; else the draft is kept as a preview. */
  readonly mayAsk: boolean;
  readonly whoChanged: (path: string) => OtherChange;
  /** Files that the coder was shown and others changed since; called where there is no judge. */
  readonly outdated: () => readonly string[];
  /** Changes of others that the coder saw and replaced. */
  readonly replaced: () => Promise<readonly MergedNote[]>;
  readonly sendOut: () => Promise<void>;
  readonly files: Pick<WorkspaceFiles, "look" | "read">;
}

/** How often a draft is rebased when the workspace changes at the last moment. */
const ROUNDS = 4;

/**
 * Lands a draft in its turn; turns follow the order in which drafts became green:
 *   merge what others changed → run the checks again if the workspace is not the one that was judged → run commands that reach outward
 *   → commit, if under the lock nothing has changed since; else start over
 */
export async function landDraft<Judged extends { readonly verdict: string }>(
  deps: LandDeps<Judged>,
): Promise<Landing<Judged>> {
  const { draft, checks, attempt } = deps;
  const giveBack = await draft.takeTurn();
  try {
    for (let round = 1; round <= ROUNDS; round++) {
      const { merged, conflicts, failed } = await draft.rebase();
      if (failed.length > 0) return { kind: "failing", failed };
      if (conflicts.length > 0) return await yieldConflicts(deps, conflicts);
      const judged =
        checks === null
          ? null
          : await (merged.length > 0 ? checks.judge(draft, attempt) : checks.confirm(draft, attempt));
      if (judged?.verdict === "red") return { kind: "red", judged };
      const outdated = judged?.verdict === "green" ? [] : deps.outdated();
      if (outdated.length > 0) return { kind: "outdated", paths: outdated };
      await deps.sendOut();
      draft.noteMerged(await deps.replaced());
      const remember = checks?.rememberLanded(draft, deps.files);
      const result = await draft.commitIf(
        async () => !draft.hasMoved() && (checks === null || (await checks.holds(draft))),
      );
      if (result === "moved") continue;
      if (result.about === "job" && result.outcome === "committed") remember?.();
      return { kind: "ended", result };
    }
    return { kind: "ended", result: await draft.keep("conflict") };
  } finally {
    giveBack();
  }
}

async function yieldConflicts(
  { draft, mayAsk, whoChanged }: Pick<LandDeps<never>, "draft" | "mayAsk" | "whoChanged">,
  conflicts: readonly DraftConflict[],
): Promise<Landing<never>> {
  if (!mayAsk) return { kind: "ended", result: await draft.keep("conflict") };
  const stale = conflicts.map(({ path, base, ours, theirs }): StaleEdit => {
    const what = theirs === null ? "gone" : ours === null ? "delete" : "conflict";
    return { path, what, shown: textOf(base), yours: textOf(ours), other: whoChanged(path) };
  });
  await draft.giveWay(conflicts.map(({ path }) => path));
  return { kind: "conflict", stale };
}
