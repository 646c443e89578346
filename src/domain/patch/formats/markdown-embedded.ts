import type { PatchCommand } from "../command.ts";
import type { ParseFailure } from "../parse-error.ts";
import type { EmbeddedFormat } from "./markdown-marks.ts";
import { parseUnifiedDiff } from "./unified-diff.ts";

export type EmbeddedRead =
  | { readonly ok: true; readonly commands: readonly PatchCommand[]; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly failure: ParseFailure };

/**
 * Reads a patch of another format that stands in a reply, raw or in a fence. `lead` is the line that says which
 * file it is for, when that stands apart from it. Lines in failures and warnings count from the text's own first.
 */
export function readEmbedded(format: EmbeddedFormat, text: string, lead = ""): EmbeddedRead {
  switch (format) {
    case "diff":
      return shifted(
        readDiff(lead === "" ? text : `--- a/${lead}\n+++ b/${lead}\n${text}`),
        lead === "" ? 0 : -2,
      );
    case "v4a":
    case "search-replace":
      return { ok: false, failure: { code: "not-a-patch", message: `${format} is not read yet` } };
    default:
      return format satisfies never;
  }
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

function shifted(read: EmbeddedRead, lines: number): EmbeddedRead {
  if (lines === 0) return read;
  if (read.ok) return { ...read, warnings: read.warnings.map((warning) => shiftWarning(warning, lines)) };
  return { ...read, failure: shiftFailure(read.failure, lines) };
}

/** Moves line numbers from a part of the text to the whole. */
export function shiftFailure(failure: ParseFailure, lines: number): ParseFailure {
  const line = Math.max(1, (failure.line ?? 1) + lines);
  return { ...failure, line, message: failure.message.replace(/ at line [0-9]+$/, ` at line ${line}`) };
}

export function shiftWarning(warning: string, lines: number): string {
  const found = /^line ([0-9]+):/.exec(warning);
  if (found === null) return warning;
  return `line ${Math.max(1, Number(found[1]) + lines)}:${warning.slice(found[0].length)}`;
}
