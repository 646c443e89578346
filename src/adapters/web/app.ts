import { Hono } from "hono";
import { createSignIn } from "../../application/inbox/sign-in.ts";
import { consoleMessagesFor } from "../../domain/texts/texts.ts";
import { createAssets } from "./assets.ts";
import { formOf, TooSlow } from "./body.ts";
import type { PageContext } from "./context.ts";
import { createFlashes } from "./flash.ts";
import { isOurHost, isOurOrigin, secured } from "./guard.ts";
import type { WebHost } from "./host.ts";
import { createStreams } from "./live.ts";
import { html } from "./markup.ts";
import { noEntry } from "./no-entry.ts";
import { barePage } from "./parts/layout.ts";
import { chatRoutes } from "./routes/chat.ts";
import { fleetRoutes } from "./routes/fleet.ts";
import { jobRoutes } from "./routes/jobs.ts";
import { liveRoutes } from "./routes/live.ts";
import { manageRoutes } from "./routes/manage.ts";
import { openRoutes } from "./routes/open.ts";
import { overviewRoutes } from "./routes/overview.ts";
import { preferenceRoutes } from "./routes/preferences.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { setupRoutes } from "./routes/setup.ts";
import { localeOf, type SignedIn, signedIn, themeOf, zoneOf } from "./session.ts";
import { respond, standalonePage, type Web, type WebEnv } from "./web.ts";

const every = (ms: number, callback: () => void) => {
  const timer = setInterval(callback, ms);
  return () => clearInterval(timer);
};

/** The whole server as one function from request to response. */
export function createWebApp(host: WebHost): (request: Request, from: string) => Promise<Response> {
  const web: Web = {
    host,
    signIn: createSignIn(host),
    assets: createAssets(host.sha256),
    flashes: createFlashes(host.random),
    streams: createStreams(host, every),
  };
  const app = new Hono<WebEnv>();
  app.onError((error, c) => {
    if (error instanceof TooSlow) return c.text("408: the body did not arrive in time\n", 408);
    host.onTrouble(error, c.req.path);
    const t = consoleMessagesFor(localeOf(c.req.raw, host.locale()));
    if (c.req.path.startsWith("/api/"))
      return c.json({ error: { code: "internal", message: "internal error" } }, 500);
    return c.html(standalonePage(web, c.req.raw, t.brokenTitle, t.broken), 500);
  });
  app.notFound((c) => {
    const t = consoleMessagesFor(localeOf(c.req.raw, host.locale()));
    if (c.req.path.startsWith("/api/"))
      return c.json({ error: { code: "not-found", message: "no such address" } }, 404);
    return c.html(standalonePage(web, c.req.raw, t.notFoundTitle, t.notFound), 404);
  });
  openRoutes(app, web);
  app.all("/api/*", async (c) => {
    const { createApi } = await import("./api/api.ts");
    api.app ??= createApi(web);
    return api.app.fetch(c.req.raw);
  });
  app.all("/mcp", async (c) => (await import("./api/mcp.ts")).answerMcp(web, c.req.raw));
  app.use("*", async (c, next) => {
    const person = await signedIn(c.req.raw, host.place(), web.signIn);
    if (person === null) return enter(web, c.req.raw);
    if (c.req.method !== "GET" && c.req.method !== "HEAD") {
      const { fields: form, files } = await formOf(c.req.raw);
      if (!isOurOrigin(c.req.raw) || form.get("csrf") !== person.session.csrf) {
        const t = consoleMessagesFor(localeOf(c.req.raw, host.locale()));
        return c.html(standalonePage(web, c.req.raw, t.forbiddenTitle, t.stale), 403);
      }
      c.set("form", form);
      c.set("files", files);
    }
    c.set("person", person);
    c.set("page", contextOf(web, c.req.raw, person));
    await next();
  });
  setupRoutes(app, web);
  chatRoutes(app, web);
  jobRoutes(app, web);
  overviewRoutes(app, web);
  sessionRoutes(app, web);
  liveRoutes(app, web);
  preferenceRoutes(app, web);
  manageRoutes(app, web);
  fleetRoutes(app, web);
  const api: { app?: { fetch(request: Request): Response | Promise<Response> } } = {};

  return async (request, from) => {
    const place = host.place();
    if (!isOurHost(request.headers.get("host"), place))
      return secured(new Response("Forbidden: the Host is not this server\n", { status: 403 }), place);
    return secured(await app.fetch(request, { from }), place);
  };
}

function contextOf({ host, assets }: Web, request: Request, { viewer, session }: SignedIn): PageContext {
  const locale = localeOf(request, host.locale());
  const { pathname, search } = new URL(request.url);
  return {
    t: consoleMessagesFor(locale),
    words: host.messagesFor(locale),
    viewer,
    csrf: session.csrf,
    theme: themeOf(request),
    demo: host.demo,
    here: request.method === "GET" ? `${pathname}${search}` : pathname,
    timezone: zoneOf(request, host.timezone()),
    now: host.now(),
    style: assets.style.path,
    script: assets.script.path,
  };
}

/**
 * Nobody is known. A link from LINE or Slack comes without the cookie, since that is for our own pages only: such a
 * visit is sent once more, from a page of ours.
 */
function enter(web: Web, request: Request): Response {
  const t = consoleMessagesFor(localeOf(request, web.host.locale()));
  const url = new URL(request.url);
  const assets = { style: web.assets.style.path, script: web.assets.script.path };
  const elsewhere = request.headers.get("sec-fetch-site") === "cross-site";
  if (request.method === "GET" && elsewhere && !url.searchParams.has("again")) {
    url.searchParams.set("again", "1");
    // Two slashes at the beginning would name another server.
    const target = `${url.pathname.replace(/^\/+/, "/")}${url.search}`;
    return respond(
      barePage(t, themeOf(request), assets, {
        title: t.loginTitle,
        body: html`<h1>${t.loginOpening}</h1><p><a href="${target}">${t.loginContinue}</a></p>`,
        refreshTo: target,
      }),
      200,
    );
  }
  return respond(noEntry(web, request, t.loginNeeded), 401);
}
