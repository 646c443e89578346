import type { PageContext } from "./context.ts";
import type { PageInterest } from "./live-lines.ts";
import type { Web, WebApp } from "./web.ts";
import { maySee } from "./pages/routes-sessions.ts";

/** The stream behind the pages. */
export function liveRoutes(app: WebApp, web: Web): void {
  const { host } = web;
  app.get("/live", async (c) => {
    const { page } = c.var;
    const interest = await interestOf(page, new URL(c.req.url).searchParams);
    if (interest === null) return c.text("not found\n", 404);
    const { hash: session } = c.var.person.session;
    return web.streams.open({ session, interest, t: page.t }) ?? c.text("too many streams\n", 429);
  });

  async function interestOf(page: PageContext, query: URLSearchParams): Promise<PageInterest | null> {
    const [chat, jobId] = [query.get("chat"), query.get("job")];
    if (chat !== null) {
      const at = chat.indexOf(":");
      const [channel, chatId] = [chat.slice(0, at), chat.slice(at + 1)];
      const { userId } = page.viewer;
      const own = channel === "web" && (chatId === userId || chatId.startsWith(`${userId}.`));
      return own || (await maySee(host, page.viewer, { channel, chatId }))
        ? { kind: "chat", channel, chatId }
        : null;
    }
    if (jobId !== null)
      return (await host.viewerJobs.read(page.viewer, jobId)) === null ? null : { kind: "job", jobId };
    return { kind: "jobs", userId: page.viewer.role === "operator" ? null : page.viewer.userId };
  }
}
