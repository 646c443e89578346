import type { DailyNote, SessionSummary } from "../../../application/ports/web.ts";
import type { Chat } from "../../../application/ports/serve.ts";
import type { PageContext } from "../context.ts";
import { html, type Markup } from "../markup.ts";
import { empty, page } from "../layout.ts";
import { markdown } from "../parts-markdown.ts";
import { moment } from "../times.ts";
import { visible } from "../visible.ts";

export interface SessionsView {
  readonly chats: readonly Chat[];
  readonly sessions: readonly SessionSummary[];
  readonly notes: readonly DailyNote[];
}

export function sessionsPage(context: PageContext, { chats, sessions, notes }: SessionsView): Markup {
  const { t } = context;
  return page(context, {
    title: t.sessionsTitle,
    section: "sessions",
    body: html`<h1>${t.sessionsTitle}</h1>
${
  chats.length === 0
    ? empty(t.sessionsEmptyTitle, t.sessionsEmpty)
    : html`<ul class="rows">${chats.map((chat) => html`<li><a class="row" href="/sessions/${encodeURIComponent(chat.channel)}/${encodeURIComponent(chat.chatId)}"><span class="state plain">${chat.channel}</span><span class="title">${visible(chat.lastText).slice(0, 120)}</span><span class="meta">${visible(chat.userId)} · ${t.messagesCount(chat.messages)} · ${moment(context, chat.lastAt)}</span></a></li>`)}</ul>`
}
${sessions.length > 0 && html`<h2>${t.daysTitle}</h2><ul class="rows">${sessions.map((session) => html`<li><div class="row"><span class="title"><code>${visible(session.id)}</code></span><span class="meta">${t.turnsCount(session.turns)} · ${moment(context, session.updatedAt)}</span></div></li>`)}</ul>`}
<h2>${t.notesTitle}</h2>
${notes.length === 0 ? html`<p class="note">${t.notesEmpty}</p>` : notes.map((note) => html`<article class="card note-card"><h3>${note.day} <span class="meta">${visible(note.key)}</span></h3><div class="text">${markdown(note.text)}</div></article>`)}`,
  });
}
