import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RepairedJob } from "../../src/application/ports/jobs-transaction.ts";
import { jobFolder, readRepairMarks } from "../../src/infrastructure/jobs/job-folder.ts";
import {
  createBench,
  openTransactions,
  type TransactionBench,
  text,
} from "../contracts/transaction-bench.ts";
import { type Tree, withoutTimes } from "../contracts/tree.ts";
import { runs } from "../require.ts";
import { buildChild } from "./build-child.ts";

const CHILD = await buildChild(join(import.meta.dir, "crash-child.ts"));
const SLOW = { timeout: 300_000 };

interface Ran {
  readonly killed: boolean;
  readonly points: readonly string[];
  readonly outcome: unknown;
}

/**
 * The three pass the same points in the same code. By day a commit is killed at all of them, an undo at every other one, a redo
 * at those that the undo leaves out.
 */
const isLeftToTheNight = (action: "commit" | "undo" | "redo", index: number) =>
  runs(1) === 1 && action !== "commit" && index % 2 === (action === "undo" ? 1 : 0);

let bench: TransactionBench;
let jobId: string;
beforeEach(() => prepare("commit"));
afterEach(() => bench.remove());

describe("a process that is killed", () => {
  for (const action of ["commit", "undo", "redo"] as const) {
    test(
      `at any point of ${action} leaves what repair makes whole`,
      async () => {
        const { points, after } = await rehearse(action);
        expect(points.length).toBeGreaterThan(20);
        for (const [index, point] of points.entries()) {
          if (isLeftToTheNight(action, index)) continue;
          await prepare(action);
          const before = bench.tree();
          expect((await run(action, index + 1)).killed).toBe(true);
          const repaired = await repairHere();
          if (point === "checked")
            expect({ point, repaired, tree: bench.tree() }).toEqual({ point, repaired: null, tree: before });
          else expect({ point, tree: withoutTimes(bench.tree()) }).toEqual({ point, tree: after });
          if (point !== "checked" && point !== "cleared") expect(repaired?.outcome).toBe("finished");
          expect(intentStands()).toBe(false);
          if (point === "checked") continue;
          // A repaired job can be undone, to the byte and the time.
          const back = action === "undo" ? "redo" : "undo";
          expect((await bench.transactions[back](jobId, { force: false })).status).toBe("done");
          expect(bench.tree()).toEqual(before);
        }
      },
      SLOW,
    );
  }

  test(
    "again while it repairs leaves what the next repair makes whole",
    async () => {
      const { points, after } = await rehearse("commit");
      const middle = points.findIndex((point) => point.startsWith("exchange")) + 1;
      await prepare("commit");
      await run("commit", middle);
      const repairPoints = (await run("repair")).points;
      for (const [index, point] of repairPoints.entries()) {
        await prepare("commit");
        await run("commit", middle);
        expect((await run("repair", index + 1)).killed).toBe(true);
        await repairHere();
        expect({ point, tree: withoutTimes(bench.tree()) }).toEqual({ point, tree: after });
        expect(intentStands()).toBe(false);
      }
    },
    SLOW,
  );

  test(
    "while it reverts a failed swap leaves what repair puts back",
    async () => {
      const { points } = await run("commit-with-a-late-save");
      const first = points.indexOf("taking back") + 1;
      for (let point = first; point <= points.length; point++) {
        await prepare("commit");
        const before = bench.tree();
        expect((await run("commit-with-a-late-save", point)).killed).toBe(true);
        const repaired = await repairHere();
        expect({ point, outcome: repaired?.outcome }).toEqual({ point, outcome: "taken-back" });
        expect(bench.read("edited.txt")).toBe("saved in the last instant\n");
        writeFileSync(bench.at("edited.txt"), "one\n");
        expect({ point, tree: withoutTimes(bench.tree()) }).toEqual({ point, tree: withoutTimes(before) });
        expect(intentStands()).toBe(false);
      }
    },
    SLOW,
  );
});

describe.each(["exchange 0", "in 0"])("a path that was edited after the crash at %s", (point) => {
  const edited = ["edited.txt", "shut/inner.txt"];
  beforeEach(async () => {
    const { points } = await rehearse("commit");
    await prepare("commit");
    // The first of the two is swapped by then, the other is not.
    expect(points.indexOf(point)).toBeGreaterThan(0);
    await run("commit", points.indexOf(point) + 1);
    for (const path of edited) writeFileSync(bench.at(path), "mine\n");
  });

  test("stays as it is, and the rest is finished around it", async () => {
    const repaired = (await run("repair")).outcome as RepairedJob;
    expect([repaired.outcome, repaired.conflicts, repaired.left.length]).toEqual(["finished", [], 1]);
    expect(edited).toContain(repaired.left[0] as string);
    expect(intentStands()).toBe(false);
    expect(edited.map((path) => bench.read(path))).toEqual(["mine\n", "mine\n"]);
    expect(bench.read("made/deep/new.txt")).toBe("new\n");
    expect(bench.read("file-to-folder/now")).toBe("a folder\n");
    expect(existsSync(bench.at("folder"))).toBe(false);
  });

  test("is not part of the job where the commit had not reached it, and a conflict of its undo where it had", async () => {
    const { left } = (await run("repair")).outcome as RepairedJob;
    const reached = edited.filter((path) => !left.includes(path));
    const refused = await bench.transactions.undo(jobId, { force: false });
    expect(refused).toEqual({
      status: "conflict",
      conflicts: reached.map((path) => ({ path, reason: "changed" })),
    });
    expect((await bench.transactions.undo(jobId, { force: true })).status).toBe("done");
    expect(left.map((path) => bench.read(path))).toEqual(["mine\n"]);
    expect(reached.map((path) => bench.read(path))).not.toContain("mine\n");
    const again = await bench.transactions.redo(jobId, { force: false });
    expect(again.status === "done" && again.changes.map(({ path }) => path)).not.toContain(left[0]);
    expect(left.map((path) => bench.read(path))).toEqual(["mine\n"]);
  });

  test("stays through a repair that is killed itself, and is still named", async () => {
    // Checkpoints of a repair: opened, some moves, modes, then what was left out is written down.
    let killed = 0;
    for (; (await run("repair", 3 + killed)).killed; killed++) expect(killed).toBeLessThan(20);
    expect(killed).toBeGreaterThan(0);
    expect(intentStands()).toBe(false);
    const marks = readRepairMarks(jobFolder(bench.storage.folder, jobId));
    expect(marks.map(({ outcome, left }) => [outcome, left])).toEqual([["finished", ["shut/inner.txt"]]]);
    expect(edited.map((path) => bench.read(path))).toEqual(["mine\n", "mine\n"]);
  });
});

