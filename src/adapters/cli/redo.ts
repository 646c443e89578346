import type { Subcommand } from "./command.ts";
import { undoOrRedo } from "./undo.ts";

export const command: Subcommand = {
  name: "redo",
  usage: "redo [JOB …|GROUP]",
  flags: { force: "boolean", list: "boolean" },
  words: 50,
  run: (program, args) => undoOrRedo(program, args, command),
};
