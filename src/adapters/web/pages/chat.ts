import { type ReplyPiece, replyPieces, wordPieces } from "../../../application/chat/reply-words.ts";
import type { ViewedJob } from "../../../application/fleet/viewer-jobs.ts";
import { jobNamedInButton } from "../../../application/jobs/action-report.ts";
import { giveWay } from "../../../application/platform/give-way.ts";
import { chatKeyOf, type Reply } from "../../../application/ports/chat.ts";
import {
  type Chat,
  type ChatKey,
  type Exchange,
  IN_THE_CONSOLE,
  type InboundMessage,
} from "../../../application/ports/serve.ts";
import type { Viewer } from "../../../application/serve/access.ts";
import type { LiveWork } from "../../../application/serve/serve-events.ts";
import { matchFiles } from "../../../domain/platform/match-files.ts";
import { chatMessagesFor } from "../../../domain/texts/chat.ts";
import { formatCost } from "../../../domain/texts/format-text.ts";
import { type JobCard, jobCard } from "../job-view.ts";
import { empty, page } from "../layout.ts";
import { liveLine } from "../live-streams.ts";
import { markdown, WINDOW_CHARACTERS, windowEnd } from "../markdown.ts";
import {
  actionButton,
  agentOfRoute,
  csrfField,
  duration,
  html,
  ICONS,
  type Markup,
  moment,
  type Piece,
  seal,
  visible,
} from "../markup.ts";
import type { PageContext } from "../page-context.ts";
import { readAttachments } from "../request-bodies.ts";
import { type ConsolePages, missingPage, respond, troublePage, type Web, type WebApp } from "../web.ts";

interface Composer {
  readonly chatId: string;
  /** The address that it is sent to; default: the console's own chat of that name. */
  readonly action?: string;
  readonly eventId: string;
  readonly ownCommands: readonly { readonly name: string; readonly description: string }[];
  readonly draft?: string;
}

/** The field for a message. A `/` at its beginning offers the commands, an `@` the project's files. */
function composerForm(
  context: PageContext,
  { chatId, action = `/chat/${encodeURIComponent(chatId)}`, eventId, ownCommands, draft }: Composer,
): Markup {
  const { t } = context;
  return html`<form class="composer" method="post" action="${action}" enctype="multipart/form-data" data-composer>
${csrfField(context)}<input type="hidden" name="event" value="${eventId}">
<ul id="commands" class="suggest" role="listbox" aria-label="${t.commandsLabel}" hidden>${commandsOf(context, ownCommands).map(([name, what]) => html`<li role="option" id="command-${name.slice(1)}" data-value="${name}"><code>${name}</code> <span>${what}</span></li>`)}</ul>
<label class="attach" title="${t.attach}"><input type="file" name="file" multiple aria-label="${t.attach}">${ICONS.attach}</label>
<label class="unseen" for="text">${t.messageLabel}</label>
<textarea id="text" name="text" rows="1" maxlength="20000" placeholder="${t.messagePlaceholder}" aria-describedby="hint" aria-controls="commands" aria-autocomplete="list" autofocus>${draft}</textarea>
<button type="submit" class="main" aria-label="${t.send}">${ICONS.send}</button>
<div class="files" data-files data-remove="${t.removeFile}" hidden></div>
<p id="hint" class="hint">${t.sendHint}</p></form>`;
}

function commandsOf({ t }: PageContext, own: Composer["ownCommands"]): [name: string, what: string][] {
  const found = new Map<string, string>();
  const { help, helpMore } = chatMessagesFor(t.locale);
  for (const [usage, what] of [...help, ...helpMore])
    for (const name of usage.match(/(?<=^| )\/[a-z0-9]+/g) ?? []) if (!found.has(name)) found.set(name, what);
  for (const { name, description } of own)
    if (!found.has(`/${name}`)) found.set(`/${name}`, visible(description));
  return [...found];
}

interface ReplyView {
  /** The address of the full text of a reply. */
  readonly wholeAt: string;
  readonly chatId: string;
  readonly request: string;
  /** The buttons of a reply that still apply. */
  readonly actionsOf: (reply: Reply) => Reply["actions"];
  readonly jobs: ReadonlyMap<string, ViewedJob>;
}