describe.if(process.platform === "linux")("a process that is stopped in the middle", () => {
  for (const [action, back] of [
    ["commit", "undo"],
    ["undo", "redo"],
  ] as const)
    test(
      `of ${action} is named to the next job, which does nothing; once it was ended, the next completes what it had begun before it does its own`,
      async () => {
        const { points, after } = await rehearse(action);
        const middle = points.findIndex((point) => point.startsWith("exchange")) + 1;
        expect(middle).toBeGreaterThan(0);
        await prepare(action);
        const before = withoutTimes(bench.tree());
        const next = await bench.stage((view) => view.write("next.txt", text("next\n")));
        const stopped = run(action, middle, "SIGSTOP");
        // It holds the lock from here on, and stops itself.
        while (!intentStands()) await Bun.sleep(5);
        const successor = openTransactions(bench.storage, join(bench.folder, "home"), { lockTimeoutMs: 500 });
        const refused = await successor.commit(next);
        expect(refused).toMatchObject({ status: "refused", reason: "busy" });
        const [, pid] = /\(pid (\d+)\)$/.exec(String("heldBy" in refused && refused.heldBy)) ?? [];
        process.kill(Number(pid), "SIGKILL");
        expect((await stopped).killed).toBe(true);
        expect((await successor.commit(next)).status).toBe("done");
        expect(intentStands()).toBe(false);
        const marks = readRepairMarks(jobFolder(bench.storage.folder, jobId));
        expect(marks.map(({ outcome, left }) => [outcome, left])).toEqual([["finished", []]]);
        expect((await successor.undo(next, { force: false })).status).toBe("done");
        expect(withoutTimes(bench.tree())).toEqual(after);
        expect((await successor[back](jobId, { force: false })).status).toBe("done");
        expect(withoutTimes(bench.tree())).toEqual(before);
      },
      SLOW,
    );
});

/** A new bench with a job that does everything to a path that a job can do, just before the action. */
async function prepare(action: "commit" | "undo" | "redo"): Promise<void> {
  bench?.remove();
  bench = createBench("direct");
  for (const path of [
    "gone.txt",
    "folder/deep/inner.txt",
    "file-to-folder",
    "folder-to-file/x",
    "shut/inner.txt",
  ])
    bench.save(path, `${path}\n`);
  bench.save("edited.txt", "one\n");
  chmodSync(bench.at("shut"), 0o555);
  jobId = await bench.stage((view) => {
    view.write("edited.txt", text("two\n"));
    view.remove("gone.txt");
    view.write("made/deep/new.txt", text("new\n"));
    view.remove("folder/deep/inner.txt");
    view.remove("folder/deep");
    view.remove("folder");
    view.remove("file-to-folder");
    view.write("file-to-folder/now", text("a folder\n"));
    view.remove("folder-to-file/x");
    view.remove("folder-to-file");
    view.write("folder-to-file", text("a file\n"));
    view.write("shut/inner.txt", text("changed\n"));
  });
  if (action !== "commit") await bench.transactions.commit(jobId);
  if (action === "redo") await bench.transactions.undo(jobId, { force: false });
}

/** The checkpoints of an action that is not killed, and what it leaves. */
async function rehearse(
  action: "commit" | "undo" | "redo",
): Promise<{ points: readonly string[]; after: Tree }> {
  await prepare(action);
  const { points } = await run(action);
  return { points, after: withoutTimes(bench.tree()) };
}

/** A process of its own, killed or stopped at the given checkpoint, if any. */
async function run(action: string, point = 0, signal = "SIGKILL"): Promise<Ran> {
  const child = Bun.spawn(
    [process.execPath, "--no-env-file", CHILD, bench.folder, action, jobId, String(point), signal],
    {
      stdout: "pipe",
      stderr: "pipe",
    },
  );
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  await child.exited;
  const killed = child.signalCode === "SIGKILL";
  return { killed, points: out.split("\n").filter(Boolean), outcome: killed ? null : JSON.parse(err) };
}

/** The process that repairs is another than the one that was killed: this one serves, and starts nothing. */
async function repairHere(): Promise<RepairedJob | null> {
  return openTransactions(bench.storage, join(bench.folder, "home")).repair();
}

function intentStands(): boolean {
  return existsSync(join(bench.storage.folder, "intent.json"));
}
