import { resolve } from "node:path";
import { fail, type Subcommand } from "./command.ts";
import { readFlags, usageText } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { withStoreData } from "./store-data.ts";

/** `backup FOLDER`: the store as it is at one moment, while others work with it. */
export const command: Subcommand = {
  name: "backup",
  usage: "backup FOLDER",
  flags: {},
  words: 1,
  run: backup,
};

async function backup(program: CliProgram, args: readonly string[]): Promise<number> {
  const flags = await readFlags(program, command, args);
  const json = flags.values.json === true;
  const [given] = flags.words;
  if (given === undefined)
    return fail(program, json, { exitCode: EXIT.usage, code: "usage", text: usageText(program, command) });
  const folder = resolve(program.cwd, given);
  return withStoreData(program, flags, async ({ data, words }) => {
    const made = await data.backup(folder);
    if (made.status === "exists")
      return fail(program, json, {
        exitCode: EXIT.refused,
        code: "exists",
        text: words.backupExists(folder),
      });
    const { rows, undoData } = made;
    if (json) program.out(`${JSON.stringify({ success: true, folder, rows, undo_data: undoData })}\n`);
    else program.out(`${words.backedUp(folder, rows)}\n`);
    if (!json && undoData.length > 0) program.out(`${words.undoNotBackedUp(undoData)}\n`);
    return EXIT.done;
  });
}
