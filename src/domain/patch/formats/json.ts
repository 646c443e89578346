import type { PatchCommand } from "../command.ts";
import type { ParseFailure } from "../parse-error.ts";
import { scanJson } from "./syntax.ts";

/** What a JSON value means as a patch. */
export type JsonMeaning =
  | { readonly kind: "commands"; readonly items: readonly unknown[] }
  /** A coder's whole answer, `{plan, patch, risk, …}`: the patch is in there as text. */
  | { readonly kind: "proposal"; readonly patch: string }
  | { readonly kind: "other" };

/** In prose or among other blocks: only what names a command's fields counts. */
export function jsonMeaning(value: unknown): JsonMeaning {
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

type CommandRead =
  | { readonly ok: true; readonly command: PatchCommand; readonly ignored: readonly string[] }
  | { readonly ok: false; readonly failure: ParseFailure };

const COMMAND_FIELDS = new Set([
  "type",
  "action",
  "target",
  "content",
  "metadata",
  "env",
  "workdir",
  "shell",
]);

/**
 * Reads one command of a JSON patch. `type` and `action` may name things that do not exist: those fail when
 * they are run. `null` counts as absent. Keys that mean nothing are returned in `ignored`.
 */
function readCommand(value: unknown, index: number): CommandRead {
  if (!isRecord(value))
    return refuseCommand(
      index,
      undefined,
      value,
      `command[${index}]: must be an object, got ${describeValue(value)}`,
    );
  const own = (field: string): unknown =>
    Object.hasOwn(value, field) ? (value[field] ?? undefined) : undefined;

  for (const field of ["type", "action", "target", "content", "workdir", "shell"]) {
    const found = own(field);
    if (found !== undefined && typeof found !== "string")
      return refuseCommand(
        index,
        field,
        found,
        `command[${index}]: ${field} must be a string, got ${describeValue(found)}`,
      );
  }
  const text = (field: string): string => (own(field) as string | undefined) ?? "";
  const type = text("type");
  const action = text("action");
  const target = text("target");
  if (type === "") return requiredField(index, "type");
  if (action === "") return requiredField(index, "action");
  if (target === "" && !(type === "git_operation" && action === "commit"))
    return requiredField(index, "target");

  const metadata = readStrings(own("metadata"), index, "metadata");
  if (!metadata.ok) return metadata;
  const env = readStrings(own("env"), index, "env");
  if (!env.ok) return env;

  return {
    ok: true,
    command: {
      type,
      action,
      target,
      content: text("content"),
      ...(metadata.strings && { metadata: metadata.strings }),
      ...(env.strings && { env: env.strings }),
      ...(text("workdir") !== "" && { workdir: text("workdir") }),
      ...(text("shell") !== "" && { shell: text("shell") }),
    },
    ignored: Object.keys(value).filter((key) => !COMMAND_FIELDS.has(key)),
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type StringsRead =
  | { readonly ok: true; readonly strings: Readonly<Record<string, string>> | undefined }
  | { readonly ok: false; readonly failure: ParseFailure };

function readStrings(value: unknown, index: number, field: string): StringsRead {
  if (value === undefined) return { ok: true, strings: undefined };
  if (!isRecord(value))
    return refuseCommand(
      index,
      field,
      value,
      `command[${index}]: ${field} must be an object, got ${describeValue(value)}`,
    );
  const strings: [string, string][] = [];
  for (const [key, entry] of Object.entries(value)) {
    if (typeof entry !== "string") {
      const name = `${field}.${key}`;
      return refuseCommand(
        index,
        name,
        entry,
        `command[${index}]: ${name} must be a string, got ${describeValue(entry)}`,
      );
    }
    strings.push([key, entry]);
  }
  // fromEntries defines own properties, so a key named __proto__ stays a key.
  return { ok: true, strings: Object.fromEntries(strings) };
}

function requiredField(index: number, field: string): { ok: false; failure: ParseFailure } {
  return {
    ok: false,
    failure: { code: "invalid-command", message: `command[${index}]: ${field} is required`, index, field },
  };
}

function refuseCommand(index: number, field: string | undefined, value: unknown, message: string) {
  const failure: ParseFailure = {
    code: "invalid-command",
    message,
    index,
    ...(field !== undefined && { field }),
    value: preview(value),
  };
  return { ok: false, failure } as const;
}

function describeValue(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return `${typeof value} ${preview(value)}`;
}

/** Short, and safe for a value nested a million deep: containers are not printed. */
function preview(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 60));
  if (Array.isArray(value)) return "[…]";
  return typeof value === "object" && value !== null ? "{…}" : String(value);
}
