import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkCitations } from "../../scripts/check-citations.ts";

const folder = mkdtempSync(join(tmpdir(), "picoclaw-citations-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function check(text: string): readonly string[] {
  writeFileSync(join(folder, "a.md"), text);
  return checkCitations(folder, ["a.md", "absent"]);
}

/** In pieces, so that the check does not find them here. */
const PAGE = "\u00a7";

test.each([
  [`as 003 ${PAGE}9.4 says`],
  [`001's ${PAGE}2`],
  [["DECI", "SIONS 27"].join("")],
  [["DESI", `GN ${PAGE}5`].join("")],
  [["se", "ed 004"].join("")],
])("a page that is not here is not cited: %s", (line) => {
  expect(check(`fine\n${line}\n`)).toHaveLength(1);
  expect(check(`fine\n${line}\n`)[0]).toStartWith("a.md:2: ");
});

test.each([
  ["registry.npmjs", "org"],
  ["https://pypi", "org/simple"],
])("nor is a registry's host: %s.%s", (...parts) => {
  expect(check(`from ${parts.join(".")}\n`)).toHaveLength(1);
});

test("a decision of this repository may be, and figures are no pages", () => {
  expect(check("[decision 003](decisions/003-x.md), 1,000 files, DESIGN\n")).toEqual([]);
});
