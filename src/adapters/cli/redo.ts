import type { Subcommand } from "./command.ts";
import { takeBack } from "./undo.ts";

export const command: Subcommand = {
  name: "redo",
  usage: "redo [JOB|GROUP]",
  flags: { force: "boolean", list: "boolean" },
  words: 1,
  run: (program, args) => takeBack(program, args, command),
};
