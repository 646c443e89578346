import { z } from "zod";
import type { Workspace } from "../../../application/ports/jobs-workspace.ts";
import { ViewFault } from "../../../application/ports/platform-view.ts";
import { isAscii } from "../../../domain/platform/bytes-text.ts";
import { compileGlob } from "../../../domain/platform/glob.ts";
import type { IgnoreMatcher } from "../../../domain/platform/ignore-rules.ts";
import { compileLinePattern, PatternRefused } from "../../../domain/platform/line-pattern.ts";
import { createSecureTool } from "../../create-secure-tool.ts";
import { type ResolvedPath, resolvePathArgument } from "../../resolved-path.ts";
import type { RunProgram } from "../../tool-context.ts";
import { ToolError } from "../../tool-result.ts";
import { readIgnoredPaths } from "../project-files.ts";
import { detectEncoding, maskShownText } from "../read-lines.ts";

/** A pattern with which ripgrep finds at least every line that JavaScript finds, and maybe more; null if that is not certain. */
export function toRipgrepPattern(pattern: string, ignoreCase: boolean): string | null {
  let out = "";
  let at = 0;
  while (at < pattern.length) {
    const rest = pattern.slice(at);
    const token = TOKEN.exec(rest)?.[0] ?? "";
    const translated = translate(token, ignoreCase);
    if (translated === null) return null;
    out += translated;
    at += token.length;
  }
  return out;
}

/** One class, escape, group opening, quantifier or character. */
const TOKEN =
  /^(?:\[(?:\\(?:u\{[0-9a-fA-F]+\}|.)|[^\]\\])*\]|\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[\s\S])|\((?:\?(?:<[A-Za-z_$][\w$]*>|.))?|\{\d+(?:,\d*)?\}|[\s\S])/u;

/** Invalid UTF-8: JavaScript shows one replacement character for up to three bytes. */
const INVALID = "(?-u:[\\x80-\\xff]){1,3}";
const ANY = `(?:.|${INVALID})`;
/** White space of JavaScript that ripgrep does not count, added. */
const SPACE = "[\\s\\x{FEFF}]";

function translate(token: string, ignoreCase: boolean): string | null {
  switch (token) {
    case ".":
    case "\\S":
    case "\\W":
    case "\\D":
      return ANY;
    case "\\s":
      return SPACE;
    case "\\d":
      return "[0-9]";
    case "\\w":
      return "[0-9A-Za-z_]";
    case "\\b":
      return ignoreCase ? null : "(?-u:\\b)";
    // A mark at the start of a file, a carriage return at the end of a line: JavaScript does not see them.
    case "^":
      return "^\\x{FEFF}?";
    case "$":
      return "\\r?$";
    case "|":
    case "*":
    case "+":
    case "?":
    case "(":
    case ")":
    case "(?:":
      return token;
  }
  if (token.startsWith("(?<") && token.endsWith(">")) return "(";
  if (token.startsWith("(?")) return null;
  if (token.startsWith("{")) return token.length > 1 ? token : null;
  if (token.startsWith("[")) return translateClass(token.slice(1, -1));
  const code = codeOf(token);
  return code === null || code === 0xfffd ? null : letter(code);
}

const MEMBER = /\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[\s\S])|[\s\S]/gu;

function translateClass(body: string): string | null {
  const negated = body.startsWith("^");
  const members = (negated ? body.slice(1) : body).match(MEMBER) ?? [];
  if (members.length === 0) return null;
  let out = "";
  for (const [at, member] of members.entries()) {
    const inRange = member === "-" && at > 0 && at < members.length - 1;
    if (member === "\\d") out += "0-9";
    else if (member === "\\w") out += "0-9A-Za-z_";
    else if (member === "\\s" && !negated) out += "\\s\\x{FEFF}";
    else if (inRange) out += "-";
    else {
      const code = codeOf(member);
      if (code === null || code === 0xfffd) return null;
      out += letter(code);
    }
  }
  return negated || /[^\x20-\x7e]/.test(body) ? `(?:[${negated ? "^" : ""}${out}]|${INVALID})` : `[${out}]`;
}

