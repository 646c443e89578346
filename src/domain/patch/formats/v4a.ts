import type { PatchCommand } from "../command.ts";
import type { Hunk } from "../edit.ts";
import type { ParseFailure } from "../parse-error.ts";
import { V4aHunks } from "./v4a-hunks.ts";

/**
 * The `*** Begin Patch` format. Each operation becomes one command, in order. A text that is not well formed
 * yields no command at all: a misspelt header may hide the rest of an operation.
 */
export type V4aParse =
  | { readonly ok: true; readonly commands: readonly PatchCommand[]; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly failure: ParseFailure };

const BEGIN = "*** Begin Patch";
const END = "*** End Patch";
const OPERATION = /^\*\*\* (Add|Delete|Update) File: ?(.*)$/;
const MOVE = /^\*\*\* Move to: ?(.*)$/;

interface HeaderLine {
  readonly verb: "Add" | "Delete" | "Update";
  readonly path: string;
}

interface Operation extends HeaderLine {
  moveTo?: string;
  /** 0-based line of the header. */
  readonly at: number;
  readonly body: string[];
}

export function looksLikeV4a(text: string): boolean {
  return /^[ \t]*\*\*\* Begin Patch[ \t]*\r?$/m.test(text);
}

export function parseV4a(text: string): V4aParse {
  const all = text.split("\n");
  const begin = all.findIndex((line) => line.trim() === BEGIN);
  if (begin < 0) return failed("not-a-patch", `the first line must be '${BEGIN}'`, 1);
  const end = all.findIndex((line, i) => i > begin && isEnd(line, all, i));
  if (end < 0)
    return failed(
      "invalid-v4a",
      `the last line must be '${END}'; the patch may have been cut off`,
      all.length,
    );
  const lines = dedented(all.slice(begin, end)).slice(1);
  const commands: PatchCommand[] = [];
  const warnings: string[] = [];
  let open: Operation | null = null;
  for (let i = 0; i <= lines.length; i++) {
    const line = lines[i];
    const header: HeaderLine | null = line === undefined ? null : headerAt(line, open);
    if (line !== undefined && header === null) {
      const placed = open === null ? line.trim() === "" : takeLine(open, line);
      if (!placed) return invalidHeader(line, begin + 2 + i);
      continue;
    }
    if (open !== null) {
      const made = commandOf(open, warnings, begin + 2);
      if ("message" in made) return failed("invalid-v4a", made.message, made.line, commands.length);
      commands.push(made);
    }
    open = header === null ? null : { ...header, at: i, body: [] };
    if (open?.path === "")
      return failed("invalid-v4a", "the header names no file", begin + 2 + i, commands.length);
  }
  return { ok: true, commands, warnings };
}

/** The first end marker that is not padded, or a padded one after which no patch line follows. */
function isEnd(line: string, all: readonly string[], at: number): boolean {
  if (line.trim() !== END) return false;
  return (
    line.startsWith("***") || !all.slice(at + 1, at + 3).some((next) => /^(\*\*\* |@@|[-+ ]\S)/.test(next))
  );
}

/** Takes off what the whole patch is indented by, and the carriage returns of a patch with such line ends. */
function dedented(lines: readonly string[]): string[] {
  const crlf = lines[0]?.endsWith("\r") === true;
  const plain = crlf ? lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line)) : [...lines];
  const indent = /^[ \t]*/.exec(plain[0] ?? "")?.[0] ?? "";
  const uniform = indent !== "" && plain.every((line) => line.trim() === "" || line.startsWith(indent));
  return uniform ? plain.map((line) => line.slice(indent.length)) : plain;
}

/** Inside an update a padded header would be a context line. */
function headerAt(line: string, open: Operation | null): HeaderLine | null {
  const padded = /^\s/.test(line);
  if (padded && open?.verb === "Update" && open.body.length > 0) return null;
  const found = OPERATION.exec(line.trim());
  return found ? { verb: found[1] as Operation["verb"], path: found[2]!.trim() } : null;
}

/** False where the line cannot belong to the operation. */
function takeLine(open: Operation, line: string): boolean {
  const move = open.verb === "Update" && open.body.length === 0 ? MOVE.exec(line.trim()) : null;
  if (move) open.moveTo = move[1]!.trim();
  else if (line.startsWith("*** ") && line.trim() !== "*** End of File") return false;
  else if (open.verb === "Delete") return line.trim() === "";
  else open.body.push(line);
  return true;
}

function commandOf(
  operation: Operation,
  warnings: string[],
  firstLine: number,
): PatchCommand | { message: string; line: number } {
  const { verb, path, body } = operation;
  const base = { type: "file_edit", target: path, metadata: { format: "v4a" } };
  const line = firstLine + operation.at;
  if (verb === "Delete") return { ...base, action: "delete", content: "" };
  if (verb === "Add") {
    const content = addedContent(body);
    return typeof content === "string"
      ? { ...base, action: "create", content }
      : { message: content.message, line: line + content.at };
  }
  const { moveTo } = operation;
  const hunks = readHunks(body, path, warnings);
  if (hunks.length === 0 && moveTo === undefined)
    return { message: `the update of ${path} changes nothing`, line };
  const move = moveTo === undefined ? {} : { moveTo };
  return { ...base, action: "update", content: body.join("\n"), edit: { kind: "v4a", path, ...move, hunks } };
}

/** Every line begins with `+`; an empty line between such lines is taken for one. */
function addedContent(body: readonly string[]): string | { message: string; at: number } {
  const last = body.findLastIndex((line) => line.trim() !== "");
  let content = "";
  for (let i = 0; i <= last; i++) {
    const line = body[i]!;
    if (!line.startsWith("+") && line.trim() !== "")
      return { message: `a line of a new file must begin with '+': ${line}`, at: i + 1 };
    content += `${line.slice(1)}\n`;
  }
  return content;
}

function readHunks(body: readonly string[], path: string, warnings: string[]): readonly Hunk[] {
  const hunks = new V4aHunks();
  for (const line of body) hunks.take(line);
  if (hunks.unmarked > 0)
    warnings.push(`${path}: ${hunks.unmarked} lines without '+', '-' or space were taken for context`);
  return hunks.finish();
}

function invalidHeader(line: string, at: number): V4aParse {
  return failed(
    "invalid-v4a",
    `'${line.trim()}' is not a valid header; valid are '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'`,
    at,
  );
}

function failed(code: ParseFailure["code"], message: string, line: number, index?: number): V4aParse {
  return {
    ok: false,
    failure: { code, message: `${message} (line ${line})`, line, ...(index === undefined ? {} : { index }) },
  };
}
