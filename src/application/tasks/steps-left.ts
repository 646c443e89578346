import type { SolveTask } from "../ports/tasks.ts";

/** Requests to the model that are left; a task that was taken up again has all of them anew. */
export function stepsLeft({ steps, stepsBefore = 0 }: SolveTask, maxSteps: number): number {
  return maxSteps - (steps - stepsBefore);
}
