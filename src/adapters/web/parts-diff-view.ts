import type { ConsoleMessages } from "../../domain/texts/texts.ts";
import { html, type Markup, type Piece } from "./markup.ts";
import type { DiffRow, FileDiff } from "./diff-view.ts";
import { visible } from "./visible.ts";

export type DiffView = "inline" | "split";

/** One file of a job's changes, folded open unless it is long. */
export function fileDiffView(t: ConsoleMessages, file: FileDiff, view: DiffView): Markup {
  return html`<details class="diff" ${file.rows.length <= 400 ? html`open` : null}>
<summary><span class="kind ${file.kind}">${t.changeKinds[file.kind]}</span> <span class="path">${visible(file.path)}</span>
<span class="counts"><span class="plus">+${file.added}</span> <span class="minus">−${file.removed}</span></span></summary>
${diffLines(t, file, view)}</details>`;
}

/** What stands below the name of a file. */
export function diffLines(t: ConsoleMessages, file: FileDiff, view: DiffView): Markup {
  const note = file.note === undefined ? null : html`<p class="note">${t.diffNotes[file.note]}</p>`;
  return html`${file.rows.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="${visible(file.path)}">${view === "split" ? splitTable(t, file.rows) : inlineTable(t, file.rows)}</div>`}
${note}`;
}

/** Of a folder, a link, or what is gone from the record there are no lines. */
/** What changed is known only to a machine that does not answer. */
export function awayDiff(t: ConsoleMessages): Markup {
  return html`<p class="note">${t.diffAway}</p>`;
}

export function noDiff(t: ConsoleMessages): Markup {
  return html`<p class="note">${t.noLines}</p>`;
}

function inlineTable(t: ConsoleMessages, rows: readonly DiffRow[]): Markup {
  return html`<table class="lines inline"><caption class="unseen">${t.diffCaption}</caption><tbody>${rows.map(
    (row) =>
      row.kind === "gap"
        ? html`<tr class="gap"><td colspan="4">⋯</td></tr>`
        : html`<tr class="${row.kind}"><td class="n">${row.before}</td><td class="n">${row.after}</td><td class="s">${SIGNS[row.kind]}</td><td class="t">${rowText(row)}</td></tr>`,
  )}</tbody></table>`;
}

const SIGNS = { same: "", added: "+", removed: "−" } as const;

function splitTable(t: ConsoleMessages, rows: readonly DiffRow[]): Markup {
  return html`<table class="lines split"><caption class="unseen">${t.diffCaption}</caption><colgroup><col class="n"><col><col class="n"><col></colgroup><tbody>${pairs(
    rows,
  ).map(([left, right]) =>
    left?.kind === "gap"
      ? html`<tr class="gap"><td colspan="4">⋯</td></tr>`
      : html`<tr>${side(left, "before")}${side(right, "after")}</tr>`,
  )}</tbody></table>`;
}

function side(row: DiffRow | null, which: "before" | "after"): Markup {
  if (row === null) return html`<td class="n none"></td><td class="t none"></td>`;
  return html`<td class="n ${row.kind}">${row[which]}</td><td class="t ${row.kind}">${rowText(row)}</td>`;
}

/** Removed lines beside the added ones that follow them. */
function pairs(rows: readonly DiffRow[]): [DiffRow | null, DiffRow | null][] {
  const result: [DiffRow | null, DiffRow | null][] = [];
  for (let at = 0; at < rows.length; ) {
    const row = rows[at] as DiffRow;
    if (row.kind === "same" || row.kind === "gap") {
      result.push([row, row]);
      at += 1;
      continue;
    }
    const removed = rows.slice(at, endOfRun(rows, at, "removed"));
    const added = rows.slice(at + removed.length, endOfRun(rows, at + removed.length, "added"));
    for (let n = 0; n < Math.max(removed.length, added.length); n += 1)
      result.push([removed[n] ?? null, added[n] ?? null]);
    at += removed.length + added.length;
  }
  return result;
}

function endOfRun(rows: readonly DiffRow[], from: number, kind: DiffRow["kind"]): number {
  let end = from;
  while (rows[end]?.kind === kind) end += 1;
  return end;
}

function rowText({ text, mark }: DiffRow): Piece {
  if (mark === undefined || mark[0] >= mark[1]) return text;
  const [from, to] = mark;
  return [text.slice(0, from), html`<mark>${text.slice(from, to)}</mark>`, text.slice(to)];
}
