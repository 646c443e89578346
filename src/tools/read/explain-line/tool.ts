import { z } from "zod";
import { createSecureTool } from "../../create-secure-tool.ts";
import { ToolError } from "../../tool-result.ts";

const input = z.strictObject({
  path: z.string().describe("File path in the workspace"),
  line: z.int().min(1).describe("The line, counted from 1"),
});

const output = z.object({ path: z.string(), line: z.int(), explanation: z.string() });

export const explainLine = createSecureTool({
  name: "explain_line",
  title: "Explain a line",
  description:
    "Reports which job of PicoClaw wrote a line: the request in the user's words, model, plan, checks, and what it replaced; for older lines the commit.",
  input,
  output,
  access: "read",
  paths: ["path"],
  async run({ args, place, context }) {
    const { path } = place("path");
    const explanation = await context.explainLine?.(path, args.line);
    if (explanation == null) throw new ToolError("NOT_FOUND", `no such line: ${args.path}:${args.line}`);
    return { data: { path, line: args.line, explanation } };
  },
});
