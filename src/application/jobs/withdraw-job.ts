import type { WorkspaceDeps } from "./workspace-parts.ts";

/**
 * Throws away what a job staged, whoever runs it and however far it came before its commit began: a commit that follows
 * is refused. A job of edits alone has no record before that, and is found by its id.
 */
export async function withdrawJob(
  { transactions, archive }: Pick<WorkspaceDeps, "transactions" | "archive">,
  jobId: string,
): Promise<void> {
  const before = archive.read(jobId)?.state ?? "running";
  if (before !== "running" && before !== "staged") return;
  await transactions.discard(jobId);
  if (archive.read(jobId)?.state === "discarded")
    archive.append(jobId, { type: "rolled_back", reason: "withdrawn" });
}
