import { wordPieces } from "../../application/chat/reply-words.ts";
import type { Reply } from "../../application/ports/chat.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { printable } from "./command.ts";
import type { Block } from "./live-screen.ts";
import { markdownBlocks } from "./markdown-stream.ts";
import { visibleWidth, wrapColumns } from "./terminal-pi.ts";
import type { Style } from "./terminal-style.ts";

// The parts of a conversation that its first prompt does not need: loaded behind it, all at once.
export { createCardMaker } from "./conversation-cards.ts";
export { markdownBlocks } from "./markdown-stream.ts";
export { keepNamedImages, withPastedImages } from "./message-files.ts";
export { diffRows } from "./terminal-card.ts";
export { openPager } from "./terminal-pager.ts";
export { createTurnView } from "./turn-view.ts";

/** Pieces of a reply that its card tells. */
const TOLD_BY_CARD: ReadonlySet<string> = new Set(["job", "coder", "loop", "loop-status"]);

interface ReplyLook {
  readonly locale: Locale;
  readonly hasCard: boolean;
  /** The part of its text that was shown as it came. */
  readonly streamed: string;
  readonly style: () => Style;
}

/** The words of a reply that are not on the screen yet; a failure without a card has its sign. */
export function replyWords(reply: Reply, { locale, hasCard, streamed, style }: ReplyLook): Block[] {
  const said = (reply.said ?? []).filter(({ kind }) => !hasCard || !TOLD_BY_CARD.has(kind));
  const whole = printable(reply.said === undefined ? reply.text : wordPieces(locale, said));
  const shown = printable(streamed).trim();
  const rest = shown !== "" && whole.startsWith(shown) ? whole.slice(shown.length).trim() : whole.trim();
  if (rest === "") return [];
  const text = !reply.ok && !hasCard ? `✗ ${rest}` : rest;
  return [{ render: () => [""] }, ...markdownBlocks(text, style)];
}

/** All keys below each other, with what they do. */
export function keyRows(
  keys: readonly (readonly [key: string, words: string])[],
  columns: number,
  style: Style,
): string[] {
  // A long list of keys does not take the room of every other line's words.
  const widths = keys.map(([key]) => visibleWidth(key));
  const width = Math.max(...widths.filter((each) => each <= columns / 4), 1);
  return keys.flatMap(([key, words], at) => {
    const gap = " ".repeat(Math.max(0, width - (widths[at] ?? 0)));
    const [first = "", ...more] = wrapColumns(words, columns - Math.max(width, widths[at] ?? 0) - 4);
    return [`  ${style.bold(key)}${gap}  ${first}`, ...more.map((row) => `${" ".repeat(width + 4)}${row}`)];
  });
}
