import { expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createRotatingFile } from "../../../src/infrastructure/platform/line-logger.ts";
import { makeTestFolder } from "../../left-behind.ts";

function setUp() {
  const file = join(makeTestFolder("rotate"), "logs", "a.log");
  return { file, open: () => createRotatingFile({ file, limitBytes: 1000, files: 3 }) };
}

test("two writers share a file, and the one that did not rotate it follows", () => {
  const { file, open } = setUp();
  const one = open();
  const other = open();
  other.write("other begins\n");
  for (let i = 0; i < 100; i += 1) one.write(`one ${i} ${"x".repeat(20)}\n`);
  expect(existsSync(`${file}.1`)).toBe(true);
  for (let i = 0; i < 64; i += 1) other.write(".\n");
  other.write("other is here\n");
  expect(readFileSync(file, "utf8")).toContain("other is here\n");
  one.close();
  other.close();
});

test("a file that was removed is made again, and writing continues after a close", () => {
  const { file, open } = setUp();
  const log = open();
  log.write("first\n");
  rmSync(file);
  for (let i = 0; i < 64; i += 1) log.write(".\n");
  expect(existsSync(file)).toBe(true);
  log.close();
  log.close();
  log.write("last\n");
  expect(readFileSync(file, "utf8").endsWith("last\n")).toBe(true);
});

test("one line larger than the limit is still written whole", () => {
  const { file, open } = setUp();
  const log = open();
  log.write("small\n");
  const large = `${"y".repeat(3000)}\n`;
  log.write(large);
  expect(readFileSync(file, "utf8")).toBe(large);
});
