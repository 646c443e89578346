import { Hono } from "hono";
import { LARGEST_BODY_BYTES } from "../../application/ports/platform.ts";
import { createSignIn } from "../../application/serve/access.ts";
import { escapeUnseen } from "../../domain/platform/json-text.ts";
import { consoleMessagesFor } from "../../domain/texts/web.ts";
import type { WebHost } from "./host.ts";
import { createStreams } from "./live-streams.ts";
import { html, type Markup } from "./markup.ts";
import { createFlashes } from "./page-context.ts";
import { answerWebhook, createBodyGate } from "./request-bodies.ts";
import {
  isLoopback,
  isOurHost,
  isOurOrigin,
  localeOf,
  secured,
  sessionCookie,
  signedIn,
  sourceOf,
  viewerOfToken,
} from "./visitor.ts";
import {
  type Api,
  answerLater,
  answerTroubles,
  createAssets,
  type OpenEnv,
  openPage,
  respond,
  standalonePage,
  type Web,
  type WebApp,
} from "./web.ts";

/** The user is unknown, or the link is used up: explains what to do, in this mode. */
function signInPage(web: Web, request: Request, why: string): Markup {
  return openPage(web, request, (t) => {
    const way = web.host.demo
      ? html`<p>${t.loginHowDemo}</p>`
      : html`<p>${t.loginHow}</p><p><code>picoclaw serve link</code></p>`;
    return { title: t.loginTitle, body: html`<h1>${why}</h1>${way}` };
  });
}

/** Three bodies of the largest kind, thousands of the usual one; a service sends its own within a moment. One source: one such body. */
const WEBHOOK_BODIES = {
  budgetBytes: 32 * 1024 ** 2,
  shareBytes: 12 * 1024 ** 2,
  mostOpen: 200,
  shareOpen: 40,
  readMs: 10_000,
};
/** Limits for all clients: a client with a token cannot exhaust the memory either. */
const OTHER_BODIES = {
  budgetBytes: 64 * 1024 ** 2,
  shareBytes: 32 * 1024 ** 2,
  mostOpen: 200,
  shareOpen: 100,
  readMs: 30_000,
};
const READING: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
const STOPPING = { name: "server", ok: false, required: true, detail: "stopping" };
const CACHE_FOR_EVER = "public, max-age=31536000, immutable";

