import { z } from "zod";
import { isAscii } from "../../../domain/patch/patch-text.ts";
import { globSource } from "../../../domain/policy/ignore-rules.ts";
import { createSecureTool } from "../../create-secure-tool.ts";
import { type ResolvedPath, resolvePathArgument } from "../../resolved-path.ts";
import { ToolError } from "../../tool-error.ts";
import { readIgnoredPaths } from "../ignored.ts";
import { maskShownText } from "../shown.ts";
import { filesByRipgrep } from "./ripgrep.ts";
import { filesBelow, type SearchMatch, searchFile } from "./search-files.ts";

const input = z.strictObject({
  pattern: z.string().min(1).describe("Regular expression (JavaScript), matched line by line"),
  path: z.string().optional().describe("File or folder to search; by default the workspace"),
  include: z
    .string()
    .min(1)
    .optional()
    .describe("Only files whose path matches this glob, such as *.ts or src/**"),
  ignore_case: z.boolean().optional().describe("Take upper and lower case as the same"),
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
/** How often a long search lets others have a turn. */
const FILES_PER_TURN = 100;

export const search = createSecureTool({
  name: "search",
  title: "Search files",
  description:
    "Searches text files for a regular expression and returns the matching lines with their paths and line numbers. Leaves out .git, what .gitignore names, binary files and files over 16 MB.",
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
  const source = globSource(glob.replace(/^\//, ""));
  if (source === null)
    throw new ToolError("INVALID_ARGUMENT", `include: not a glob: ${glob}`, { reason: "arguments" });
  const regExp = new RegExp(`^${glob.includes("/") ? "" : "(?:.*/)?"}${source}$`, "su");
  return (path) => regExp.test(path);
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

interface LineMatcher {
  readonly matches: (line: string) => boolean;
  /** True where the pattern was read with Unicode rules; ripgrep reads only those alike. */
  readonly unicode: boolean;
}

/** JavaScript's regular expressions; with Unicode rules where the pattern allows it. */
function createLineMatcher(pattern: string, ignoreCase: boolean): LineMatcher {
  const flags = ignoreCase ? "i" : "";
  for (const unicode of [true, false]) {
    try {
      const regExp = new RegExp(pattern, unicode ? `${flags}u` : flags);
      return { matches: (line) => regExp.test(line), unicode };
    } catch (cause) {
      if (!unicode)
        throw new ToolError("INVALID_ARGUMENT", `pattern: ${(cause as Error).message}`, {
          reason: "arguments",
          cause,
        });
    }
  }
  throw new Error("unreachable");
}
