import type { Hono } from "hono";
import type { SignIn } from "../../application/serve/access.ts";
import { consoleMessagesFor } from "../../domain/texts/texts.ts";
import type { Asset } from "./assets.ts";
import type { PageContext } from "./context.ts";
import type { Flashes } from "./page-context.ts";
import type { WebHost } from "./host.ts";
import type { Streams } from "./live-streams.ts";
import { html, type Markup } from "./markup.ts";
import { barePage, page } from "./layout.ts";
import { localeOf, type SignedIn, themeOf } from "./visitor.ts";

/** What the routes of the console share. */
export interface Web {
  readonly host: WebHost;
  readonly signIn: SignIn;
  readonly assets: { readonly style: Asset; readonly script: Asset };
  readonly flashes: Flashes;
  readonly streams: Streams;
}

/** Of whoever asks, known or not. */
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

export function standalonePage(web: Web, request: Request, title: string, text: string): string {
  const t = consoleMessagesFor(localeOf(request, web.host.locale()));
  return String(
    barePage(
      t,
      themeOf(request),
      { style: web.assets.style.path, script: web.assets.script.path },
      {
        title,
        body: html`<h1>${title}</h1><p>${text}</p><p><a href="/chat">${t.back}</a></p>`,
      },
    ),
  );
}

/** Trouble of somebody who is known: the frame stays. */
export function troublePage(context: PageContext, title: string, text: string): Markup {
  return page(context, {
    title,
    section: null,
    body: html`<h1>${title}</h1><p class="lead">${text}</p><p><a href="/chat">${context.t.back}</a></p>`,
  });
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
