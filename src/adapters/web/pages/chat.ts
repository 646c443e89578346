import type { Reply } from "../../../application/ports/conversation.ts";
import type { Chat, Exchange } from "../../../application/ports/message-store.ts";
import { wordReply } from "../../../application/work/report/said.ts";
import { wordStatus } from "../../../application/work/report/word-job.ts";
import type { PageContext } from "../context.ts";
import { html, type Markup } from "../markup.ts";
import { actionButton, csrfField } from "../parts/form.ts";
import { agentOf, ICONS, seal } from "../parts/icons.ts";
import { empty, page } from "../parts/layout.ts";
import { markdown } from "../parts/markdown.ts";
import { moment } from "../parts/times.ts";
import { visible } from "../parts/visible.ts";

export interface ChatView {
  readonly channel: string;
  readonly chatId: string;
  readonly exchanges: readonly Exchange[];
  /** The buttons of a reply, as they make sense now. */
  readonly actionsOf: (reply: Reply) => Reply["actions"];
  readonly chats: readonly Chat[];
  /** Whether there is more above. */
  readonly older: boolean;
  readonly eventId: string;
  /** A person may write here; an operator only reads what others write elsewhere. */
  readonly mayWrite: boolean;
  readonly draft?: string;
}

export function chatPage(context: PageContext, view: ChatView): Markup {
  const { t } = context;
  const busy = view.exchanges.some(({ message }) => message.state !== "done");
  const key = `${view.channel}:${view.chatId}`;
  return page(context, {
    title: t.chatTitle,
    section: "chat",
    tall: true,
    ...(busy && { refreshSeconds: 3 }),
    body: html`<div class="chat" data-live="/live?chat=${encodeURIComponent(key)}">
<div class="chat-head"><h1>${t.chatTitle}</h1>
${view.chats.length > 1 && html`<details class="menu"><summary>${t.chats}</summary><ul>${view.chats.map((chat) => html`<li><a href="/chat/${encodeURIComponent(chat.chatId)}" ${chat.chatId === view.chatId && html`aria-current="true"`}>${visible(chat.lastText).slice(0, 60)} ${moment(context, chat.lastAt)}</a></li>`)}</ul></details>`}
${actionButton(context, { action: "/chat/new", label: t.newChat, style: "quiet" })}</div>
<div class="log" id="log" data-part tabindex="0" role="log" aria-label="${t.chatTitle}">
${view.older && html`<p class="older"><a href="/chat/${encodeURIComponent(view.chatId)}?before=${view.exchanges[0]?.message.id}">${t.olderMessages}</a></p>`}
${view.exchanges.length === 0 ? firstWords(context, view) : view.exchanges.map((exchange) => exchangeOf(context, view, exchange))}
</div>
${view.mayWrite && composer(context, view)}
</div>`,
  });
}

function firstWords(context: PageContext, view: ChatView): Markup {
  const { t } = context;
  return empty(
    t.chatEmptyTitle,
    t.chatEmpty,
    html`<ul class="examples">${(context.demo ? t.demoExamples : t.chatExamples).map((example) => html`<li><a href="/chat/${encodeURIComponent(view.chatId)}?draft=${encodeURIComponent(example)}">${example}</a></li>`)}</ul>`,
  );
}

const bytesText = (bytes: number) => (bytes < 1_024 ? `${bytes} B` : `${Math.ceil(bytes / 1_024)} KB`);

function composer(context: PageContext, view: ChatView): Markup {
  const { t } = context;
  return html`<form class="composer" method="post" action="/chat/${encodeURIComponent(view.chatId)}" enctype="multipart/form-data" data-composer>
${csrfField(context)}<input type="hidden" name="event" value="${view.eventId}">
<label class="attach" title="${t.attach}"><input type="file" name="file" multiple aria-label="${t.attach}">${ICONS.attach}</label>
<label class="unseen" for="text">${t.messageLabel}</label>
<textarea id="text" name="text" rows="1" maxlength="20000" placeholder="${t.messagePlaceholder}" aria-describedby="hint" autofocus>${view.draft}</textarea>
<button type="submit" class="main" aria-label="${t.send}">${ICONS.send}</button>
<p id="hint" class="hint"><span data-files></span> ${t.sendHint}</p></form>`;
}

