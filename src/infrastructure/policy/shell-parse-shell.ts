import { type ParseError, parse } from "unbash";
import type { ShellDialect, ShellParse } from "../../domain/policy/commands-shell-script.ts";
import { collectCommands } from "./parse-shell.ts";

/** What one argument of a process can hold on Linux: a longer script never reaches `sh -c`. */
const MAX_BYTES = 128 * 1024 - 1;

/**
 * The parser's time grows with the square of these; at the limits it stays under half a second. Real commands, files
 * written by here-document included, are far below.
 */
const LIMITS: readonly { readonly what: string; readonly pattern: RegExp; readonly limit: number }[] = [
  { what: "braces", pattern: /\{/g, limit: 4000 },
  { what: "substitutions", pattern: /[$<>]\(/g, limit: 1000 },
  { what: "expansions", pattern: /\$[{[]|`/g, limit: 6000 },
  { what: "here-documents", pattern: /<</g, limit: 1000 },
  { what: "operators in arithmetic", pattern: /[-+*/%&|^?:,=<>~!]\s*[\w$(]/g, limit: 20_000 },
];

/** Reads a script with `unbash`. A script that is not whole is refused: half a tree is no ground for a decision. */
export function parseShell(text: string, dialect: ShellDialect): ShellParse {
  if (new TextEncoder().encode(text).length > MAX_BYTES)
    return { ok: false, code: "too-large", message: `${MAX_BYTES} bytes`, at: MAX_BYTES };
  const nul = text.indexOf("\0");
  if (nul >= 0) return { ok: false, code: "syntax", message: "NUL character", at: nul };
  for (const { what, pattern, limit } of LIMITS)
    if ((text.match(pattern)?.length ?? 0) > limit)
      return { ok: false, code: "too-complex", message: `${limit} ${what}`, at: 0 };
  try {
    const errors: ParseError[] = [];
    const script = collectCommands(parse(text), { text, dialect, errors });
    const [first] = errors;
    if (first) return { ok: false, code: "syntax", message: first.message, at: first.pos };
    return { ok: true, script };
  } catch (error) {
    // The parser recurses; what is nested past its stack is not parsed.
    if (error instanceof RangeError) return { ok: false, code: "too-complex", message: "nesting", at: 0 };
    throw error;
  }
}
