import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseV4a } from "../../../src/domain/patch/formats/v4a/v4a.ts";
import { runCommands } from "../../scenarios/edit/memory-commands.ts";
import { readTree } from "../../scenarios/edit/memory-tree.ts";

const folder =
  process.env.PICOCLAW_TEST_CONFORMANCE ?? join(import.meta.dir, "../../../../shared/conformance");
const root = join(folder, "v4a");

if (!existsSync(root)) {
  test.skip("V4A conformance: the folder is absent (set PICOCLAW_TEST_CONFORMANCE)", () => {});
} else {
  describe("a V4A scenario ends in the expected tree", () => {
    for (const name of readdirSync(root).filter((each) => existsSync(join(root, each, "patch.txt")))) {
      test(name, () => {
        const tree = readTree(join(root, name, "input"));
        const parsed = parseV4a(readFileSync(join(root, name, "patch.txt"), "utf8"));
        if (parsed.ok) runCommands(tree, parsed.commands);
        expect(tree.snapshot()).toEqual(readTree(join(root, name, "expected")).snapshot());
      });
    }
  });
}
