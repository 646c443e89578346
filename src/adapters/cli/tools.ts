import type { ToolForm } from "../../application/ports/tools.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { resolveLocale } from "../../domain/texts/locale.ts";
import { type Flags, refuseUsage, type Subcommand } from "./command.ts";
import { type CliProgram, EXIT } from "./program.ts";

const FORMS: readonly string[] = ["openai", "anthropic", "mcp"];

/** `tools`: the tools and what they are for; with `--format`, their definitions as a model's API takes them. */
export const command: Subcommand = {
  name: "tools",
  usage: "tools",
  flags: { format: "string" },
  run: tools,
};

async function tools(program: CliProgram, { values, json }: Flags): Promise<number> {
  const { format } = values;
  if (typeof format === "string" && !FORMS.includes(format)) {
    const messages = messagesFor(resolveLocale({ env: program.env }));
    const text = messages.badChoice("--format", format, FORMS);
    return refuseUsage(program, json, text);
  }
  const form = (format ?? "plain") as ToolForm;
  const definitions = await program.toolDefinitions(form);
  if (json || form !== "plain") program.out(`${JSON.stringify(definitions, null, 2)}\n`);
  else {
    const plain = definitions as readonly { readonly name: string; readonly description: string }[];
    const width = Math.max(...plain.map(({ name }) => name.length));
    for (const { name, description } of plain) program.out(`${name.padEnd(width)}  ${description}\n`);
  }
  return EXIT.done;
}
