import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
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

test("a decision of this repository may be, and figures are not pages", () => {
  expect(check("[decision 003](decisions/003-x.md), 1,000 files, DESIGN\n")).toEqual([]);
});

/** Two files of a small project; the comment is in the second. */
function checkComment(comment: string): readonly string[] {
  mkdirSync(join(folder, "src/jobs"), { recursive: true });
  mkdirSync(join(folder, "docs"), { recursive: true });
  writeFileSync(join(folder, "docs/jobs.md"), "");
  writeFileSync(join(folder, "src/jobs/run-job.ts"), "");
  writeFileSync(join(folder, "src/other.ts"), `const one = 1;\n${comment}\nconst two = "src/gone.ts";\n`);
  return checkCitations(folder, ["src", "docs"]);
}

/** In pieces, as above. */
const GONE = ["go", "ne"].join("");
const HERE = ["run-job", "ts"].join(".");

test.each([
  [`/** See \`${GONE}.ts\`. */`, `${GONE}.ts`],
  [`// as src/jobs/${GONE}.ts does`, `src/jobs/${GONE}.ts`],
  [`/* ../${GONE}/run-job.ts */`, `${GONE}/run-job.ts`],
  [`// docs/${GONE}.md says why`, `docs/${GONE}.md`],
  [`const four = 4; // \`${GONE}.ts\``, `${GONE}.ts`],
])("a comment names no file that is gone: %s", (comment, path) => {
  expect(checkComment(comment)).toEqual([`src/other.ts:2: ${path}: no such file; name where it is now`]);
});

test("the line is that of the reference, not that of the comment's first line", () => {
  expect(checkComment(`/**\n * Why.\n * See ${GONE}.ts.\n */`)[0]).toStartWith("src/other.ts:4: ");
});

test.each([
  [`/** See \`${HERE}\`, \`jobs/${HERE}\` and src/jobs/${HERE}. */`],
  [`// docs/jobs.md, ../jobs/${HERE}`],
  ["// `src/a.ts` is renamed to `b.ts`; AGENTS.md, *.test.ts, NAME/x.tsx"],
  ["// https://example.org/docs/x.md"],
])("a file that exists may be named in each way, and so may an example: %s", (comment) => {
  expect(checkComment(comment)).toEqual([]);
});
