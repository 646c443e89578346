import { countLineEnds } from "../../application/jobs/job-facts.ts";
import { createPause } from "../../application/platform/give-way.ts";
import type { FileDifference, JournalLine, StoredJob } from "../../application/ports/jobs.ts";
import type { DiffHunk } from "../../domain/patch/compare-lines.ts";
import type { ConsoleMessages } from "../../domain/texts/web.ts";
import { actionButton, html, type Markup, type Piece, visible, visiblePath } from "./markup.ts";
import type { PageContext } from "./page-context.ts";

/** One line of a difference; both numbers where it is unchanged. */
interface DiffRow {
  readonly kind: "same" | "added" | "removed" | "gap";
  readonly before?: number;
  readonly after?: number;
  readonly text: string;
  /** Where a removed line and the added one in its place differ, in characters. */
  readonly mark?: readonly [from: number, to: number];
}

export interface FileDiff {
  readonly path: string;
  readonly kind: "added" | "modified" | "deleted";
  readonly added: number;
  readonly removed: number;
  readonly rows: readonly DiffRow[];
  /** Why there are no rows, or not all. */
  readonly note?: "binary" | "unknown" | "too-large" | "cut";
  /** Of a file that is not text: its size now, or before it was deleted. */
  readonly sizeBytes?: number;
}

const MOST_BYTES = 1024 ** 2;
const MOST_LINES = 40_000;
const MOST_ROWS = 1_500;
/** On one page. */
export const MOST_FILES = 200;
const MOST_PAGE_ROWS = 15_000;

export async function fileDiffs(differences: Iterable<FileDifference>): Promise<FileDiff[]> {
  const { toHunks, splitLines, isBinaryContent } = await import("../../domain/patch/compare-lines.ts");
  const pause = createPause();
  const files: FileDiff[] = [];
  let rows = 0;
  for (const { path, before, after } of differences) {
    await pause((before?.length ?? 0) + (after?.length ?? 0));
    const kind = before === null ? "added" : after === null ? "deleted" : "modified";
    const bare = (note: FileDiff["note"]): FileDiff => ({
      path,
      kind,
      added: 0,
      removed: 0,
      rows: [],
      ...(note !== undefined && { note }),
    });
    if (before === undefined || after === undefined) files.push(bare("unknown"));
    else if ((before?.length ?? 0) + (after?.length ?? 0) > MOST_BYTES) files.push(bare("too-large"));
    else if ([before, after].some((side) => side !== null && isBinaryContent(side)))
      files.push({ ...bare("binary"), sizeBytes: (after ?? before ?? "").length });
    else if (countLineEnds(before) + countLineEnds(after) > MOST_LINES) files.push(bare("too-large"));
    else {
      const bytes = (before?.length ?? 0) + (after?.length ?? 0);
      const sides = [splitLines(decodeText(before)), splitLines(decodeText(after))] as const;
      await pause(bytes);
      const hunks = toHunks(...sides);
      await pause(bytes);
      const file = rowsOf(hunks);
      rows += file.rows.length;
      files.push(rows > MOST_PAGE_ROWS ? bare("too-large") : { path, kind, ...file });
    }
    if (files.length === MOST_FILES) break;
  }
  return files;
}

function rowsOf(hunks: readonly DiffHunk[]): Pick<FileDiff, "rows" | "added" | "removed" | "note"> {
  const rows: DiffRow[] = [];
  let [added, removed] = [0, 0];
  for (const [n, { oldStart, newStart, lines }] of hunks.entries()) {
    if (n > 0 || oldStart > 1 || newStart > 1) rows.push({ kind: "gap", text: "" });
    let [before, after] = [oldStart, newStart];
    for (const line of lines) {
      const text = visible(line.slice(1));
      if (line.startsWith("+")) {
        rows.push({ kind: "added", after, text });
        after += 1;
        added += 1;
      } else if (line.startsWith("-")) {
        rows.push({ kind: "removed", before, text });
        before += 1;
        removed += 1;
      } else if (line.startsWith(" ")) {
        rows.push({ kind: "same", before, after, text });
        before += 1;
        after += 1;
      }
    }
  }
  const cut = rows.length > MOST_ROWS;
  return {
    added,
    removed,
    rows: markChanges(cut ? rows.slice(0, MOST_ROWS) : rows),
    ...(cut && { note: "cut" }),
  };
}

/** A block of removed lines directly before one of added lines: the n-th of both are the same line, changed. */
function markChanges(rows: readonly DiffRow[]): DiffRow[] {
  const result = [...rows];
  for (let at = 0; at < result.length; ) {
    const removed = runLength(result, at, "removed");
    const added = runLength(result, at + removed, "added");
    for (let n = 0; n < Math.min(removed, added); n += 1) {
      const [old, now] = [result[at + n] as DiffRow, result[at + removed + n] as DiffRow];
      const marks = differingMiddle(old.text, now.text);
      if (marks === null) continue;
      result[at + n] = { ...old, mark: marks[0] };
      result[at + removed + n] = { ...now, mark: marks[1] };
    }
    at += Math.max(1, removed + added);
  }
  return result;
}

