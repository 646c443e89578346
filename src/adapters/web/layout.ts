import { LANGUAGES, LOCALES } from "../../domain/texts/locale.ts";
import { type ConsoleMessages, type ManageMessages, manageMessagesFor } from "../../domain/texts/web.ts";
import { csrfField, html, ICONS, MARK, type Markup, type Piece, visible } from "./markup.ts";
import type { Notice, PageContext, Section, Theme } from "./page-context.ts";

interface Frame {
  readonly title: string;
  /** The address of its section; null is in none. */
  readonly section: string | null;
  readonly body: Piece;
  /** Wide pages: diffs. */
  readonly wide?: boolean;
  /** Fills the height: the chat. */
  readonly tall?: boolean;
  readonly refreshSeconds?: number;
}

export function page(context: PageContext, frame: Frame): Markup {
  const { t, sections } = context;
  const current = sections.find(({ address }) => address === frame.section);
  const items = (shown: readonly Section[]) => shown.map((section) => item(t, section, current));
  return document(t, context.theme, context, {
    title: frame.title,
    refreshSeconds: frame.refreshSeconds,
    body: html`<a class="skip" href="#content">${t.skipToContent}</a>
<div class="frame">
<header class="side">
<a class="brand" href="/chat">${MARK}<span>${t.appName}</span></a>
<nav aria-label="${t.nav.main}"><ul>${items(sections)}</ul></nav>
<div class="foot">${settings(context)}</div>
</header>
<main id="content" class="${frame.wide ? "wide" : ""} ${frame.tall ? "tall" : ""}">
${context.demo && html`<p class="banner" role="note">${t.demoBanner}</p>`}
${frame.body}
</main>
<nav class="tabs" aria-label="${t.nav.main}"><ul>
${items(sections.filter(({ first }) => first === true))}
<li><details class="more"><summary ${current !== undefined && current.first !== true && html`class="current"`}>${ICONS.more}<span>${t.nav.more}</span></summary><div class="sheet"><ul>
${items(sections.filter(({ first }) => first !== true))}
</ul>${settings(context)}</div></details></li>
</ul></nav>
</div>
<p class="offline" role="status" hidden>${t.connectionLost}</p>`,
  });
}

/** A page without the console's frame: the sign-in page, and errors before a user is authenticated. */
export function barePage(
  t: ConsoleMessages,
  theme: Theme,
  assets: { readonly style: string; readonly script: string },
  frame: { readonly title: string; readonly body: Piece; readonly refreshTo?: string },
): Markup {
  return document(t, theme, assets, {
    title: frame.title,
    body: html`<main id="content" class="alone"><div class="card">${MARK}${frame.body}</div></main>`,
    ...(frame.refreshTo !== undefined && { refreshTo: frame.refreshTo }),
  });
}

function document(
  t: ConsoleMessages,
  theme: Theme,
  { style, script }: { readonly style: string; readonly script: string },
  {
    title,
    body,
    refreshSeconds,
    refreshTo,
  }: { title: string; body: Piece; refreshSeconds?: number | undefined; refreshTo?: string },
): Markup {
  return html`<!doctype html>
<html lang="${t.locale}" data-theme="${theme}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="${theme === "auto" ? "light dark" : theme}">
<meta name="robots" content="noindex">
<title>${title} · ${t.appName}</title>
<link rel="icon" href="/assets/mark.svg" type="image/svg+xml">
<link rel="stylesheet" href="${style}">
<script src="${script}" defer></script>
${refreshTo !== undefined && html`<meta http-equiv="refresh" content="0;url=${refreshTo}">`}
${refreshSeconds !== undefined && html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>`}
</head>
<body>
${body}
</body>
</html>
`;
}

function item(t: ConsoleMessages, section: Section, current: Section | undefined): Markup {
  return html`<li><a href="${section.address}" ${section === current && html`aria-current="page"`}>${section.icon}<span>${section.label(t)}</span></a></li>`;
}

function settings(context: PageContext): Markup {
  const { t, theme, viewer, here } = context;
  const choice = (name: string, value: string, label: string, current: boolean) =>
    html`<button type="submit" name="${name}" value="${value}" ${current ? html`aria-pressed="true"` : html`aria-pressed="false"`}>${label}</button>`;
  return html`<div class="settings">
<form method="post" action="/preferences">${csrfField(context)}<input type="hidden" name="back" value="${here}">
<div class="choice" role="group" aria-label="${t.language}">${LOCALES.map((one) => choice("lang", one, LANGUAGES[one], t.locale === one))}</div>
<div class="choice" role="group" aria-label="${t.theme}">${(["auto", "light", "dark"] as const).map((one) => choice("theme", one, t.themes[one], theme === one))}</div>
</form>
<form method="post" action="/logout" class="who">${csrfField(context)}<span>${t.signedInAs(viewer.userId, viewer.role)}</span><button type="submit" class="quiet">${t.logout}</button></form>
</div>`;
}

/** After which a list is read again. */
export const rereadSeconds = (isRunning: boolean) => (isRunning ? 2 : 20);

/** Nothing here yet, and what will be. */
export function empty(title: string, text: string, more?: Piece): Markup {
  return html`<div class="empty"><p class="heading">${title}</p><p>${text}</p>${more}</div>`;
}

export type ManageSection = "access" | "settings";

const MANAGE_ADDRESSES: Readonly<Record<ManageSection, string>> = {
  access: "/manage",
  settings: "/manage/settings",
};

const MANAGE_SECTIONS = Object.keys(MANAGE_ADDRESSES) as ManageSection[];

/** The pages of operators: a heading, the managed items, and the result of the last button. */
export function managePage(
  context: PageContext,
  section: ManageSection,
  body: (words: ManageMessages) => Piece,
): Markup {
  const words = manageMessagesFor(context.t.locale);
  const tab = (one: ManageSection) =>
    html`<a href="${MANAGE_ADDRESSES[one]}" ${one === section && html`aria-current="page"`}>${words.pages[one]}</a>`;
  return page(context, {
    title: `${context.t.nav.manage}: ${words.pages[section]}`,
    section: MANAGE_ADDRESSES.access,
    body: html`<h1>${context.t.nav.manage}</h1>
<nav class="choice manage-tabs" aria-label="${words.tabs}">${MANAGE_SECTIONS.map(tab)}</nav>
${context.notice?.at === undefined && noticeBox(context.notice)}
${body(words)}`,
  });
}

/** The result of the last button, line by line, and the buttons that it offers. */
export function noticeBox(notice: Notice | undefined, buttons?: Piece): Markup | null {
  if (notice === undefined) return null;
  const { ok, text } = notice;
  return html`<div class="notice ${ok ? "good" : "bad"}" role="${ok ? "status" : "alert"}">${text.split("\n").map((line) => html`<p>${visible(line)}</p>`)}${buttons}</div>`;
}

/** One field with its label above it. */
export function formField(label: string, input: Piece, hint?: string): Markup {
  return html`<label class="field"><span>${label}</span>${input}${hint !== undefined && html`<small>${hint}</small>`}</label>`;
}

export function formSelect(name: string, options: Readonly<Record<string, string>>, chosen: string): Markup {
  return html`<select name="${name}">${Object.entries(options).map(
    ([value, text]) => html`<option value="${value}" ${value === chosen && html`selected`}>${text}</option>`,
  )}</select>`;
}
