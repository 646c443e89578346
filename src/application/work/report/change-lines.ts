import type { Change } from "../../../domain/patch/result.ts";
import type { Messages } from "../../../domain/texts/messages.ts";
import { shownPath } from "../../../domain/texts/shown-path.ts";
import type { LineCounts } from "../../../domain/work/line-counts.ts";

const SHOWN = 50;
const MARKS = { added: "A", modified: "M", deleted: "D" } as const;

/** The changed paths under their number; git's own bookkeeping as one line. Empty without any. */
export function changeLines(
  messages: Messages,
  changes: readonly Change[],
  counts: Readonly<Record<string, LineCounts>> = {},
): string {
  if (changes.length === 0) return "";
  const files = changes.filter(({ path }) => !/(^|\/)\.git\//.test(path));
  const lines = files
    .slice(0, SHOWN)
    .map(({ path, kind }) => `  ${MARKS[kind]} ${shownPath(path)}${counted(counts[path])}`);
  if (files.length > SHOWN) lines.push(`  … +${files.length - SHOWN}`);
  const git = changes.length - files.length;
  if (git > 0) lines.push(`  M .git (${git})`);
  return [messages.changesHeader(changes.length), ...lines].join("\n");
}

function counted(counts: LineCounts | undefined): string {
  return counts === undefined ? "" : ` +${counts.added} −${counts.removed}`;
}
