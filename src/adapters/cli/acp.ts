import type { Flags, Subcommand } from "./command.ts";
import { openOptions } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

const STOPPING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** `acp`: an agent for editors. Standard output carries the protocol and nothing else. */
export const command: Subcommand = { name: "acp", usage: "acp", run: acp };

async function acp(program: CliProgram, { values }: Flags): Promise<number> {
  const stop = new AbortController();
  const end = () => stop.abort();
  for (const signal of STOPPING) process.once(signal, end);
  try {
    await program.serveAcp(openOptions(program, values), stop.signal);
    return EXIT.done;
  } finally {
    for (const signal of STOPPING) process.off(signal, end);
  }
}
