import { isLocale } from "../../../domain/texts/locale.ts";
import { consoleMessagesFor } from "../../../domain/texts/texts.ts";
import type { PageContext } from "../context.ts";
import type { Interest } from "../live-lines.ts";
import { chatPage } from "../pages/chat.ts";
import { sessionsPage } from "../pages/sessions.ts";
import { systemPage } from "../pages/system.ts";
import { tasksPage } from "../pages/tasks.ts";
import { usagePage } from "../pages/usage.ts";
import { preferenceCookie, sessionCookie } from "../session.ts";
import { respond, trouble, type Web, type WebApp } from "../web.ts";
import { addressOf, jobsIn } from "./chat.ts";

const USAGE_DAYS = 30;
const DAY_MS = 24 * 3_600_000;

/** Pages to look at, the stream behind them, and one's own preferences. */
export function overviewRoutes(app: WebApp, web: Web): void {
  const { host } = web;
  const forbidden = (page: PageContext) =>
    respond(trouble(page, page.t.forbiddenTitle, page.t.forbidden), 403);
  const missing = (page: PageContext) => respond(trouble(page, page.t.notFoundTitle, page.t.notFound), 404);

  app.get("/tasks", async (c) => {
    if (c.var.page.viewer.role !== "operator") return forbidden(c.var.page);
    const { tasks, environments } = host.sources();
    return respond(tasksPage(c.var.page, (await tasks?.list(50)) ?? [], (await environments?.list()) ?? []));
  });
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
    if (!(await maySee(page, channel, chatId))) return missing(page);
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
        action: addressOf({ channel, chatId }),
        actionsOf: () => [],
        jobs: await jobsIn(host, page.viewer, exchanges),
        workOf: host.live.of,
      }),
    );
  });
  app.get("/usage", async (c) => {
    const { viewer } = c.var.page;
    const now = host.now().getTime();
    const days = Array.from({ length: USAGE_DAYS }, (_, n) =>
      host.dayOf(new Date(now - (USAGE_DAYS - 1 - n) * DAY_MS)),
    );
    const rows = await host.messages.usage({
      fromDay: days[0] as string,
      ...(viewer.role !== "operator" && { user: { channel: viewer.channel, userId: viewer.userId } }),
    });
    return respond(usagePage(c.var.page, { days: [...new Set(days)], rows }));
  });
  app.get("/system", async (c) => {
    if (c.var.page.viewer.role !== "operator") return forbidden(c.var.page);
    return respond(
      systemPage(c.var.page, {
        version: host.version,
        workspace: host.workspace(),
        upSeconds: Math.floor((host.now().getTime() - host.startedAt.getTime()) / 1_000),
        health: await host.health(),
        counts: await host.messages.counts(),
        configuration: await host.configuration(),
      }),
    );
  });
  app.get("/live", async (c) => {
    const { page } = c.var;
    const interest = await interestOf(page, new URL(c.req.url).searchParams);
    if (interest === null) return c.text("not found\n", 404);
    const { hash: session } = c.var.person.session;
    return web.streams.open({ session, interest, t: page.t }) ?? c.text("too many streams\n", 429);
  });
  app.post("/preferences", (c) => {
    const { form } = c.var;
    const back = form.get("back") ?? "/";
    const response = c.redirect(/^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/.test(back) ? back : "/", 303);
    const [lang, theme] = [form.get("lang"), form.get("theme")];
    if (lang !== null && isLocale(lang))
      response.headers.append("set-cookie", preferenceCookie(host.place(), "lang", lang));
    if (theme === "auto" || theme === "light" || theme === "dark")
      response.headers.append("set-cookie", preferenceCookie(host.place(), "theme", theme));
    return response;
  });
  app.post("/logout", async (c) => {
    await web.signIn.closeSession(c.var.person.secret);
    web.streams.endSession(c.var.person.session.hash);
    const t = consoleMessagesFor(c.var.page.t.locale);
    return c.text(`${t.logout}\n`, 303, {
      location: "/",
      "set-cookie": sessionCookie(host.place(), null),
      "clear-site-data": '"cache"',
    });
  });

  async function maySee({ viewer }: PageContext, channel: string, chatId: string): Promise<boolean> {
    if (viewer.role === "operator") return true;
    return (await host.ownChats.speaker(viewer, { channel, chatId })) !== null;
  }

  async function interestOf(page: PageContext, query: URLSearchParams): Promise<Interest | null> {
    const [chat, jobId] = [query.get("chat"), query.get("job")];
    if (chat !== null) {
      const at = chat.indexOf(":");
      const [channel, chatId] = [chat.slice(0, at), chat.slice(at + 1)];
      const { userId } = page.viewer;
      const own = channel === "web" && (chatId === userId || chatId.startsWith(`${userId}.`));
      return own || (await maySee(page, channel, chatId)) ? { kind: "chat", channel, chatId } : null;
    }
    if (jobId !== null)
      return (await host.viewerJobs.read(page.viewer, jobId)) === null ? null : { kind: "job", jobId };
    return { kind: "jobs", userId: page.viewer.role === "operator" ? null : page.viewer.userId };
  }
}
