import { snakeCased } from "../../domain/tasks/task-note.ts";
import { checksMessagesFor } from "../../domain/texts/checks.ts";
import { type Flags, maskedJson, printable, type Subcommand } from "./command.ts";
import { openOrStop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** `checks`: what judges changes of this folder, what was tried, and a command that the user chooses instead. */
export const command: Subcommand = {
  name: "checks",
  usage: "checks",
  flags: "--use= --forget",
  run: checks,
};

async function checks(program: CliProgram, { values }: Flags): Promise<number> {
  const { checks: known, messages, workspace } = await openOrStop(program, values, program.openChecks);
  const { json, out } = program;
  const chosen = typeof values.use === "string" ? values.use.trim() : "";
  const isKept = chosen === "" && values.forget !== true ? true : known.use(chosen === "" ? null : chosen);
  const listed = await known.read();
  const text = checksMessagesFor(messages.locale).listed(listed);
  out(`${json ? maskedJson(snakeCased(listed), workspace.mask) : printable(workspace.mask(text))}\n`);
  return isKept ? EXIT.done : EXIT.failed;
}
