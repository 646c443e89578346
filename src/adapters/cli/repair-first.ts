import type { Opened } from "../../application/ports/opening.ts";
import type { CliProgram } from "./program.ts";

/** An interrupted commit is finished before anything new is built on it. */
export async function repairFirst(program: CliProgram, opened: Opened): Promise<void> {
  const repaired = await opened.workspace.repair();
  if (repaired === null) return;
  const { messages } = opened;
  const { jobId, outcome } = repaired;
  program.err(
    `${outcome === "stuck" ? messages.jobInterrupted(jobId) : messages.jobRepaired(jobId, outcome === "finished" ? "completed" : "rolled-back")}\n`,
  );
}
