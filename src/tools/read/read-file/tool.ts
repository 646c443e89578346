import { z } from "zod";
import { createSecureTool } from "../../create-secure-tool.ts";
import { ENCODINGS, maskShownText, readLines } from "../read-lines.ts";

const input = z.strictObject({
  path: z.string().describe("File path in the workspace"),
  start_line: z.int().min(1).optional().describe("First line to read, counted from 1"),
  end_line: z.int().min(1).optional().describe("Last line to read, inclusive"),
  encoding: z.enum(ENCODINGS).optional().describe("Text encoding; by default it is detected"),
});

const output = z.object({
  path: z.string(),
  content: z.string(),
  start_line: z.int(),
  end_line: z.int(),
  total_lines: z.int().nullable().describe("Null where the file was not read to its end"),
  size_bytes: z.int(),
  encoding: z.string(),
  truncated: z.boolean(),
});

export const readFile = createSecureTool({
  name: "read_file",
  title: "Read a file",
  description:
    "Reads a text file or a range of its lines. Long output is capped with a note that says how to get the rest.",
  input,
  output,
  access: "read",
  paths: ["path"],
  refine: ({ start_line: from = 1, end_line: to = Infinity }) =>
    to < from ? "end_line: must not be smaller than start_line" : null,
  async run({ args, place: placeOf, context }) {
    const place = placeOf("path");
    const read = readLines(
      place,
      { from: args.start_line ?? 1, to: args.end_line ?? Infinity },
      { asked: args.encoding ?? "auto", limitChars: context.limits.outputChars },
    );
    const { text, notes } = maskShownText(place, read.text);
    const data = {
      path: place.path,
      content: text,
      start_line: read.from,
      end_line: read.to,
      total_lines: read.total,
      size_bytes: read.sizeBytes,
      encoding: read.encoding,
      truncated: read.cut,
    };
    return { data, notes: [...notes, rest(read)] };
  },
});

/** How to get what the cap left out. */
function rest({ cut, from, to, total, text }: ReturnType<typeof readLines>): string {
  if (!cut) return "";
  if (!text.endsWith("\n"))
    return `line ${from} is longer than one answer; read it in pieces with execute_command (cut -c)`;
  const of = total === null ? "" : ` of ${total}`;
  return `output capped: lines ${from}-${to}${of}; continue with start_line ${to + 1}`;
}
