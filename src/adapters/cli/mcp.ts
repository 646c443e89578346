import { fail, type Subcommand } from "./command.ts";
import { openedOrStop, readFlags } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

const STOPPING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** `mcp [--http PORT]`: lends the tools to other agents. Standard output carries the protocol and nothing else. */
export const command: Subcommand = {
  name: "mcp",
  usage: "mcp",
  flags: { http: "string" },
  words: 0,
  run: mcp,
};

async function mcp(program: CliProgram, args: readonly string[]): Promise<number> {
  const { values } = await readFlags(program, command, args);
  const port = values.http === undefined ? null : portOf(values.http);
  const json = values.json === true;
  if (port === "bad")
    return fail(program, json, { exitCode: EXIT.usage, code: "usage", text: "--http PORT: 0-65535" });
  const server = await openedOrStop(program, values, program.openMcp);
  const stop = new AbortController();
  const end = () => stop.abort();
  for (const signal of STOPPING) process.once(signal, end);
  try {
    if (port === null) await server.serveStdio(stop.signal);
    else await server.serveHttp(port, stop.signal);
    return EXIT.done;
  } catch (error) {
    if ((error as { code?: string }).code === undefined) throw error;
    const text = `127.0.0.1:${port}: ${(error as Error).message}`;
    return fail(program, json, { exitCode: EXIT.refused, code: "port", text });
  } finally {
    for (const signal of STOPPING) process.off(signal, end);
  }
}

function portOf(text: string | boolean): number | "bad" {
  const port = Number(text);
  return typeof text === "string" && /^\d{1,5}$/.test(text) && port <= 65_535 ? port : "bad";
}
