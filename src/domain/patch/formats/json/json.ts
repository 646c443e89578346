import type { PatchCommand } from "../../command.ts";
import type { ParseFailure } from "../../parse-error.ts";
import { isRecord, readCommand } from "./command.ts";
import { scanJson } from "./syntax.ts";

/** What a JSON value means as a patch. */
export type JsonMeaning =
  | { readonly kind: "commands"; readonly items: readonly unknown[] }
  /** A coder's whole answer, `{plan, patch, risk, …}`: the patch is in there as text. */
  | { readonly kind: "proposal"; readonly patch: string }
  | { readonly kind: "other" };

/** In prose or among other blocks: only what names a command's fields counts. */
export function meaningOf(value: unknown): JsonMeaning {
  if (Array.isArray(value)) {
    const [first] = value;
    return value.length === 0 || isCommandLike(first)
      ? { kind: "commands", items: value }
      : { kind: "other" };
  }
  if (!isRecord(value)) return { kind: "other" };
  if (!isCommandLike(value) && Object.hasOwn(value, "patch")) {
    if (typeof value.patch === "string") return { kind: "proposal", patch: value.patch };
    if (Array.isArray(value.patch)) return { kind: "commands", items: value.patch };
  }
  return isCommandLike(value) ? { kind: "commands", items: [value] } : { kind: "other" };
}

function isCommandLike(value: unknown): boolean {
  return isRecord(value) && (Object.hasOwn(value, "type") || Object.hasOwn(value, "action"));
}

export interface JsonCommands {
  readonly commands: readonly PatchCommand[];
  readonly warnings: readonly string[];
}

/** `firstIndex` is how many commands stand before these in the patch, so that messages count over the whole. */
export function readCommands(
  items: readonly unknown[],
  firstIndex: number,
): ({ readonly ok: true } & JsonCommands) | { readonly ok: false; readonly failure: ParseFailure } {
  const commands: PatchCommand[] = [];
  const warnings: string[] = [];
  for (const item of items) {
    const index = firstIndex + commands.length;
    const read = readCommand(item, index);
    if (!read.ok) return read;
    commands.push(read.command);
    if (read.ignored.length > 0)
      warnings.push(
        `command[${index}]: unknown key ignored: ${read.ignored.slice(0, 10).join(", ").slice(0, 200)}`,
      );
  }
  return { ok: true, commands, warnings };
}

export type JsonText =
  | { readonly ok: true; readonly value: unknown }
  /** `at` is an offset into the text given. */
  | { readonly ok: false; readonly at: number; readonly reason: string };

/** `JSON.parse` with a position when it fails. The whole text must be one value. */
export function parseJsonText(text: string): JsonText {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    const extent = scanJson(text, 0);
    if (!extent.ok) return extent;
    if (extent.end < text.length)
      return { ok: false, at: extent.end, reason: "text after the end of the value" };
    return { ok: false, at: 0, reason: error instanceof Error ? error.message : String(error) };
  }
}

/** The failure for text that is not JSON from offset `at` on. */
export function jsonFailure(text: string, at: number, reason: string): ParseFailure {
  const lineStart = text.lastIndexOf("\n", at - 1) + 1;
  let line = 1;
  for (let end = text.indexOf("\n"); end !== -1 && end < at; end = text.indexOf("\n", end + 1)) line++;
  const column = at - (at === 0 ? 0 : lineStart) + 1;
  return {
    code: "invalid-json",
    message: `JSON parse error: ${reason} at line ${line}, column ${column}`,
    line,
  };
}
