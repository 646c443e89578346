import type { PatchCommand } from "../../command.ts";
import type { ParseFailure, PatchFormat } from "../../parse-error.ts";
import { jsonMeaning, parseJsonText, readCommands } from "../json.ts";
import type { EmbeddedContext } from "./embedded.ts";
import { readEmbedded } from "./embedded.ts";
import { gitBlock } from "./command-blocks.ts";
import type { BlockInfo } from "./info.ts";
import { extensionOf, readInfo } from "./info.ts";
import type { EmbeddedFormat } from "./marks.ts";
import { consoleBlock, shellBlock } from "./shell-block.ts";
import type { Piece } from "./walk-reply.ts";

export type FencedBlock = Extract<Piece, { kind: "block" }>;

/** What one fenced block comes to. */
export type BlockRead =
  | {
      readonly kind: "commands";
      readonly format: PatchFormat;
      readonly commands: readonly PatchCommand[];
      readonly warnings: readonly string[];
    }
  /** A coder's whole answer as JSON: its patch is to be parsed in turn. */
  | { readonly kind: "proposal"; readonly patch: string }
  /** `known`: a block of ours with nothing in it, as opposed to one that means nothing to us. */
  | { readonly kind: "skipped"; readonly why: string; readonly known: boolean; readonly markdown: boolean }
  /** `line` of the failure is relative to the body. */
  | { readonly kind: "failed"; readonly failure: ParseFailure; readonly at?: number };

/** Files that show patches rather than being patched by one. */
const SHOWS_PATCHES = new Set(["", "md", "mdx", "markdown", "txt", "patch", "diff", "rst"]);

/** What stands before a block in its reply. */
export type BlockContext = Pick<EmbeddedContext, "firstIndex" | "lastPath">;

export function readBlock(block: FencedBlock, place: BlockContext): BlockRead {
  const { firstIndex } = place;
  const info = readInfo(block.info);
  const embedded = readEmbeddedBlock(block, info, place);
  if (embedded !== undefined) return embedded;
  switch (info.kind) {
    case "file":
      return readAsCommands("markdown", [fileEdit(info, block.body)]);
    case "shell":
      return oneOrNone(shellBlock(block.body, info.shell), "empty shell block");
    case "console":
      return oneOrNone(consoleBlock(block.body), "console block without a `$ ` line");
    case "git": {
      const commands = gitBlock(block.body);
      return commands.length > 0 ? readAsCommands("markdown", commands) : skipBlock("empty git block");
    }
    case "diff":
      return block.body.trim() === ""
        ? skipBlock("empty diff block")
        : embeddedCommands("diff", block.body, place);
    case "json":
      return readJsonBlock(block.body, "json", firstIndex);
    case "unknown":
      return info.tag === "" ? readJsonBlock(block.body, "", firstIndex) : skipUnknownBlock(info.tag);
    default:
      return info satisfies never;
  }
}

/** A patch of another format inside the fence, whatever the fence says it is. */
function readEmbeddedBlock(block: FencedBlock, info: BlockInfo, place: BlockContext): BlockRead | undefined {
  const { embedded, body } = block;
  if (info.kind === "file") {
    const isDiff = /^(diff|patch)$/i.test(info.language);
    if (SHOWS_PATCHES.has(extensionOf(info.path).toLowerCase())) return undefined;
    if (isDiff && embedded === undefined && /^@@ /m.test(body))
      return embeddedCommands("diff", body, { ...place, lead: { path: info.path } });
    if (embedded === "diff" && !isDiff) return undefined;
    if (embedded === "search-replace")
      return embeddedCommands(embedded, body, { ...place, lead: { path: info.path } });
    return embedded && embeddedCommands(embedded, body, place);
  }
  if (embedded === undefined) return undefined;
  if (embedded === "diff" && info.kind !== "diff" && info.kind !== "unknown") return undefined;
  return embeddedCommands(embedded, body, { ...place, lead: { prose: block.above } });
}

export function embeddedCommands(format: EmbeddedFormat, text: string, place: EmbeddedContext): BlockRead {
  const read = readEmbedded(format, text, place);
  return read.ok ? { kind: "commands", format, ...read } : { kind: "failed", failure: read.failure };
}

function fileEdit(info: { readonly path: string; readonly language: string }, content: string): PatchCommand {
  return {
    type: "file_edit",
    action: "update",
    target: info.path,
    content,
    metadata: { language: info.language },
  };
}

/** Commands, or a whole proposal, as JSON. Other JSON is an example or a sample of data. */
function readJsonBlock(body: string, tag: string, firstIndex: number): BlockRead {
  const text = body.trim();
  if (text === "" || (text.charAt(0) !== "[" && text.charAt(0) !== "{")) return skipUnknownBlock(tag);
  const json = parseJsonText(text);
  if (!json.ok) {
    const meant = text.includes('"type"') && text.includes('"action"');
    if (!meant) return skipUnknownBlock(tag);
    return {
      kind: "failed",
      failure: { code: "invalid-json", message: json.reason },
      at: json.at + body.length - body.trimStart().length,
    };
  }
  const meaning = jsonMeaning(json.value);
  if (meaning.kind === "other") return skipUnknownBlock(tag);
  if (meaning.kind === "proposal") return meaning;
  const read = readCommands(meaning.items, firstIndex);
  return read.ok ? { kind: "commands", format: "json", ...read } : { kind: "failed", failure: read.failure };
}

function readAsCommands(format: PatchFormat, commands: readonly PatchCommand[]): BlockRead {
  return { kind: "commands", format, commands, warnings: [] };
}

function oneOrNone(command: PatchCommand | undefined, why: string): BlockRead {
  return command === undefined ? skipBlock(why) : readAsCommands("markdown", [command]);
}

function skipBlock(why: string): BlockRead {
  return { kind: "skipped", why, known: true, markdown: false };
}

function skipUnknownBlock(tag: string): BlockRead {
  return {
    kind: "skipped",
    why: tag === "" ? "code block without a language or path" : `unknown code block: ${tag}`,
    known: false,
    markdown: /^(md|mdx|markdown)$/i.test(tag),
  };
}
