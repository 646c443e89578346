/**
 * What a coder's answer means beyond a user's patch: blocks that name their file beside the fence, and a list of the parts
 * that hold no command although they look like a part of the patch. In: the pieces of the answer, in their order. Out: the
 * file that a block is, and the parts that were skipped. Invariant: each fence, path line and patch marker outside of a
 * command is in that list.
 */
import { createLineCounter, lineAfter, lineAt } from "../../../platform/bytes-text.ts";
import type { PatchCommand, SkippedPart } from "../../patch-command.ts";
import { isNamed } from "../search-replace.ts";
import { type BlockInfo, type Piece, quotePart, walkReply } from "./walk-reply.ts";

type FencedBlock = Extract<Piece, { kind: "block" }>;

interface NamedBlock {
  readonly block: FencedBlock;
  /** As its fence says. */
  readonly info: BlockInfo;
  /** The last line of prose above the fence; empty if a command precedes it. */
  readonly above: string;
  /** The files that the request is about. */
  readonly asked: readonly string[];
  /** Of the blocks that could be one of them, it is the only one. */
  readonly isOnly: (path: string) => boolean;
}

/** Null: the next step decides. */
type NamingStep = (given: NamedBlock) => BlockInfo | null;

/** Which file a block of an answer is: the first step that finds one decides, else the fence does. */
const NAMING_STEPS: readonly NamingStep[] = [nameInFence, keepEmbedded, nameAbove, nameInside, nameAsked];

function nameInFence({ info }: NamedBlock): BlockInfo | null {
  return info.kind === "file" ? info : null;
}

/** SEARCH/REPLACE, V4A or a diff in a fence: the path above belongs to the edit. */
function keepEmbedded({ block, info }: NamedBlock): BlockInfo | null {
  return block.embedded === undefined ? null : info;
}

const SHELL_FILE = /\.(?:sh|bash|zsh|ksh|bats)$/i;
const JSON_FILE = /\.(?:json\w*|webmanifest|geojson|ipynb|map)$|rc$/i;

/** A path on the line above, over the whole content. */
function nameAbove({ block, info, above }: NamedBlock): BlockInfo | null {
  // A script names its interpreter in its first line; commands do not.
  const isScript = block.body.startsWith("#!");
  const path = readPathLine(above, isScript);
  if (path === null) return null;
  const named = (language: string) => ({ kind: "file", path, language, named: "above" }) as const;
  switch (info.kind) {
    case "unknown":
      // `12:15:src/a.ts` quotes lines of a file.
      return /^[0-9]+:/.test(info.tag) ? null : named(info.tag);
    case "shell":
      return SHELL_FILE.test(path) || isScript ? named(info.shell ?? "bash") : null;
    case "json":
      return JSON_FILE.test(path) ? named("json") : null;
    case "diff":
      return /^@@ /m.test(block.body) ? named("diff") : null;
    default:
      return null;
  }
}

/** A comment in the first line that is nothing but a path; it stays a line of the file. */
function nameInside({ block, info }: NamedBlock): BlockInfo | null {
  if (info.kind !== "unknown" || /^[0-9]+:/.test(info.tag)) return null;
  const comment = /^(?:#|\/\/|--|;|<!--|\/\*)[ \t]+(.*?)[ \t]*(?:-->|\*\/)?[ \t]*$/.exec(
    lineAt(block.body, 0).trimEnd(),
  )?.[1];
  const path = comment === undefined ? null : readPathLine(comment);
  return path === null ? null : { kind: "file", path, language: info.tag, named: "inside" };
}

/** The file that the request is about, if the block is in its language and no other file is named above it. */
function nameAsked({ block, info, above, asked, isOnly }: NamedBlock): BlockInfo | null {
  if (info.kind !== "unknown" || block.embedded !== undefined) return null;
  // Several files in one block, or a path in place of the first line.
  if (block.body.split("\n").some((line) => /^[\w./-]+\.\w+$/.test(line) && isPathLine(line))) return null;
  const said = [...above.matchAll(/[\w@./-]*\w\.[A-Za-z]\w{0,9}\b/g)].map(([path]) => cleanStart(path));
  const paths = asked.filter((path) => isInLanguage(info.tag, path));
  const meant = paths.filter((path) => said.some((one) => path === one || path.endsWith(`/${one}`)));
  const path = meant[0] ?? asked[0];
  const isClear = meant.length === 1 || (asked.length === 1 && said.length === 0);
  if (path === undefined || !isClear || !isInLanguage(info.tag, path) || !isOnly(path)) return null;
  return { kind: "file", path, language: info.tag, named: "asked" };
}

