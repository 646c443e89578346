import type { TerminalMessages } from "../../domain/texts/cli-terminal.ts";
import { printable } from "./command.ts";
import { cutToColumns, visibleWidth } from "./terminal-pi.ts";
import type { Style } from "./terminal-style.ts";

export interface StatusFacts {
  /** Said once in place of everything else. */
  readonly hint: string;
  /** The keys of an unfinished command of vi's normal mode; null in every other mode. */
  readonly mode: string | null;
  /** `provider/model`. */
  readonly model: string;
  readonly branch: string;
  /** Previews that wait. */
  readonly drafts: number;
  readonly tokens: number;
  readonly costUsd: number;
}

const NARROW = 80;

/** Without enough room, the cost is dropped first, then the branch, then the tokens; waiting previews and the model stay. */
export function statusRow(
  facts: StatusFacts,
  columns: number,
  texts: TerminalMessages,
  style: Style,
): string {
  const { hint, mode, model, branch, drafts, tokens, costUsd } = facts;
  if (hint !== "") return style.yellow(cutToColumns(`  ${hint}`, columns));
  const parts = [
    { text: mode === null ? "" : `${texts.normalMode}${mode === "" ? "" : ` ${mode}`}`, rank: 0 },
    { text: columns < NARROW ? model.replace(/^.*\//, "") : model, rank: 0 },
    { text: branch, rank: 2 },
    { text: tokens === 0 ? "" : texts.tokens(tokens), rank: 1 },
    { text: costUsd === 0 ? "" : costUsd < 0.01 ? "< $0.01" : `$${costUsd.toFixed(2)}`, rank: 3 },
    { text: drafts === 0 ? "" : texts.draftsWait(drafts), rank: 0 },
  ].filter(({ text }) => text !== "");
  const room = columns - 4 - visibleWidth(texts.keysHint);
  const joined = (some: typeof parts) => printable(some.map(({ text }) => text).join(" · "));
  let shown = parts;
  for (let rank = 3; rank > 0 && visibleWidth(joined(shown)) > room; rank--)
    shown = shown.filter((part) => part.rank !== rank);
  const left = cutToColumns(`  ${joined(shown)}`, room + 2);
  const gap = Math.max(1, columns - visibleWidth(left) - visibleWidth(texts.keysHint) - 1);
  return style.dim(`${left}${" ".repeat(gap)}${texts.keysHint}`);
}

/** Between what was said and the line; short, because it is drawn often. */
export function ruleRow(columns: number, style: Style): string {
  return style.dim("─".repeat(Math.min(columns, 60)));
}
