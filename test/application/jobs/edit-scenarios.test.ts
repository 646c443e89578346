/**
 * A folder of test/scenarios/edit is a case: `input/`, `patch.txt`, `expected/` (the whole tree), and `error.txt` where
 * something fails. Each is carried out as a job on a real folder, and taken back.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { copyTree, treeOnDisk } from "./disk-tree.ts";
import { type Bench, createBench } from "./worker-kit.ts";

const ROOT = join(import.meta.dir, "../../scenarios/edit");

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

describe("an edit scenario ends in the expected tree, and undo restores the start", () => {
  for (const name of readdirSync(ROOT).sort()) {
    test(name, async () => {
      const folder = join(ROOT, name);
      copyTree(join(folder, "input"), bench.workspace);
      const before = treeOnDisk(bench.workspace);
      const ran = await bench.run(readFileSync(join(folder, "patch.txt"), "utf8"));
      const failed = ran.commands.filter((result) => !result.success);
      const errors = failed.map((result) => `${result.output || result.error}\n`).join("");
      const errorFile = join(folder, "error.txt");
      expect(errors).toBe(existsSync(errorFile) ? readFileSync(errorFile, "utf8") : "");
      expect(treeOnDisk(bench.workspace)).toEqual(treeOnDisk(join(folder, "expected")));
      if (ran.undo === "none") return;
      const worker = await bench.open();
      expect(await worker.takeBack({ direction: "undo", name: ran.jobId, force: false })).toMatchObject({
        status: "done",
      });
      expect(treeOnDisk(bench.workspace)).toEqual(before);
    });
  }
});
