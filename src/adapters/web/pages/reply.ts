import type { ViewedJob } from "../../../application/fleet/viewer-jobs.ts";
import type { Reply } from "../../../application/ports/conversation.ts";
import { type ReplyPiece, replyPieces, wordPieces } from "../../../application/chat/reply-words.ts";
import type { PageContext } from "../context.ts";
import { html, type Markup, type Piece } from "../markup.ts";
import { csrfField } from "../form.ts";
import { agentOf, seal } from "../icons.ts";
import { type JobCard, jobCard } from "../job-card.ts";
import { markdown } from "../parts-markdown.ts";

export interface ReplyView {
  readonly chatId: string;
  /** What was asked. */
  readonly request: string;
  /** The buttons of a reply, as they make sense now. */
  readonly actionsOf: (reply: Reply) => Reply["actions"];
  /** Jobs as they are by now. */
  readonly jobs: ReadonlyMap<string, ViewedJob>;
}

/** An answer: words as Markdown, each job as a card, and who gave it. */
export function renderReply(context: PageContext, view: ReplyView, reply: Reply): Markup {
  const { t } = context;
  const agent = agentOf(reply.decision?.route);
  // A card unfolds its differences itself.
  const actions = view
    .actionsOf(reply)
    .filter(({ message }) => !/^\/diff\b/.test(message) || reply.jobs.length === 0);
  const isOne = reply.jobs.length === 1;
  const buttons = actions.map((action) => actionForm(context, view.chatId, action));
  return html`<div class="reply ${reply.ok ? "" : "failed"}">${seal(agent)}<div class="body">
<p class="from"><strong>${agent}</strong>${reply.decision !== undefined && html` <span class="chip" title="${reply.decision.reason}">${reply.decision.route}</span>`}</p>
${replyBlocks(context, view, reply, isOne ? buttons : [])}
${!isOne && buttons.length > 0 && html`<div class="actions">${buttons}</div>`}
${(reply.model !== undefined || reply.usage !== undefined) && html`<p class="meta">${reply.model !== undefined && t.modelFooter(reply.model.model, reply.model.local ? "local" : "cloud")}${reply.usage !== undefined && html` · ${t.tokens(reply.usage.inputTokens, reply.usage.outputTokens)}${reply.usage.costUsd > 0 && ` · $${reply.usage.costUsd.toFixed(4)}`}`}</p>`}
</div></div>`;
}

export function actionForm(
  context: PageContext,
  chatId: string,
  { label, labels, message }: Reply["actions"][number],
): Markup {
  return html`<form method="post" action="/chat/${encodeURIComponent(chatId)}" class="act" data-say>${csrfField(context)}<input type="hidden" name="text" value="${message}"><button type="submit">${labels?.[context.t.locale] ?? label}</button></form>`;
}

/** The pieces of a reply in their order; what is said of a job is its card. */
function replyBlocks(context: PageContext, view: ReplyView, reply: Reply, buttons: Piece): Piece {
  const { locale } = context.t;
  const said = replyPieces(locale, reply);
  const drawn = new Set<string>();
  const result: Piece[] = [];
  let words: ReplyPiece[] = [];
  const flush = () => {
    const text = wordPieces(locale, words);
    if (text !== "") result.push(html`<div class="text">${markdown(text)}</div>`);
    words = [];
  };
  const card = (jobId: string, more: Pick<JobCard, "plan" | "pieces">) => {
    const job = reply.jobs.find(({ job_id }) => job_id === jobId);
    if (job === undefined || drawn.has(jobId)) return;
    drawn.add(jobId);
    const viewed = view.jobs.get(jobId) ?? null;
    result.push(jobCard(context, { jobId, viewed, result: job, request: view.request, buttons, ...more }));
  };
  for (const [at, piece] of said.entries()) {
    const before = said[at - 1];
    if (piece.kind === "job" && reply.jobs.some(({ job_id }) => job_id === piece.facts.jobId)) {
      flush();
      const next = said[at + 1];
      card(piece.facts.jobId, {
        plan: piece.plan,
        pieces: {
          facts: piece.facts,
          ...(next?.kind === "coder" && { coder: next.facts }),
          ...(piece.risk !== undefined && { risk: piece.risk }),
        },
      });
    } else if (piece.kind === "coder" && before?.kind === "job" && drawn.has(before.facts.jobId)) continue;
    // Status, files and the way back of a tool's jobs stand on their cards.
    else if (piece.kind === "loop-status" && reply.jobs.length > 0) continue;
    else if (piece.kind === "loop" && reply.jobs.length > 0)
      words.push({ ...piece, changes: [], undo: null });
    else words.push(piece);
  }
  flush();
  for (const { job_id } of reply.jobs) card(job_id, { plan: "" });
  return result;
}
