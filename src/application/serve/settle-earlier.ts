import type { Workspace } from "../ports/jobs-workspace.ts";

/**
 * What earlier attempts at a message left of their jobs: the ids of those that stand. One that was cut off while it landed
 * is finished first; whatever has not begun to land is thrown away, so that it can neither be taken for done nor land
 * beside the attempt that follows.
 */
export async function settleEarlier(
  workspace: Pick<Workspace, "archive" | "repair" | "closeDeadJobs" | "withdraw">,
  messageId: string,
  noted: readonly string[],
): Promise<readonly string[]> {
  const known = () =>
    workspace.archive
      .list()
      .filter(({ jobId, groupId }) => groupId.endsWith(`#${messageId}`) || noted.includes(jobId));
  const ids = new Set([...noted, ...known().map(({ jobId }) => jobId)]);
  if (ids.size === 0) return [];
  await workspace.repair();
  await workspace.closeDeadJobs();
  for (const jobId of ids) await workspace.withdraw(jobId);
  return known()
    .filter(({ state }) => state !== "discarded")
    .map(({ jobId }) => jobId);
}
