import { afterAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import type { Work } from "../../../src/application/ports/serve.ts";
import {
  type CommitGuard,
  createCommitGuard,
  createWorkKeeper,
} from "../../../src/application/serve/take-work.ts";
import { withFolderLocks } from "../../../src/infrastructure/platform/folder-lock.ts";
import { openWorkspace } from "../../../src/wiring/workspace.ts";
import { createManualTimers } from "../../fakes/timers.ts";
import { createBench, edit, shell } from "../jobs/worker-kit.ts";

const work = (id: string): Work => ({
  id,
  queue: "messages",
  key: id,
  group: "g",
  ref: id,
  light: false,
  attempt: 1,
  fence: 1,
});

/** A process with one piece of work in hand, whose beats and clock obey the test. */
async function createProcess() {
  const state = { ms: 0, lost: [] as Work[], away: false };
  const guard = createCommitGuard(
    () => state.ms,
    () => new Promise(() => {}),
  );
  const beat = async () => {
    if (state.away) throw new Error("the store is away");
    return state.lost;
  };
  const keeper = createWorkKeeper({
    queue: { beat },
    timers: createManualTimers(),
    onTrouble: () => {},
    guard,
  });
  const mine = work("mine");
  const lost = keeper.hold(mine);
  await keeper.start();
  return { state, guard, mine, lost };
}

describe("whether a job is brought in", () => {
  const bench = createBench();
  afterAll(() => bench.remove());

  async function open(guard: CommitGuard, signal: AbortSignal) {
    const opened = await openWorkspace(bench.environment(), { cwd: bench.workspace }, guard);
    if (!opened.ok) throw new Error(opened.message);
    const { workspace } = opened;
    const execute = (commands: readonly object[]) =>
      workspace.execute({
        patch: JSON.stringify(commands),
        source: "test",
        startedBy: "user",
        dryRun: false,
        preview: false,
        atomic: false,
        stopOnError: false,
        autoCommit: false,
        signal,
      });
    return { workspace, execute };
  }

  test("two missed beats and a store that does not answer: no commit, and the work in hand is given up", async () => {
    const { state, guard, lost } = await createProcess();
    state.away = true;
    state.ms = 5_999;
    expect(await guard.mayCommit(lost)).toBe(true);
    state.ms = 6_000;
    expect(await guard.mayCommit(lost)).toBe(false);
    expect(lost.aborted).toBe(true);
  });

  test("a process that was suspended first asks whether its work is still its own", async () => {
    const { state, guard, lost, mine } = await createProcess();
    state.ms = 60_000;
    expect(await guard.mayCommit(lost)).toBe(true);
    state.ms = 120_000;
    state.lost = [mine];
    expect(await guard.mayCommit(lost)).toBe(false);
    expect(lost.aborted).toBe(true);
  });

  test("a job that may not be brought in changes nothing", async () => {
    const { state, guard, lost } = await createProcess();
    const { workspace, execute } = await open(guard, lost);
    await execute([edit("create", "kept.txt", "kept\n")]);
    expect(bench.read("kept.txt")).toBe("kept\n");
    state.ms = 7_000;
    state.away = true;
    const late = await execute([edit("create", "late.txt", "late\n"), shell("echo late >> kept.txt")]);
    expect(late).toMatchObject({ about: "job", outcome: "aborted" });
    expect(bench.read("kept.txt")).toBe("kept\n");
    expect(existsSync(bench.path("late.txt"))).toBe(false);
    const states = workspace.archive.list().map(({ state: one }) => one);
    expect(states.toSorted()).toEqual(["committed", "discarded"]);
  }, 300_000);

  test("a job that waited for the workspace is asked about when it has the lock", async () => {
    const { state, guard, lost } = await createProcess();
    const { workspace, execute } = await open(guard, lost);
    const isWaiting = () => workspace.archive.list().some((job) => job.state === "staged");
    const late = await withFolderLocks([bench.workspace], { timeoutMs: 60_000 }, async () => {
      const executed = execute([edit("create", "waited.txt", "late\n")]);
      while (!isWaiting()) await Bun.sleep(10);
      state.ms = 7_000;
      state.away = true;
      return { executed };
    });
    if (late === "busy") throw new Error("somebody else has the lock");
    expect(await late.executed).toMatchObject({ about: "job", outcome: "aborted" });
    expect(existsSync(bench.path("waited.txt"))).toBe(false);
    expect(isWaiting()).toBe(false);
  }, 300_000);
});
