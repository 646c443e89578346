import { z } from "zod";
import type { StoredJob } from "../../../application/ports/jobs.ts";
import { planEdit } from "../../../domain/patch/plan-edit.ts";
import {
  createLineCounter,
  fromBytesText,
  isAscii,
  readableText,
  toBytesText,
} from "../../../domain/platform/bytes-text.ts";
import { succeeds } from "../../../domain/platform/error-text.ts";
import { createSecureTool, type ToolCall, type ToolRunResult } from "../../create-secure-tool.ts";
import { maskShownText, readLines } from "../../read/read-lines.ts";
import { walkTree } from "../../read/tree/tool.ts";
import type { ResolvedPath } from "../../resolved-path.ts";
import { toolJobSource, undoWorkspaceJob } from "../../run-job.ts";
import { ToolError } from "../../tool-result.ts";
import { changeFile } from "../change-file.ts";

function numberLines(text: string, firstLine: number): string {
  if (text === "") return "";
  const lines = text.replace(/\r?\n$/, "").split("\n");
  return lines.map((line, at) => `${String(firstLine + at).padStart(6)}\t${line}`).join("\n");
}

/** As bytes text, so that untouched bytes survive. New text is UTF-8; a file of another encoding accepts only ASCII. */
function editableText(place: ResolvedPath, before: Uint8Array | null, pieces: readonly string[]): string {
  if (before === null) throw new ToolError("NOT_FOUND", `no such file: ${place.given}`);
  if (!succeeds(() => new TextDecoder("utf-8", { fatal: true }).decode(before))) {
    if (before.includes(0)) throw new ToolError("BINARY_FILE", `binary file: ${place.given}`);
    if (!pieces.every(isAscii))
      throw new ToolError(
        "UNSUPPORTED_ENCODING",
        `${place.given} is not UTF-8: only ASCII text can be replaced in it (use execute_command with iconv)`,
      );
  }
  return toBytesText(before);
}

/** Whether the file's lines end in CRLF; callers write LF. */
function usesCrLf(text: string): boolean {
  const feed = text.indexOf("\n");
  return feed > 0 && text.charCodeAt(feed - 1) === 13;
}

function toCrLf(text: string): string {
  return text.replace(/\r?\n/g, "\r\n");
}

export interface EditedText {
  readonly text: string;
  readonly firstLine: number;
  readonly lines: number;
}

const MOST_PLACES = 20;

/** Replaces the only occurrence of `oldText`. None or several is an error that names the candidates. */
function replaceOnce(place: ResolvedPath, text: string, oldText: string, newText: string): EditedText {
  let [wanted, next] = [toBytesText(oldText), toBytesText(newText)];
  let places = occurrences(text, wanted);
  if (places.length === 0 && usesCrLf(text)) {
    [wanted, next] = [toCrLf(wanted), toCrLf(next)];
    places = occurrences(text, wanted);
  }
  const [at] = places;
  if (at === undefined) throw noMatch(place, text, oldText);
  if (places.length > 1) throw notUnique(place, text, places);
  return {
    text: `${text.slice(0, at)}${next}${text.slice(at + wanted.length)}`,
    firstLine: createLineCounter(text)(at),
    lines: next.split("\n").length,
  };
}

/** Overlapping ones too: either could have been meant. */
function occurrences(text: string, wanted: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) found.push(at);
  return found;
}

function notUnique({ given }: ResolvedPath, text: string, places: readonly number[]): ToolError {
  const lineOf = createLineCounter(text);
  const shown = places
    .slice(0, MOST_PLACES)
    .map((at) => `${lineOf(at)}: ${readableText(lineText(text, at)).slice(0, 200)}`);
  const more = places.length > MOST_PLACES ? `\n… and ${places.length - MOST_PLACES} more` : "";
  return new ToolError(
    "NOT_UNIQUE",
    `old_str occurs ${places.length} times in ${given}; add lines around it until it is unique:\n${shown.join("\n")}${more}`,
  );
}

function lineText(text: string, at: number): string {
  const start = text.lastIndexOf("\n", at - 1) + 1;
  const end = text.indexOf("\n", at);
  return text.slice(start, end < 0 ? text.length : end).replace(/\r$/, "");
}

