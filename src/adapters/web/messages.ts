import type { Viewer } from "../../application/serve/viewer.ts";
import type { InboundMessage, StoredMessage } from "../../application/ports/channel.ts";
import type { Reply, Route } from "../../application/ports/conversation.ts";
import type { Exchange } from "../../application/ports/serve.ts";
import { wordReply } from "../../application/chat/reply-words.ts";
import { ROUTES } from "../../domain/config/route.ts";
import { readTraceparent } from "../../domain/platform/traceparent.ts";
import { chatMessagesFor } from "../../domain/texts/texts.ts";
import { replyJson } from "../serve/reply-json.ts";
import type { WebHost } from "./host.ts";
import type { Web } from "./web.ts";
import { type Api, apiFailure, readJsonBody, refuseWithoutScope } from "./answers.ts";

const LONGEST_WAIT_SECONDS = 25;
const MOST_CHARACTERS = 100_000;

/** Messages to a chat of the token's own person, and what was answered. */
export function messageApi(app: Api, web: Web): void {
  const { host } = web;
  app.post("/messages", async (c) => {
    const { viewer } = c.var;
    const refused = refuseWithoutScope(viewer, "chat");
    if (refused !== null) return refused;
    const body = await readJsonBody(c.req.raw);
    if (body instanceof Response) return body;
    const { text, chat, route, event_id: eventId, wait = 0 } = body;
    if (typeof text !== "string" || text.trim() === "" || text.length > MOST_CHARACTERS)
      return apiFailure(400, "bad-text", `text: 1 to ${MOST_CHARACTERS} characters`);
    if (chat !== undefined && (typeof chat !== "string" || !/^[a-z0-9]{1,20}$/.test(chat)))
      return apiFailure(400, "bad-chat", "chat: 1 to 20 of a-z and 0-9");
    if (route !== undefined && !ROUTES.includes(route as Route))
      return apiFailure(400, "bad-route", `route: one of ${ROUTES.join(", ")}`);
    if (eventId !== undefined && (typeof eventId !== "string" || eventId.length > 100))
      return apiFailure(400, "bad-event-id", "event_id: at most 100 characters");
    if (typeof wait !== "number" || !(wait >= 0 && wait <= LONGEST_WAIT_SECONDS))
      return apiFailure(400, "bad-wait", `wait: 0 to ${LONGEST_WAIT_SECONDS} seconds`);
    const traceparent = c.req.header("traceparent");
    const message: InboundMessage = {
      channel: viewer.channel,
      eventId: `${viewer.userId}:api:${eventId ?? crypto.randomUUID()}`,
      chatId: chat === undefined ? viewer.userId : `${viewer.userId}.${chat}`,
      userId: viewer.userId,
      text,
      ...(route !== undefined && { forcedRoute: route as Route, strict: true }),
      ...(readTraceparent(traceparent) !== null && traceparent !== undefined && { traceparent }),
    };
    const received = await host.receive(message);
    if (received.status === "refused") {
      const status = received.reason === "too-many" ? 429 : received.reason === "too-long" ? 413 : 403;
      return apiFailure(status, received.reason, received.text);
    }
    if (wait === 0 && received.status === "accepted") {
      // Nothing is asked of the store that is known already: a burst is acknowledged the sooner.
      const { messageId: id } = received;
      const stored = {
        ...message,
        id,
        workspace: host.workspace(),
        receivedAt: host.now().toISOString(),
        state: "received",
        attempts: 0,
      } as const;
      return c.json(exchangeJson(host, { message: stored, replies: [] }), 202);
    }
    if (wait > 0) await host.waitForAnswer(received.messageId, wait * 1_000);
    const found = await find(received.messageId);
    if (found === null) return apiFailure(404, "unknown-message", "no such message");
    return c.json(exchangeJson(host, found), found.message.state === "done" ? 200 : 202);
  });
  app.get("/messages/:id", async (c) => {
    const { viewer } = c.var;
    const refused = refuseWithoutScope(viewer, "read");
    if (refused !== null) return refused;
    const found = await find(c.req.param("id"));
    if (found === null || !maySeeMessage(viewer, found.message))
      return apiFailure(404, "unknown-message", "no such message");
    return c.json(exchangeJson(host, found));
  });
  app.post("/messages/:id/stop", async (c) => {
    const { viewer } = c.var;
    const refused = refuseWithoutScope(viewer, "chat");
    if (refused !== null) return refused;
    const message = await host.messages.message(c.req.param("id"));
    if (message === null || !maySeeMessage(viewer, message))
      return apiFailure(404, "unknown-message", "no such message");
    if (!(await host.stopMessage(message)))
      return apiFailure(409, "not-running", "nobody is answering this message");
    return c.json({ message_id: message.id, stopping: true });
  });

  async function find(id: string): Promise<Exchange | null> {
    const message = await host.messages.message(id);
    return message === null ? null : { message, replies: await host.messages.repliesTo(id) };
  }
}

function maySeeMessage({ channel, userId, role }: Viewer, message: StoredMessage): boolean {
  return role === "operator" || (message.channel === channel && message.userId === userId);
}

export function exchangeJson(
  { viewerJobs, locale }: Pick<WebHost, "viewerJobs" | "locale">,
  { message, replies }: Exchange,
): Record<string, unknown> {
  const [answer] = replies;
  const actionsOf = (reply: Reply) => viewerJobs.actions(reply, chatMessagesFor(locale()).actions);
  return {
    ...messageJson(message),
    reply:
      answer === undefined
        ? null
        : answer.content.kind === "notice"
          ? { text: answer.content.text, ok: true, jobs: [], actions: [] }
          : {
              text: wordReply(locale(), answer.content.reply),
              ok: answer.content.reply.ok,
              ...replyJson({ ...answer.content.reply, actions: actionsOf(answer.content.reply) }),
            },
  };
}

function messageJson(message: StoredMessage): Record<string, unknown> {
  return {
    message_id: message.id,
    channel: message.channel,
    chat_id: message.chatId,
    user_id: message.userId,
    text: message.text,
    received_at: message.receivedAt,
    state: message.state,
  };
}
