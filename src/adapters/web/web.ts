import type { Env, Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { giveWay } from "../../application/platform/give-way.ts";
import type { SignIn, Viewer } from "../../application/serve/access.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { hasMoreMembers, isJsonObject } from "../../domain/platform/json-members.ts";
import { missingPiece } from "../../domain/platform/machine-trouble.ts";
import { isStoreAway } from "../../domain/store/store-trouble.ts";
import { type ConsoleMessages, consoleMessagesFor } from "../../domain/texts/web.ts";
import script from "./assets/console.client.js" with { type: "text" };
import type { WebHost } from "./host.ts";
import { barePage, page } from "./layout.ts";
import type { Every, Streams } from "./live-streams.ts";
import { html, type Markup, STYLE } from "./markup.ts";
import type { Flashes, PageContext, Section } from "./page-context.ts";
import { localeOf, type SignedIn, themeOf } from "./visitor.ts";

export interface Asset {
  readonly path: string;
  readonly type: string;
  readonly body: string;
}

/** Both files under names that change with their content, so that a browser may cache them without a limit. */
export function createAssets(sha256: (text: string) => string): {
  readonly style: Asset;
  readonly script: Asset;
} {
  const named = (name: string, ending: string, type: string, body: string): Asset => ({
    path: `/assets/${name}-${sha256(body).slice(0, 12)}.${ending}`,
    type,
    body,
  });
  return {
    style: named("console", "css", "text/css; charset=utf-8", STYLE),
    script: named("console", "js", "text/javascript; charset=utf-8", script),
  };
}

export interface Web {
  readonly host: WebHost;
  readonly signIn: SignIn;
  readonly assets: { readonly style: Asset; readonly script: Asset };
  readonly flashes: Flashes;
  readonly streams: Streams;
  readonly every: Every;
}

export interface OpenEnv {
  /** `from`: the address at the other end of the connection. */
  Bindings: { readonly from: string };
}

export interface WebEnv {
  Bindings: { readonly person: SignedIn };
  Variables: {
    readonly person: SignedIn;
    readonly page: PageContext;
    readonly form: URLSearchParams;
    readonly files: readonly File[];
  };
}

export type WebApp = Hono<WebEnv>;

/** One page of the console, or a few that belong together: their routes, and their entry in the navigation, if they have one. */
export interface ConsolePages {
  readonly section?: Section;
  routes(app: WebApp, web: Web): void;
}

/** A page for a user who is unknown, or not known yet. */
export function openPage(
  { host, assets: { style, script } }: Web,
  request: Request,
  frame: (t: ConsoleMessages) => Parameters<typeof barePage>[3],
): Markup {
  const t = consoleMessagesFor(localeOf(request, host.locale()));
  return barePage(t, themeOf(request), { style: style.path, script: script.path }, frame(t));
}

export function standalonePage(web: Web, request: Request, title: string, text: string): string {
  const body = (t: ConsoleMessages) =>
    html`<h1>${title}</h1><p>${text}</p><p><a href="/chat">${t.back}</a></p>`;
  return String(openPage(web, request, (t) => ({ title, body: body(t) })));
}

export function troublePage(context: PageContext, title: string, text: string): Markup {
  return page(context, {
    title,
    section: null,
    body: html`<h1>${title}</h1><p class="lead">${text}</p><p><a href="/chat">${context.t.back}</a></p>`,
  });
}

/** There is nothing at the address, or it is another user's. */
export function missingPage(context: PageContext): Response {
  return respond(troublePage(context, context.t.notFoundTitle, context.t.notFound), 404);
}

export function respond(
  markup: Markup,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(String(markup), {
    status,
    headers: { "content-type": "text/html; charset=utf-8", ...headers },
  });
}

export interface ApiEnv {
  Variables: { readonly viewer: Viewer };
}

const RETRY_SECONDS = "5";

export type Api = Hono<ApiEnv>;

export function apiFailure(status: number, code: string, message: string, facts: object = {}): Response {
  return Response.json({ error: { code, message, ...facts } }, { status });
}

/** Nothing was done, and the same request will do later. */
export function answerLater(code: string, message: string): Response {
  const answer = apiFailure(503, code, message);
  answer.headers.set("retry-after", RETRY_SECONDS);
  return answer;
}

/** To a program, where something broke; nothing of the request was done. */
export function answerApiTrouble(error: Error): Response {
  if (isStoreAway(error))
    return answerLater("store-away", "the store cannot be reached now; nothing was done");
  // Parts of the program are gone: until it is started again nothing else will be answered.
  if (missingPiece(error) !== null)
    return apiFailure(503, "replaced", "PicoClaw was replaced or moved while it ran: restart it");
  const full = "the disk of the store is full: nothing was accepted, try again later";
  if (/disk is full|no space left/i.test(error.message)) return apiFailure(503, "no-space", full);
  return apiFailure(500, "internal", "internal error");
}

/** No request of ours has more than a dozen. An object of a million keys would take seconds to read. */
const MOST_MEMBERS = 10_000;

/** Text alone needs no more, and is read in one go while others wait; images have the limit of every body. */
const MOST_TEXT_CHARACTERS = 2 * 1024 ** 2;

/** Ends a request of the API with this failure, from wherever it is read. */
export function refuse(status: ContentfulStatusCode, code: string, message: string, facts?: object): never {
  throw new HTTPException(status, { res: apiFailure(status, code, message, facts) });
}

/** The body as an object. `image`: the key of the images that it may have. */
export async function readJsonBody(
  request: Request,
  image: string | null = null,
): Promise<Readonly<Record<string, unknown>>> {
  const text = await request.text();
  const isLong = text.length > MOST_TEXT_CHARACTERS;
  // Reading and parsing a body of ten megabytes each take a moment; other requests are served in between. Short bodies
  // do not give way: they would arrive one by one, and the first of a burst would be answered before the burst shows.
  if (isLong) await giveWay();
  if (isLong && (image === null || !text.includes(`"${image}"`)))
    refuse(413, "too-large", `the body is text of more than ${MOST_TEXT_CHARACTERS} characters`);
  if (hasMoreMembers(text, MOST_MEMBERS))
    refuse(413, "too-many-members", `the body has more than ${MOST_MEMBERS} values`);
  if (isLong) await giveWay();
  const value: unknown = text.trim() === "" ? {} : attemptOr(null, () => JSON.parse(text));
  return isJsonObject(value) ? value : refuse(400, "bad-json", "the body is not a JSON object");
}

export function answerTroubles<E extends Env>(app: Hono<E>, web: Web): void {
  const { host } = web;
  app.onError((error, c) => {
    host.onTrouble(error, c.req.path);
    const t = consoleMessagesFor(localeOf(c.req.raw, host.locale()));
    if (c.req.path.startsWith("/api/")) return answerApiTrouble(error);
    const show = (title: string, text: string) => standalonePage(web, c.req.raw, title, text);
    if (isStoreAway(error))
      return c.html(show(t.storeAwayTitle, t.storeAway), 503, { "retry-after": RETRY_SECONDS });
    if (missingPiece(error) !== null) return c.html(show(t.replacedTitle, t.replaced), 503);
    return c.html(show(t.brokenTitle, t.broken), 500);
  });
  app.notFound((c) => {
    if (c.req.path.startsWith("/api/")) return apiFailure(404, "not-found", "no such address");
    const t = consoleMessagesFor(localeOf(c.req.raw, host.locale()));
    return c.html(standalonePage(web, c.req.raw, t.notFoundTitle, t.notFound), 404);
  });
}
