import { printable } from "./command.ts";
import type { Block } from "./live-screen.ts";
import { wrapColumns } from "./terminal-pi.ts";
import type { Style } from "./terminal-style.ts";

/** A notice from PicoClaw beside the conversation. */
export function noticeBlock(text: string, style: () => Style): Block {
  const lines = printable(text).split("\n");
  return { render: (columns) => lines.flatMap((line) => wrapColumns(style().dim(line), columns)) };
}

/** Lines of a message that are shown again; a paste may have thousands. */
const MOST_LINES = 12;

/** The user's message. */
export function messageBlock(text: string, style: () => Style): Block {
  const lines = printable(text).split("\n");
  const more = lines.length - MOST_LINES;
  const shown = more > 0 ? [...lines.slice(0, MOST_LINES), `… +${more}`] : lines;
  return {
    render(columns) {
      const { bold, cyan } = style();
      const rows = shown.flatMap((line) => wrapColumns(line, columns - 2));
      return ["", ...rows.map((row, at) => `${at === 0 ? cyan("›") : " "} ${bold(row)}`)];
    },
  };
}
