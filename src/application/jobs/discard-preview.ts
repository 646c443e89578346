import type { WorkspaceDeps } from "./workspace-parts.ts";

export type PreviewDiscard =
  | { readonly status: "done" }
  | { readonly status: "unknown" }
  /** It is no preview, or no longer. */
  | { readonly status: "not-a-preview" };

/** Throws away what a preview staged; its journal stays. */
export async function discardPreview(
  { transactions, archive }: Pick<WorkspaceDeps, "transactions" | "archive">,
  jobId: string,
): Promise<PreviewDiscard> {
  const job = archive.read(jobId);
  if (job === null) return { status: "unknown" };
  if (job.state !== "staged" || job.unsettled !== undefined) return { status: "not-a-preview" };
  await transactions.discard(jobId);
  archive.append(jobId, { type: "rolled_back", reason: "discarded" });
  return { status: "done" };
}
