import { resolve } from "node:path";
import { fail, type Subcommand } from "./command.ts";
import { readFlags, usageText } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { reportFilled, withStoreData } from "./store-data.ts";

/** `restore FOLDER`: what `backup` wrote, into an empty store. */
export const command: Subcommand = {
  name: "restore",
  usage: "restore FOLDER",
  flags: {},
  words: 1,
  run: restore,
};

async function restore(program: CliProgram, args: readonly string[]): Promise<number> {
  const flags = await readFlags(program, command, args);
  const json = flags.values.json === true;
  const [given] = flags.words;
  if (given === undefined)
    return fail(program, json, { exitCode: EXIT.usage, code: "usage", text: usageText(program, command) });
  return withStoreData(program, flags, async ({ data, words }) =>
    reportFilled(program, { json, words, filled: await data.restore(resolve(program.cwd, given)) }),
  );
}
