import type { Viewer } from "../../../application/serve/viewer.ts";
import type { ViewedJob } from "../../../application/fleet/viewer-jobs.ts";
import { IN_THE_CONSOLE } from "../../../application/serve/way-back.ts";
import type { InboundMessage } from "../../../application/ports/channel.ts";
import type { ChatKey, Exchange } from "../../../application/ports/serve.ts";
import { chatMessagesFor } from "../../../domain/texts/texts.ts";
import { readAttachments } from "../body.ts";
import type { PageContext } from "../context.ts";
import { chatPage } from "./chat.ts";
import { respond, troublePage, type Web, type WebApp } from "../web.ts";

const SHOWN_EXCHANGES = 40;
const MOST_CHARACTERS = 20_000;
const CHAT_ID = /^[a-z0-9_-]{1,40}(?:\.[a-z0-9]{1,20})?$/;

/** Conversations in the console. A person's chats are called as they are, or `<person>.<something>`. */
export function chatRoutes(app: WebApp, web: Web): void {
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
    if (!mayWrite(viewer, chatId))
      return respond(troublePage(c.var.page, c.var.page.t.notFoundTitle, c.var.page.t.notFound), 404);
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
      chatPage(c.var.page, {
        channel: "web",
        chatId,
        exchanges: exchanges.slice(-SHOWN_EXCHANGES),
        actionsOf: (reply) => host.viewerJobs.actions(reply, labels),
        jobs: await readJobsOfExchanges(host, viewer, exchanges),
        workOf: host.live.of,
        older: exchanges.length > SHOWN_EXCHANGES,
        chats: await host.messages.chats({ channel: "web", userId: viewer.userId, limit: 20 }),
        eventId: crypto.randomUUID(),
        ownCommands: host.ownCommands(),
        mayWrite: true,
        ...(draft !== undefined && { draft: draft.slice(0, 500) }),
      }),
    );
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
  // A person goes on in a chat of theirs that another channel holds, and reads the answer here.
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

/** Takes a message in; null: it is not the visitor's chat. */
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
  const attachments = await readAttachments(files);
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

function mayWrite({ userId }: Viewer, chatId: string): boolean {
  return CHAT_ID.test(chatId) && (chatId === userId || chatId.startsWith(`${userId}.`));
}

/** Where a chat is read. */
export function chatAddress({ channel, chatId }: ChatKey): string {
  if (channel === "web") return `/chat/${encodeURIComponent(chatId)}`;
  return `/sessions/${encodeURIComponent(channel)}/${encodeURIComponent(chatId)}`;
}

/** The jobs of all replies on a page, as they are by now. */
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
