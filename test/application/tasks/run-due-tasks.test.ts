import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTaskRunner } from "../../../src/application/tasks/forge-service.ts";
import { takeInTask } from "../../../src/application/tasks/intake.ts";
import { timers } from "../../../src/infrastructure/platform/timers.ts";
import { openTasks } from "./solve-store-kit.ts";

test("a machine carries out what needs no more than its labels and its forges, and leaves the rest to the others", async () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-due-"));
  const { store } = await openTasks(join(folder, "store.db"));
  const wanted = [
    ["github", []],
    ["github", ["docker", "arm64"]],
    ["github", ["gpu"]],
    ["gitlab", []],
  ] as const;
  for (const [index, [forge, needs]] of wanted.entries())
    await takeInTask(
      { store, now: timers.now, uuid: () => `task-${index}` },
      {
        item: { forge, site: "https://forge", repository: "a/b", kind: "issue", number: index },
        askedBy: "alice",
        trigger: "label",
        worker: null,
        needs,
      },
    );
  /** The tasks that are claimed until none is left; all of them are given back. */
  const runAt = async (has: readonly string[]) => {
    const ran: string[] = [];
    const asked = Promise.withResolvers<void>();
    const runner = createTaskRunner({
      store: {
        async claim(of) {
          const claimed = await store.claim(of);
          if (claimed === null) asked.resolve();
          return claimed;
        },
      },
      limit: 5,
      has,
      timers,
      run: async ({ task, work }, signal) => {
        ran.push(task.id);
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        await store.handBack(work, { begun: false });
      },
      onTrouble: (error) => {
        throw error;
      },
    });
    runner.wake();
    await asked.promise;
    await runner.stop();
    return ran.toSorted();
  };
  expect(await runAt(["docker", "amd64", "forge:github"])).toEqual(["task-0"]);
  expect(await runAt(["docker", "arm64", "forge:github", "forge:gitlab"])).toEqual([
    "task-0",
    "task-1",
    "task-3",
  ]);
  rmSync(folder, { recursive: true, force: true });
});
