import type { Opened } from "../../application/ports/opening.ts";
import { wordRepair } from "../../application/jobs/word-repair.ts";
import { printable } from "./printable.ts";
import type { CliProgram } from "./program.ts";

/** An interrupted commit is finished before anything new is built on it. */
export async function repairFirst(program: CliProgram, opened: Opened): Promise<void> {
  const repaired = await opened.workspace.repair();
  if (repaired === null) return;
  program.err(`${printable(wordRepair(opened.messages, repaired))}\n`);
}