/** Asks the patch engine where the text may have been meant; it only suggests. */
function noMatch({ given, path }: ResolvedPath, text: string, oldText: string): ToolError {
  const lines = toBytesText(oldText)
    .split("\n")
    .map((line) => ({ tag: "-" as const, text: line, eol: "\n" }));
  const plan = planEdit(
    { kind: "search-replace", path, hunk: { lines } },
    { look: () => ({ kind: "file", bytes: Buffer.from(text, "latin1"), mode: 0o644 }) },
    { inflate: (data) => data },
  );
  const candidates = plan.reports.flatMap((report) => report.candidates ?? []);
  const hint =
    candidates.length > 0
      ? `; did you mean:\n${candidates.map(({ line, text: there }) => `${line}: ${there}`).join("\n")}`
      : plan.ok
        ? "; the file has it with different white space: copy it exactly from a view"
        : "";
  return new ToolError("NO_MATCH", `old_str does not occur in ${given}${hint}`);
}

const NAME = "text_editor";

const input = z.strictObject({
  command: z
    .enum(["view", "create", "str_replace", "insert", "undo_edit"])
    .describe("What to do with the file"),
  path: z.string().describe("File or folder path in the workspace"),
  file_text: z.string().optional().describe("create: the text of the new file"),
  old_str: z.string().optional().describe("str_replace: text that occurs exactly once in the file"),
  new_str: z
    .string()
    .optional()
    .describe("str_replace: what replaces it (absent: nothing); insert: the text, if insert_text is absent"),
  insert_line: z
    .int()
    .min(0)
    .optional()
    .describe("insert: the line after which to insert; 0 is the beginning"),
  insert_text: z.string().optional().describe("insert: the text to insert"),
  view_range: z
    .array(z.int())
    .length(2)
    .optional()
    .describe("view: first and last line, counted from 1; -1 is the end of the file"),
});

const output = z.object({
  path: z.string(),
  content: z.string().optional().describe("A view, or the lines around an edit, with line numbers"),
  start_line: z.int().optional(),
  end_line: z.int().optional(),
  total_lines: z.int().nullable().optional(),
});

type Args = z.output<typeof input>;

type TextEditorData = z.output<typeof output>;

export const textEditor = createSecureTool({
  name: NAME,
  title: "Text editor",
  description:
    "Views, creates and edits text files: view (a file with line numbers, or a folder), create (a new file), str_replace (exact and unique), insert (after a line), undo_edit (the last edit of that file; repeat it to go further back).",
  input,
  output,
  access: ({ command }) => (command === "view" ? "read" : "write"),
  destructive: true,
  paths: ["path"],
  refine: complaintAbout,
  async run(call): Promise<ToolRunResult<TextEditorData>> {
    const { args, context } = call;
    const place = call.place("path");
    switch (args.command) {
      case "view":
        return view(place, args.view_range as [number, number] | undefined, context.limits.outputChars);
      case "create":
        return create(call, place, args.file_text ?? "");
      case "str_replace":
        return edit(call, place, [args.old_str ?? "", args.new_str ?? ""], (text, [wanted, next]) =>
          replaceOnce(place, text, wanted as string, next as string),
        );
      case "insert":
        return edit(call, place, [args.insert_text ?? args.new_str ?? ""], (text, [inserted]) =>
          insertAfter(place, text, args.insert_line ?? 0, inserted as string),
        );
      case "undo_edit":
        return { data: { path: place.path }, job: await undoEdit(place, NAME) };
    }
  },
});

/** The arguments that each command needs, and those that it does not use. */
const NEEDS: Readonly<Record<Args["command"], readonly (keyof Args)[]>> = {
  view: [],
  create: ["file_text"],
  str_replace: ["old_str"],
  insert: ["insert_line"],
  undo_edit: [],
};

function complaintAbout(args: Args): string | null {
  for (const name of NEEDS[args.command])
    if (args[name] === undefined) return `${name}: required for ${args.command}`;
  if (args.command === "insert" && args.insert_text === undefined && args.new_str === undefined)
    return "insert_text: required for insert";
  if (args.command === "str_replace" && args.old_str === "") return "old_str: must not be empty";
  if (args.view_range === undefined) return null;
  const [from = 0, to = 0] = args.view_range;
  return from < 1 || (to !== -1 && to < from)
    ? "view_range: two lines from 1 on, the second may be -1"
    : null;
}

