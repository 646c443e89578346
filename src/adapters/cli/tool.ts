import type { ToolEnvelope, ToolForm } from "../../application/ports/tools.ts";
import { toShownJson } from "../../domain/platform/json-text.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { abortable, type Flags, refuseUsage, type Subcommand } from "./command.ts";
import { openOrStop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** `tool NAME [ARGS_JSON|-]`: one call of one tool. The envelope is printed as one JSON document. */
export const command: Subcommand = { name: "tool", usage: "tool NAME [ARGS|-]", words: 2, run: tool };

async function tool(program: CliProgram, { values, words }: Flags): Promise<number> {
  const [name, text] = words;
  if (name === undefined) {
    program.err((await import("./help.ts")).commandHelp(program, command));
    return EXIT.usage;
  }
  const read = readArguments(program, text);
  if (!read.ok) return say(program, badArguments(read));
  const { toolkit } = await openOrStop(program, values, program.openToolkit);
  const onOutput = program.errIsTerminal && { onOutput: program.err };
  return say(program, await abortable((signal) => toolkit.invoke(name, read.args, { signal, ...onOutput })));
}

function say(program: CliProgram, envelope: ToolEnvelope): number {
  program.out(`${toShownJson(envelope, 2)}\n`);
  return exitCodeOf(envelope);
}

function badArguments({ text, isTooLarge }: Extract<Arguments, { ok: false }>): ToolEnvelope {
  const code = isTooLarge ? "ARGUMENT_TOO_LARGE" : "INVALID_ARGUMENT";
  return { status: "failure", reason: "arguments", message: text, error: { code } };
}

/** Bad input that ran nothing has another exit code than a tool that ran and failed. */
export function exitCodeOf(envelope: ToolEnvelope): number {
  switch (envelope.status) {
    case "success":
      return EXIT.done;
    case "denied":
      return EXIT.refused;
    case "failure":
      return envelope.reason === "arguments" || envelope.error.code === "UNKNOWN_TOOL"
        ? EXIT.usage
        : EXIT.failed;
  }
}

type Arguments =
  | { readonly ok: true; readonly args: unknown }
  | { readonly ok: false; readonly text: string; readonly isTooLarge?: boolean };

export function readArguments(program: CliProgram, text = "{}"): Arguments {
  let json = text;
  if (text === "-") {
    try {
      json = new TextDecoder("utf-8", { fatal: true }).decode(program.readInput());
    } catch (error) {
      const isTooLarge = (error as { code?: string }).code === "EFBIG";
      return {
        ok: false,
        text: `standard input is ${isTooLarge ? "larger than 64 MiB" : "not UTF-8 text"}`,
        isTooLarge,
      };
    }
  }
  try {
    return { ok: true, args: JSON.parse(json) };
  } catch (error) {
    return { ok: false, text: `the arguments are not JSON: ${(error as Error).message}` };
  }
}

const FORMS: readonly string[] = ["openai", "anthropic", "mcp"];

/** `tools`: the tools and what they are for; with `--format`, their definitions as a model's API takes them. */
export const toolsCommand: Subcommand = { name: "tools", usage: "tools", flags: "--format=", run: tools };

async function tools(program: CliProgram, { values }: Flags): Promise<number> {
  const { format } = values;
  if (typeof format === "string" && !FORMS.includes(format)) {
    const text = messagesFor(program.locale).badChoice("--format", format, FORMS);
    return refuseUsage(program, text);
  }
  const form = (format ?? "plain") as ToolForm;
  const definitions = await program.toolDefinitions(form);
  if (program.json || form !== "plain") program.out(`${toShownJson(definitions, 2)}\n`);
  else {
    const plain = definitions as readonly { readonly name: string; readonly description: string }[];
    const width = Math.max(...plain.map(({ name }) => name.length));
    for (const { name, description } of plain) program.out(`${name.padEnd(width)}  ${description}\n`);
  }
  return EXIT.done;
}
