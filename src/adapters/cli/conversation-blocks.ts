import type { TerminalMessages } from "../../domain/texts/cli-terminal.ts";
import { printable } from "./command.ts";
import type { Block } from "./live-screen.ts";
import type { CliProgram } from "./program.ts";
import { wrapColumns } from "./terminal-pi.ts";
import type { Style } from "./terminal-style.ts";

/** The version and the folder, the home as `~`; empty for a program without a version. */
export function titleLine(
  { cwd, env, version }: Pick<CliProgram, "cwd" | "env" | "version">,
  texts: TerminalMessages,
): string {
  if (version === "") return "";
  const home = env.HOME ?? "";
  const isBelow = home !== "" && `${cwd}/`.startsWith(`${home}/`);
  return texts.title(version, isBelow ? `~${cwd.slice(home.length)}` : cwd, "");
}

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
