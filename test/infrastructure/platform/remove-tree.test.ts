import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeTree } from "../../../src/infrastructure/platform/remove-tree.ts";

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

test("folders that shut out their owner are removed too, for any bytes in their names", () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-remove-"));
  const shut = [join(folder, "a/b"), Buffer.concat([Buffer.from(`${folder}/a/`), Buffer.from([0xff, 0x64])])];
  mkdirSync(join(folder, "a"));
  for (const at of shut) {
    mkdirSync(at);
    writeFileSync(Buffer.concat([Buffer.from(at), Buffer.from([0x2f, 0x83])]), "x");
    chmodSync(at, 0);
  }
  chmodSync(join(folder, "a"), 0o500);
  removeTree(folder);
  expect(existsSync(folder)).toBe(false);
});
