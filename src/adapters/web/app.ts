import { Hono } from "hono";
import { createSignIn } from "../../application/serve/access.ts";
import { consoleMessagesFor } from "../../domain/texts/texts.ts";
import type { Api } from "./answers.ts";
import { createAssets } from "./assets.ts";
import { createFlashes } from "./page-context.ts";
import { isOurHost, secured } from "./guard.ts";
import type { WebHost } from "./host.ts";
import { createStreams } from "./live-streams.ts";
import { html } from "./markup.ts";
import { signInPage } from "./no-entry.ts";
import { barePage } from "./layout.ts";
import { openRoutes } from "./open.ts";
import { localeOf, signedIn, themeOf } from "./visitor.ts";
import { answerTroubles } from "./troubles.ts";
import { type OpenEnv, respond, type Web, type WebApp } from "./web.ts";

const every = (ms: number, callback: () => void) => {
  const timer = setInterval(callback, ms);
  return () => clearInterval(timer);
};

/**
 * The whole server as one function from request to response. A server that only hears services and answers in their chats
 * never loads the API or the pages of the console.
 */
export function createWebApp(host: WebHost): (request: Request, from: string) => Promise<Response> {
  const web: Web = {
    host,
    signIn: createSignIn(host),
    assets: createAssets(host.sha256),
    flashes: createFlashes(host.random),
    streams: createStreams(host, every),
  };
  const late: { api?: Pick<Api, "fetch">; console?: Pick<WebApp, "fetch"> } = {};
  const app = new Hono<OpenEnv>();
  answerTroubles(app, web);
  // No name holds it, and Postgres takes it in no text.
  app.use("*", (c, next) => (/%00/.test(c.req.url) ? Promise.resolve(c.notFound()) : next()));
  openRoutes(app, web);
  app.all("/api/*", async (c) => {
    const { createApi } = await import("./api-api.ts");
    late.api ??= createApi(web);
    return late.api.fetch(c.req.raw);
  });
  app.all("/mcp", async (c) => (await import("./mcp.ts")).answerMcp(web, c.req.raw));
  app.all("*", async (c) => {
    const person = await signedIn(c.req.raw, host.place(), web.signIn);
    if (person === null) return askToSignIn(web, c.req.raw);
    const { createConsole } = await import("./console.ts");
    late.console ??= createConsole(web);
    return late.console.fetch(c.req.raw, { person });
  });

  return async (request, from) => {
    const place = host.place();
    if (!isOurHost(request.headers.get("host"), place))
      return secured(new Response("Forbidden: the Host is not this server\n", { status: 403 }), place);
    return secured(await app.fetch(request, { from }), place);
  };
}

/**
 * Nobody is known. A link from LINE or Slack comes without the cookie, since that is for our own pages only: such a
 * visit is sent once more, from a page of ours.
 */
function askToSignIn(web: Web, request: Request): Response {
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
  return respond(signInPage(web, request, t.loginNeeded), 401);
}
