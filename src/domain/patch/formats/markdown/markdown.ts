import type { PatchCommand } from "../../command.ts";
import type { ParseResult, PatchFormat } from "../../parse-error.ts";
import { jsonFailure, jsonMeaning, readCommands } from "../json.ts";
import { createLineCounter } from "../../line-offsets.ts";
import type { BlockContext, BlockRead, FencedBlock } from "./block.ts";
import { embeddedCommands, readBlock } from "./block.ts";
import { shiftFailure, shiftWarning } from "./embedded.ts";
import type { Piece } from "./walk-reply.ts";
import { walkReply } from "./walk-reply.ts";

const MOST_COMMANDS = 1_000_000;
const MOST_WARNINGS = 100;

/**
 * Parses a reply: prose with code blocks, raw patches and JSON in it, in their order. The first mistake fails the
 * whole, so that no reply is carried out in part. `unwrap` parses a patch found inside (a proposal's `patch`, or
 * the inside of a lone Markdown block); without it such things are not looked into.
 */
export function parseReply(text: string, unwrap: ((patch: string) => ParseResult) | undefined): ParseResult {
  const commands: PatchCommand[] = [];
  const warnings = createWarnings();
  const formats = new Set<PatchFormat>();
  const lineOf = createLineCounter(text);
  let blocks = 0;
  let wrapper: string | undefined;
  let lastPath: string | undefined;
  let broken: Extract<Piece, { kind: "broken-json" }> | undefined;

  const take = (format: PatchFormat, taken: readonly PatchCommand[]): void => {
    formats.add(format);
    for (const command of taken) commands.push(command);
    const edit = taken.at(-1)?.edit;
    if (edit?.kind === "search-replace") lastPath = edit.path;
  };

  for (const piece of walkReply(text)) {
    if (commands.length > MOST_COMMANDS)
      return {
        ok: false,
        failure: { code: "too-large", message: `patch has more than ${MOST_COMMANDS} commands` },
      };
    if (piece.kind === "comment") {
      if (!piece.closed)
        warnings.add(
          `line ${lineOf(piece.start)}: comment is not closed, what follows it is not carried out`,
        );
      continue;
    }
    if (piece.kind === "broken-json") {
      if (piece.flush) return { ok: false, failure: jsonFailure(text, piece.at, piece.reason) };
      broken ??= piece;
      warnings.add(`line ${lineOf(piece.start)}: JSON that is not valid, skipped: ${piece.reason}`);
      continue;
    }
    const opens = lineOf(piece.kind === "block" ? piece.opens : piece.start);
    const line = lineOf(piece.start);
    const place = { firstIndex: commands.length, lastPath };
    const read = piece.kind === "block" ? readBlock(piece, place) : readLoose(piece, place);
    if (piece.kind === "block") {
      blocks++;
      noteBlock(piece, opens, warnings.add);
    }
    switch (read.kind) {
      case "commands":
        take(read.format, read.commands);
        for (const warning of read.warnings) warnings.add(shiftWarning(warning, line - 1));
        break;
      case "proposal": {
        const inside = unwrap?.(read.patch);
        if (inside === undefined) break;
        if (!inside.ok) return inside;
        take(inside.format, inside.commands);
        for (const warning of inside.warnings) warnings.add(warning);
        break;
      }
      case "skipped":
        warnings.add(`line ${opens}: ${read.why}, skipped`);
        if (read.known) formats.add("markdown");
        if (read.markdown && piece.kind === "block") wrapper = piece.body;
        break;
      case "failed":
        if (read.at !== undefined)
          return { ok: false, failure: jsonFailure(text, piece.start + read.at, read.failure.message) };
        return { ok: false, failure: shiftFailure(read.failure, line - 1) };
      default:
        return read satisfies never;
    }
  }
  if (formats.size > 0) return { ok: true, commands, warnings: warnings.all(), format: patchFormat(formats) };
  if (blocks === 1 && wrapper !== undefined && unwrap !== undefined) return unwrap(wrapper);
  if (broken !== undefined) return { ok: false, failure: jsonFailure(text, broken.at, broken.reason) };
  const message = blocks > 0 ? "no valid code blocks found in Markdown patch" : "unknown patch format";
  return { ok: false, failure: { code: "not-a-patch", message } };
}

/** A patch that stands in the reply without a fence. */
function readLoose(piece: Extract<Piece, { kind: "raw" | "json" }>, place: BlockContext): BlockRead {
  if (piece.kind === "raw")
    return embeddedCommands(piece.format, piece.text, { ...place, lead: { prose: piece.above } });
  const meaning = jsonMeaning(piece.value);
  if (meaning.kind === "proposal") return meaning;
  const read = readCommands(meaning.kind === "commands" ? meaning.items : [], place.firstIndex);
  return read.ok ? { kind: "commands", format: "json", ...read } : { kind: "failed", failure: read.failure };
}

function noteBlock(block: FencedBlock, line: number, warn: (warning: string) => void): void {
  if (!block.closed) warn(`line ${line}: code block is not closed, it runs to the end of the text`);
  if (block.nested)
    warn(`line ${line}: fences inside the Markdown file are as long as the one around it, read as nested`);
}

function patchFormat(formats: ReadonlySet<PatchFormat>): PatchFormat {
  const [only, ...others] = [...formats].filter((format) => format !== "empty");
  return others.length > 0 ? "mixed" : (only ?? "empty");
}

function createWarnings() {
  const kept: string[] = [];
  let more = 0;
  return {
    add: (warning: string): void => {
      if (kept.length < MOST_WARNINGS) kept.push(warning);
      else more++;
    },
    all: (): readonly string[] => (more > 0 ? [...kept, `… and ${more} more warnings`] : kept),
  };
}
