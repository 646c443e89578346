import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findWords } from "../../src/tools/read/project-files.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-words-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (path: string, text: string | Uint8Array) => writeFileSync(join(folder, path), text);
const word = (text: string) => ({ spellings: [text], anyCase: true });

test("words in any case, names as they are written, Japanese too; not in binaries, links and missing files", () => {
  write("a.ts", "const computeTotal = INVOICE;\n");
  write("b.ts", "// 消費税\nComputetotal\n");
  write("c.bin", new Uint8Array([0, ...Buffer.from("invoice")]));
  symlinkSync(join(folder, "a.ts"), join(folder, "link.ts"));
  const words = [{ spellings: ["computeTotal"], anyCase: false }, word("invoice"), word("消費税")];
  const paths = ["a.ts", "b.ts", "c.bin", "link.ts", "gone.ts", "."];
  expect(findWords(folder, paths, words, 1_000)).toEqual({
    searched: 6,
    hits: [
      { path: "a.ts", terms: [0, 1] },
      { path: "b.ts", terms: [2] },
    ],
  });
});

test("ends when its time is over, and says how far it came", () => {
  const paths = Array.from({ length: 100 }, (_, i) => `f${i}.ts`);
  for (const path of paths) write(path, "needle\n");
  expect(findWords(folder, paths, [word("needle")], -1)).toEqual({ hits: [], searched: 0 });
});

test("a named pipe blocks no call", () => {
  expect(Bun.spawnSync(["mkfifo", join(folder, "pipe")]).success).toBe(true);
  expect(findWords(folder, ["pipe"], [word("x")], 1_000).hits).toEqual([]);
});
