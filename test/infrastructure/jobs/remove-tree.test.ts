import { expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeTree } from "../../../src/infrastructure/jobs/walk-folder.ts";

test("a tree is gone although another process removes a part of it at the same time", async () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-remove-"));
  for (let round = 0; round < 5; round++) {
    const tree = join(folder, String(round));
    for (const part of ["a", "b", "c"]) {
      mkdirSync(join(tree, part), { recursive: true });
      for (let file = 0; file < 250; file++) writeFileSync(join(tree, part, String(file)), "");
    }
    const other = Bun.spawn(["sh", "-c", 'echo; exec rm -rf "$0/c" "$0/b"', tree], { stdout: "pipe" });
    await other.stdout.getReader().read();
    removeTree(tree);
    expect(existsSync(tree)).toBe(false);
    await other.exited;
  }
  removeTree(folder);
});