function openRoutes(app: Hono<OpenEnv>, web: Web): void {
  const { host, signIn, assets } = web;
  for (const asset of [assets.style, assets.script]) {
    const headers = { "content-type": asset.type, "cache-control": CACHE_FOR_EVER, vary: "accept-encoding" };
    const packed: { bytes?: Uint8Array<ArrayBuffer> } = {};
    app.get(asset.path, async (c) => {
      if (!/\bgzip\b/.test(c.req.header("accept-encoding") ?? "")) return c.body(asset.body, 200, headers);
      packed.bytes ??= new Uint8Array((await import("node:zlib")).gzipSync(asset.body));
      return c.body(packed.bytes, 200, { ...headers, "content-encoding": "gzip" });
    });
  }
  app.get("/assets/mark.svg", (c) =>
    c.body(String(ICON), 200, { "content-type": "image/svg+xml", "cache-control": "public, max-age=86400" }),
  );
  app.get("/healthz", (c) => c.text("ok\n"));
  app.get("/readyz", async (c) => {
    if (host.closing.aborted) return c.json({ ready: false, checks: [STOPPING] }, 503);
    const { ready, checks } = await host.health();
    const { publicUrl, host: address } = host.place();
    const near = publicUrl === null && isLoopback(address);
    const known = near || (await isOperator(web, c.req.raw));
    const visibleChecks = checks.map(({ name, ok, required, detail, remedy }) =>
      known
        ? { name, ok, required, detail, ...(remedy !== undefined && { remedy }) }
        : { name, ok, required },
    );
    return c.json({ ready, checks: visibleChecks }, ready ? 200 : 503);
  });
  app.get("/metrics", async (c) => {
    if (!(await isOperator(web, c.req.raw)))
      return c.text("401: send a token with the scope read\n", 401, { "www-authenticate": "Bearer" });
    return c.body(await host.metrics(), 200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
  });
  // A mere view (a link preview, a scanner, HEAD) does not use the link up: a person presses a button.
  app.get("/login/:secret", (c) => c.html(String(openingPage(web, c.req.raw))));
  app.post("/login/:secret", async (c) => {
    const request = c.req.raw;
    const t = consoleMessagesFor(localeOf(request, host.locale()));
    if (!isOurOrigin(request)) return c.html(standalonePage(web, request, t.forbiddenTitle, t.stale), 403);
    const opened = await signIn.openLink(c.req.param("secret"));
    if (opened !== null)
      return c.body(null, 303, {
        location: "/chat",
        "set-cookie": sessionCookie(host.place(), opened.secret),
      });
    // The button may have been pressed twice in the same browser.
    if ((await signedIn(request, host.place(), signIn)) !== null) return c.redirect("/chat", 303);
    return respond(signInPage(web, request, t.loginUsed), 403);
  });
  const gate = createBodyGate(WEBHOOK_BODIES);
  app.post("/webhooks/:name", (c) => {
    const webhook = host.webhooks().get(c.req.param("name"));
    return webhook === undefined
      ? c.notFound()
      : answerWebhook(gate, webhook, c.req.raw, sourceOf(c.env.from, c.req.raw.headers));
  });
  app.get("/robots.txt", (c) => c.text("User-agent: *\nDisallow: /\n"));
}

function openingPage(web: Web, request: Request) {
  return openPage(web, request, (t) => ({
    title: t.loginTitle,
    body: html`<h1>${t.loginTitle}</h1><p>${t.loginOnce}</p><form method="post"><button class="main" autofocus>${t.loginOpen}</button></form>`,
  }));
}

async function isOperator(web: Web, request: Request): Promise<boolean> {
  const person = await signedIn(request, web.host.place(), web.signIn);
  if (person !== null) return person.viewer.role === "operator";
  const viewer = await viewerOfToken(web, request);
  return viewer?.role === "operator" && viewer.scopes.includes("read");
}

const ICON = html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1f5f8b"/><path d="M7 24C3 15 9 6 19 6c-4 2-6 5-6 9M25 13c2 6-2 13-10 13 4-2 6-4 6-8" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"/><circle cx="17" cy="16" r="2.6" fill="#e9b44c"/></svg>`;

const every = (ms: number, callback: () => void) => {
  const timer = setInterval(callback, ms);
  return () => clearInterval(timer);
};

/** A server that only hears services and answers in their chats never loads the API or the pages. */
export function createWebApp(host: WebHost): (request: Request, from: string) => Promise<Response> {
  const web: Web = {
    host,
    signIn: createSignIn(host),
    assets: createAssets(host.sha256),
    flashes: createFlashes(host.random),
    streams: createStreams(host, every),
    every,
  };
  const late: { api?: Pick<Api, "fetch">; console?: Pick<WebApp, "fetch"> } = {};
  const gate = createBodyGate(OTHER_BODIES);
  const app = new Hono<OpenEnv>();
  answerTroubles(app, web);
  // No name holds it, and Postgres takes it in no text.
  app.use("*", (c, next) => (/%00/.test(c.req.url) ? Promise.resolve(c.notFound()) : next()));
  // During shutdown, health checks are answered, and no new work begins.
  app.use("*", (c, next) =>
    host.closing.aborted && !READING.has(c.req.method)
      ? Promise.resolve(answerLater("stopping", "the server is stopping; nothing was done"))
      : next(),
  );
  openRoutes(app, web);
  app.all("/api/*", async (c) => {
    const { createApi } = await import("./api.ts");
    late.api ??= createApi(web);
    return late.api.fetch(c.req.raw);
  });
  app.all("/mcp", async (c) => (await import("./api.ts")).answerMcp(web, c.req.raw));
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
    const answer = async (read: Request) => app.fetch(read, { from });
    // A webhook reads its own body, when it has seen a signature.
    const response = isBelow(request.url, "/webhooks/")
      ? await answer(request)
      : await gate(request, sourceOf(from, request.headers), LARGEST_BODY_BYTES, answer);
    return secured(await withShownJson(response), place);
  };
}

/** Of JSON, the same value without characters that a terminal would obey. */
async function withShownJson(response: Response): Promise<Response> {
  if (!response.headers.get("content-type")?.startsWith("application/json")) return response;
  const { status, headers } = response;
  return new Response(escapeUnseen(await response.text()), { status, headers });
}

/** Whether the path of an address begins so, as routes are found: parsing the address is a tenth of what a request costs. */
function isBelow(address: string, path: string): boolean {
  return address.startsWith(path, address.indexOf("/", address.indexOf("://") + 3));
}

/** A link from LINE or Slack arrives without the cookie of our own pages: the visit is sent once more, from one of them. */
function askToSignIn(web: Web, request: Request): Response {
  const t = consoleMessagesFor(localeOf(request, web.host.locale()));
  const url = new URL(request.url);
  const elsewhere = request.headers.get("sec-fetch-site") === "cross-site";
  if (request.method === "GET" && elsewhere && !url.searchParams.has("again")) {
    url.searchParams.set("again", "1");
    // Two slashes at the beginning would name another server.
    const target = `${url.pathname.replace(/^\/+/, "/")}${url.search}`;
    return respond(
      openPage(web, request, () => ({
        title: t.loginTitle,
        body: html`<h1>${t.loginOpening}</h1><p><a href="${target}">${t.loginContinue}</a></p>`,
        refreshTo: target,
      })),
    );
  }
  return respond(signInPage(web, request, t.loginNeeded), 401);
}
