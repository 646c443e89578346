import { expect, test } from "bun:test";
import { showAsked } from "../../../src/application/coder/explorer.ts";
import { searchProject } from "../../../src/application/coder/search-project.ts";
import { cpuTimeMs } from "../../cpu-time.ts";
import { memoryProject } from "../../fakes/memory-project.ts";

const numbered = (count: number) =>
  Array.from({ length: count }, (_, i) => `line ${i + 1} ${"x".repeat(20)}`).join("\n");

test("the budget is split over all requested parts, and a cut range names the next one", () => {
  const project = memoryProject({ "a.ts": numbered(1_000), "b.ts": numbered(1_000), "c.ts": "short\n" });
  const text = showAsked(
    project,
    { files: ["a.ts:500-900", "b.ts:1-300", "c.ts"], searches: [] },
    { request: "", limit: 6_000 },
  );
  expect(text).toContain('<file path="a.ts" lines="500-');
  expect(text).toContain('<file path="b.ts" lines="1-');
  expect(text).toMatch(/\(cut; the next is a\.ts:\d+-900\)/);
  expect(text).toMatch(/\(cut; the next is b\.ts:\d+-300\)/);
  expect(text).toContain('<file path="c.ts">\nshort\n</file>');
  expect(text.length).toBeLessThan(6_500);
});

test("a file that is not there is answered with those that are called alike", () => {
  const project = memoryProject({ "src/price-list.ts": "x" });
  expect(showAsked(project, { files: ["lib/price.ts"], searches: [] }, { request: "", limit: 500 })).toBe(
    '<file path="lib/price.ts">does not exist, or may not be shown; there are src/price-list.ts</file>',
  );
});

test("a search names lines, definitions before uses and source before tests", () => {
  const project = memoryProject({
    "test/total.test.ts": "expect(totalOf([])).toBe(0);\n",
    "src/use.ts": "import { totalOf } from './total';\nshow(totalOf(x));\n",
    "src/total.ts": "// sums\nexport function totalOf(lines) {\n}\n",
    "dist/total.js": "function totalOf(lines) {}\n",
  });
  expect(searchProject(project, { pattern: "totalOf(" }, 1_000)).toBe(
    [
      '<search pattern="totalOf(" lines="4" files="4">',
      "src/total.ts",
      "2: export function totalOf(lines) {",
      "3- }",
      "src/use.ts",
      "2: show(totalOf(x));",
      "test/total.test.ts",
      "1: expect(totalOf([])).toBe(0);",
      "… and 1 more files (skip_files: 3): dist/total.js",
      "</search>",
    ].join("\n"),
  );
  expect(searchProject(project, { pattern: "no such thing" }, 1_000)).toContain("nothing found");
  expect(searchProject(project, { pattern: "total[A-Z]f", under: "src" }, 1_000)).toContain('files="2"');
});

test("an expression of nested repetitions takes no exponential time, and is found as a text where no line matches it", () => {
  const project = memoryProject({ "a.txt": `${"a".repeat(5_000)}!\n(a+)+$ here\n` });
  const begun = cpuTimeMs();
  expect(searchProject(project, { pattern: "(a+)+$" }, 1_000)).toContain("2: (a+)+$ here");
  expect(cpuTimeMs() - begun).toBeLessThan(1_000);
});

test("a search below a pattern of paths looks there, and says where there is nothing to look into", () => {
  const project = memoryProject({
    "help.go": "func ShowVersion() {}\n",
    "cmd/run.go": "\tShowVersion()\n",
    "app/[id]/page.ts": "ShowPage();\n",
    "godoc.txt": "func ShowVersion()\n",
    "testdata/godoc.txt": "func ShowVersion()\n",
  });
  const search = (under: string) => searchProject(project, { pattern: "ShowVersion", under }, 1_000);
  expect(search("*.go")).toContain('files="2"');
  expect(search("cmd/*.go")).toContain('files="1"');
  expect(search("c*")).toContain('files="1"');
  expect(searchProject(project, { pattern: "ShowPage", under: "app/[id]" }, 1_000)).toContain('files="1"');
  expect(search("lib")).toBe("there is no file lib to search; path is a file, a folder or a pattern");
  // A listing of definitions comes after the code, and its twin is named only.
  expect(search("").split("\n").slice(1, -1)).toEqual([
    "help.go",
    "1: func ShowVersion() {}",
    "cmd/run.go",
    "1: ShowVersion()",
    "godoc.txt",
    "1: func ShowVersion()",
    "testdata/godoc.txt",
    "as in godoc.txt",
  ]);
});
