import { wordRepair } from "../../application/jobs/word-notes.ts";
import type { Opened } from "../../application/ports/jobs-workspace.ts";
import { printable } from "./command.ts";
import type { CliProgram } from "./program.ts";

/** An interrupted commit is finished before anything new is built on it. */
export async function repairFirst(program: CliProgram, opened: Opened): Promise<void> {
  const repaired = await opened.workspace.repair();
  if (repaired === null) return;
  program.err(`${printable(wordRepair(opened.messages, repaired))}\n`);
}
