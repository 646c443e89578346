/** A swap that was cut off and repaired is not in the way of the other jobs that touched its folders. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import {
  createBench,
  openTransactions,
  type TransactionBench,
  text,
} from "../contracts/transaction-bench.ts";
import { withoutTimes } from "../contracts/tree.ts";
import { buildChild } from "./build-child.ts";

const CHILD = await buildChild(join(import.meta.dir, "crash-child.ts"));
const SLOW = { timeout: 300_000 };

type Action = "undo" | "redo";
interface Chain {
  readonly name: string;
  /** Commits the jobs; their ids by a letter. */
  readonly jobs: (bench: TransactionBench) => Promise<Readonly<Record<string, string>>>;
  readonly before: readonly (readonly [Action, string])[];
  readonly killed: readonly [Action, string];
  readonly after: readonly (readonly [Action, string])[];
}

const make = (bench: TransactionBench, ...paths: string[]) =>
  bench.apply((view) => {
    for (const path of paths) view.write(path, text(`${path}\n`));
  });
const removeAll = (bench: TransactionBench, ...paths: string[]) =>
  bench.apply((view) => {
    for (const path of paths) view.remove(path);
  });

const CHAINS: readonly Chain[] = [
  {
    name: "a redo that brings the folder of another job back",
    jobs: async (bench) => ({ a: await make(bench, "d/a"), b: await make(bench, "d/b") }),
    before: [
      ["undo", "b"],
      ["undo", "a"],
    ],
    killed: ["redo", "a"],
    after: [
      ["redo", "b"],
      ["undo", "b"],
      ["undo", "a"],
    ],
  },
  {
    name: "a redo beside a job that removes the folder",
    jobs: async (bench) => {
      bench.save("d/x", "x\n");
      bench.save("d/y", "y\n");
      return { a: await make(bench, "d/a"), b: await removeAll(bench, "d/a", "d/x", "d/y", "d") };
    },
    before: [
      ["undo", "b"],
      ["undo", "a"],
    ],
    killed: ["redo", "a"],
    after: [
      ["redo", "b"],
      ["undo", "b"],
      ["undo", "a"],
    ],
  },
  {
    name: "an undo that brings a folder back",
    jobs: async (bench) => {
      bench.save("d/x", "x\n");
      return { a: await make(bench, "d/a"), b: await removeAll(bench, "d/a", "d/x", "d") };
    },
    before: [],
    killed: ["undo", "b"],
    after: [
      ["undo", "a"],
      ["redo", "a"],
      ["redo", "b"],
    ],
  },
];

describe("a process that is killed", () => {
  for (const { name, jobs, before, killed, after } of CHAINS)
    test(
      `in ${name}`,
      async () => {
        const [action, letter] = killed;
        for (let point = 1; ; point++) {
          const bench = createBench("direct");
          try {
            const ids = await jobs(bench);
            const step = async ([what, which]: readonly [Action, string]) =>
              (await bench.transactions[what](ids[which] ?? "", { force: false })).status;
            for (const one of before) expect(await step(one)).toBe("done");
            const child = Bun.spawn(
              [
                process.execPath,
                "--no-env-file",
                CHILD,
                bench.folder,
                action,
                ids[letter] ?? "",
                String(point),
              ],
              { stdout: "pipe", stderr: "pipe" },
            );
            await child.exited;
            if (child.signalCode !== "SIGKILL") break;
            const points = (await new Response(child.stdout).text()).trim().split("\n");
            const at = points.at(-1);
            await openTransactions(bench.storage, join(bench.folder, "home")).repair();
            if (at === "checked") expect(await step(killed)).toBe("done");
            const whole = withoutTimes(bench.tree());
            for (const one of after)
              expect({ at, one, status: await step(one) }).toEqual({ at, one, status: "done" });
            for (const [what, which] of after.toReversed())
              expect(await step([what === "undo" ? "redo" : "undo", which])).toBe("done");
            expect(withoutTimes(bench.tree())).toEqual(whole);
          } finally {
            bench.remove();
          }
        }
      },
      SLOW,
    );
});
