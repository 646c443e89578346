import type { Bus } from "../serve/bus.ts";

/** What running jobs printed so far, so that somebody who comes late sees it; forgotten when a job ends. */
export interface OutputTails {
  of(jobId: string): string;
  end(jobId: string): void;
}

const MOST_CHARACTERS = 64 * 1024;
const MOST_JOBS = 100;

export function createOutputTails(bus: Bus): OutputTails {
  const tails = new Map<string, string>();
  const add = (jobId: string, output: string) => {
    const text = (tails.get(jobId) ?? "") + output;
    tails.set(jobId, text.length > MOST_CHARACTERS ? text.slice(-MOST_CHARACTERS / 2) : text);
    if (tails.size > MOST_JOBS) tails.delete(tails.keys().next().value as string);
  };
  bus.subscribe((event) => {
    if (event.type === "job" && event.output !== undefined) add(event.jobId, event.output);
    if (event.type !== "chat") return;
    if (event.event.type === "job-output") add(event.event.jobId, event.event.text);
    if (event.event.type === "job-finished") tails.delete(event.event.jobId);
  });
  return {
    of: (jobId) => tails.get(jobId) ?? "",
    end: (jobId) => void tails.delete(jobId),
  };
}
