import type { FileDifference, StoredJob } from "../../application/ports/jobs.ts";
import type { JournalLine } from "../../application/ports/journal.ts";
import type { PageContext } from "./context.ts";
import { html, type Markup } from "./markup.ts";
import { type FileDiff, fileDiffs } from "./diff-view.ts";
import { diffLines } from "./parts-diff-view.ts";
import { actionButton } from "./form.ts";
import { visible } from "./visible.ts";

/** A file in the way, from three sides where all are known: how it was, how it is by now, how the draft has it. */
export interface ConflictDiff {
  readonly path: string;
  /** From how it was to how it is; null where how it was is not kept. */
  readonly meanwhile: FileDiff | null;
  /** From how it was, else from how it is, to the draft. */
  readonly draft: FileDiff | null;
}

/** Of a preview that could not be applied the last time: the files that stood in its way. */
export async function readConflicts(
  job: Pick<StoredJob, "state">,
  journal: readonly JournalLine[],
  differences: readonly FileDifference[],
): Promise<readonly ConflictDiff[]> {
  const last = journal.findLast(({ event }) => event.type === "conflict")?.event;
  if (job.state !== "staged" || last?.type !== "conflict") return [];
  return Promise.all(
    last.paths.map(async (path) => {
      const found = differences.find((one) => one.path === path);
      if (found === undefined) return { path, meanwhile: null, draft: null };
      const { before: now, after, base } = found;
      const [draft = null] = await fileDiffs([{ path, before: base ?? now, after }]);
      const [meanwhile = null] =
        base === undefined ? [] : await fileDiffs([{ path, before: base, after: now }]);
      return { path, meanwhile, draft };
    }),
  );
}

export function conflictView(
  context: PageContext,
  { jobId, request }: Pick<StoredJob, "jobId" | "request">,
  conflicts: readonly ConflictDiff[],
): Markup {
  const { t, viewer } = context;
  const address = `/jobs/${encodeURIComponent(jobId)}`;
  return html`<section class="conflict" aria-labelledby="conflict-title"><h2 id="conflict-title">${t.conflictTitle}</h2><p class="note bad">${t.conflictIntro}</p>
${conflicts.map((conflict) => conflictFile(context, conflict))}
<div class="actions">${request !== undefined && actionButton(context, { action: `/chat/${encodeURIComponent(viewer.userId)}`, label: t.runAgain, style: "main", fields: { text: `/code ${request}` } })}${actionButton(context, { action: `${address}/rest`, label: t.applyRest })}${actionButton(context, { action: `${address}/discard`, label: t.discard, style: "danger" })}</div></section>`;
}

function conflictFile({ t }: PageContext, { path, meanwhile, draft }: ConflictDiff): Markup {
  const side = (title: string, file: FileDiff | null) =>
    html`<div><p class="meta">${title}</p>${file === null ? html`<p class="note">${t.noLines}</p>` : diffLines(t, file, "inline")}</div>`;
  return html`<h3>${visible(path)}</h3><div class="three-way">${
    meanwhile === null
      ? html`${side(t.conflictBoth, draft)}<p class="note">${t.conflictNoBase}</p>`
      : html`${side(t.conflictMeanwhile, meanwhile)}${side(t.conflictDraft, draft)}`
  }</div>`;
}
