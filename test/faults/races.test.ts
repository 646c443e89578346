import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ViewFault } from "../../src/application/ports/platform-view.ts";
import { landsAll } from "../contracts/lands-all.ts";
import { createBench, newJobId, type TransactionBench, text } from "../contracts/transaction-bench.ts";
import { treeOf } from "../contracts/tree.ts";
import { runs } from "../require.ts";

const ACTORS = join(import.meta.dir, "race-actors.ts");
const SLOW = { timeout: 300_000 };
let bench: TransactionBench;
beforeEach(() => {
  bench = createBench("direct");
});
afterEach(() => bench.remove());

interface Actor {
  readonly lines: () => Promise<string[]>;
  readonly end: () => Promise<void>;
}

/** Starts another process and waits until it is at work. */
async function start(role: string, ...args: string[]): Promise<Actor> {
  const child = Bun.spawn([process.execPath, "--no-env-file", ACTORS, role, bench.folder, ...args], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const reader = child.stdout.getReader();
  let seen = "";
  while (!seen.includes("ready\n")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`${role} ended: ${seen}`);
    seen += Buffer.from(value).toString();
  }
  return {
    async lines() {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        seen += Buffer.from(value).toString();
      }
      await child.exited;
      return seen.split("\n").filter((line) => line !== "" && line !== "ready");
    },
    async end() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

describe("a folder that is swapped for a symlink while jobs write through it", () => {
  for (const kind of ["direct", "copy"] as const)
    test(
      `never lets a ${kind} job reach the outside`,
      async () => {
        const outside = join(bench.folder, "outside");
        mkdirSync(outside);
        writeFileSync(join(outside, "file.txt"), "canary\n");
        bench.save("door/file.txt", "inside\n");
        const canary = treeOf(outside);
        const flipper = await start("flip", "door", outside);
        const outcomes = new Set<string>();
        try {
          for (let i = 0; i < runs(kind === "direct" ? 50 : 10); i++) {
            const jobId = newJobId();
            const begun = await bench.transactions.begin({ startedBy: "user", jobId, kind });
            if (!begun.ok) {
              outcomes.add(begun.refusal.code);
              continue;
            }
            const { transaction } = begun;
            try {
              transaction.view.write("door/file.txt", text(`job ${i}\n`));
              transaction.view.write(`door/new-${i}.txt`, text("new\n"));
              await transaction.seal(landsAll);
              const outcome = await bench.transactions.commit(jobId);
              outcomes.add(outcome.status);
              if (outcome.status === "done") await bench.transactions.undo(jobId, { force: true });
            } catch (error) {
              if (!(error instanceof ViewFault)) throw error;
              outcomes.add("fault");
            }
            await bench.transactions.discard(jobId);
            expect(treeOf(outside)).toEqual(canary);
          }
        } finally {
          await flipper.end();
        }
        expect(outcomes.size).toBeGreaterThan(0);
        expect(treeOf(outside)).toEqual(canary);
      },
      SLOW,
    );
});

describe("a user who saves a file in a loop while jobs commit to it", () => {
  test(
    "loses no save: the last is in the workspace or in an undo record, the others were seen by a job",
    async () => {
      bench.save("note.txt", "save 0\n");
      const log = join(bench.folder, "saves.log");
      writeFileSync(log, "");
      const count = runs(50);
      const user = await start("save", "note.txt", log, String(count));
      const statuses = new Map<string, number>();
      const kept: string[] = [];
      let ended = false;
      const finished = user.lines().then(() => {
        ended = true;
      });
      for (; !ended; await nextTurn()) {
        const { jobId, transaction } = await bench.begin();
        const seen = readOr(() => Buffer.from(transaction.view.read("note.txt")).toString());
        if (seen === null) {
          await bench.transactions.discard(jobId);
          continue;
        }
        transaction.view.write("note.txt", text(`job over ${seen}`));
        await transaction.seal(landsAll);
        const outcome = await bench.transactions.commit(jobId);
        statuses.set(outcome.status, (statuses.get(outcome.status) ?? 0) + 1);
        if (outcome.status === "done") kept.push(join(bench.storage.folder, "jobs", jobId, "slots"));
        else await bench.transactions.discard(jobId);
      }
      await finished;
      const last = `save ${count}\n`;
      const inRecords = kept.flatMap((slots) =>
        readdirSync(slots).map((name) => readFileSync(join(slots, name), "utf8")),
      );
      const standing = bench.read("note.txt");
      expect([standing, ...inRecords].some((each) => each === last)).toBe(true);
      // A job only ever replaced what it had read.
      const notes = [standing, ...inRecords].filter((each) => each.startsWith("job over"));
      for (const note of notes) expect(note).toMatch(/^job over (save \d+\n|job over .*)$/s);
      expect((statuses.get("done") ?? 0) + (statuses.get("conflict") ?? 0)).toBeGreaterThan(0);
    },
    SLOW,
  );
});

/** Lets the pipes of the other process be read. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function readOr<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof ViewFault) return null;
    throw error;
  }
}

describe("a server with its database open", () => {
  test("loses no insert: the job that replaced the file waits as a preview", async () => {
    const database = new Database(bench.at("app.db"));
    database.run("pragma journal_mode = delete");
    database.run("create table t (n integer)");
    database.close();
    const server = Bun.spawn([process.execPath, "-e", SERVER, bench.at("app.db")], {
      stdin: "pipe",
      stdout: "pipe",
    });
    const reader = server.stdout.getReader();
    await reader.read();
    const jobId = await bench.stage((_, { directory }) => {
      const copy = new Database(join(directory as string, "app.db"));
      copy.run("insert into t values (-1)");
      copy.close();
    }, "copy");
    const during = await bench.transactions.commit(jobId);
    expect(during.status === "conflict" ? during.conflicts.map(({ reason }) => reason) : during).toContain(
      "open",
    );
    server.stdin.write("stop\n");
    await server.stdin.end();
    const inserted = Number(Buffer.from((await reader.read()).value ?? []).toString());
    await server.exited;
    const rows = new Database(bench.at("app.db")).query("select count(*) as n from t").get();
    expect(inserted).toBeGreaterThan(0);
    expect(rows).toEqual({ n: inserted });
  });
});

/** Inserts until it is stopped, then reports how often. */
const SERVER = `
const { Database } = require("bun:sqlite");
const database = new Database(process.argv[1]);
let inserted = 0, stopped = false;
process.stdin.once("data", () => { stopped = true; });
database.run("insert into t values (0)"); inserted++;
console.log("ready");
(function next() {
  if (stopped) { console.log(inserted); database.close(); process.exit(0); }
  database.run("insert into t values (1)"); inserted++;
  setImmediate(next);
})();
`;

describe("processes that apply jobs to one workspace at once", () => {
  for (const many of [2, 8])
    test(
      `are ${many}: every job is there whole or not at all, and its record says which`,
      async () => {
        bench.save("shared.txt", "");
        const each = Math.ceil(runs(8) / many);
        const actors = await Promise.all(
          Array.from({ length: many }, (_, i) => start("jobs", `p${i}`, String(each))),
        );
        const lines = (await Promise.all(actors.map((actor) => actor.lines()))).flat();
        expect(lines.length).toBe(many * each);
        const done = lines.filter((line) => line.startsWith("done "));
        const marks = done.map((line) => line.split(" ")[1] as string).sort();
        expect(marks.length).toBeGreaterThan(0);
        expect(bench.read("shared.txt").split("\n").filter(Boolean).sort()).toEqual(marks);
        const own = existsSync(bench.at("own")) ? readdirSync(bench.at("own")).sort() : [];
        expect(own).toEqual(marks.map((mark) => `${mark}.txt`));
        const states = lines.map((line) => {
          const [status, , jobId] = line.split(" ") as [string, string, string];
          const state = JSON.parse(
            readFileSync(join(bench.storage.folder, "jobs", jobId, "state.json"), "utf8"),
          );
          return [status, state.state];
        });
        for (const [status, state] of states) expect(state).toBe(status === "done" ? "committed" : "staged");
        expect(existsSync(join(bench.storage.folder, "intent.json"))).toBe(false);
      },
      SLOW,
    );
});
