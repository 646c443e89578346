import type { PatchCommand } from "../../command.ts";
import type { ParseFailure } from "../../parse-error.ts";
import { createLineCounter } from "../../line-offsets.ts";
import { parseSearchReplace } from "../search-replace-search-replace.ts";
import { parseUnifiedDiff } from "../unified-diff/unified-diff.ts";
import { parseV4a } from "../v4a.ts";
import { createExtents } from "./piece-extent.ts";
import type { EmbeddedFormat } from "./marks.ts";
import { createFinder } from "./marks.ts";

export type EmbeddedRead =
  | { readonly ok: true; readonly commands: readonly PatchCommand[]; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly failure: ParseFailure };

export interface EmbeddedContext {
  /** Says which file the patch is for, where that stands apart from it: a path, or the prose above. */
  readonly lead?: { readonly path: string } | { readonly prose: string };
  /** The file of the SEARCH/REPLACE block before, which one without a path goes on with. */
  readonly lastPath?: string | undefined;
  /** How many commands stand before it. */
  readonly firstIndex: number;
}

/** Reads a patch of another format that stands in a reply. Lines in failures and warnings count from the text's own first. */
export function readEmbedded(format: EmbeddedFormat, text: string, place: EmbeddedContext): EmbeddedRead {
  const { lead, lastPath, firstIndex } = place;
  switch (format) {
    case "diff":
      if (lead === undefined || !("path" in lead)) return readDiff(text);
      return shiftLines(readDiff(`--- a/${lead.path}\n+++ b/${lead.path}\n${text}`), -2, firstIndex);
    case "v4a":
      return readV4a(text, firstIndex);
    case "search-replace": {
      const last = lastPath === undefined ? "" : `\`${lastPath}\`\n`;
      const prose = lead !== undefined && "prose" in lead ? `${last}${lead.prose}` : "";
      const above = lead !== undefined && "path" in lead ? `\`${lead.path}\`` : prose;
      return shiftLines(parseSearchReplace(text, above), 0, firstIndex);
    }
    default:
      return format satisfies never;
  }
}

/** One fence may hold several patches, one after the other. */
function readV4a(text: string, firstIndex: number): EmbeddedRead {
  const extents = createExtents(text);
  const nextBegin = createFinder(text, "*** Begin Patch");
  const commands: PatchCommand[] = [];
  const warnings: string[] = [];
  const lineOf = createLineCounter(text);
  for (let from = 0; from !== -1; ) {
    const end = extents.v4a(from) ?? text.length;
    const read = shiftLines(parseV4a(text.slice(from, end)), lineOf(from) - 1, firstIndex + commands.length);
    if (!read.ok) return read;
    for (const command of read.commands) commands.push(command);
    warnings.push(...read.warnings);
    from = nextBegin(end) === -1 ? -1 : end;
  }
  return { ok: true, commands, warnings };
}

/** One diff document is one command: it applies as a whole or not at all. */
function readDiff(text: string): EmbeddedRead {
  const diff = parseUnifiedDiff(text);
  if (!diff.ok) {
    const { failure } = diff;
    return {
      ok: false,
      failure: failure.code === "not-a-patch" ? { ...failure, code: "invalid-diff" } : failure,
    };
  }
  const { files, warnings } = diff;
  const paths = new Set(files.map((file) => file.newPath ?? file.oldPath ?? ""));
  const command: PatchCommand = {
    type: "file_edit",
    action: "update",
    target: [...paths].join(", "),
    content: text,
    metadata: { format: "diff" },
    edit: { kind: "diff", files },
  };
  return { ok: true, commands: [command], warnings };
}

function shiftLines(read: EmbeddedRead, lines: number, firstIndex: number): EmbeddedRead {
  if (read.ok) return { ...read, warnings: read.warnings.map((warning) => shiftWarning(warning, lines)) };
  const { index } = read.failure;
  const failure = shiftFailure(read.failure, lines);
  return { ok: false, failure: index === undefined ? failure : { ...failure, index: firstIndex + index } };
}

/** Moves line numbers from a part of the text to the whole. */
export function shiftFailure(failure: ParseFailure, lines: number): ParseFailure {
  const line = Math.max(1, (failure.line ?? 1) + lines);
  const message = failure.message
    .replace(/ at line [0-9]+$/, ` at line ${line}`)
    .replace(/ \(line [0-9]+\)$/, ` (line ${line})`);
  return { ...failure, line, message };
}

export function shiftWarning(warning: string, lines: number): string {
  const found = /^line ([0-9]+):/.exec(warning);
  if (found === null) return warning;
  return `line ${Math.max(1, Number(found[1]) + lines)}:${warning.slice(found[0].length)}`;
}
