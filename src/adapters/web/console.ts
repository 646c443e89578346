import { Hono, type MiddlewareHandler } from "hono";
import { readChatKey } from "../../application/ports/chat.ts";
import { editorAddress } from "../../domain/texts/format-text.ts";
import { isLocale } from "../../domain/texts/locale.ts";
import { consoleMessagesFor } from "../../domain/texts/web.ts";
import type { ServerAddress } from "./host.ts";
import type { PageInterest } from "./live-streams.ts";
import type { PageContext } from "./page-context.ts";
import { chatPages, mayRead } from "./pages/chat.ts";
import { comparePages } from "./pages/compare.ts";
import { fleetPages } from "./pages/fleet.ts";
import { jobsPages } from "./pages/jobs.ts";
import { managePages } from "./pages/manage-settings.ts";
import { systemPages, tasksPages, usagePages } from "./pages/overview.ts";
import { playgroundPages } from "./pages/playground.ts";
import { sessionsPages } from "./pages/sessions.ts";
import { setupPages } from "./pages/setup.ts";
import { whyPages } from "./pages/why.ts";
import { readForm } from "./request-bodies.ts";
import {
  isLoopback,
  isOurOrigin,
  localeOf,
  preferenceCookie,
  type SignedIn,
  sessionCookie,
  themeOf,
  zoneOf,
} from "./visitor.ts";
import {
  answerTroubles,
  type ConsolePages,
  respond,
  standalonePage,
  troublePage,
  type Web,
  type WebApp,
  type WebEnv,
} from "./web.ts";

/** One line a page, in the order of the navigation. */
const PAGES: readonly ConsolePages[] = [
  setupPages,
  chatPages,
  jobsPages,
  whyPages,
  playgroundPages,
  tasksPages,
  sessionsPages,
  usagePages,
  comparePages,
  managePages,
  fleetPages,
  systemPages,
];

const operatorsOnly: MiddlewareHandler<WebEnv> = async (c, next) => {
  const { page } = c.var;
  if (page.viewer.role === "operator") return next();
  return respond(troublePage(page, page.t.forbiddenTitle, page.t.forbidden), 403);
};

function liveRoutes(app: WebApp, web: Web): void {
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
      const key = readChatKey(chat);
      return (await mayRead(host, page.viewer, key)) ? { kind: "chat", ...key } : null;
    }
    if (jobId !== null)
      return (await host.viewerJobs.read(page.viewer, jobId)) === null ? null : { kind: "job", jobId };
    return { kind: "jobs", userId: page.viewer.role === "operator" ? null : page.viewer.userId };
  }
}

function preferenceRoutes(app: WebApp, web: Web): void {
  const { host } = web;
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
}

export function createConsole(web: Web): WebApp {
  const { host } = web;
  const app = new Hono<WebEnv>();
  answerTroubles(app, web);
  app.use("*", async (c, next) => {
    const { person } = c.env;
    if (c.req.method !== "GET" && c.req.method !== "HEAD") {
      const sent = isOurOrigin(c.req.raw) ? await readForm(c.req.raw, person.session.csrf) : null;
      if (sent instanceof Response) return sent;
      if (sent === null) {
        const t = consoleMessagesFor(localeOf(c.req.raw, host.locale()));
        return c.html(standalonePage(web, c.req.raw, t.forbiddenTitle, t.stale), 403);
      }
      c.set("form", sent.fields);
      c.set("files", sent.files);
    }
    c.set("person", person);
    c.set("page", contextOf(web, c.req.raw, person));
    await next();
  });
  for (const { section, routes } of PAGES) {
    if (section?.operatorsOnly === true)
      for (const path of [section.address, `${section.address}/*`]) app.use(path, operatorsOnly);
    routes(app, web);
  }
  liveRoutes(app, web);
  preferenceRoutes(app, web);
  return app;
}

function contextOf(
  { host, assets, flashes }: Web,
  request: Request,
  { viewer, session }: SignedIn,
): PageContext {
  const locale = localeOf(request, host.locale());
  const { pathname, search, searchParams: query } = new URL(request.url);
  const editor = viewer.role === "operator" && isOnThisMachine(host.place()) ? host.runningEditor() : null;
  const shown = PAGES.flatMap(({ section }) => section ?? []);
  return {
    sections: shown.filter(({ operatorsOnly }) => viewer.role === "operator" || operatorsOnly !== true),
    t: consoleMessagesFor(locale),
    words: host.messagesFor(locale),
    viewer,
    csrf: session.csrf,
    theme: themeOf(request),
    demo: host.demo,
    openIn:
      editor === null ? null : (path, line) => editorAddress(editor, `${host.workspace()}/${path}`, line),
    here: request.method === "GET" ? `${pathname}${search}` : pathname,
    timezone: zoneOf(request, host.timezone()),
    now: host.now(),
    style: assets.style.path,
    script: assets.script.path,
    notice: flashes.take(query.get("flash") ?? ""),
  };
}

function isOnThisMachine({ publicUrl, host: address }: ServerAddress): boolean {
  return publicUrl === null && isLoopback(address);
}
