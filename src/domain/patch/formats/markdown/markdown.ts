import { createLineCounter, lineAt } from "../../../platform/bytes-text.ts";
import { parseJsonText } from "../../../platform/json-text.ts";
import {
  jsonFailure,
  jsonMeaning,
  type ParseFailure,
  type ParseResult,
  type PatchCommand,
  type PatchFormat,
  type PatchItem,
  readCommands,
  type SkippedPart,
} from "../../patch-command.ts";
import {
  type EmbeddedContext,
  type EmbeddedFormat,
  shiftFailure,
  shiftWarning,
  type TextLine,
} from "../embedded-format.ts";
import { diffFormat } from "../unified-diff/unified-diff.ts";
import { AnswerParts, isPathLine } from "./answer-parts.ts";
import { consoleBlock, gitBlock, shellBlock } from "./command-blocks.ts";
import { type BlockInfo, type Piece, walkReply } from "./walk-reply.ts";

/** Paths and languages are short; a longer info string is not one. */
const LONGEST_INFO = 5000;

/** A file by `lang:path`, and as models write it `lang title="path"`, `lang path/file.ext`, `path/file.ext`; else a language. */
export function readInfo(info: string): BlockInfo {
  if (info === "" || info.length > LONGEST_INFO) return { kind: "unknown", tag: info.slice(0, 40) };
  const colon = readColon(info);
  if (colon !== undefined) return colon;
  const { first, rest } = splitFirst(info);
  const language = first.split("{", 1)[0]!.replace(/:$/, "");
  const attribute = readAttribute(info);
  if (attribute !== undefined)
    return { kind: "file", path: attribute, language: language.includes("=") ? "" : language };
  const second = secondPath(rest, isShell(language));
  if (second !== undefined) return { kind: "file", path: second, language };
  if (rest === "" && first.includes("/") && looksLikePath(first))
    return { kind: "file", path: first, language: extensionOf(first) };
  return infoByLanguage(language);
}

function infoByLanguage(tag: string): BlockInfo {
  switch (tag.toLowerCase()) {
    case "bash":
    case "shell":
      return { kind: "shell" };
    case "sh":
      return { kind: "shell", shell: "sh" };
    case "zsh":
      return { kind: "shell", shell: "zsh" };
    case "console":
      return { kind: "console" };
    case "git":
      return { kind: "git" };
    case "diff":
    case "patch":
      return { kind: "diff" };
    case "json":
      return { kind: "json" };
    default:
      return { kind: "unknown", tag: tag.slice(0, 40) };
  }
}

function isShell(language: string): boolean {
  const { kind } = infoByLanguage(language);
  return kind === "shell" || kind === "console" || kind === "git";
}

