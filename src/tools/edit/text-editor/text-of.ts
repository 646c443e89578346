import { isAscii, toBytesText } from "../../../domain/patch/patch-text.ts";
import type { ResolvedPath } from "../../resolved-path.ts";
import { ToolError } from "../../tool-error.ts";

/**
 * A file as bytes text (one character per byte), so that every byte an edit does not touch survives. New text goes
 * in as UTF-8; into a file of another encoding only ASCII may go.
 */
export function editableText(
  place: ResolvedPath,
  before: Uint8Array | null,
  pieces: readonly string[],
): string {
  if (before === null) throw new ToolError("NOT_FOUND", `no such file: ${place.given}`);
  if (!isUtf8(before)) {
    if (before.includes(0)) throw new ToolError("BINARY_FILE", `binary file: ${place.given}`);
    if (!pieces.every(isAscii))
      throw new ToolError(
        "UNSUPPORTED_ENCODING",
        `${place.given} is not UTF-8: only ASCII text can be replaced in it (use execute_command with iconv)`,
      );
  }
  return toBytesText(before);
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Whether the file's lines end in CRLF; callers write LF. */
export function usesCrLf(text: string): boolean {
  const feed = text.indexOf("\n");
  return feed > 0 && text.charCodeAt(feed - 1) === 13;
}

export function toCrLf(text: string): string {
  return text.replace(/\r?\n/g, "\r\n");
}

export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line++;
  return line;
}
