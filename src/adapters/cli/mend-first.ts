import type { CliProgram, OpenWorker } from "./program.ts";

/** An interrupted commit is finished before anything new is built on it. */
export async function mendFirst(program: CliProgram, worker: OpenWorker): Promise<void> {
  const repaired = await worker.repair();
  if (repaired === null) return;
  const { messages } = worker;
  const { jobId, outcome } = repaired;
  program.err(
    `${outcome === "stuck" ? messages.jobInterrupted(jobId) : messages.jobRepaired(jobId, outcome === "finished" ? "completed" : "rolled-back")}\n`,
  );
}