function renderReply(context: PageContext, view: ReplyView, reply: Reply): Markup {
  const { t } = context;
  const agent = agentOfRoute(reply.decision?.route);
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
${(reply.model !== undefined || reply.usage !== undefined) && html`<p class="meta">${reply.model !== undefined && t.modelFooter(reply.model.model, reply.model.local ? "local" : "cloud")}${reply.usage !== undefined && html` · ${t.tokens(reply.usage.inputTokens, reply.usage.outputTokens)}${reply.usage.costUsd !== 0 && ` · ${formatCost(reply.usage.costUsd ?? 0, reply.usage.costUsd === null)}`}`}</p>`}
</div></div>`;
}

function actionForm(
  context: PageContext,
  chatId: string,
  { label, labels, message }: Reply["actions"][number],
): Markup {
  return html`<form method="post" action="/chat/${encodeURIComponent(chatId)}" class="act" data-say>${csrfField(context)}<input type="hidden" name="event" value="${PRESSED}${crypto.randomUUID()}"><input type="hidden" name="text" value="${message}"><button type="submit">${labels?.[context.t.locale] ?? label}</button></form>`;
}

function replyBlocks(context: PageContext, view: ReplyView, reply: Reply, buttons: Piece): Piece {
  const { locale } = context.t;
  const said = replyPieces(locale, reply);
  const drawn = new Set<string>();
  const result: Piece[] = [];
  let words: ReplyPiece[] = [];
  const flush = () => {
    const text = wordPieces(locale, words, "console");
    if (text !== "") result.push(html`<div class="text">${longText(context, text, view.wholeAt)}</div>`);
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
    // The footer says the same.
    else if (piece.kind === "say" && piece.name === "cloudAnswered" && reply.model) continue;
    // Status, files and undo of a tool's jobs are on their cards.
    else if (piece.kind === "loop-status" && reply.jobs.length > 0) continue;
    else if (piece.kind === "loop" && reply.jobs.length > 0)
      words.push({ ...piece, changes: [], undo: null });
    else words.push(piece);
  }
  flush();
  for (const { job_id } of reply.jobs) card(job_id, { plan: "" });
  return result;
}

/** The part of a text that a page shows at once, and a link to the rest. */
function longText({ t }: PageContext, text: string, wholeAt: string): Piece {
  if (text.length <= WINDOW_CHARACTERS) return markdown(text);
  return [
    markdown(text.slice(0, windowEnd(text, 0))),
    html`<p class="older"><a href="${wholeAt}">${t.wholeAnswer(bytesText(text.length))}</a></p>`,
  ];
}

function wholeTextPage(
  context: PageContext,
  {
    text,
    from,
    address,
    back,
  }: { readonly text: string; readonly from: number; readonly address: string; readonly back: string },
): Markup {
  const { t } = context;
  const end = windowEnd(text, from);
  const to = (at: number, label: string) => html`<a href="${address}?from=${at}">${label}</a>`;
  return page(context, {
    title: t.wholeAnswer(bytesText(text.length)),
    section: "/chat",
    body: html`<p class="crumb"><a href="${back}">${t.nav.chat}</a></p>
<div class="reply"><div class="body"><div class="text">${markdown(text.slice(from, end))}</div></div></div>
<nav class="pager" aria-label="${t.pages}">${from > 0 && to(Math.max(0, from - WINDOW_CHARACTERS), t.pageBefore)}<span>${bytesText(end)} / ${bytesText(text.length)}</span>${end < text.length && to(end, t.pageAfter)}</nav>`,
  });
}

export interface ChatView extends Omit<ReplyView, "request" | "wholeAt"> {
  readonly channel: string;
  readonly exchanges: readonly Exchange[];
  /** The progress of a message that is being answered. */
  readonly workOf: (messageId: string) => LiveWork;
  readonly chats: readonly Chat[];
  readonly older: boolean;
  readonly eventId: string;
  readonly ownCommands: Composer["ownCommands"];
  /** Whether the visitor may write here; an operator only reads what others write elsewhere. */
  readonly mayWrite: boolean;
  readonly draft?: string;
  readonly action?: string;
}

/** Replies may be long: other requests, health checks among them, are served after each. */
async function renderExchanges(context: PageContext, view: ChatView): Promise<readonly Markup[]> {
  const rendered: Markup[] = [];
  for (const exchange of view.exchanges) {
    rendered.push(exchangeView(context, view, exchange));
    await giveWay();
  }
  return rendered;
}

export async function chatPage(context: PageContext, view: ChatView): Promise<Markup> {
  const { t } = context;
  const exchanges = await renderExchanges(context, view);
  const busy = view.exchanges.some(({ message }) => message.state !== "done");
  const key = `${view.channel}:${view.chatId}`;
  return page(context, {
    title: t.nav.chat,
    section: "/chat",
    tall: true,
    ...(busy && { refreshSeconds: 3 }),
    body: html`<div class="chat" data-live="/live?chat=${encodeURIComponent(key)}">
<div class="chat-head"><h1>${t.nav.chat}</h1>
${view.chats.length > 1 && html`<details class="menu"><summary>${t.chats}</summary><ul>${view.chats.map((chat) => html`<li><a href="${chatAddress(chat)}" ${chat.channel === view.channel && chat.chatId === view.chatId && html`aria-current="true"`}>${chat.channel !== "web" && html`<span class="chip">${chat.channel}</span> `}${chatTitleOf(t, chat)} ${moment(context, chat.lastAt)}</a></li>`)}</ul></details>`}
${exchanges.length > 0 && html`<details class="menu"><summary>${t.exportChat}</summary><ul>${(["html", "md"] as const).map((form) => html`<li><a href="/export/${encodeURIComponent(view.channel)}/${encodeURIComponent(view.chatId)}?form=${form}" download>${t.exportForms[form]}</a></li>`)}</ul></details>`}
${actionButton(context, { action: "/chat/new", label: t.newChat, style: "quiet" })}</div>
<div class="log" id="log" data-part tabindex="0" role="log" aria-label="${t.nav.chat}" data-copy="${t.copy}" data-copied="${t.copied}">
${view.older && html`<p class="older"><a href="/chat/${encodeURIComponent(view.chatId)}?before=${view.exchanges[0]?.message.id}">${t.olderMessages}</a></p>`}
${exchanges.length === 0 ? firstWords(context, view) : exchanges}
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

const answerAddress = (messageId: string, n: number) => `/answers/${encodeURIComponent(messageId)}/${n}`;

function textOfReply(
  locale: PageContext["t"]["locale"],
  content: Exchange["replies"][number]["content"],
): string {
  return content.kind === "reply" ? wordPieces(locale, replyPieces(locale, content.reply)) : content.text;
}

const bytesText = (bytes: number) => (bytes < 1_024 ? `${bytes} B` : `${Math.ceil(bytes / 1_024)} KB`);

/** The mark in the event's id of a message that a button sent. */
const PRESSED = "button-";

/** If the job's card is on the page, the card shows the result and the next button, and the answer is one folded line. */
function pressedView(context: PageContext, view: ChatView, { message, replies }: Exchange): Markup {
  const { locale } = context.t;
  const isOnCard = !message.text.startsWith("/diff") && view.jobs.has(jobNamedInButton(message.text) ?? "");
  const at = html`<span class="meta">${moment(context, message.receivedAt)}</span>`;
  const answer = ({ content }: Exchange["replies"][number], n: number) => {
    const text = textOfReply(locale, content);
    const words = html`<div class="text">${longText(context, text, answerAddress(message.id, n))}</div>`;
    const isOk = content.kind !== "reply" || content.reply.ok;
    if (isOk && isOnCard)
      return html`<details class="event-line"><summary>${visible(text.trim().split("\n", 1)[0] ?? "")} ${at}</summary>${words}</details>`;
    return html`<section class="event-card ${isOk ? "good" : "bad"}">${words}${content.kind === "reply" && html`<div class="actions">${view.actionsOf(content.reply).map((action) => actionForm(context, view.chatId, action))}</div>`}<p>${at}</p></section>`;
  };
  return html`<article class="exchange pressed" id="${message.id}">
${replies.map(answer)}
${message.state !== "done" && pendingView(context, view, message)}
</article>`;
}

function exchangeView(context: PageContext, view: ChatView, exchange: Exchange): Markup {
  const { t } = context;
  const { message, replies } = exchange;
  const wasPressed = message.eventId.split(":").at(-1)?.startsWith(PRESSED) === true;
  if (wasPressed && jobNamedInButton(message.text) !== null) return pressedView(context, view, exchange);
  return html`<article class="exchange" id="${message.id}">
<div class="said">${message.text !== "" && html`<div class="bubble">${visible(message.text)}</div>`}${(message.attachments ?? []).map((file) => attachmentView(message, file))}<p class="meta">${message.channel === "web" ? t.you : visible(message.userId)} · ${moment(context, message.receivedAt)}</p></div>
${replies.map(({ content, state }, n) => [
  content.kind === "reply"
    ? renderReply(
        context,
        { ...view, request: message.text, wholeAt: answerAddress(message.id, n) },
        content.reply,
      )
    : html`<div class="reply"><div class="text">${longText(context, content.text, answerAddress(message.id, n))}</div></div>`,
  state === "failed" && html`<p class="note bad">${t.notDelivered}</p>`,
])}
${message.state !== "done" && pendingView(context, view, message)}
</article>`;
}

function attachmentView(
  { channel, chatId }: ChatKey,
  { name, sizeBytes, image }: NonNullable<InboundMessage["attachments"]>[number],
): Markup {
  if (image === undefined)
    return html`<p class="file">${ICONS.attach}${visible(name)} <span class="meta">${bytesText(sizeBytes)}</span></p>`;
  const address = `/images/${encodeURIComponent(channel)}/${encodeURIComponent(chatId)}/${encodeURIComponent(image)}`;
  return html`<a class="picture" href="${address}" target="_blank"><img src="${address}" alt="${visible(name)}" loading="lazy"></a>`;
}

/** A message that waits or is being answered: who works on what, since when, the last output, and a way to stop it. */
function pendingView(context: PageContext, view: ChatView, message: Exchange["message"]): Markup {
  const { t } = context;
  const isAtWork = message.state === "working";
  // A word to a coder at work is part of that work: the button of the message that began it ends both.
  const begun = view.exchanges.find((one) => one.message.state === "working")?.message.id;
  const mayStop = isAtWork && message.channel === "web" && message.id === begun;
  const line = liveLine(t, view.workOf(message.id), isAtWork ? t.working : t.waiting);
  const elapsedMs = Math.max(0, context.now.getTime() - Date.parse(message.receivedAt));
  return html`<div class="reply pending" data-message="${message.id}"><span class="seal ${line.style}" data-face aria-hidden="true">${line.face}</span><div class="body"><p class="now"><span class="dots" aria-hidden="true"><i></i><i></i><i></i></span> <span data-now role="status">${line.now}</span> <span class="meta"><span data-elapsed="${Math.round(elapsedMs / 1_000)}">${isAtWork && duration(Math.floor(elapsedMs / 1_000) * 1_000)}</span> <span data-cost>${line.cost}</span></span></p>
<div data-work>${line.work}</div>
${mayStop && actionButton(context, { action: `/chat/${encodeURIComponent(message.chatId)}/stop`, label: t.stopAnswer, style: "quiet", fields: { message: message.id } })}</div></div>`;
}

const SHOWN_EXCHANGES = 40;
const SUGGESTED_FILES = 8;
const MOST_CHARACTERS = 20_000;
const CHAT_ID = /^[a-z0-9_-]{1,40}(?:\.[a-z0-9]{1,20})?$/;

/** Conversations in the console. A person's chats are named after the person, or `<person>.<something>`. */
function chatRoutes(app: WebApp, web: Web): void {
  const { host } = web;
  app.get("/", (c) => c.redirect("/chat", 302));
  app.get("/chat", async (c) => {
    const { viewer } = c.var.person;
    const [last] = await host.messages.chats({ channel: "web", userId: viewer.userId, limit: 1 });
    return c.redirect(`/chat/${encodeURIComponent(last?.chatId ?? viewer.userId)}`, 302);
  });
  app.get("/chat/:chat", async (c) => {
    const { viewer } = c.var.person;
    const chatId = c.req.param("chat");
    if (!mayWrite(viewer, chatId)) return missingPage(c.var.page);
    const before = c.req.query("before");
    const exchanges = await host.messages.transcript({
      channel: "web",
      chatId,
      limit: SHOWN_EXCHANGES + 1,
      ...(before !== undefined && { before }),
    });
    const labels = chatMessagesFor(c.var.page.t.locale).actions;
    const draft = c.req.query("draft");
    return respond(
      await chatPage(c.var.page, {
        channel: "web",
        chatId,
        exchanges: exchanges.slice(-SHOWN_EXCHANGES),
        actionsOf: (reply) => host.viewerJobs.actions(reply, labels),
        jobs: await readJobsOfExchanges(host, viewer, exchanges),
        workOf: host.live.of,
        older: exchanges.length > SHOWN_EXCHANGES,
        chats: await listChats(host, viewer, SHOWN_CHATS, "own"),
        eventId: crypto.randomUUID(),
        ownCommands: host.ownCommands(),
        mayWrite: true,
        ...(draft !== undefined && { draft: draft.slice(0, 500) }),
      }),
    );
  });
  app.get("/answers/:message/:n", async (c) => {
    const { page } = c.var;
    const message = await host.messages.message(c.req.param("message"));
    const isTheirs = message !== null && (await mayRead(host, page.viewer, message));
    const reply = isTheirs
      ? (await host.messages.repliesTo(message.id))[Number(c.req.param("n"))]
      : undefined;
    if (message === null || reply === undefined) return missingPage(page);
    const text = textOfReply(page.t.locale, reply.content);
    const asked = Math.trunc(Number(c.req.query("from") ?? 0)) || 0;
    const from = Math.min(Math.max(0, asked), Math.max(0, text.length - 1));
    const [address, back] = [answerAddress(message.id, Number(c.req.param("n"))), chatAddress(message)];
    return respond(wholeTextPage(page, { text, from, address, back }));
  });
  app.get("/files", (c) => c.json(matchFiles(host.listFiles(), c.req.query("q") ?? "", SUGGESTED_FILES)));
  app.get("/export/:channel/:chat", async (c) => {
    const { page } = c.var;
    const { channel, chat: chatId } = c.req.param();
    const form = c.req.query("form") === "md" ? "md" : "html";
    const text = (await mayRead(host, page.viewer, { channel, chatId }))
      ? await host.exportTalk(chatKeyOf(channel, chatId), form, page.t.locale)
      : null;
    if (text === null) return missingPage(page);
    const name = `${channel}-${chatId}`.replace(/[^a-z0-9_-]+/gi, "-").slice(0, 80);
    return new Response(text, {
      headers: {
        "content-type": form === "md" ? "text/markdown; charset=utf-8" : "text/html; charset=utf-8",
        "content-disposition": `attachment; filename="picoclaw-${name}.${form}"`,
      },
    });
  });
  app.post("/chat/new", (c) => {
    const name = host.now().getTime().toString(36);
    return c.redirect(`/chat/${encodeURIComponent(`${c.var.person.viewer.userId}.${name}`)}`, 303);
  });
  app.post("/chat/:chat", (c) => {
    const chatId = c.req.param("chat");
    const { viewer } = c.var.person;
    const place = mayWrite(viewer, chatId) ? { channel: "web", chatId, userId: viewer.userId } : null;
    return receiveChatForm(host, c.var.page, place, c.var.form, c.var.files);
  });
  app.get("/images/:channel/:chat/:image", async (c) => {
    const { page, person } = c.var;
    const { channel, chat: chatId, image } = c.req.param();
    if (!(await mayRead(host, person.viewer, { channel, chatId }))) return missingPage(page);
    const [found] = await host.images().load(chatKeyOf(channel, chatId), [image]);
    if (found === undefined) return missingPage(page);
    return new Response(Buffer.from(found.data, "base64"), {
      headers: { "content-type": found.mediaType, "cache-control": "private, max-age=86400, immutable" },
    });
  });
  // The user continues a chat of another channel here and reads the answer here.
  app.post("/sessions/:channel/:chat", async (c) => {
    const { channel, chat: chatId } = c.req.param();
    const speaker = await host.ownChats.speaker(c.var.person.viewer, { channel, chatId });
    const place = speaker && { ...speaker, chatId, replyTo: IN_THE_CONSOLE };
    return receiveChatForm(host, c.var.page, place, c.var.form, c.var.files);
  });
  app.post("/chat/:chat/stop", async (c) => {
    const message = await host.messages.message(c.var.form.get("message") ?? "");
    const { viewer } = c.var.person;
    if (message !== null && (viewer.role === "operator" || mayWrite(viewer, message.chatId)))
      await host.stopMessage(message);
    return c.redirect(`/chat/${encodeURIComponent(c.req.param("chat"))}`, 303);
  });
}

/** Stores a message; null: it is not the visitor's chat. */
async function receiveChatForm(
  host: Pick<Web["host"], "receive">,
  page: PageContext,
  place: Pick<InboundMessage, "channel" | "chatId" | "userId" | "replyTo"> | null,
  form: URLSearchParams,
  files: readonly File[],
): Promise<Response> {
  const { viewer, t } = page;
  const text = (form.get("text") ?? "").trim();
  const event = form.get("event") ?? crypto.randomUUID();
  // The header is for the page's script, which keeps what was typed.
  const refuse = (status: number, why: string) =>
    respond(troublePage(page, t.notSent, why), status, {
      "x-notice": encodeURIComponent(`${t.notSent}: ${why}`),
    });
  if (place === null) return refuse(404, t.notFound);
  if (text.length > MOST_CHARACTERS) return refuse(413, t.messageTooLong(MOST_CHARACTERS));
  const read = await readAttachments(files);
  if (!read.ok) {
    const status = read.trouble.kind === "not-an-image" ? 415 : 413;
    return refuse(status, chatMessagesFor(t.locale).imageTrouble(read.trouble));
  }
  const { attachments } = read;
  if (text !== "" || attachments.length > 0) {
    const received = await host.receive({
      ...place,
      // The page's own number: a form that is sent twice is one message.
      eventId: `${viewer.userId}:${event.slice(0, 100)}`,
      text,
      ...(attachments.length > 0 && { attachments }),
    });
    if (received.status === "refused")
      return refuse(received.reason === "too-many" ? 429 : 403, received.text);
  }
  return new Response(null, { status: 303, headers: { location: chatAddress(place) } });
}

export async function mayRead(
  { ownChats }: Pick<Web["host"], "ownChats">,
  viewer: Viewer,
  { channel, chatId }: ChatKey,
): Promise<boolean> {
  if (viewer.role === "operator" || (channel === "web" && mayWrite(viewer, chatId))) return true;
  return (await ownChats.speaker(viewer, { channel, chatId })) !== null;
}

export function mayWrite({ userId }: Viewer, chatId: string): boolean {
  return CHAT_ID.test(chatId) && (chatId === userId || chatId.startsWith(`${userId}.`));
}

const SHOWN_CHATS = 30;
const TITLE_CHARACTERS = 80;

/** A chat is titled by its first message, or by the name that it was given at a terminal. */
type TitledChat = ChatKey & Pick<Chat, "firstText">;

export function chatTitleOf(t: PageContext["t"], { channel, chatId, firstText }: TitledChat): string {
  const line = visible(firstText.trim().split("\n")[0] ?? "");
  const title = [...line].slice(0, TITLE_CHARACTERS).join("") || t.untitled;
  return channel === "cli" && chatId !== "default" ? `${visible(chatId)}: ${title}` : title;
}

/** Newest first. Those of this machine's terminals are the operator's, and so are all others unless `own` is asked for. */
export async function listChats(
  { messages, ownChats, sources }: Pick<Web["host"], "messages" | "ownChats" | "sources">,
  viewer: Viewer,
  limit: number,
  which: "all" | "own" = "all",
): Promise<readonly Chat[]> {
  const isOperator = viewer.role === "operator";
  const [sent, typed] = await Promise.all([
    isOperator && which === "all" ? messages.chats({ limit }) : ownChats.list(viewer, limit),
    isOperator ? (sources().sessions?.terminalChats(limit) ?? []) : [],
  ]);
  return [...sent, ...typed].sort((one, other) => other.lastAt.localeCompare(one.lastAt)).slice(0, limit);
}

export function chatAddress(chat: ChatKey): string {
  return chat.channel === "web" ? `/chat/${encodeURIComponent(chat.chatId)}` : sessionAddress(chat);
}

export function sessionAddress({ channel, chatId }: ChatKey): string {
  return `/sessions/${encodeURIComponent(channel)}/${encodeURIComponent(chatId)}`;
}

export async function readJobsOfExchanges(
  { viewerJobs }: Pick<Web["host"], "viewerJobs">,
  viewer: Viewer,
  exchanges: readonly Exchange[],
): Promise<ReadonlyMap<string, ViewedJob>> {
  const ids = exchanges.flatMap(({ replies }) =>
    replies.flatMap(({ content }) =>
      content.kind === "reply" ? content.reply.jobs.map(({ job_id }) => job_id) : [],
    ),
  );
  const found = await Promise.all(ids.map(async (id) => [id, await viewerJobs.read(viewer, id)] as const));
  return new Map(found.flatMap(([id, viewed]) => (viewed === null ? [] : [[id, viewed] as const])));
}

export const chatPages: ConsolePages = {
  section: { address: "/chat", icon: ICONS.chat, label: (t) => t.nav.chat, first: true },
  routes: chatRoutes,
};
