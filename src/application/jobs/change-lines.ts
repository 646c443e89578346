import type { Change } from "../../domain/jobs/result.ts";
import type { Messages } from "../../domain/texts/messages.ts";
import { reportMessages } from "../../domain/texts/messages.ts";
import { shownPath } from "../../domain/texts/shown-path.ts";
import type { LineCounts } from "../../domain/patch/line-counts.ts";

const SHOWN = 50;
const MARKS = { added: "A", modified: "M", deleted: "D" } as const;

/** The changed paths under their number; git's own bookkeeping and what it ignores as one line each. Empty without any. */
export function changeLines(
  messages: Messages,
  changes: readonly Change[],
  counts: Readonly<Record<string, LineCounts>> = {},
): string {
  if (changes.length === 0) return "";
  const { files, git, ignored } = foldChanges(changes);
  const lines = files
    .slice(0, SHOWN)
    .map(({ path, kind }) => `  ${MARKS[kind]} ${shownPath(path)}${counted(counts[path])}`);
  if (files.length > SHOWN) lines.push(`  … +${files.length - SHOWN}`);
  return [messages.changesHeader(changes.length), ...lines, ...foldedLines(messages, { git, ignored })].join(
    "\n",
  );
}

interface Folded {
  readonly files: readonly Change[];
  readonly git: number;
  readonly ignored: readonly Change[];
}

/** What a reader looks for, apart from git's bookkeeping and from what git ignores. */
export function foldChanges(changes: readonly Change[]): Folded {
  const own = changes.filter(({ path }) => !/(^|\/)\.git\//.test(path));
  return {
    files: own.filter(({ ignored }) => ignored === undefined),
    git: changes.length - own.length,
    ignored: own.filter(({ ignored }) => ignored !== undefined),
  };
}

export function foldedLines(messages: Messages, { git, ignored }: Omit<Folded, "files">): string[] {
  const places = [...new Set(ignored.map((change) => change.ignored as string))];
  return [
    ...(git > 0 ? [`  M .git (${git})`] : []),
    ...(ignored.length > 0 ? [`  ${reportMessages(messages.locale).ignored(ignored.length, places)}`] : []),
  ];
}

function counted(counts: LineCounts | undefined): string {
  return counts === undefined ? "" : ` +${counts.added} −${counts.removed}`;
}
