import type { PatchCommand } from "../../command.ts";
import type { ParseFailure } from "../../parse-error.ts";

export type CommandRead =
  | { readonly ok: true; readonly command: PatchCommand; readonly ignored: readonly string[] }
  | { readonly ok: false; readonly failure: ParseFailure };

const FIELDS = new Set(["type", "action", "target", "content", "metadata", "env", "workdir", "shell"]);

/**
 * Reads one command of a JSON patch. `type` and `action` may name things that do not exist: those fail when
 * they are run. `null` counts as absent. Keys that mean nothing are returned in `ignored`.
 */
export function readCommand(value: unknown, index: number): CommandRead {
  if (!isRecord(value))
    return refuse(index, undefined, value, `command[${index}]: must be an object, got ${describe(value)}`);
  const own = (field: string): unknown =>
    Object.hasOwn(value, field) ? (value[field] ?? undefined) : undefined;

  for (const field of ["type", "action", "target", "content", "workdir", "shell"]) {
    const found = own(field);
    if (found !== undefined && typeof found !== "string")
      return refuse(
        index,
        field,
        found,
        `command[${index}]: ${field} must be a string, got ${describe(found)}`,
      );
  }
  const text = (field: string): string => (own(field) as string | undefined) ?? "";
  const type = text("type");
  const action = text("action");
  const target = text("target");
  if (type === "") return required(index, "type");
  if (action === "") return required(index, "action");
  if (target === "" && !(type === "git_operation" && action === "commit")) return required(index, "target");

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
    ignored: Object.keys(value).filter((key) => !FIELDS.has(key)),
  };
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type StringsRead =
  | { readonly ok: true; readonly strings: Readonly<Record<string, string>> | undefined }
  | { readonly ok: false; readonly failure: ParseFailure };

function readStrings(value: unknown, index: number, field: string): StringsRead {
  if (value === undefined) return { ok: true, strings: undefined };
  if (!isRecord(value))
    return refuse(
      index,
      field,
      value,
      `command[${index}]: ${field} must be an object, got ${describe(value)}`,
    );
  const strings: [string, string][] = [];
  for (const [key, entry] of Object.entries(value)) {
    if (typeof entry !== "string") {
      const name = `${field}.${key}`;
      return refuse(
        index,
        name,
        entry,
        `command[${index}]: ${name} must be a string, got ${describe(entry)}`,
      );
    }
    strings.push([key, entry]);
  }
  // fromEntries defines own properties, so a key named __proto__ stays a key.
  return { ok: true, strings: Object.fromEntries(strings) };
}

function required(index: number, field: string): { ok: false; failure: ParseFailure } {
  return {
    ok: false,
    failure: { code: "invalid-command", message: `command[${index}]: ${field} is required`, index, field },
  };
}

function refuse(index: number, field: string | undefined, value: unknown, message: string) {
  const failure: ParseFailure = {
    code: "invalid-command",
    message,
    index,
    ...(field !== undefined && { field }),
    value: preview(value),
  };
  return { ok: false, failure } as const;
}

function describe(value: unknown): string {
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