function runLength(rows: readonly DiffRow[], from: number, kind: DiffRow["kind"]): number {
  let end = from;
  while (rows[end]?.kind === kind) end += 1;
  return end - from;
}

/** The part between the common start and end; null when too little is common to be worth a mark. */
function differingMiddle(old: string, now: string): [[number, number], [number, number]] | null {
  const shorter = Math.min(old.length, now.length);
  let start = 0;
  while (start < shorter && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < shorter - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  if (start + end < Math.max(old.length, now.length) / 3) return null;
  return [
    [start, old.length - end],
    [start, now.length - end],
  ];
}

function decodeText(bytes: Uint8Array | null): string {
  return bytes === null ? "" : new TextDecoder().decode(bytes);
}

export type DiffView = "inline" | "split";

/** Where the number of a line, and the name of a file, lead to. */
export interface LineLinks {
  why(path: string, line: number, side: "before" | "after"): string;
  /** Null: no editor of this machine is known. */
  readonly editor: ((path: string, line: number) => string) | null;
}

/** In longer files the numbers are plain: a link for each would be most of the page. */
const MOST_LINKED_ROWS = 400;

/** One file of a job's changes, folded open unless it is long, or one of many. */
export function fileDiffView(
  t: ConsoleMessages,
  file: FileDiff,
  view: DiffView,
  folded = file.rows.length > 400,
  links?: LineLinks,
): Markup {
  return html`<details class="diff" ${folded ? null : html`open`}>
<summary><span class="kind ${file.kind}">${t.changeKinds[file.kind]}</span> <span class="path">${visiblePath(file.path)}</span>
${file.added + file.removed > 0 && html`<span class="counts"><span class="plus">+${file.added}</span> <span class="minus">−${file.removed}</span></span>`}</summary>
${diffLines(t, file, view, links)}</details>`;
}

export function diffLines(t: ConsoleMessages, file: FileDiff, view: DiffView, links?: LineLinks): Markup {
  const words =
    file.note === "binary"
      ? t.diffBinary(file.sizeBytes ?? 0)
      : file.note === undefined
        ? null
        : t.diffNotes[file.note];
  const note = words === null ? null : html`<p class="note">${words}</p>`;
  const isLinked = links !== undefined && file.rows.length <= MOST_LINKED_ROWS;
  const number: NumberView = (line, side) =>
    line === undefined || !isLinked
      ? line
      : html`<a href="${links.why(file.path, line, side)}" title="${t.whyLine}">${line}</a>`;
  const first = file.rows.find(({ kind }) => kind === "added")?.after ?? 1;
  return html`${links?.editor != null && file.kind !== "deleted" && html`<p class="note"><a href="${links.editor(file.path, first)}">${t.openInEditor}</a></p>`}
${file.rows.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="${visiblePath(file.path)}">${view === "split" ? splitTable(t, file.rows, number) : inlineTable(t, file.rows, number)}</div>`}
${note}`;
}

/** Only a machine that does not answer knows the changes. */
export function awayDiff(t: ConsoleMessages): Markup {
  return html`<p class="note">${t.diffAway}</p>`;
}

const NAMED_FILES = 5;

/** A folder with its contents, as far as the journal names them; a link or an empty folder has no lines. */
export function noDiff(t: ConsoleMessages, path: string, journal: readonly JournalLine[]): Markup {
  const inside = filesInFolder(path, journal);
  if (inside.length === 0) return html`<p class="note">${t.noLines}</p>`;
  return html`<p class="note">${visible(t.folderFiles(inside.length, inside.slice(0, NAMED_FILES)))}</p>`;
}

function filesInFolder(folder: string, journal: readonly JournalLine[]): string[] {
  const paths = new Set<string>();
  for (const { event } of journal)
    if (event.type === "command_finished")
      for (const { path } of event.changes) if (path.startsWith(`${folder}/`)) paths.add(path);
  // A folder in it is named by its files.
  const all = [...paths].sort();
  return all
    .filter((path, n) => !all[n + 1]?.startsWith(`${path}/`))
    .map((path) => path.slice(folder.length + 1));
}

/** A changed folder in a card: how many files it had, and each of them folded. */
export function folderDiff(t: ConsoleMessages, path: string, files: readonly FileDiff[]): Markup {
  const names = files.slice(0, NAMED_FILES).map((file) => file.path.slice(path.length + 1));
  return html`<p class="note">${visiblePath(t.folderFiles(files.length, names))}</p>${files.map((file) => fileDiffView(t, file, "inline", true))}`;
}

/** Every change of a job: files with their lines, and folders and links without. */
export function changesView(
  t: ConsoleMessages,
  { job, alive }: { readonly job: Pick<StoredJob, "changes">; readonly alive: boolean },
  shown: {
    readonly files: readonly FileDiff[];
    readonly journal: readonly JournalLine[];
    readonly view: DiffView;
    readonly links: LineLinks;
  },
): Markup {
  const { files, journal, view, links } = shown;
  if (files.length === 0 && job.changes.length === 0)
    return html`<p class="note">${alive ? t.changesLater : t.noChanges}</p>`;
  const named = new Set(files.map(({ path }) => path));
  const bare =
    files.length >= MOST_FILES
      ? []
      : job.changes.filter(
          ({ path }) => !named.has(path) && !files.some((file) => file.path.startsWith(`${path}/`)),
        );
  return html`${files.map((file) => fileDiffView(t, file, view, undefined, links))}${bare.slice(0, MOST_FILES).map(({ path, kind }) => html`<details class="diff" open><summary><span class="kind ${kind}">${t.changeKinds[kind]}</span> <span class="path">${visiblePath(path)}</span></summary>${noDiff(t, path, journal)}</details>`)}`;
}

type NumberView = (line: number | undefined, side: "before" | "after") => Piece;

function inlineTable(t: ConsoleMessages, rows: readonly DiffRow[], number: NumberView): Markup {
  return html`<table class="lines inline"><caption class="unseen">${t.diffCaption}</caption><tbody>${rows.map(
    (row) =>
      row.kind === "gap"
        ? html`<tr class="gap"><td colspan="4">⋯</td></tr>`
        : html`<tr class="${row.kind}"><td class="n">${number(row.before, "before")}</td><td class="n">${number(row.after, "after")}</td><td class="s">${SIGNS[row.kind]}</td><td class="t">${rowText(row)}</td></tr>`,
  )}</tbody></table>`;
}

const SIGNS = { same: "", added: "+", removed: "−" } as const;

function splitTable(t: ConsoleMessages, rows: readonly DiffRow[], number: NumberView): Markup {
  return html`<table class="lines split"><caption class="unseen">${t.diffCaption}</caption><colgroup><col class="n"><col><col class="n"><col></colgroup><tbody>${pairs(
    rows,
  ).map(([left, right]) =>
    left?.kind === "gap"
      ? html`<tr class="gap"><td colspan="4">⋯</td></tr>`
      : html`<tr>${side(left, "before", number)}${side(right, "after", number)}</tr>`,
  )}</tbody></table>`;
}

function side(row: DiffRow | null, which: "before" | "after", number: NumberView): Markup {
  if (row === null) return html`<td class="n none"></td><td class="t none"></td>`;
  return html`<td class="n ${row.kind}">${number(row[which], which)}</td><td class="t ${row.kind}">${rowText(row)}</td>`;
}

function pairs(rows: readonly DiffRow[]): [DiffRow | null, DiffRow | null][] {
  const result: [DiffRow | null, DiffRow | null][] = [];
  for (let at = 0; at < rows.length; ) {
    const row = rows[at] as DiffRow;
    if (row.kind === "same" || row.kind === "gap") {
      result.push([row, row]);
      at += 1;
      continue;
    }
    const removed = runLength(rows, at, "removed");
    const added = runLength(rows, at + removed, "added");
    for (let n = 0; n < Math.max(removed, added); n += 1)
      result.push([
        n < removed ? (rows[at + n] as DiffRow) : null,
        n < added ? (rows[at + removed + n] as DiffRow) : null,
      ]);
    at += removed + added;
  }
  return result;
}

function rowText({ text, mark }: DiffRow): Piece {
  if (mark === undefined || mark[0] >= mark[1]) return text;
  const [from, to] = mark;
  return [text.slice(0, from), html`<mark>${text.slice(from, to)}</mark>`, text.slice(to)];
}

/** A file in the way, from three sides where all are known: how it was, how it is by now, how the draft has it. */
export interface ConflictDiff {
  readonly path: string;
  /** From how it was to how it is; null where how it was is not kept. */
  readonly meanwhile: FileDiff | null;
  /** From how it was, else from how it is, to the draft. */
  readonly draft: FileDiff | null;
}

const MOST_CONFLICTS = 50;

/** The conflicting files of a preview that could not be applied the last time. */
export async function readConflicts(
  job: Pick<StoredJob, "state">,
  journal: readonly JournalLine[],
  read: (path: string) => Promise<Iterable<FileDifference> | null>,
): Promise<readonly ConflictDiff[]> {
  const last = journal.findLast(({ event }) => event.type === "conflict")?.event;
  if (job.state !== "staged" || last?.type !== "conflict") return [];
  return Promise.all(
    last.paths.slice(0, MOST_CONFLICTS).map(async (path) => {
      const [found] = (await read(path)) ?? [];
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
  return html`<h3>${visiblePath(path)}</h3><div class="three-way">${
    meanwhile === null
      ? html`${side(t.conflictBoth, draft)}<p class="note">${t.conflictNoBase}</p>`
      : html`${side(t.conflictMeanwhile, meanwhile)}${side(t.conflictDraft, draft)}`
  }</div>`;
}
