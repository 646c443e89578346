import type { PageContext } from "../context.ts";
import { chatPage } from "./chat.ts";
import { sessionsPage } from "./sessions.ts";
import { respond, troublePage, type Web, type WebApp } from "../web.ts";
import { chatAddress, readJobsOfExchanges } from "./routes-chat.ts";

/** The chats of every channel, and what was said in one. */
export function sessionRoutes(app: WebApp, { host }: Web): void {
  const missing = (page: PageContext) =>
    respond(troublePage(page, page.t.notFoundTitle, page.t.notFound), 404);

  app.get("/sessions", async (c) => {
    const { viewer } = c.var.page;
    const chats =
      viewer.role === "operator"
        ? await host.messages.chats({ limit: 50 })
        : await host.ownChats.list(viewer, 50);
    const keys = chats.map(({ channel, chatId }) => `${channel}:${chatId}`);
    // What was said at a terminal of this machine is the operator's.
    if (viewer.role === "operator") keys.push("cli:default");
    const { sessions } = host.sources();
    return respond(
      sessionsPage(c.var.page, {
        chats,
        sessions: (await sessions?.list(keys, 50)) ?? [],
        notes: (await sessions?.notes(keys, 20)) ?? [],
      }),
    );
  });
  app.get("/sessions/:channel/:chat", async (c) => {
    const { page } = c.var;
    const [channel, chatId] = [c.req.param("channel"), c.req.param("chat")];
    if (!(await maySee(host, page.viewer, { channel, chatId }))) return missing(page);
    const exchanges = await host.messages.transcript({ channel, chatId, limit: 100 });
    if (exchanges.length === 0) return missing(page);
    const mine = (await host.ownChats.speaker(page.viewer, { channel, chatId })) !== null;
    return respond(
      chatPage(page, {
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

/** Whether a chat is theirs to look at. */
export async function maySee(
  { ownChats }: Pick<Web["host"], "ownChats">,
  viewer: PageContext["viewer"],
  at: { readonly channel: string; readonly chatId: string },
): Promise<boolean> {
  return viewer.role === "operator" || (await ownChats.speaker(viewer, at)) !== null;
}