function exchangeOf(context: PageContext, view: ChatView, { message, replies }: Exchange): Markup {
  const { t } = context;
  return html`<article class="exchange" id="${message.id}">
<div class="said">${message.text !== "" && html`<div class="bubble">${visible(message.text)}</div>`}${(message.attachments ?? []).map(({ name, sizeBytes }) => html`<p class="file">${ICONS.attach}${visible(name)} <span class="meta">${bytesText(sizeBytes)}</span></p>`)}<p class="meta">${message.channel === "web" ? t.you : visible(message.userId)} · ${moment(context, message.receivedAt)}</p></div>
${replies.map(({ content, state }) => [
  content.kind === "reply"
    ? replyOf(context, view, content.reply)
    : html`<div class="reply"><div class="text">${markdown(content.text)}</div></div>`,
  state === "failed" && html`<p class="note bad">${t.notDelivered}</p>`,
])}
${
  message.state !== "done" &&
  html`<div class="reply pending" data-message="${message.id}">${seal("Mio")}<div class="body"><p class="now" role="status"><span class="dots" aria-hidden="true"><i></i><i></i><i></i></span> <span data-now>${message.state === "working" ? t.working : t.waiting}</span></p><div class="text" data-stream></div>
${message.state === "working" && message.channel === "web" && actionButton(context, { action: `/chat/${encodeURIComponent(message.chatId)}/stop`, label: t.stopAnswer, style: "quiet", fields: { message: message.id } })}</div></div>`
}
</article>`;
}

function replyOf(context: PageContext, view: ChatView, reply: Reply): Markup {
  const { t } = context;
  const agent = agentOf(reply.decision?.route);
  const actions = view.actionsOf(reply);
  return html`<div class="reply ${reply.ok ? "" : "failed"}">${seal(agent)}<div class="body">
<p class="from"><strong>${agent}</strong>${reply.decision !== undefined && html` <span class="chip" title="${reply.decision.reason}">${reply.decision.route}</span>`}</p>
<div class="text">${markdown(wordReply(context.words.locale, reply))}</div>
${reply.jobs.map(
  (job) =>
    html`<div class="job-card ${job.success ? "good" : "bad"}"><a href="/jobs/${encodeURIComponent(job.job_id)}">${wordCard(context, job)}</a><span class="paths">${job.changes
      .slice(0, 4)
      .map(({ path }) => visible(path))
      .join("  ")}${job.changes.length > 4 && ` ${t.moreFiles(job.changes.length - 4)}`}</span></div>`,
)}
${actions.length > 0 && html`<div class="actions">${actions.map(({ label, labels, message }) => html`<form method="post" action="/chat/${encodeURIComponent(view.chatId)}" class="act">${csrfField(context)}<input type="hidden" name="text" value="${message}"><button type="submit">${labels?.[t.locale] ?? label}</button></form>`)}</div>`}
${(reply.model !== undefined || reply.usage !== undefined) && html`<p class="meta">${reply.model !== undefined && t.modelFooter(reply.model.model, reply.model.local ? "local" : "cloud")}${reply.usage !== undefined && html` · ${t.tokens(reply.usage.inputTokens, reply.usage.outputTokens)}${reply.usage.costUsd > 0 && ` · $${reply.usage.costUsd.toFixed(4)}`}`}</p>`}
</div></div>`;
}

/** A reply of an older version does not know what became of its job. */
function wordCard({ t, words }: PageContext, job: Reply["jobs"][number]): string {
  const status = job.status ?? (job.success ? "applied" : "partly");
  return `${wordStatus(words, { status, failedCmds: job.failed_cmds })} · ${t.changeCount(job.changes.length)}`;
}
