import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeTree } from "../../../src/infrastructure/platform/remove-tree.ts";
import { replaceFile } from "../../../src/infrastructure/platform/text-files.ts";

const folder = mkdtempSync(join(tmpdir(), "picoclaw-replace-"));
const before = process.umask(0o077);
afterAll(() => {
  process.umask(before);
  removeTree(folder);
});

const modeOf = (path: string) => statSync(path).mode & 0o777;

test("a replaced file keeps its mode, whatever the umask forbids, and the link that leads to it", () => {
  const [file, link] = [join(folder, "login.json"), join(folder, "link.json")];
  process.umask(0);
  writeFileSync(file, "old", { mode: 0o664 });
  process.umask(0o077);
  symlinkSync(file, link);
  replaceFile(link, "new");
  expect([readFileSync(file, "utf8"), modeOf(file)]).toEqual(["new", 0o664]);
});

test("a new file is its owner's alone; what a dead process of the same number left is not in the way", () => {
  const file = join(folder, "deep", "new.json");
  replaceFile(file, "1");
  writeFileSync(`${file}.${process.pid}.tmp`, "left");
  replaceFile(file, "2");
  expect([readFileSync(file, "utf8"), modeOf(file)]).toEqual(["2", 0o600]);
});
