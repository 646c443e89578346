import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStagedView } from "../../../src/infrastructure/engine/staged-view.ts";
import { foldsCase } from "../../../src/infrastructure/platform/entry-identity.ts";

test("where the file system folds case, a large folder is not read once for each of its files", () => {
  const folder = mkdtempSync(join(tmpdir(), "staged-view-"));
  try {
    for (const made of ["view", "slots"]) mkdirSync(join(folder, made));
    // The workspace answers to both spellings of its name, as on macOS.
    symlinkSync("view", join(folder, "vieW"));
    const root = `${folder}/view/.`;
    for (let n = 0; n < 2_000; n++) writeFileSync(join(root, `file-${n}.ts`), "");
    const view = createStagedView({
      root,
      slotPath: (n) => join(folder, "slots", String(n)),
      hashBase: () => undefined,
    });
    expect(foldsCase(root)).toBe(true);
    const begunAt = performance.now();
    expect(view.list("")).toHaveLength(2_000);
    for (const name of ["file-1.ts", "new.ts"]) view.write(name, new Uint8Array());
    expect(() => view.write("File-2.ts", new Uint8Array())).toThrow("this file system has file-2.ts");
    view.remove("file-2.ts");
    view.write("File-2.ts", new Uint8Array());
    expect(view.list("")).toHaveLength(2_001);
    expect(performance.now() - begunAt).toBeLessThan(5_000);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a folder that does not exist yet is not taken for one whose file system folds case", () => {
  const folder = mkdtempSync(join(tmpdir(), "staged-view-"));
  try {
    for (const make of [() => {}, () => mkdirSync(join(folder, "later"))]) {
      make();
      expect(foldsCase(join(folder, "later"))).toBe(false);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
