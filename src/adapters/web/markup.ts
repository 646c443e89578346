import type { HealthLine } from "../../application/ports/serve.ts";
import { type AgentName, agentOf, roleOf } from "../../domain/chat/agents.ts";
import type { Route } from "../../domain/config/configured-kinds.ts";
import { maskSecrets } from "../../domain/platform/mask.ts";
import style from "./assets/console.css" with { type: "text" };
import type { PageContext } from "./page-context.ts";
import { html, type Markup, type Piece } from "./safe-html.ts";

export { html, type Markup, type Piece };

/** Browsers without light-dark() (before 2024) have the light colours, whichever theme is chosen. */
const LIGHT_COLOURS = [...style.matchAll(/(--[\w-]+): light-dark\((#\w+),/g)].map(
  ([, name, light]) => `${name}: ${light};`,
);

/** The style of every page. */
export const STYLE = `${style}@supports not (color: light-dark(red, red)) {
  :root[data-theme] { ${LIGHT_COLOURS.join(" ")} color-scheme: light; }
}
`;

/** Colours and cursor moves of a terminal. */
const ANSI = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])/g;
/** Invisible characters that change how a text reads: bidirectional overrides, zero-width marks, controls. */
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** A text as it is, not as it would like to look: a diff or an output cannot hide anything in it. */
export function visible(text: string): string {
  return text
    .replace(ANSI, "")
    .replaceAll("\r\n", "\n")
    .replace(UNSEEN, (character) => `⟦${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}⟧`);
}

/** The name of a file, without a key that may be in it. */
export const visiblePath = (path: string): string => visible(maskSecrets(path));

/** A drawing of 24 by 24, in the colour of the text beside it. */
const icon = (path: Markup): Markup =>
  html`<svg class="icon" viewBox="0 0 24 24" width="20" height="20" fill="none" stroke="currentColor" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${path}</svg>`;

export const ICONS = {
  chat: icon(html`<path d="M4 5h16v11H9l-5 4z"/>`),
  jobs: icon(html`<path d="M5 6h14M5 12h14M5 18h9"/><circle cx="19" cy="18" r="1"/>`),
  playground: icon(html`<path d="M8 4v16M8 8h8M8 16h8M16 4l3 4-3 4M16 12l3 4-3 4" />`),
  tasks: icon(html`<rect x="4" y="4" width="16" height="16" rx="3"/><path d="m8 12 3 3 5-6"/>`),
  sessions: icon(
    html`<path d="M6 3v4M18 3v4M4 9h16"/><rect x="4" y="5" width="16" height="16" rx="3"/><path d="M8 14h3M8 17h6"/>`,
  ),
  usage: icon(html`<path d="M4 20h16M7 20v-6M12 20V8M17 20v-9"/>`),
  compare: icon(html`<path d="M12 4v16M5 8h14M5 8l-2 6h4zM19 8l-2 6h4zM9 20h6"/>`),
  system: icon(
    html`<circle cx="12" cy="12" r="3"/><path d="M12 3v3M12 18v3M3 12h3M18 12h3M5.6 5.6l2.2 2.2M16.2 16.2l2.2 2.2M5.6 18.4l2.2-2.2M16.2 7.8l2.2-2.2"/>`,
  ),
  fleet: icon(
    html`<rect x="4" y="4" width="16" height="6" rx="2"/><rect x="4" y="14" width="16" height="6" rx="2"/><path d="M8 7h.01M8 17h.01"/>`,
  ),
  manage: icon(
    html`<path d="M4 7h9M19 7h1M4 17h1M11 17h9"/><circle cx="16" cy="7" r="2.6"/><circle cx="8" cy="17" r="2.6"/>`,
  ),
  more: icon(
    html`<circle cx="5" cy="12" r="1.2"/><circle cx="12" cy="12" r="1.2"/><circle cx="19" cy="12" r="1.2"/>`,
  ),
  info: icon(html`<circle cx="12" cy="12" r="9"/><path d="M12 11v5M12 7.8v.2"/>`),
  undo: icon(html`<path d="M9 7 4 12l5 5"/><path d="M4 12h10a6 6 0 0 1 6 6"/>`),
  redo: icon(html`<path d="m15 7 5 5-5 5"/><path d="M20 12H10a6 6 0 0 0-6 6"/>`),
  attach: icon(
    html`<path d="M19 11.5 12 18.5a4.5 4.5 0 0 1-6.4-6.4l7.4-7.4a3 3 0 0 1 4.3 4.3l-7.4 7.3a1.5 1.5 0 0 1-2.1-2.1l6.6-6.6"/>`,
  ),
  send: icon(html`<path d="M4 12 20 4l-5 16-4-6z"/>`),
} as const;

/** The mark: a claw that holds one small thing. */
export const MARK: Markup = html`<svg class="mark" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true"><path d="M7 24C3 15 9 6 19 6c-4 2-6 5-6 9" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round"/><path d="M25 13c2 6-2 13-10 13 4-2 6-4 6-8" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round"/><circle cx="17" cy="16" r="2.6" class="pearl"/></svg>`;

/** A seal with the agent's character: 澪 白 赤 青 銀. */
const SEALS: Readonly<Record<string, readonly [string, string]>> = {
  Mio: ["澪", "mio"],
  Shiro: ["白", "shiro"],
  Aka: ["赤", "aka"],
  Ao: ["青", "ao"],
  Gin: ["銀", "gin"],
};

export function sealOf(agent: string): readonly [character: string, style: string] {
  return SEALS[agent] ?? ["爪", "none"];
}

export function seal(agent: string): Markup {
  const [character, style] = sealOf(agent);
  return html`<span class="seal ${style}" aria-hidden="true">${character}</span>`;
}

/** The agent that answers a route, if the reply does not state it. */
export function agentOfRoute(route: Route | undefined): AgentName {
  return agentOf(roleOf(route ?? "CHAT", "coder3"));
}

export function csrfField({ csrf }: Pick<PageContext, "csrf">): Markup {
  return html`<input type="hidden" name="csrf" value="${csrf}">`;
}

/** One button that changes something. */
export function actionButton(
  context: PageContext,
  options: {
    readonly action: string;
    readonly label: Piece;
    readonly style?: "main" | "quiet" | "danger";
    readonly fields?: Readonly<Record<string, string>>;
  },
): Markup {
  const { action, label, style, fields = {} } = options;
  return html`<form method="post" action="${action}" class="act">${csrfField(context)}${Object.entries(
    fields,
  ).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}<button type="submit" class="${style ?? ""}">${label}</button></form>`;
}

type Reader = Pick<PageContext, "t" | "timezone" | "now">;

/** When something was, short; the whole moment as its title. */
export function moment({ t, timezone, now }: Reader, iso: string): Markup {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return html``;
  const { day, date, time, whole } = formatsFor(t.locale, timezone);
  const isToday = day.format(at) === day.format(now);
  const text = isToday ? time.format(at) : `${date.format(at)} ${time.format(at)}`;
  return html`<time datetime="${iso}" title="${whole.format(at)}">${text}</time>`;
}

interface MomentFormats {
  readonly day: Intl.DateTimeFormat;
  readonly date: Intl.DateTimeFormat;
  readonly time: Intl.DateTimeFormat;
  readonly whole: Intl.DateTimeFormat;
}

/** Making one costs more than a hundred uses of it, and a page has hundreds of moments. */
const formats = new Map<string, MomentFormats>();

function formatsFor(locale: string, timeZone: string | undefined): MomentFormats {
  const key = `${locale} ${timeZone}`;
  const known = formats.get(key);
  if (known !== undefined) return known;
  const clock = { timeZone, hourCycle: "h23" } as const;
  const made = {
    day: new Intl.DateTimeFormat("sv", { timeZone }),
    date: new Intl.DateTimeFormat(locale, { timeZone, month: "short", day: "numeric" }),
    time: new Intl.DateTimeFormat(locale, { ...clock, hour: "2-digit", minute: "2-digit" }),
    whole: new Intl.DateTimeFormat(locale, { ...clock, dateStyle: "long", timeStyle: "medium" }),
  };
  formats.set(key, made);
  return made;
}

/** A number and its unit stay on one line. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))}\u00a0ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)}\u00a0s`;
  return `${Math.floor(ms / 60_000)}\u00a0min ${Math.round((ms % 60_000) / 1_000)}\u00a0s`;
}

/** A part that is neither set up nor needed is grey. */
export function healthTone({ ok, required, off }: HealthLine): "good" | "bad" | "weak" | "off" {
  if (ok) return "good";
  if (off === true) return "off";
  return required ? "bad" : "weak";
}