const CONTROL: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, "0": 0 };

/** The character that a token means; null where it means something else. */
function codeOf(token: string): number | null {
  if (!token.startsWith("\\")) return token.codePointAt(0) ?? null;
  const hex = /^\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))$/.exec(token);
  if (hex !== null) {
    const code = Number.parseInt(hex[1] ?? hex[2] ?? hex[3] ?? "", 16);
    return code >= 0xd800 && code <= 0xdfff ? null : code;
  }
  const name = token.slice(1);
  if (Object.hasOwn(CONTROL, name)) return CONTROL[name] ?? null;
  return /^[\^$\\.*+?()[\]{}|/-]$/.test(name) ? (name.codePointAt(0) ?? null) : null;
}

function letter(code: number): string {
  return `\\x{${code.toString(16)}}`;
}

export interface SearchMatch {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

const LARGEST_BYTES = 16 * 1024 ** 2;
const LONGEST_LINE = 500;
/** A line longer than this is matched only so far. */
const MATCHED_CHARS = 20_000;
const LOOK_BYTES = 8192;

interface FileSearch {
  readonly workspace: Workspace;
  readonly matches: (line: string) => boolean;
  /** Whether other encodings than UTF-8 and UTF-16 are recognised. */
  readonly anyEncoding: boolean;
  /** Asked at every line. */
  readonly expired: () => boolean;
}

/** The matching lines of one file; none for a binary, a link, a folder, or a file that is too large. */
function* searchFile(
  { workspace, matches, anyEncoding, expired }: FileSearch,
  path: string,
): Generator<SearchMatch> {
  const text = searchableText(workspace, path, anyEncoding);
  if (text === null) return;
  let line = 0;
  for (let at = 0; at < text.length && !expired(); ) {
    const feed = text.indexOf("\n", at);
    const end = feed < 0 ? text.length : feed;
    line += 1;
    const whole = text.slice(at, end).replace(/\r$/, "");
    if (matches(whole.length > MATCHED_CHARS ? whole.slice(0, MATCHED_CHARS) : whole))
      yield { path, line, text: whole.length > LONGEST_LINE ? `${whole.slice(0, LONGEST_LINE)}…` : whole };
    at = end + 1;
  }
}

function searchableText({ files }: Workspace, path: string, anyEncoding: boolean): string | null {
  try {
    const entry = files.look(path);
    if (entry.kind !== "file" || entry.size === 0 || entry.size > LARGEST_BYTES) return null;
    const bytes = files.readPart(path, 0, entry.size);
    const encoding = detectEncoding(anyEncoding ? bytes : bytes.subarray(0, LOOK_BYTES), anyEncoding);
    if (encoding === "binary") return null;
    const wide = encoding.startsWith("utf-16");
    return new TextDecoder(wide || anyEncoding ? encoding : "utf-8").decode(bytes);
  } catch (error) {
    // Gone, or not readable: then it has no matches.
    if (error instanceof ViewFault) return null;
    throw error;
  }
}

/** Files below a place in order, links not followed. */
function* filesBelow(
  { workspace: { files }, path: top }: ResolvedPath,
  ignored: IgnoreMatcher,
): Generator<string> {
  const pending = [top];
  while (pending.length > 0) {
    const path = pending.pop() as string;
    const entry = files.look(path);
    if (entry.kind === "file") yield path;
    if (entry.kind !== "directory") continue;
    let names: string[];
    try {
      names = files.list(path);
    } catch (error) {
      if (error instanceof ViewFault) continue;
      throw error;
    }
    for (const name of names.sort(byBytes).reverse()) {
      const below = path === "" ? name : `${path}/${name}`;
      if (!ignored.has(below, files.look(below).kind === "directory")) pending.push(below);
    }
  }
}

function byPath(x: string, y: string): number {
  const [xs, ys] = [x.split("/"), y.split("/")];
  for (let at = 0; at < Math.min(xs.length, ys.length); at++) {
    const order = byBytes(xs[at] as string, ys[at] as string);
    if (order !== 0) return order;
  }
  return xs.length - ys.length;
}

function byBytes(x: string, y: string): number {
  return x < y ? -1 : x > y ? 1 : 0;
}

interface RipgrepQuery {
  readonly pattern: string;
  readonly ignoreCase: boolean;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

const NO_MATCHES = 1;

/** Files that may match: never fewer than do. Null without ripgrep, or if the pattern means something else to it. */
async function filesByRipgrep(
  runProgram: RunProgram,
  { workspace: { root }, path }: ResolvedPath,
  { pattern, ignoreCase, signal, timeoutMs }: RipgrepQuery,
): Promise<readonly string[] | null> {
  const translated = toRipgrepPattern(pattern, ignoreCase);
  if (translated === null) return null;
  try {
    const { exitCode, stdout } = await runProgram({
      argv: [
        "rg",
        ...[
          "--no-config",
          "--files-with-matches",
          "--null",
          "--text",
          "--no-messages",
          "--no-ignore",
          "--hidden",
        ],
        ...[
          "--no-follow",
          "--max-filesize",
          String(LARGEST_BYTES),
          "--glob",
          "!.git",
          "--glob",
          "!.picoclaw",
          "--glob",
          "!.picoclaw-????????????????",
        ],
        ignoreCase ? "--ignore-case" : "--case-sensitive",
        ...["-e", translated, "--", path === "" ? "." : `./${path}`],
      ],
      cwd: root,
      timeoutMs,
      signal,
    });
    if (exitCode !== 0 && exitCode !== NO_MATCHES) return null;
    const names = Buffer.from(stdout).toString("utf8").split("\0");
    return names
      .filter((name) => name !== "")
      .map((name) => name.replace(/^\.\//, ""))
      .sort(byPath);
  } catch (error) {
    if (error instanceof ToolError && error.code === "REFUSED") return null;
    throw error;
  }
}

const input = z.strictObject({
  pattern: z.string().min(1).describe("Regular expression (JavaScript), matched line by line"),
  path: z.string().optional().describe("File or folder to search; by default the workspace"),
  include: z
    .string()
    .min(1)
    .optional()
    .describe("Only files whose path matches this glob, such as *.ts or src/**"),
  ignore_case: z.boolean().optional().describe("Treat upper and lower case as equal"),
  include_ignored: z.boolean().optional().describe("Also search what .gitignore leaves out"),
  max_results: z
    .int()
    .min(1)
    .max(5000)
    .optional()
    .describe("Matching lines returned at most; 200 by default"),
});

const output = z.object({
  matches: z.array(z.object({ path: z.string(), line: z.int(), text: z.string() })),
  truncated: z.boolean(),
});

const TIME_LIMIT_MS = 10_000;
const FILES_PER_TURN = 100;

export const search = createSecureTool({
  name: "search",
  title: "Search files",
  description:
    "Searches text files for a regular expression and returns the matching lines with their paths and line numbers. Leaves out .git, files ignored by .gitignore, binary files and files over 16 MB.",
  input,
  output,
  access: "read",
  paths: ["path"],
  async run({ args, place, context, signal }) {
    const ignoreCase = args.ignore_case ?? false;
    const at = args.path ? place("path") : await resolvePathArgument(context, ".");
    if (at.entry.kind === "missing") throw new ToolError("NOT_FOUND", `no such file or folder: ${at.given}`);
    const { matches: isMatch, unicode } = createLineMatcher(args.pattern, ignoreCase);
    const included = includes(args.include);
    const ignored = readIgnoredPaths(at.workspace.files, { includeIgnored: args.include_ignored ?? false });
    const ascii = isAscii(args.pattern) && !/\\[uxp]/.test(args.pattern);
    const deadline = performance.now() + TIME_LIMIT_MS;
    const expired = () => performance.now() > deadline;
    const query = { pattern: args.pattern, ignoreCase, signal, timeoutMs: TIME_LIMIT_MS };
    const found = unicode && ascii ? await filesByRipgrep(context.runProgram, at, query) : null;
    const candidates =
      found === null
        ? filesBelow(at, ignored)
        : found.filter((path) => path === at.path || !ignored.has(path, false));

    const most = args.max_results ?? 200;
    const file = { workspace: at.workspace, matches: isMatch, anyEncoding: !ascii, expired };
    const matches: SearchMatch[] = [];
    let stopped: "results" | "output" | "time" | null = null;
    let chars = 0;
    let files = 0;
    for (const path of candidates) {
      files += 1;
      if (files % FILES_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
      if (signal.aborted) throw new ToolError("ABORTED", "the call was aborted");
      if (!included(path)) continue;
      for (const match of searchFile(file, path)) {
        if (matches.length >= most) stopped = "results";
        else if (chars > context.limits.outputChars) stopped = "output";
        else if (expired()) stopped = "time";
        if (stopped !== null) break;
        matches.push(match);
        chars += match.text.length + match.path.length;
      }
      if (expired()) stopped ??= "time";
      if (stopped !== null) break;
    }
    const { lines, notes } = maskMatches(at, matches);
    return {
      data: { matches: lines, truncated: stopped !== null },
      notes: [...notes, remainingNote(stopped, matches.length)],
    };
  },
});

/** A glob without a slash is tried on the file name, one with a slash on the path. */
function includes(glob: string | undefined): (path: string) => boolean {
  if (glob === undefined) return () => true;
  const matches = compileGlob(glob.includes("/") ? glob.replace(/^\//, "") : `**/${glob}`);
  if (matches === null)
    throw new ToolError("INVALID_ARGUMENT", `include: not a glob: ${glob}`, { reason: "arguments" });
  return matches;
}

function maskMatches({ workspace }: ResolvedPath, matches: readonly SearchMatch[]) {
  const notes = new Set<string>();
  const lines = matches.map((match) => {
    const place = { workspace, path: match.path, given: match.path };
    const { text, notes: said } = maskShownText(place, match.text);
    for (const note of said) notes.add(note);
    return { ...match, text };
  });
  return { lines, notes: [...notes].slice(0, 10) };
}

function remainingNote(stopped: "results" | "output" | "time" | null, count: number): string {
  if (stopped === null) return "";
  const why = stopped === "time" ? `stopped after ${TIME_LIMIT_MS / 1000} s` : "output capped";
  const raise = stopped === "results" ? ", or raise max_results" : "";
  return `${why} at ${count} matching lines; narrow it with path or include${raise}`;
}

/** JavaScript's regular expressions; with Unicode rules where the pattern allows it. */
function createLineMatcher(pattern: string, ignoreCase: boolean) {
  const flags = ignoreCase ? "i" : "";
  /** True where the pattern was read with Unicode rules; ripgrep reads only those alike. */
  for (const unicode of [true, false]) {
    try {
      const { indexIn } = compileLinePattern(pattern, unicode ? `${flags}u` : flags);
      return { matches: (line: string) => indexIn(line) >= 0, unicode };
    } catch (cause) {
      const isRefused = cause instanceof PatternRefused;
      const why = isRefused ? `is not searched for, because ${cause.message}; write it without` : "";
      if (isRefused || !unicode)
        throw new ToolError("INVALID_ARGUMENT", `pattern: ${why || (cause as Error).message}`, {
          reason: "arguments",
          cause,
        });
    }
  }
  throw new Error("unreachable");
}