const ENDINGS: Readonly<Record<string, RegExp>> = {
  python: /^py[wi]?$/,
  python3: /^py$/,
  javascript: /^[cm]?jsx?$/,
  js: /^[cm]?jsx?$/,
  typescript: /^[cm]?tsx?$/,
  ts: /^[cm]?tsx?$/,
  ...{ ruby: /^rb$/, rust: /^rs$/, kotlin: /^kts?$/, csharp: /^cs$/, golang: /^go$/, markdown: /^mdx?$/ },
  ...{ yaml: /^ya?ml$/, "c++": /^(?:cpp|cc|cxx|h|hpp)$/, cpp: /^(?:cpp|cc|cxx|h|hpp)$/, c: /^[ch]$/ },
};

/** A block without a language may be in any; whether it is the whole file is decided by its text. */
function isInLanguage(tag: string, path: string): boolean {
  const ending = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  const language = tag.toLowerCase();
  return language === "" || language === ending || ENDINGS[language]?.test(ending) === true;
}

const LONGEST_PATH_LINE = 300;
const LABEL = /^(?:file(?:\s?name|\s?path)?|path|ファイル(?:名)?|パス)\s*[:：]\s*/i;
/** Marks around or before a path, each taken off once a round. */
const DECORATIONS: readonly RegExp[] = [
  /^(?:[-*+]|\d{1,3}[.)])[ \t]+(.*)$/,
  /^#{1,6}[ \t]+(.*?)[ \t#]*$/,
  /^\*\*(.*)\*\*$/,
  /^__(.*)__$/,
  /^`+([^`]*)`+$/,
  /^["'](.*)["']$/,
  /^([`*]+[^`*]+[`*]+)\s+\([^()]*\)$/,
  /^<!--\s*(.*?)\s*-->$/,
  /^\/\/\s*(.*)$/,
  /^(.*?)\s*[:：]$/,
];

