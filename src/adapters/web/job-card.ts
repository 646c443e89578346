import type { ViewedJob } from "../../application/fleet/viewer-jobs.ts";
import type { Reply } from "../../application/ports/conversation.ts";
import { type CardPieces, type CommandWords, wordCard } from "../../application/chat/word-card.ts";
import { wordStatus } from "../../application/jobs/job-report.ts";
import type { Change } from "../../domain/jobs/result.ts";
import type { JobStatus } from "../../domain/jobs/job-status.ts";
import type { PageContext } from "./context.ts";
import { html, type Markup, type Piece } from "./markup.ts";
import { ICONS } from "./icons.ts";
import { viewedStatus } from "./job-state.ts";
import { markdown } from "./parts-markdown.ts";
import { visible } from "./visible.ts";

export interface JobCard {
  readonly jobId: string;
  /** As it is by now; null where it is gone. */
  readonly viewed: ViewedJob | null;
  /** What the reply knows of it. */
  readonly result: Pick<Reply["jobs"][number], "status" | "success" | "failed_cmds" | "changes">;
  /** The request, for a job of an older version. */
  readonly request: string;
  readonly plan: string;
  /** Absent for a job of a tool, which has no more to say. */
  readonly pieces?: CardPieces;
  readonly buttons: Piece;
}

/** One job in a chat: what was asked, what became of it, its files with their differences, what failed. */
export function jobCard(context: PageContext, card: JobCard): Markup {
  const { t, words } = context;
  const status = statusOfCard(card);
  const said = card.pieces === undefined ? null : wordCard(t.locale, card.pieces);
  const attempts = card.pieces?.coder?.attempts ?? 1;
  const title = card.viewed?.job.title || firstLine(card.request) || t.untitled;
  const failedCmds = card.viewed?.job.failedCmds ?? card.result.failed_cmds;
  return html`<section class="job-card ${statusTone(status)}" aria-label="${visible(title)}">
<header><span class="state ${status}">${wordStatus(words, { status, failedCmds })}</span><a class="title" href="/jobs/${encodeURIComponent(card.jobId)}">${visible(title)}</a>${said !== null && said.caveats.length > 0 && caveats(context, said.caveats)}</header>
${(attempts > 1 || (said !== null && said.checks !== "")) && html`<p class="meta">${[attempts > 1 && t.attempts(attempts), said?.checks].filter(Boolean).join(" · ")}</p>`}
${card.plan !== "" && html`<div class="text plan">${markdown(card.plan)}</div>`}
${said?.trouble.map((line) => html`<p class="note bad">${outputLines(line)}</p>`)}
${said?.failed.map((one) => failedCommand(one))}
${said !== null && said.way.length > 0 && html`<p class="note">${outputLines(said.way.join("\n"))}</p>`}
${card.result.changes.length > 0 && html`<div class="card-files">${card.result.changes.slice(0, SHOWN_FILES).map((change) => changedFile(context, card, change))}${card.result.changes.length > SHOWN_FILES && html`<p class="note">${t.moreFiles(card.result.changes.length - SHOWN_FILES)}</p>`}</div>`}
${said?.printed.map((one) => printedOutput(context, one))}
<footer class="actions">${card.buttons}<a class="open" href="/jobs/${encodeURIComponent(card.jobId)}">${t.openJob}</a></footer></section>`;
}

const SHOWN_FILES = 30;

function statusOfCard({ viewed, result }: JobCard): JobStatus {
  // A reply of an older version does not know what became of its job.
  return viewed === null ? (result.status ?? (result.success ? "applied" : "partly")) : viewedStatus(viewed);
}

function statusTone(status: JobStatus): string {
  if (status === "applied") return "good";
  if (status === "partly" || status === "worse" || status === "refused" || status === "interrupted")
    return "bad";
  return status === "preview" ? "warn" : "plain";
}

function firstLine(text: string): string {
  return (text.trim().split("\n")[0] ?? "").slice(0, 80);
}

function caveats({ t }: PageContext, notes: readonly string[]): Markup {
  return html`<details class="info"><summary aria-label="${t.caveats}" title="${t.caveats}">${ICONS.info}</summary><ul>${notes.map((note) => html`<li>${outputLines(note)}</li>`)}</ul></details>`;
}

/** Folded; its difference is fetched when it is opened, and without a script it is a link to the job. */
function changedFile({ t }: PageContext, { jobId, pieces }: JobCard, { path, kind }: Change): Markup {
  const counts = pieces?.facts.lineCounts?.[path];
  const address = `/jobs/${encodeURIComponent(jobId)}`;
  return html`<details class="diff" data-src="${address}/diff?path=${encodeURIComponent(path)}"><summary><span class="kind ${kind}">${t.changeKinds[kind]}</span> <span class="path">${visible(path)}</span>${counts !== undefined && html`<span class="counts"><span class="plus">+${counts.added}</span> <span class="minus">−${counts.removed}</span></span>`}</summary><div data-slot><p class="note"><a href="${address}">${t.openJob}</a></p></div></details>`;
}

function failedCommand({ command, error, output }: CommandWords): Markup {
  return html`<div class="failure"><p><span aria-hidden="true">✗</span> <code>${visible(command)}</code></p>${error !== "" && html`<p class="error">${visible(error)}</p>`}${output.trim() !== "" && html`<pre class="output" tabindex="0">${visible(output)}</pre>`}</div>`;
}

function printedOutput({ t }: PageContext, { command, output }: CommandWords): Markup {
  return html`<details class="printed"><summary>${t.timeline.output} <code>${visible(command)}</code></summary><pre class="output" tabindex="0">${visible(output)}</pre></details>`;
}

function outputLines(text: string): Piece {
  return visible(text)
    .split("\n")
    .map((line, n) => [n > 0 && html`<br>`, line]);
}
