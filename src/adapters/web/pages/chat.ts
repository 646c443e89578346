import type { LiveWork } from "../../../application/serve/serve-events.ts";
import type { Chat, Exchange } from "../../../application/ports/serve.ts";
import type { PageContext } from "../context.ts";
import { html, type Markup } from "../markup.ts";
import { type Composer, composerForm } from "./composer.ts";
import { actionButton } from "../form.ts";
import { ICONS } from "../icons.ts";
import { empty, page } from "../layout.ts";
import { type LiveLine, liveLine } from "../live-line.ts";
import { markdown } from "../parts-markdown.ts";
import { actionForm, type ReplyView, renderReply } from "./reply.ts";
import { duration, moment } from "../times.ts";
import { visible } from "../visible.ts";

export interface ChatView extends Omit<ReplyView, "request"> {
  readonly channel: string;
  readonly exchanges: readonly Exchange[];
  /** How far a message is that is being answered. */
  readonly workOf: (messageId: string) => LiveWork;
  readonly chats: readonly Chat[];
  /** Whether there is more above. */
  readonly older: boolean;
  readonly eventId: string;
  readonly ownCommands: Composer["ownCommands"];
  /** A person may write here; an operator only reads what others write elsewhere. */
  readonly mayWrite: boolean;
  readonly draft?: string;
  readonly action?: string;
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
<div class="log" id="log" data-part tabindex="0" role="log" aria-label="${t.chatTitle}" data-copy="${t.copy}" data-copied="${t.copied}">
${view.older && html`<p class="older"><a href="/chat/${encodeURIComponent(view.chatId)}?before=${view.exchanges[0]?.message.id}">${t.olderMessages}</a></p>`}
${view.exchanges.length === 0 ? firstWords(context, view) : view.exchanges.map((exchange) => exchangeView(context, view, exchange))}
</div>
${view.mayWrite && composerForm(context, view)}
</div>`,
  });
}

function firstWords(context: PageContext, view: ChatView): Markup {
  const { t } = context;
  return empty(
    t.chatEmptyTitle,
    t.chatEmpty,
    view.mayWrite &&
      html`<ul class="examples">${(context.demo ? t.demoExamples : t.chatExamples).map((example) => html`<li>${actionForm(context, view.chatId, { label: example, message: example })}</li>`)}</ul>`,
  );
}

const bytesText = (bytes: number) => (bytes < 1_024 ? `${bytes} B` : `${Math.ceil(bytes / 1_024)} KB`);

function exchangeView(context: PageContext, view: ChatView, { message, replies }: Exchange): Markup {
  const { t } = context;
  return html`<article class="exchange" id="${message.id}">
<div class="said">${message.text !== "" && html`<div class="bubble">${visible(message.text)}</div>`}${(message.attachments ?? []).map(({ name, sizeBytes }) => html`<p class="file">${ICONS.attach}${visible(name)} <span class="meta">${bytesText(sizeBytes)}</span></p>`)}<p class="meta">${message.channel === "web" ? t.you : visible(message.userId)} · ${moment(context, message.receivedAt)}</p></div>
${replies.map(({ content, state }) => [
  content.kind === "reply"
    ? renderReply(context, { ...view, request: message.text }, content.reply)
    : html`<div class="reply"><div class="text">${markdown(content.text)}</div></div>`,
  state === "failed" && html`<p class="note bad">${t.notDelivered}</p>`,
])}
${message.state !== "done" && pendingView(context, view, message)}
</article>`;
}

/** A message that waits or is being answered: who works at what, since when, what it printed last, and a way to stop it. */
function pendingView(context: PageContext, view: ChatView, message: Exchange["message"]): Markup {
  const { t } = context;
  const isAtWork = message.state === "working";
  const line = liveLine(t, view.workOf(message.id), isAtWork ? t.working : t.waiting);
  const elapsedMs = Math.max(0, context.now.getTime() - Date.parse(message.receivedAt));
  return html`<div class="reply pending" data-message="${message.id}"><span class="seal ${line.style}" data-face aria-hidden="true">${line.face}</span><div class="body"><p class="now"><span class="dots" aria-hidden="true"><i></i><i></i><i></i></span> <span data-now role="status">${line.now}</span> <span class="meta"><span data-elapsed="${Math.round(elapsedMs / 1_000)}">${isAtWork && duration(Math.floor(elapsedMs / 1_000) * 1_000)}</span> <span data-cost>${line.cost}</span></span></p>
${runningView(line)}<div class="text" data-stream></div>
${isAtWork && message.channel === "web" && actionButton(context, { action: `/chat/${encodeURIComponent(message.chatId)}/stop`, label: t.stopAnswer, style: "quiet", fields: { message: message.id } })}</div></div>`;
}

function runningView({ command, lines }: LiveLine): Markup {
  return html`<div class="at-work" data-work ${command === "" && lines === "" && html`hidden`}><code data-command>${command}</code><pre class="output" data-lines>${lines}</pre></div>`;
}