/** The path of a line that is nothing but a path: bare, bold, in backquotes, as a heading, with a colon or "File:"; else null. */
function readPathLine(line: string, isMarked = false): string | null {
  let path = line.trim();
  if (path === "" || path.length > LONGEST_PATH_LINE) return null;
  let marked = isMarked;
  let quoted = false;
  for (let round = 0; round < 8; round++) {
    const plain = path.replace(LABEL, "");
    const next = DECORATIONS.reduce((text, one) => text.replace(one, "$1"), plain).trim();
    if (next === path) break;
    marked ||= /[`*]/.test(path) || plain !== path;
    quoted ||= /^["'`]/.test(path) || plain !== path;
    path = next;
  }
  // "Create src/a.ts" is a sentence: a path with spaces is quoted, or has a label.
  if (/[:：]/.test(path) || (/\s/.test(path) && !quoted)) return null;
  // A version such as 1.2 is no file, and neither is an address.
  if (/^[\w.-]*\d\.\d+$/.test(path) || path.includes("://") || /[=(){}<>|*?"`;,]/.test(path)) return null;
  // Two words with a slash between them are no file, unless they are marked as one.
  if (!marked && /^[^.]*\/[^.]*$/.test(path)) return null;
  return isNamed(path, marked) && !path.endsWith("/") ? path : null;
}

export function isPathLine(line: string): boolean {
  return readPathLine(line) !== null;
}

const FENCE = /^[ \t]*(?:> ?)*[ \t]*(?:[-*+] +)?(`{3,}|~{3,})[^`]*$/;
const MARKER =
  /^[ \t]*(?:[<>+-]{5,9} ?(?:SEARCH|REPLACE)\b|<{5,9}(?: |$)|>{5,9}(?: |$)|\*\*\* (?:Begin Patch|(?:Add|Update|Delete) File:)|diff --git |@@ -\d|--- a\/|\+\+\+ b\/|<file path=)/;

interface FoundPart {
  readonly at: number;
  /** Lines below that offset. */
  readonly below: number;
  readonly text: string;
  readonly why: string;
  /** It matters only if no command touches this file. */
  readonly path?: string;
}

/** The parts of one answer, collected while it is read. */
export class AnswerParts {
  private readonly found: FoundPart[] = [];
  /** Where the line is that is a path, directly above the current piece. */
  private lead: number | undefined;
  /** Where the text that was looked through ends. */
  private seenTo = 0;
  private above: Piece | undefined;
  private current: Piece | undefined;

  constructor(
    private readonly text: string,
    private readonly asked: readonly string[],
  ) {}

  /** Call it for each piece in order: it looks through the prose above. */
  enter(piece: Piece): void {
    const start = piece.kind === "block" ? piece.opens : piece.start;
    this.above = this.current;
    this.current = piece;
    this.readProse(this.seenTo, start);
    if (piece.kind === "comment") this.readProse(start, piece.end);
    this.seenTo = Math.max(this.seenTo, piece.end);
  }

  infoOf(block: FencedBlock, info: BlockInfo): BlockInfo {
    const { asked } = this;
    const above = this.lineAbove(block.opens);
    const isOnly = (path: string) => this.countIn(path) === 1;
    for (const step of NAMING_STEPS) {
      const named = step({ block, info, above, asked, isOnly });
      if (named === null) continue;
      if (named.kind === "file" && named.named === "above") this.takeLead();
      return named;
    }
    // A path may also say which program the commands below it are about.
    if (["shell", "console", "git"].includes(info.kind)) this.takeLead();
    return info;
  }

  /** How many blocks of the answer have no more than the file's language. */
  private countIn(path: string): number {
    const isBare = (piece: Piece) => piece.kind === "block" && isInLanguage(piece.info.trim(), path);
    return [...walkReply(this.text)].filter(isBare).length;
  }

  private takeLead(): void {
    const { lead } = this;
    // It was added last.
    if (lead !== undefined && this.found.at(-1)?.at === lead) this.found.pop();
  }

  /** A piece that holds no command. */
  skip(piece: Piece, why: string): void {
    const at = piece.kind === "block" ? piece.opens : piece.start;
    this.add(at, why, piece.kind === "block" ? piece.body : "");
  }

  /** The lines of a piece that its format did not read. `line`: from 1, within the piece. */
  leave(piece: Piece, lines: readonly { readonly line: number; readonly text: string }[]): void {
    const at = piece.start;
    for (const { line, text } of lines)
      if (MARKER.test(text) || FENCE.test(text))
        this.found.push({
          at,
          below: line - 1,
          text: quotePart(text),
          why: "not read as a part of the patch",
        });
  }

  all(commands: readonly PatchCommand[]): readonly SkippedPart[] {
    this.readProse(this.seenTo, this.text.length);
    this.seenTo = this.text.length;
    const touched = new Set(commands.flatMap(namedPaths).map(cleanStart));
    for (const { type, target } of commands)
      if (type !== "file_edit")
        for (const word of target.split(SCRIPT_WORDS)) if (word !== "") touched.add(cleanStart(word));
    const isTouched = (path: string) => touched.has(cleanStart(path));
    const lineOf = createLineCounter(this.text);
    return this.found
      .filter(({ path }) => path === undefined || !isTouched(path))
      .sort((one, other) => one.at - other.at || one.below - other.below)
      .map(({ at, below, text, why }) => ({ line: lineOf(at) + below, text, why }));
  }

  private add(at: number, why: string, body: string, path?: string): void {
    const text = quotePart(lineAt(this.text, at), body);
    this.found.push({ at, below: 0, text, why, ...(path !== undefined && { path }) });
  }

  /** The last line of prose above a fence. A diff without a fence has no end of its own, but no hunk has such a line. */
  private lineAbove(opens: number): string {
    const { text, above } = this;
    for (let end = text.lastIndexOf("\n", opens - 1); end > 0; ) {
      const start = text.lastIndexOf("\n", end - 1) + 1;
      const line = text.slice(start, end);
      if (line.trim() !== "") {
        const isOfDiff = above?.kind === "raw" && above.format.name === "diff" && /^[^ +\-@\\]/.test(line);
        return above === undefined || start >= above.end || isOfDiff ? line : "";
      }
      end = start - 1;
    }
    return "";
  }

  private readProse(from: number, to: number): void {
    const paths: { readonly at: number; readonly path: string; readonly after: number }[] = [];
    let filled = 0;
    for (let at = from, next = at; at < to; at = next) {
      next = lineAfter(this.text, at);
      const line = this.text.slice(at, Math.min(next, to));
      if (line.trim() === "") continue;
      filled++;
      const fence = FENCE.exec(line.trimEnd())?.[1];
      if (fence !== undefined) {
        const body = lineAt(this.text, next);
        this.add(at, "a fence that is not read as one", body);
        // The fence that closes it is no part of its own.
        while (next < to && !lineAt(this.text, next).trim().startsWith(fence))
          next = lineAfter(this.text, next);
        next = lineAfter(this.text, next);
      } else if (MARKER.test(line)) this.add(at, "not read as a part of the patch", "");
      else {
        const path = readPathLine(line);
        if (path !== null) paths.push({ at, path, after: filled });
      }
    }
    this.lead = paths.at(-1)?.after === filled ? paths.at(-1)?.at : undefined;
    for (const { at, path } of paths) this.add(at, "a path without a block below it", "", path);
  }
}

/** Between the words of a script that may be paths. */
const SCRIPT_WORDS = /[\s"'`;|&<>()=,:]+/;

function namedPaths({ type, target, content, action, edit }: PatchCommand): readonly string[] {
  if (type !== "file_edit") return [];
  if (edit?.kind === "diff")
    return edit.files.flatMap(({ oldPath, newPath }) => [oldPath ?? "", newPath ?? ""]);
  if (edit !== undefined) return [edit.path, edit.kind === "v4a" ? (edit.moveTo ?? "") : ""];
  return action === "rename" || action === "copy" ? [target, content] : [target];
}

function cleanStart(path: string): string {
  return path.replace(/^(?:\.\/)+/, "");
}
