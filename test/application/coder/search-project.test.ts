import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { searchProject } from "../../../src/application/coder/search-project.ts";
import { createProjectFiles } from "../../../src/tools/read/project-files.ts";
import { openWorkspace } from "../../../src/wiring/workspace.ts";
import { memoryProject } from "../../fakes/memory-project.ts";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

async function projectOf(files: Readonly<Record<string, string | Uint8Array>>) {
  const folder = mkdtempSync(join(tmpdir(), "search-"));
  folders.push(folder);
  const root = join(folder, "ws");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const env = { PATH: process.env.PATH ?? "", HOME: folder, PICOCLAW_HOME: join(folder, "home") };
  const opened = await openWorkspace(env, { cwd: root });
  if (!opened.ok) throw new Error(opened.message);
  return createProjectFiles(opened.workspace, opened.deps.planOptions);
}

test("every file with a hit is named or counted by its folder, however many there are", async () => {
  const files: Record<string, string> = {};
  for (let at = 0; at < 900; at++)
    files[`src/part${at % 30}/file${at}.py`] = "node_connectivity(G)\n".repeat(3);
  files["src/deep/below/connectivity.py"] = "def node_connectivity(G):\n    return 0\n";
  const text = searchProject(await projectOf(files), { pattern: "node_connectivity" }, 8_000);
  expect(text).toContain('lines="2701" files="901"');
  expect(text.split("\n")[1]).toBe("src/deep/below/connectivity.py");
  expect(text.length).toBeLessThan(8_500);
  const named = [...text.matchAll(/^src\/part.*\.py$/gm)].length;
  const counted = [...text.matchAll(/\((\d+) files, \d+ lines\)/g)].reduce(
    (sum, one) => sum + Number(one[1]),
    0,
  );
  expect(named + 1 + counted).toBe(901);
  expect(text).not.toContain("Only");
});

test("a line far into a long file is found, in any mixture of cases", async () => {
  const long = `${"// filler of a file of many lines\n".repeat(20_000)}  _injectChildStyle(styles);\n`;
  const project = await projectOf({ "a.ts": long, "b.ts": "x\n" });
  for (const pattern of ["_injectChildStyle", "injectchildstyle", "(?i)INJECTchildSTYLE"])
    expect(searchProject(project, { pattern }, 1_000)).toContain("20001: _injectChildStyle(styles);");
});

test.each<[pattern: string, text: string]>([
  ["(?i)cdata", "1: <![CDATA["],
  ["(?i)CDATA|nothing", "1: <![CDATA["],
  ["\\ACdata", "2: Cdata"],
  ["Cda(?P<rest>ta)", "2: Cdata"],
  ["colou?r", "3: the color"],
  ["CDATA\\[", "1: <![CDATA["],
  ["gr(?:e|a)y|colour", "4: gray colour"],
])("%s finds what it means", async (pattern, text) => {
  const project = await projectOf({ "a.html": "<![CDATA[\nCdata\nthe color\ngray colour\n" });
  expect(searchProject(project, { pattern }, 1_000)).toContain(text);
});

test("a flag that means nothing here is refused in words, and what is no expression is said to be read as a text", () => {
  const project = memoryProject({ "a.ts": "call [open\n" });
  expect(searchProject(project, { pattern: "(?x)a b" }, 1_000)).toBe(
    "(?x) is not a flag here; (?i), (?m), (?s) and (?u) are",
  );
  expect(searchProject(project, { pattern: "[open" }, 1_000)).toMatch(
    /\(searched as a text, .*\)\na\.ts\n1: call \[open/,
  );
});

test("nothing is said only of all cases and places", () => {
  const project = memoryProject({ "src/a.ts": "fooBar();\n", "lib/b.ts": "other();\n" });
  expect(searchProject(project, { pattern: "FooBar" }, 1_000)).toContain(
    "(nothing in this case; these ignore it)\nsrc/a.ts",
  );
  expect(searchProject(project, { pattern: "fooBar", under: "lib" }, 1_000)).toContain(
    "(nothing in lib; these are elsewhere)\nsrc/a.ts",
  );
  expect(searchProject(project, { pattern: "fooBaz" }, 1_000)).toContain("nothing found");
});

test("exact case and whole words come first, then the rest", () => {
  const project = memoryProject({
    "a.ts": "REP;\n",
    "b.ts": "reply;\n",
    "c.ts": "rep;\n",
    "d.ts": "Reply;\n",
  });
  const paths = searchProject(project, { pattern: "rep" }, 1_000).match(/^\w\.ts/gm);
  expect(paths).toEqual(["c.ts", "b.ts", "a.ts", "d.ts"]);
});

test("the definition that is sought is shown with its whole body, and a cut one says where it continues", () => {
  const body = Array.from({ length: 40 }, (_, at) => `    step${at}(x)`).join("\n");
  const project = memoryProject({
    "a.py": `import x\n\n\ndef total(x):\n${body}\n    return x\n\n\ndef other():\n    total(1)\n`,
  });
  expect(searchProject(project, { pattern: "def total" }, 4_000)).toContain("45-     return x");
  const short = searchProject(project, { pattern: "total" }, 1_800);
  expect(short).toContain("4: def total(x):");
  expect(searchProject(project, { pattern: "def total", context: 60 }, 700)).toMatch(
    /cut; the next is a\.py:\d+-\d+/,
  );
});

test("more context than is given is told, and a long line is cut around its match", () => {
  const project = memoryProject({
    "a.ts": `${"x\n".repeat(100)}needle\n${"y\n".repeat(100)}`,
    "b.js": `${"a".repeat(5_000)}minified${"b".repeat(5_000)}\n`,
  });
  expect(searchProject(project, { pattern: "needle", context: 50 }, 4_000)).toContain(
    "(context: 20 is the most)",
  );
  expect(searchProject(project, { pattern: "minified" }, 4_000)).toMatch(/1: …a+minifiedb+…/);
});

test("a generated file is named, not shown, unless only such files have hits", () => {
  const project = memoryProject({ "a.ts": "useQuux();\n", "dist/a.js": "useQuux();\nonlyHere();\n" });
  expect(searchProject(project, { pattern: "useQuux" }, 1_000)).toContain(
    "… and 1 more files (skip_files: 1): dist/a.js",
  );
  expect(searchProject(project, { pattern: "onlyHere" }, 1_000)).toContain("dist/a.js\n2: onlyHere();");
});
