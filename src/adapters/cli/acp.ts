import { abortable, type Flags, type Subcommand } from "./command.ts";
import { openOptions } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** `acp`: an agent for editors. Standard output carries the protocol and nothing else. */
export const command: Subcommand = { name: "acp", usage: "acp", run: acp };

async function acp(program: CliProgram, { values }: Flags): Promise<number> {
  await abortable((signal) => program.serveAcp(openOptions(program, values), signal));
  return EXIT.done;
}
