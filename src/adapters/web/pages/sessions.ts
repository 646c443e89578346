import { giveWay } from "../../../application/platform/give-way.ts";
import type { DailyNote, NewTurn, Session } from "../../../application/ports/chat.ts";
import type { Chat, ChatKey } from "../../../application/ports/serve.ts";
import type { AgentName } from "../../../domain/chat/agents.ts";
import { empty, page } from "../layout.ts";
import { markdown, windowEnd } from "../markdown.ts";
import { html, ICONS, type Markup, moment, seal, visible } from "../markup.ts";
import type { PageContext } from "../page-context.ts";
import { type ConsolePages, missingPage, respond, type Web, type WebApp } from "../web.ts";
import { chatAddress, chatPage, chatTitleOf, listChats, mayRead, readJobsOfExchanges } from "./chat.ts";

interface SessionsView {
  readonly chats: readonly Chat[];
  readonly sessions: readonly Session[];
  readonly notes: readonly DailyNote[];
}

/** The day with which the id of a session begins. */
const DATE = /^(\d{4})(\d\d)(\d\d).*$/;

function sessionsPage(context: PageContext, { chats, sessions, notes }: SessionsView): Markup {
  const { t } = context;
  const titles = new Map(chats.map((chat) => [`${chat.channel}:${chat.chatId}`, chatTitleOf(t, chat)]));
  return page(context, {
    title: t.nav.sessions,
    section: "/sessions",
    body: html`<h1>${t.nav.sessions}</h1>
${
  chats.length === 0
    ? empty(t.sessionsEmptyTitle, t.sessionsEmpty)
    : html`<ul class="rows">${chats.map((chat) => html`<li><a class="row" href="/sessions/${encodeURIComponent(chat.channel)}/${encodeURIComponent(chat.chatId)}"><span class="state plain">${chat.channel}</span><span class="title">${chatTitleOf(t, chat)}</span><span class="meta">${visible(chat.userId)} · ${t.messagesCount(chat.messages)} · ${moment(context, chat.lastAt)}</span></a></li>`)}</ul>`
}
${sessions.length > 0 && html`<h2>${t.daysTitle}</h2><ul class="rows">${sessions.map((session) => html`<li><div class="row"><span class="title" title="${session.id}">${titles.get(session.chatKey) ?? visible(session.chatKey)}</span><span class="meta">${t.turnsCount(session.turns)} · ${moment(context, session.closedAt ?? session.openedAt)}</span></div></li>`)}</ul>`}
<h2>${t.notesTitle}</h2>
${notes.length === 0 ? html`<p class="note">${t.notesEmpty}</p>` : notes.map((note) => html`<article class="card note-card"><h3>${note.sessionId.replace(DATE, "$1-$2-$3")} <span class="meta">${titles.get(note.chatKey) ?? visible(note.chatKey)}</span></h3><div class="text">${markdown(note.text.slice(0, windowEnd(note.text, 0)))}</div></article>`)}`,
  });
}

const SHOWN_TURNS = 100;

/** A chat whose messages did not pass through this server: read-only. */
function spokenPage(context: PageContext, chat: ChatKey, turns: readonly NewTurn[]): Markup {
  const { t } = context;
  const title = chatTitleOf(t, { ...chat, firstText: turns.find(({ role }) => role === "user")?.text ?? "" });
  return page(context, {
    title,
    section: "/sessions",
    body: html`<p class="crumb"><a href="/sessions">${t.nav.sessions}</a></p><h1 title="${chat.chatId}"><span class="state plain">${visible(chat.channel)}</span> ${title}</h1><p class="note">${t.readOnlyChat}</p>
<div class="spoken">${turns.map(({ at, role, agent, text }) =>
      role === "user"
        ? html`<div class="said"><div class="bubble">${visible(text)}</div><p class="meta">${moment(context, at)}</p></div>`
        : html`<div class="reply">${seal(agent === "" ? "Mio" : (agent as AgentName))}<div class="body"><div class="text">${markdown(text.slice(0, windowEnd(text, 0)))}${text.length > windowEnd(text, 0) && "…"}</div></div></div>`,
    )}</div>`,
  });
}

function sessionRoutes(app: WebApp, { host }: Web): void {
  app.get("/sessions", async (c) => {
    const { viewer } = c.var.page;
    const chats = await listChats(host, viewer, 50);
    const keys = chats.map(({ channel, chatId }) => `${channel}:${chatId}`);
    const { sessions } = host.sources();
    const listed = (await sessions?.list(keys, 50)) ?? [];
    const notes = (await sessions?.notes(keys, 20)) ?? [];
    // Of many who ask at once, one after the other is answered.
    await giveWay();
    return respond(sessionsPage(c.var.page, { chats, sessions: listed, notes }));
  });
  app.get("/sessions/:channel/:chat", async (c) => {
    const { page } = c.var;
    const [channel, chatId] = [c.req.param("channel"), c.req.param("chat")];
    if (!(await mayRead(host, page.viewer, { channel, chatId }))) return missingPage(page);
    const exchanges = await host.messages.transcript({ channel, chatId, limit: 100 });
    if (exchanges.length === 0) {
      const turns = await host.sources().sessions?.lastTurns(`${channel}:${chatId}`, SHOWN_TURNS);
      return turns === undefined || turns.length === 0
        ? missingPage(page)
        : respond(spokenPage(page, { channel, chatId }, turns));
    }
    const mine = (await host.ownChats.speaker(page.viewer, { channel, chatId })) !== null;
    return respond(
      await chatPage(page, {
        channel,
        chatId,
        exchanges,
        chats: [],
        older: false,
        eventId: crypto.randomUUID(),
        ownCommands: host.ownCommands(),
        mayWrite: mine,
        action: chatAddress({ channel, chatId }),
        actionsOf: () => [],
        jobs: await readJobsOfExchanges(host, page.viewer, exchanges),
        workOf: host.live.of,
      }),
    );
  });
}

export const sessionsPages: ConsolePages = {
  section: { address: "/sessions", icon: ICONS.sessions, label: (t) => t.nav.sessions },
  routes: sessionRoutes,
};
