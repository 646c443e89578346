import { consoleMessagesFor } from "../../domain/texts/texts.ts";
import { html, type Markup } from "./markup.ts";
import { barePage } from "./layout.ts";
import { localeOf, themeOf } from "./visitor.ts";
import type { Web } from "./web.ts";

/** Nobody is known, or the link is spent: what to do about it, in this mode. */
export function signInPage(web: Web, request: Request, why: string): Markup {
  const t = consoleMessagesFor(localeOf(request, web.host.locale()));
  const assets = { style: web.assets.style.path, script: web.assets.script.path };
  const way = web.host.demo
    ? html`<p>${t.loginHowDemo}</p>`
    : html`<p>${t.loginHow}</p><p><code>picoclaw serve link</code></p>`;
  return barePage(t, themeOf(request), assets, { title: t.loginTitle, body: html`<h1>${why}</h1>${way}` });
}
