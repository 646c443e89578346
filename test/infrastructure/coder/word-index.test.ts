import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WordIndex } from "../../../src/application/ports/drafts.ts";
import { createWordIndex } from "../../../src/infrastructure/coder/word-index.ts";
import { findWords } from "../../../src/tools/read/project-files.ts";

let folder: string;
let root: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-word-index-"));
  root = join(folder, "ws");
  mkdirSync(root);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (path: string, text: string | Uint8Array) => writeFileSync(join(root, path), text);
const FILES = Array.from({ length: 1_000 }, (_, i) => `f${i}.ts`);

/** An index whose waits end when the test says so, at a time that is so far from now. */
function openIndex({ later = 60_000 } = {}) {
  let waiting: (() => void)[] = [];
  const timers = {
    now: () => new Date(Date.now() + later),
    after(_ms: number, run: () => void) {
      waiting.push(run);
      return () => {};
    },
  };
  const index = createWordIndex({ home: join(folder, "home"), root, timers });
  const wait = () => {
    while (waiting.length > 0) {
      const due = waiting;
      waiting = [];
      for (const run of due) run();
    }
  };
  return { index, wait };
}

/** The files that a search reads. */
function filesRead(index: WordIndex, words: readonly string[]): string[] {
  const read = (path: string) => {
    const bytes = readFileSync(join(root, path));
    return bytes.includes(0) ? bytes.subarray(0, 0) : bytes;
  };
  const mayHold = index.openSearch(
    FILES,
    words.map((word) => Buffer.from(word)),
    read,
  );
  return FILES.filter(mayHold);
}

function fill(): void {
  for (const [at, path] of FILES.entries()) write(path, `export const plain${at} = ${at};\n`);
  write("f7.ts", "// the Invoice\n");
  write("f8.ts", "// 消費税\n");
  write("f9.ts", Buffer.concat([Buffer.of(0), Buffer.from("invoice")]));
}

test("files that cannot hold a word are read once, by whichever process", () => {
  fill();
  const { index, wait } = openIndex();
  expect(filesRead(index, ["invoice"])).toEqual(FILES);
  wait();
  expect(filesRead(index, ["invoice", "消費税"])).toEqual(["f7.ts", "f8.ts"]);
  const other = openIndex();
  expect(filesRead(other.index, ["INVOICE"])).toEqual(["f7.ts"]);
  const alike = filesRead(other.index, ["plain77 "]);
  expect(alike).toContain("f77.ts");
  expect(alike.length).toBeLessThan(FILES.length / 10);
});

test("a word of fewer than three bytes may stand anywhere but in a binary", () => {
  fill();
  const { index, wait } = openIndex();
  filesRead(index, ["x"]);
  wait();
  expect(filesRead(index, ["zz"])).toEqual(FILES.filter((path) => path !== "f9.ts"));
});

test("a file that changed is read, even where its size and its time are as before", () => {
  fill();
  const { index, wait } = openIndex();
  filesRead(index, ["invoice"]);
  wait();
  const { atime, mtime } = lstatSync(join(root, "f5.ts"));
  write("f5.ts", "export const invoice = 5;\n");
  utimesSync(join(root, "f5.ts"), atime, mtime);
  rmSync(join(root, "f6.ts"));
  symlinkSync("f7.ts", join(root, "f6.ts"));
  expect(filesRead(index, ["invoice"])).toEqual(["f5.ts", "f6.ts", "f7.ts"]);
});

test("a file that changed a moment ago is not learned: it may change again within the same tick of the clock", () => {
  fill();
  const { index, wait } = openIndex({ later: 0 });
  filesRead(index, ["invoice"]);
  wait();
  expect(filesRead(index, ["invoice"])).toEqual(FILES);
});

test("an index that is cut or of another form counts as none", () => {
  fill();
  const first = openIndex();
  filesRead(first.index, ["invoice"]);
  first.wait();
  const store = join(folder, "home/words");
  const [name = ""] = readdirSync(store);
  expect(lstatSync(join(store, name)).mode & 0o777).toBe(0o600);
  truncateSync(join(store, name), 5_000);
  expect(filesRead(openIndex().index, ["invoice"])).toEqual(FILES);
  writeFileSync(join(store, name), "");
  expect(filesRead(openIndex().index, ["invoice"])).toEqual(FILES);
});

test("a few changed files do not make it write everything again", () => {
  fill();
  const { index, wait } = openIndex();
  filesRead(index, ["invoice"]);
  wait();
  const store = join(folder, "home/words");
  const [name = ""] = readdirSync(store);
  const before = lstatSync(join(store, name)).ino;
  write("f5.ts", "other\n");
  expect(filesRead(index, ["invoice"])).toEqual(["f5.ts", "f7.ts"]);
  wait();
  expect(filesRead(index, ["invoice"])).toEqual(["f7.ts"]);
  expect(lstatSync(join(store, name)).ino).toBe(before);
});

test("a search finds the same with an index as without", () => {
  fill();
  for (let at = 0; at < 200; at++)
    write(
      `f${at}.ts`,
      Array.from({ length: 40 }, (_, n) => `Name${(at * 31 + n * 7) % 997} value_${at}\n`).join(""),
    );
  const words = ["name12", "Name997", "value_1", "NAME5", "消費税", "ab", "invoice"].map((one) => ({
    spellings: [one],
    anyCase: one !== "Name997",
  }));
  const { index, wait } = openIndex();
  const plain = findWords(root, FILES, words, 60_000);
  expect(findWords(root, FILES, words, 60_000, index)).toEqual(plain);
  wait();
  expect(findWords(root, FILES, words, 60_000, index)).toEqual(plain);
  expect(findWords(root, FILES, words.slice(0, 3), 60_000, openIndex().index)).toEqual(
    findWords(root, FILES, words.slice(0, 3), 60_000),
  );
});
