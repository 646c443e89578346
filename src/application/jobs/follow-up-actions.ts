import type { FileDifference, StoredJob } from "../ports/jobs.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";
import type { PreviewCommit } from "./unfinished-jobs.ts";
import type { Execution } from "./execution.ts";

export type ApplyRestResult =
  /** Nothing stood in the way any more, or nothing can be done with it: what became of the whole preview. */
  | { readonly status: "whole"; readonly outcome: PreviewCommit }
  | {
      readonly status: "ran";
      readonly execution: Execution;
      /** Paths of the preview that were left out, in conflict or not a text. */
      readonly left: readonly string[];
    };

/**
 * Brings in what a preview changes beside the paths in conflict, as one job of its own that can be taken back. When it
 * landed, the preview is thrown away: the paths in conflict stay as they are in the workspace.
 */
export async function applyRest(
  workspace: Pick<Workspace, "archive" | "execute" | "commitPreview" | "discardPreview">,
  jobId: string,
  signal: AbortSignal,
): Promise<ApplyRestResult> {
  const outcome = await workspace.commitPreview(jobId);
  if (outcome.status !== "conflict") return { status: "whole", outcome };
  const { job, conflicts } = outcome;
  const isInTheWay = (path: string) =>
    conflicts.some(
      (one) => path === one.path || path.startsWith(`${one.path}/`) || one.path.startsWith(`${path}/`),
    );
  const files = workspace.archive.differences(jobId).filter(({ path }) => !isInTheWay(path));
  const commands = files.flatMap(toRestEdits);
  const written = new Set(commands.map(({ target }) => target));
  const left = job.changes.map(({ path }) => path).filter((path) => !isWritten(path, written));
  if (commands.length === 0) return { status: "whole", outcome };
  const execution = await workspace.execute({
    ...toRestRequest(job),
    patch: JSON.stringify(commands),
    atomic: true,
    signal,
  });
  if (execution.status === "ran" && execution.outcome === "committed") await workspace.discardPreview(jobId);
  return { status: "ran", execution, left };
}

function toRestRequest({ request, title, source, groupId }: StoredJob) {
  return { plan: title, source, groupId, ...(request !== undefined && { request }) };
}

/** A folder is made with the files in it. */
function isWritten(path: string, written: ReadonlySet<string>): boolean {
  return written.has(path) || [...written].some((one) => one.startsWith(`${path}/`));
}

interface RestEdit {
  readonly type: "file_edit";
  readonly action: "create" | "update" | "delete";
  readonly target: string;
  readonly content?: string;
}

function toRestEdits({ path, before, after }: FileDifference): RestEdit[] {
  if (before === undefined || after === undefined || path.startsWith(".git/")) return [];
  if (after === null) return [{ type: "file_edit", action: "delete", target: path }];
  const content = decodeUtf8(after);
  if (content === null) return [];
  return [{ type: "file_edit", action: before === null ? "create" : "update", target: path, content }];
}

function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