async function create(
  call: ToolCall<Args>,
  place: ResolvedPath,
  text: string,
): Promise<ToolRunResult<TextEditorData>> {
  const made = await changeFile(call, place, {
    tool: NAME,
    title: `text_editor create ${place.path}`,
    change(before) {
      if (before !== null)
        throw new ToolError(
          "ALREADY_EXISTS",
          `${place.given} exists already; change it with str_replace or insert, or replace it with write_file`,
        );
      return { bytes: Buffer.from(text, "utf8") };
    },
  });
  return { data: { path: place.path }, ...made };
}

const AROUND = 4;

async function edit(
  call: ToolCall<Args>,
  place: ResolvedPath,
  pieces: readonly string[],
  change: (text: string, pieces: readonly string[]) => EditedText,
): Promise<ToolRunResult<TextEditorData>> {
  let edited: EditedText = { text: "", firstLine: 1, lines: 0 };
  const made = await changeFile(call, place, {
    tool: NAME,
    title: `text_editor ${call.args.command} ${place.path}`,
    change(before) {
      const text = editableText(place, before, pieces);
      edited = change(text, pieces);
      return edited.text === text ? null : { bytes: fromBytesText(edited.text) };
    },
  });
  const from = Math.max(1, edited.firstLine - AROUND);
  const to = edited.firstLine + edited.lines + AROUND;
  const around = readableText(edited.text)
    .split("\n")
    .slice(from - 1, to)
    .join("\n");
  const content = numberLines(place.workspace.mask(around), from);
  return {
    data: { path: place.path, content },
    ...made,
    notes: made.job === undefined ? ["the file stays as it was"] : made.notes,
  };
}

/** Puts whole lines after line `after`; 0 is the beginning of the file. */
function insertAfter({ given }: ResolvedPath, text: string, after: number, inserted: string): EditedText {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  const ended = text === "" || text.endsWith("\n");
  const total = ended ? starts.length - 1 : starts.length;
  if (after > total)
    throw new ToolError("INVALID_ARGUMENT", `insert_line: ${given} has ${total} lines, got ${after}`, {
      reason: "arguments",
    });
  const crLf = usesCrLf(text);
  const eol = crLf ? "\r\n" : "\n";
  const own = toBytesText(inserted);
  const lines = crLf ? toCrLf(own) : own;
  const whole = lines === "" || lines.endsWith("\n") ? lines : `${lines}${eol}`;
  const at = after === total ? text.length : (starts[after] as number);
  const joint = after === total && !ended ? eol : "";
  return {
    text: `${text.slice(0, at)}${joint}${whole}${text.slice(at)}`,
    firstLine: after + 1,
    lines: whole.split("\n").length - 1,
  };
}

/** Takes back the last job that this tool made on the path; called again, the one before it. Jobs outlive us. */
async function undoEdit(place: ResolvedPath, tool: string) {
  const { workspace, path, given } = place;
  const touches = ({ changes }: StoredJob) => changes.some((change) => change.path === path);
  const last = workspace.archive
    .list()
    .findLast((job) => job.source === toolJobSource(tool) && job.state === "committed" && touches(job));
  if (last === undefined) throw new ToolError("NOTHING_TO_UNDO", `no edit of ${given} is left to undo`);
  return undoWorkspaceJob(workspace, last.jobId);
}

const LEVELS = 2;
const MOST_ENTRIES = 2000;

function view(place: ResolvedPath, range: readonly [number, number] | undefined, limitChars: number) {
  const { path } = place;
  if (place.entry.kind === "directory") {
    const { lines, more } = walkTree(place, {
      levels: LEVELS,
      mostEntries: MOST_ENTRIES,
      includeIgnored: false,
    });
    const rest = more ? `output capped at ${MOST_ENTRIES} entries; view a folder below` : "";
    return { data: { path, content: lines.join("\n"), total_lines: lines.length }, notes: [rest] };
  }
  const [from, to] = range ?? [1, -1];
  const read = readLines(place, { from, to: to === -1 ? Infinity : to }, { asked: "auto", limitChars });
  const { text, notes } = maskShownText(place, read.text);
  const data = {
    path,
    content: numberLines(text, read.from),
    start_line: read.from,
    end_line: read.to,
    total_lines: read.total,
  };
  const rest = read.cut ? `output capped; continue with view_range [${read.to + 1}, -1]` : "";
  return { data, notes: [...notes, rest] };
}
