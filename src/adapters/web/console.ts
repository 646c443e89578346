import { Hono } from "hono";
import { consoleMessagesFor } from "../../domain/texts/texts.ts";
import { readForm } from "./body.ts";
import type { PageContext } from "./context.ts";
import { isOurOrigin } from "./guard.ts";
import { chatRoutes } from "./pages/routes-chat.ts";
import { fleetRoutes } from "./pages/routes-fleet.ts";
import { jobActionRoutes } from "./pages/job-actions.ts";
import { jobRoutes } from "./pages/routes-jobs.ts";
import { liveRoutes } from "./live.ts";
import { manageRoutes } from "./manage.ts";
import { overviewRoutes } from "./pages/routes-overview.ts";
import { playgroundRoutes } from "./pages/routes-playground.ts";
import { preferenceRoutes } from "./preferences.ts";
import { sessionRoutes } from "./pages/routes-sessions.ts";
import { setupRoutes } from "./pages/routes-setup.ts";
import { localeOf, type SignedIn, themeOf, zoneOf } from "./visitor.ts";
import { answerTroubles } from "./troubles.ts";
import { standalonePage, type Web, type WebApp, type WebEnv } from "./web.ts";

/** Every page of somebody who is known. */
export function createConsole(web: Web): WebApp {
  const { host } = web;
  const app = new Hono<WebEnv>();
  answerTroubles(app, web);
  app.use("*", async (c, next) => {
    const { person } = c.env;
    if (c.req.method !== "GET" && c.req.method !== "HEAD") {
      const { fields: form, files } = await readForm(c.req.raw);
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
  jobActionRoutes(app, web);
  playgroundRoutes(app, web);
  overviewRoutes(app, web);
  sessionRoutes(app, web);
  liveRoutes(app, web);
  preferenceRoutes(app, web);
  manageRoutes(app, web);
  fleetRoutes(app, web);
  return app;
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
