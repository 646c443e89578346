import { z } from "zod";
import type { StoredJob } from "../../../application/ports/jobs.ts";
import { fromBytesText, readableText, toBytesText } from "../../../domain/patch/patch-text.ts";
import { createSecureTool, type ToolCall, type ToolRunResult } from "../../create-secure-tool.ts";
import type { ResolvedPath } from "../../resolved-path.ts";
import { numberLines } from "./numbered.ts";
import { readLines } from "../../read/read-lines.ts";
import { maskShownText } from "../../read/shown.ts";
import { walkTree } from "../../read/tree/walk-tree.ts";
import { toolJobSource } from "../../run-job.ts";
import { undoWorkspaceJob } from "../../take-back-job.ts";
import { ToolError } from "../../tool-error.ts";
import { changeFile } from "../change-file.ts";
import { type EditedText, replaceOnce } from "./replace.ts";
import { editableText, toCrLf, usesCrLf } from "./text-of.ts";

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

export interface TextEditorData {
  readonly path: string;
  /** A view, or the lines around an edit, with line numbers. */
  readonly content?: string;
  readonly start_line?: number;
  readonly end_line?: number;
  readonly total_lines?: number | null;
}

/** The five commands of the text editor. */
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

/** What each command needs, and what it has no use for. */
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

/** A file with line numbers, or a folder two levels deep. */
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
