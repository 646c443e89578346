/** The cases of two other tools for this format, each carried out as a job on a real folder. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { copyTree, plantTree, treeOnDisk } from "./disk-tree.ts";
import { type Bench, createBench } from "./worker-kit.ts";

const folder =
  process.env.PICOCLAW_TEST_CONFORMANCE ?? join(import.meta.dir, "../../../../shared/conformance");
const scenarios = join(folder, "v4a");
const more = join(folder, "v4a-more.json");

interface V4aCase {
  readonly id: string;
  readonly before: Readonly<Record<string, string>>;
  readonly patch: string;
  /** Null where the patch is refused and nothing changes. */
  readonly after: Readonly<Record<string, string>> | null;
  readonly src: string;
}

/** Such a case says nothing of folders. */
function filesOnDisk(root: string): Record<string, string> {
  return Object.fromEntries(Object.entries(treeOnDisk(root)).filter(([, entry]) => entry !== "directory"));
}

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

if (!existsSync(scenarios) || !existsSync(more)) {
  test.skip("V4A conformance: the folder is absent (set PICOCLAW_TEST_CONFORMANCE)", () => {});
} else {
  describe("a V4A scenario ends in the expected tree", () => {
    for (const name of readdirSync(scenarios).filter((each) =>
      existsSync(join(scenarios, each, "patch.txt")),
    )) {
      test(name, async () => {
        const input = join(scenarios, name, "input");
        if (existsSync(input)) copyTree(input, bench.workspace);
        await bench.execute(readFileSync(join(scenarios, name, "patch.txt"), "utf8"));
        expect(treeOnDisk(bench.workspace)).toEqual(treeOnDisk(join(scenarios, name, "expected")));
      });
    }
  });

  describe("a V4A case ends in its text, or is refused and changes nothing", () => {
    for (const each of JSON.parse(readFileSync(more, "utf8")) as V4aCase[]) {
      test(`${each.src}: ${each.id}`, async () => {
        plantTree(bench.workspace, each.before);
        const expected = join(bench.folder, "expected");
        plantTree(expected, each.after ?? each.before);
        // opencode verifies the whole patch before it writes, as an atomic job does.
        const done = await bench.execute(each.patch, { atomic: each.src === "opencode" });
        expect(done.about === "job" && done.success).toBe(each.after !== null);
        expect(filesOnDisk(bench.workspace)).toEqual(filesOnDisk(expected));
      });
    }
  });
}
