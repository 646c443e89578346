import { failedResult, type ToolFailure } from "./tool-result.ts";

export type CleanArguments =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly failure: ToolFailure };

/**
 * Arguments as a tool may see them: a plain object, of a bearable size, all text well-formed. An argument that is
 * null counts as not given, since models write null for what they leave out.
 */
export function cleanArguments(raw: unknown, limitChars: number): CleanArguments {
  if (raw === undefined || raw === null) return { ok: true, value: {} };
  if (typeof raw !== "object" || Array.isArray(raw))
    return refuseArgument("INVALID_ARGUMENT", "the arguments must be one JSON object");
  const trouble = inspectArgument(raw, { chars: limitChars, values: MOST_VALUES }, DEEPEST);
  if (trouble === "too-large")
    return refuseArgument("ARGUMENT_TOO_LARGE", `the arguments are longer than ${limitChars} characters`);
  if (trouble === "not-text")
    return refuseArgument("INVALID_ARGUMENT", "an argument is not valid text (a lone surrogate)");
  return {
    ok: true,
    value: Object.fromEntries(
      Object.entries(raw).filter(([, value]) => value !== null && value !== undefined),
    ),
  };
}

const DEEPEST = 20;
const MOST_VALUES = 10_000;

function inspectArgument(
  value: unknown,
  left: { chars: number; values: number },
  depth: number,
): "too-large" | "not-text" | null {
  left.values -= 1;
  if (left.values < 0 || depth < 0) return "too-large";
  if (typeof value === "string") {
    left.chars -= value.length;
    if (left.chars < 0) return "too-large";
    return value.isWellFormed() ? null : "not-text";
  }
  if (typeof value !== "object" || value === null) return null;
  for (const [key, below] of Object.entries(value)) {
    const trouble = inspectArgument(key, left, depth) ?? inspectArgument(below, left, depth - 1);
    if (trouble !== null) return trouble;
  }
  return null;
}

function refuseArgument(code: "INVALID_ARGUMENT" | "ARGUMENT_TOO_LARGE", message: string): CleanArguments {
  return { ok: false, failure: failedResult(code, message, "arguments") };
}
