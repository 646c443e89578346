import type { CliProgram, OpenWorker } from "./program.ts";

/** An interrupted commit is finished before anything new is built on it. */
export async function mendFirst(program: CliProgram, worker: OpenWorker): Promise<void> {
  const repaired = await worker.repair();
  if (repaired === null) return;
  const { messages } = worker;
  program.err(
    `${repaired.outcome === "finished" ? messages.jobRepaired(repaired.jobId, "completed") : messages.jobInterrupted(repaired.jobId)}\n`,
  );
}
