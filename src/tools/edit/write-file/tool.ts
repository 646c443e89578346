import { z } from "zod";
import { createSecureTool } from "../../create-secure-tool.ts";
import { ToolError } from "../../tool-result.ts";
import { changeFile } from "../change-file.ts";

const input = z.strictObject({
  path: z.string().describe("File path in the workspace"),
  content: z.string().describe("The whole new text of the file"),
});

const output = z.object({
  path: z.string(),
  bytes: z.int(),
});

export const writeFile = createSecureTool({
  name: "write_file",
  title: "Write a file",
  description:
    "Writes a whole file, creating it and its folders when missing. Undoable. For changing part of a file use text_editor or apply_patch.",
  input,
  output,
  access: "write",
  destructive: true,
  paths: ["path"],
  async run(call) {
    const place = call.place("path");
    const { content } = call.args;
    const bytes = Buffer.from(content, "utf8");
    const { job, notes } = await changeFile(call, place, {
      tool: "write_file",
      title: `write_file ${place.path}`,
      change: (before) => {
        if (place.path === "") throw new ToolError("IS_DIRECTORY", `is a directory: ${place.given}`);
        return before !== null && Buffer.from(before).equals(bytes) ? null : { bytes };
      },
    });
    return {
      data: { path: place.path, bytes: bytes.length },
      ...(job && { job }),
      notes: job === undefined ? [...notes, "the file already had exactly this content"] : notes,
    };
  },
});
