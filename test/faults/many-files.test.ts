/** Jobs of many files in a process that serves others, and beside a user who goes on working. */
import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { landsAll } from "../contracts/lands-all.ts";
import { createBench, type StagingKind, type TransactionBench } from "../contracts/transaction-bench.ts";

const COUNT = 1_500;

async function withBench(
  use: (bench: TransactionBench) => Promise<void>,
  checkpoint?: (point: string) => void,
  kind: StagingKind = "direct",
): Promise<void> {
  const bench = createBench(kind, checkpoint && { deps: { checkpoint } });
  try {
    await use(bench);
  } finally {
    bench.remove();
  }
}

const makeMany = (bench: TransactionBench) =>
  bench.stage((view) => {
    for (let n = 0; n < COUNT; n += 1) view.write(`new/d${n % 7}/f${n}`, Buffer.from(`${n}\n`));
  });

/** Makes each step of a job take so long that the whole is more than one turn, however quick the disk is. */
const takeItsTime = () => {
  const until = performance.now() + 0.1;
  while (performance.now() < until);
};

test("a commit and an undo of many files leave the process to others in between", () =>
  withBench(async (bench) => {
    const jobId = await makeMany(bench);
    const turns = { taken: 0, on: true };
    const others = () => {
      turns.taken += 1;
      if (turns.on) setImmediate(others);
    };
    setImmediate(others);
    expect((await bench.transactions.commit(jobId)).status).toBe("done");
    const during = turns.taken;
    expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
    turns.on = false;
    expect(during).toBeGreaterThan(1);
    expect(turns.taken).toBeGreaterThan(during + 1);
    expect(readdirSync(bench.workspace)).toEqual([]);
  }, takeItsTime));

test("a folder that is moved away while files enter it is a conflict, and no file is lost", async () => {
  const at: { bench?: TransactionBench } = {};
  const moveOnce = (point: string) => {
    const { bench } = at;
    if (point !== "in 3" || bench === undefined || existsSync(bench.at("elsewhere"))) return;
    renameSync(bench.at("home"), bench.at("elsewhere"));
  };
  await withBench(async (bench) => {
    mkdirSync(bench.at("home"));
    bench.save("home/user.txt", "mine\n");
    const jobId = await bench.stage((view) => {
      for (let n = 0; n < 6; n += 1) view.write(`home/f${n}`, Buffer.from(`${n}\n`));
    });
    at.bench = bench;
    const outcome = await bench.transactions.commit(jobId);
    expect(outcome.status).toBe("conflict");
    expect(bench.read("elsewhere/user.txt")).toBe("mine\n");
    const slots = readdirSync(`${bench.storage.folder}/jobs/${jobId}/slots`).length;
    const moved = readdirSync(bench.at("elsewhere")).length - 1;
    const back = existsSync(bench.at("home")) ? readdirSync(bench.at("home")).length : 0;
    expect(slots + moved + back).toBe(6);
  }, moveOnce);
});

test("the layers of many files are removed after the swap, without delaying the job", async () => {
  const at: { trash?: string; during?: readonly string[] } = {};
  const look = (point: string) => {
    if (point === "swapped") at.during = readdirSync(at.trash as string);
  };
  await withBench(
    async (bench) => {
      at.trash = `${bench.storage.folder}/trash`;
      const { jobId, transaction } = await bench.begin();
      const view = transaction.directory as string;
      for (let n = 0; n < 600; n += 1) writeFileSync(`${view}/f${n}`, `${n}\n`);
      mkdirSync(`${view}/shut`);
      writeFileSync(`${view}/shut/in`, "");
      await transaction.seal(landsAll);
      // A layer may hold folders that shut out their owner.
      const [left] = readdirSync(at.trash);
      mkdirSync(`${at.trash}/${left}/shut/in`, { recursive: true });
      chmodSync(`${at.trash}/${left}/shut`, 0o000);
      expect((await bench.transactions.commit(jobId)).status).toBe("done");
      expect(at.during).toEqual([left as string]);
      while (readdirSync(at.trash).length > 0) await Bun.sleep(5);
    },
    look,
    "copy",
  );
});