/** `lang:path`. The language has no white space, slash, quote, brace or `=`; the path is the rest of the line. */
function readColon(info: string): BlockInfo | undefined {
  const colon = info.indexOf(":");
  if (colon < 1) return undefined;
  const language = info.slice(0, colon);
  if (/[\s/\\"'={}]/.test(language)) return undefined;
  const path = unquote(info.slice(colon + 1).trim());
  if (path === "") return undefined;
  // `12:15:src/a.ts` quotes lines of a file that exists; it is not that file's new text.
  if (/^[0-9]+$/.test(language) && /^[0-9]+:/.test(path)) return { kind: "unknown", tag: info.slice(0, 40) };
  return { kind: "file", path, language };
}

/** A quoted string at the start gives its inside, other text itself. */
function unquote(text: string): string {
  const quote = text.charAt(0);
  if (quote !== '"' && quote !== "'") return text;
  const end = text.indexOf(quote, 1);
  if (end === -1) return text;
  if (quote === "'") return text.slice(1, end);
  let inside = "";
  for (let at = 1; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '"') return inside;
    const next = text.charAt(at + 1);
    if (char === "\\" && (next === '"' || next === "\\")) {
      inside += next;
      at++;
    } else inside += char;
  }
  return text;
}

function splitFirst(info: string): { first: string; rest: string } {
  const space = info.search(/\s/);
  return space === -1
    ? { first: info, rest: "" }
    : { first: info.slice(0, space), rest: info.slice(space).trim() };
}

const ATTRIBUTES = ["title", "filename", "file", "path"] as const;

function readAttribute(info: string): string | undefined {
  for (const name of ATTRIBUTES) {
    for (let at = info.indexOf(`${name}=`); at !== -1; at = info.indexOf(`${name}=`, at + 1)) {
      if (at > 0 && !/[\s{,]/.test(info.charAt(at - 1))) continue;
      const raw = info.slice(at + name.length + 1);
      const quoted = raw.startsWith('"') || raw.startsWith("'");
      const value = quoted ? unquote(raw) : raw.split(/[\s},]/, 1)[0]!;
      // A title may be a caption ("Install the tools"); the others say that they are a file.
      if (value !== "" && (name !== "title" || looksLikePath(value))) return value;
    }
  }
  return undefined;
}

/** `ts src/a.ts`. After a shell's name a lone word with a dot is more likely an argument than a path. */
function secondPath(rest: string, shell: boolean): string | undefined {
  const quoted = rest.startsWith('"') || rest.startsWith("'");
  const word = quoted ? unquote(rest) : splitFirst(rest).first;
  if (!looksLikePath(word) || (!quoted && /\s/.test(word))) return undefined;
  return shell && !word.includes("/") && !/\.(sh|bash|zsh)$/.test(word) ? undefined : word;
}

/** A last segment with an extension that has a letter, and nothing that paths do not have. */
function looksLikePath(word: string): boolean {
  if (word.startsWith("-") || word.includes("://") || /[=(){}<>|*?"'`;,]/.test(word)) return false;
  return extensionOf(word) !== "";
}

function extensionOf(path: string): string {
  const name = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
  const dot = name.lastIndexOf(".");
  const extension = dot === -1 ? "" : name.slice(dot + 1);
  return /^[A-Za-z0-9_+-]{1,16}$/.test(extension) && /[A-Za-z]/.test(extension) ? extension : "";
}

type FencedBlock = Extract<Piece, { kind: "block" }>;

/** The result of one fenced block. */
type BlockRead =
  | {
      readonly kind: "commands";
      readonly format: PatchFormat;
      readonly commands: readonly PatchCommand[];
      readonly warnings: readonly string[];
      readonly around?: () => readonly TextLine[];
    }
  /** A coder's whole answer as JSON: its patch is to be parsed in turn. */
  | { readonly kind: "proposal"; readonly patch: string }
  /** `known`: a block of ours with nothing in it, as opposed to one that means nothing to us. */
  | { readonly kind: "skipped"; readonly why: string; readonly known: boolean; readonly markdown: boolean }
  /** `line` of the failure is relative to the body. */
  | { readonly kind: "failed"; readonly failure: ParseFailure; readonly at?: number };

/** Files that show patches rather than being patched by one. */
const SHOWS_PATCHES = new Set(["", "md", "mdx", "markdown", "txt", "patch", "diff", "rst"]);

/** The context before a block in its reply. */
type BlockContext = Pick<EmbeddedContext, "firstIndex" | "lastPath">;

function readBlock(block: FencedBlock, place: BlockContext, answer: AnswerParts | null): BlockRead {
  const { firstIndex } = place;
  const fenced = readInfo(block.info);
  const named = answer?.infoOf(block, fenced) ?? fenced;
  const isOpen = named.kind === "file" && answer !== null && !block.closed;
  const info: BlockInfo = isOpen ? { ...named, named: "open" } : named;
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
        : embeddedCommands(diffFormat, block.body, place);
    case "json":
      return readJsonBlock(block.body, "json", firstIndex);
    case "unknown":
      return info.tag === "" ? readJsonBlock(block.body, "", firstIndex) : skipUnknownBlock(info.tag);
    default:
      return info satisfies never;
  }
}

/** A patch of another format inside the fence, regardless of the fence's language. */
function readEmbeddedBlock(block: FencedBlock, info: BlockInfo, place: BlockContext): BlockRead | undefined {
  const { embedded, body } = block;
  if (info.kind === "file") {
    const isDiff = /^(diff|patch)$/i.test(info.language);
    if (SHOWS_PATCHES.has(extensionOf(info.path).toLowerCase())) return undefined;
    if (isDiff && embedded === undefined && /^@@ /m.test(body))
      return embeddedCommands(diffFormat, body, { ...place, lead: { path: info.path } });
    if (embedded === undefined || (!embedded.inAnyFence && !isDiff)) return undefined;
    return embeddedCommands(
      embedded,
      body,
      embedded.readsProse ? { ...place, lead: { path: info.path } } : place,
    );
  }
  if (embedded === undefined) return undefined;
  if (!embedded.inAnyFence && info.kind !== "diff" && info.kind !== "unknown") return undefined;
  return embeddedCommands(embedded, body, { ...place, lead: { prose: block.above } });
}

function embeddedCommands(format: EmbeddedFormat, text: string, place: EmbeddedContext): BlockRead {
  const read = format.read(text, place);
  return read.ok
    ? { kind: "commands", format: format.name, ...read }
    : { kind: "failed", failure: read.failure };
}

function fileEdit(
  { path, language, named }: Extract<BlockInfo, { kind: "file" }>,
  content: string,
): PatchCommand {
  return {
    type: "file_edit",
    action: "update",
    target: path,
    content,
    metadata: { language, ...(named !== undefined && { named }) },
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

const MOST_COMMANDS = 1_000_000;
const MOST_WARNINGS = 100;

/**
 * Parses a reply: prose with code blocks, raw patches and JSON in it, in their order. The first mistake fails the
 * whole, so that no reply is carried out in part. `unwrap` parses a patch found inside (a proposal's `patch`, or
 * the inside of a lone Markdown block); without it such things are not looked into. `asked`: a coder wrote it, so a path
 * above a fence names its file, as may the request, and the parts that are not carried out are listed.
 */
export function parseReply(
  text: string,
  unwrap: ((patch: string) => ParseResult) | undefined,
  asked?: readonly string[],
): ParseResult {
  const answer = asked === undefined ? null : new AnswerParts(text, asked);
  const commands: PatchCommand[] = [];
  const warnings = createWarnings();
  const formats = new Set<PatchFormat>();
  const inner: SkippedPart[] = [];
  const items: PatchItem[] = [];
  let bad: ParseFailure | undefined;
  const lineOf = createLineCounter(text);
  let blocks = 0;
  let wrapper: string | undefined;
  let lastPath: string | undefined;
  let broken: Extract<Piece, { kind: "broken-json" }> | undefined;

  const take = (format: PatchFormat, taken: readonly PatchCommand[]): void => {
    formats.add(format);
    for (const command of taken) commands.push(command);
    if (answer !== null) for (const command of taken) items.push(command);
    const edit = taken.at(-1)?.edit;
    if (edit?.kind === "search-replace") lastPath = edit.path;
  };

  const markdown = new CutMarkdown(text);

  for (const piece of walkReply(text)) {
    answer?.enter(piece);
    if (answer !== null) markdown.enter(piece, commands);
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
      answer?.skip(piece, `JSON that is not valid: ${piece.reason}`);
      warnings.add(`line ${lineOf(piece.start)}: JSON that is not valid, skipped: ${piece.reason}`);
      continue;
    }
    const opens = lineOf(piece.kind === "block" ? piece.opens : piece.start);
    const line = lineOf(piece.start);
    const place = { firstIndex: commands.length, lastPath };
    const read = piece.kind === "block" ? readBlock(piece, place, answer) : readLoose(piece, place);
    if (piece.kind === "block") {
      blocks++;
      noteBlock(piece, opens, warnings.add);
    }
    switch (read.kind) {
      case "commands":
        take(read.format, read.commands);
        for (const warning of read.warnings) warnings.add(shiftWarning(warning, line - 1));
        if (answer !== null) answer.leave(piece, read.around?.() ?? []);
        break;
      case "proposal": {
        const inside = unwrap?.(read.patch);
        if (inside === undefined) {
          answer?.skip(piece, "a proposal within a proposal");
          break;
        }
        if (!inside.ok) return inside;
        take(inside.format, inside.commands);
        for (const warning of inside.warnings) warnings.add(warning);
        inner.push(...(inside.skipped ?? []));
        break;
      }
      case "skipped":
        warnings.add(`line ${opens}: ${read.why}, skipped`);
        answer?.skip(piece, read.why);
        if (read.known) formats.add("markdown");
        if (read.markdown && piece.kind === "block") wrapper = piece.body;
        break;
      case "failed": {
        const { items: parts, ...failure } =
          read.at === undefined
            ? shiftFailure(read.failure, line - 1)
            : jsonFailure(text, piece.start + read.at, read.failure.message);
        if (answer === null) return { ok: false, failure };
        bad ??= failure;
        items.push(...(parts ?? [{ unread: failure.message, line: opens }]));
        const last = parts?.at(-1);
        lastPath = (last !== undefined && "unread" in last ? last.path : last?.target) ?? lastPath;
        break;
      }
      default:
        return read satisfies never;
    }
  }
  if (bad !== undefined) return { ok: false, failure: { ...bad, items } };
  if (formats.size > 0) {
    const parsed = { ok: true, commands, warnings: warnings.all(), format: patchFormat(formats) } as const;
    return answer === null ? parsed : { ...parsed, skipped: [...inner, ...answer.all(commands)] };
  }
  if (blocks === 1 && wrapper !== undefined && unwrap !== undefined) return unwrap(wrapper);
  if (broken !== undefined) return { ok: false, failure: jsonFailure(text, broken.at, broken.reason) };
  const message = blocks > 0 ? "no valid code blocks found in Markdown patch" : "unknown patch format";
  return { ok: false, failure: { code: "not-a-patch", message } };
}

/**
 * A Markdown file whose fence is as long as the fences without a language in it ends at the first of them: text directly
 * below its end, and then a block without a language, show it. Such a file is marked, so that half of it is never written.
 */
class CutMarkdown {
  private above: Piece | undefined;

  constructor(private readonly text: string) {}

  /** Call it for each piece, before its own commands are added. */
  enter(piece: Piece, commands: PatchCommand[]): void {
    const { above, text } = this;
    this.above = piece;
    const last = commands.at(-1);
    const isBare = piece.kind === "block" && piece.info === "" && piece.embedded === undefined;
    if (!isBare || above?.kind !== "block" || last?.metadata?.language === undefined) return;
    if (last.content !== above.body || !/\.(?:md|mdx|markdown)$/i.test(last.target)) return;
    const below = lineAt(text, above.end);
    if (below.trim() === "" || isPathLine(below)) return;
    commands[commands.length - 1] = { ...last, metadata: { ...last.metadata, ends: "early" } };
  }
}

/** A patch in the reply without a fence. */
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
