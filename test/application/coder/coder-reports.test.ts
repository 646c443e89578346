import { expect, test } from "bun:test";
import {
  showAfterRun,
  showFailedEdits,
  wordFailures,
  wordStatuses,
} from "../../../src/application/coder/coder-reports.ts";
import { parsePatch } from "../../../src/domain/patch/parse-patch.ts";
import { memoryProject } from "../../fakes/memory-project.ts";

const HEAD = ["import os", "import shutil", "", ""];
const filler = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `value_${from + i} = "${"x".repeat(40)}"`);

/** 400 lines, of which 300 was written by the patch. */
const text = `${[...HEAD, ...filler(5, 299), "value_300 = subprocess.run()", ...filler(301, 400)].join("\n")}\n`;
const patch = (path: string) =>
  `${path}\n\`\`\`\n<<<<<<< SEARCH\nvalue_300 = 1\n=======\nvalue_300 = subprocess.run()\n>>>>>>> REPLACE\n\`\`\`\n`;

function shown(report: string): string {
  const parsed = parsePatch(`${patch("src/a.py")}${patch("test/b.py")}`);
  if (!parsed.ok) throw new Error(parsed.failure.message);
  const project = memoryProject({ "src/a.py": text, "test/b.py": text });
  return showAfterRun(project, parsed.commands, report, 24_000);
}

test("after a run the changed lines and those of the failure are shown, not the beginning of the file", () => {
  const told = shown("test/b.py:200: AssertionError\n");
  expect(told).toContain('<file path="src/a.py" lines="296-304 of 400">');
  expect(told).toMatch(/<file path="test\/b\.py" lines="19\d-2\d\d,296-304 of 400">/);
  expect(told).not.toContain("import os");
  expect(told.length).toBeLessThan(4_000);
});

test("where a name is missing the imports of the file that fails are shown, too", () => {
  const told = shown("E   NameError: name 'subprocess' is not defined\n\ntest/b.py:300: NameError\n");
  expect(told).toContain('<file path="src/a.py" lines="296-304 of 400">');
  expect(told).toMatch(/<file path="test\/b\.py" lines="1-12,2\d\d-3\d\d of 400">\nimport os\n/);
});

test("a file that was written whole, or is short, is shown as it is", () => {
  const parsed = parsePatch("```py:src/a.py\nvalue = 1\n```\n");
  if (!parsed.ok) throw new Error(parsed.failure.message);
  const project = memoryProject({ "src/a.py": "value = 1\n" });
  const told = showAfterRun(project, parsed.commands, "src/a.py:1: x", 24_000);
  expect(told).toBe('<file path="src/a.py">\nvalue = 1\n</file>');
});

test("a failure that names none of the files brings none along, and one beside a named file only its changed lines", () => {
  const long = filler(1, 400).join("\n");
  const parsed = parsePatch(`\`\`\`py:src/a.py\n${long}\n\`\`\`\n\`\`\`py:test/b.py\n${long}\n\`\`\`\n`);
  if (!parsed.ok) throw new Error(parsed.failure.message);
  const project = memoryProject({ "src/a.py": long, "test/b.py": long });
  const told = (report: string) => showAfterRun(project, parsed.commands, report, 24_000);
  expect(told("E   could not connect to 127.0.0.1:5432\n")).toBe("");
  const beside = told("test/b.py:200: AssertionError\n");
  expect(beside).toContain('<file path="test/b.py"');
  expect(beside.length).toBeLessThan(long.length + 2_500);
});

test("of thousands of edits that do not match, the first are shown and the others counted", () => {
  const parsed = parsePatch(patch("src/a.py").repeat(1_000));
  if (!parsed.ok) throw new Error(parsed.failure.message);
  const output = "src/a.py hunk 1: the expected lines are not in the file\nNothing of this edit was written.";
  const failed = parsed.commands.map((command) => ({
    command,
    success: false,
    output,
    error: "",
    duration: 1,
    changes: [],
    notes: [],
  }));
  const told = wordFailures(failed);
  expect(told.split("FAILED file_edit")).toHaveLength(41);
  expect(told).toEndWith("\n\n… and 960 more");
  expect(wordFailures(failed.slice(0, 40))).not.toContain("more");
  const files = showFailedEdits(memoryProject({ "src/a.py": text }), failed, parsed.commands, 24_000);
  expect(files).toContain('<file path="src/a.py"');
});

test("the coder is told of an edit whose unchanged lines differ from the file", () => {
  const parsed = parsePatch(`${patch("src/a.py")}${patch("src/b.py")}${patch("src/c.py")}`);
  if (!parsed.ok) throw new Error(parsed.failure.message);
  const outputs = ["hunk 1: applied at line 3 (matched by drift)", "hunk 1: applied at line 3", "not found"];
  const results = parsed.commands.map((command, at) => ({
    command,
    success: at < 2,
    output: outputs[at] ?? "",
    error: "",
    duration: 1,
    changes: [],
    notes: [],
  }));
  expect(wordStatuses(results).split("\n")).toEqual([
    "1. done: update src/a.py (unchanged lines of your edit differ from the file, which keeps its own: read them)",
    "2. done: update src/b.py",
    "3. FAILED: update src/c.py",
  ]);
});
