import { expect, test } from "bun:test";
import type { SolveTask } from "../../../src/application/ports/solve-store.ts";
import { createTaskRunner } from "../../../src/application/tasks/run-due-tasks.ts";

const task = (id: string, needs?: readonly string[]) =>
  ({ id, ...(needs !== undefined && { needs }) }) as unknown as SolveTask;

test("a machine carries out what needs no more than its labels, and leaves the rest to the others", async () => {
  const due = [task("plain"), task("arm", ["docker", "arm64"]), task("gpu", ["gpu"])];
  const runAt = async (labels: readonly string[]) => {
    const ran: string[] = [];
    const runner = createTaskRunner({
      store: { due: async () => due.filter(({ id }) => !ran.includes(id)) },
      limit: 5,
      isGone: () => false,
      mayRun: ({ needs = [] }) => needs.every((label) => labels.includes(label)),
      now: () => new Date(),
      run: async ({ id }) => void ran.push(id),
      onTrouble: (error) => {
        throw error;
      },
    });
    runner.wake();
    await Bun.sleep(20);
    await runner.stop();
    return ran.toSorted();
  };
  expect(await runAt(["docker", "amd64"])).toEqual(["plain"]);
  expect(await runAt(["docker", "arm64"])).toEqual(["arm", "plain"]);
});
