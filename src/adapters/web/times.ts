import type { PageContext } from "./context.ts";
import { html, type Markup } from "./markup.ts";

type Reader = Pick<PageContext, "t" | "timezone" | "now">;

/** When something was, short; the whole moment as its title. */
export function moment({ t, timezone, now }: Reader, iso: string): Markup {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return html``;
  const day = (date: Date) => date.toLocaleDateString("sv", { timeZone: timezone });
  const time = at.toLocaleTimeString(t.locale, {
    timeZone: timezone,
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  const text =
    day(at) === day(now)
      ? time
      : `${at.toLocaleDateString(t.locale, { timeZone: timezone, month: "short", day: "numeric" })} ${time}`;
  return html`<time datetime="${iso}" title="${at.toLocaleString(t.locale, { timeZone: timezone, dateStyle: "long", timeStyle: "medium", hourCycle: "h23" })}">${text}</time>`;
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}
