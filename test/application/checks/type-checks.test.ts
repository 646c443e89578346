/** Type checkers and linters that the project's scripts, CI or configuration name: real programs, through one conversation. */
import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { requirePart } from "../../require.ts";
import { proposal, replace } from "../chat/chat-kit.ts";
import { type OpenedConversation, openConversation } from "../chat/conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const PROGRAMS = join(import.meta.dirname, "../../../node_modules/.bin");
const confines = requirePart("bwrap");

async function open(
  files: Readonly<Record<string, string>>,
  { programs = [], answers }: { readonly programs?: readonly string[]; readonly answers: readonly string[] },
) {
  const config = `security:\n  local_only: false\ncoder: { attempts: ${answers.length} }\nchecks: { auto_limit: 240 }\n`;
  // The conversation has a home of its own, and rustup keeps its tools in the user's.
  const env = { RUSTUP_HOME: process.env.RUSTUP_HOME ?? join(userInfo().homedir, ".rustup") };
  at = await openConversation((_, turn) => answers[turn] ?? "", { local: false, config, env });
  for (const [path, text] of Object.entries(files)) at.write(path, text);
  mkdirSync(join(at.workspace, "node_modules/.bin"), { recursive: true });
  for (const name of programs)
    symlinkSync(join(PROGRAMS, name), join(at.workspace, "node_modules/.bin", name));
}
const first = (text: string) => text.split("\n")[0] ?? "";

const OLD = "export const old: string = 3;\n";
const ONE = "export const one = (): number => 1;\n";
const TEST =
  'import assert from "node:assert/strict";\nimport { test } from "node:test";\nimport { two } from "../two.mjs";\ntest("two", () => assert.equal(two, 2));\n';
const typescript = (scripts: object) => ({
  "package.json": JSON.stringify({ type: "module", scripts: { test: "node --test test/", ...scripts } }),
  "tsconfig.json": JSON.stringify({ compilerOptions: { strict: true, types: [] }, include: ["*.ts"] }),
  "two.mjs": "export const two = 2;\n",
  "test/two.test.mjs": TEST,
  "one.ts": ONE,
  "old.ts": OLD,
});
const WRONG = proposal("Wrong", replace("one.ts", ONE.trim(), 'export const one = (): number => "1";'));
const FIXED = proposal("Right", replace("one.ts", 'number => "1";', "number => 1 + 0;"));
const RIGHT = proposal("Right", replace("one.ts", ONE.trim(), "\nexport const one = (): number => 1 + 0;"));

describe.if(confines && requirePart("node"))("tsc", () => {
  test("makes a change with a new error of types red, and names it to the coder without the old one", async () => {
    await open(typescript({ check: "tsc --noEmit" }), { programs: ["tsc"], answers: [WRONG, FIXED] });
    const reply = await at.send("/code3 change one.ts");
    const report = at.asked[1]?.messages.at(-1)?.text ?? "";
    expect(report).toContain("new errors of `tsc --noEmit`");
    expect(report).toContain("one.ts(1,34): error TS2322");
    expect(report).not.toContain("old.ts");
    expect([first(reply.text), reply.ok]).toEqual([
      expect.stringContaining(", tsc --noEmit 1 error as before"),
      true,
    ]);
  });

  test("is found in a script that builds, and in the files of CI", async () => {
    for (const files of [
      typescript({ build: "tsc -p tsconfig.json --outDir out && node finish.mjs" }),
      {
        ...typescript({}),
        ".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n      - run: npx tsc --noEmit -p .\n",
      },
    ]) {
      await open(files, { programs: ["tsc"], answers: [WRONG] });
      const reply = await at.send("/code3 change one.ts");
      expect([reply.ok, reply.text]).toEqual([false, expect.stringContaining("1 new error")]);
      await at.close();
    }
  });

  test("that is not installed says so, and holds nothing back", async () => {
    // npm puts this project's own tsc into PATH.
    await open(typescript({ check: "vue-tsc --noEmit" }), { answers: [WRONG] });
    const reply = await at.send("/code3 change one.ts");
    expect([first(reply.text), reply.ok]).toEqual([
      expect.stringContaining("not run: vue-tsc --noEmit (not installed)"),
      true,
    ]);
  });

  test("that a declared linter calls and that is not installed is named once", async () => {
    await open(typescript({ lint: "eslint ." }), { answers: [RIGHT] });
    const told = first((await at.send("/code3 change one.ts")).text);
    expect([told.match(/eslint|lint/g), told]).toEqual([
      ["eslint"],
      expect.stringContaining("(not installed)"),
    ]);
  });

  test("judges where the project has no tests, and the reply stays NOT CHECKED without a new error", async () => {
    const { "package.json": _, "test/two.test.mjs": _test, ...files } = typescript({});
    const manifest = JSON.stringify({ scripts: { types: "tsc --noEmit" } });
    await open({ ...files, "package.json": manifest }, { programs: ["tsc"], answers: [RIGHT] });
    const reply = await at.send("/code3 change one.ts");
    expect(first(reply.text)).toContain(
      "NOT CHECKED: no tests were found (checks.command can name them), tsc --noEmit 1 error as before",
    );
    await at.close();
    await open({ ...files, "package.json": manifest }, { programs: ["tsc"], answers: [WRONG] });
    expect((await at.send("/code3 change one.ts")).ok).toBe(false);
  });

  test("without the packages that the code imports decides nothing", async () => {
    const files = {
      ...typescript({ check: "tsc --noEmit" }),
      "old.ts": 'import "not-installed";\nimport a from "b-package";\nexport default a;\n',
    };
    await open(files, { programs: ["tsc"], answers: [WRONG] });
    expect(first((await at.send("/code3 change one.ts")).text)).toContain("(packages are missing)");
  });
});

describe.if(confines && requirePart("node"))("biome", () => {
  const LINT = {
    "package.json": JSON.stringify({ scripts: { test: "node --test test/", lint: "biome lint ." } }),
    "biome.json": '{ "linter": { "rules": { "recommended": true } }, "formatter": { "enabled": false } }\n',
    "two.mjs": "export const two = 2;\n",
    "bad.js": "export const f = (a) => a == 1;\n",
    "test/two.test.mjs": TEST,
  };
  test("judges the changed files alone, by new errors", async () => {
    const loose = proposal(
      "Loose",
      replace("two.mjs", "export const two = 2;", "export const two = 2;\nexport const f = (a) => a == two;"),
    );
    await open(LINT, { programs: ["biome"], answers: [loose] });
    const reply = await at.send("/code3 change two.mjs");
    expect([reply.ok, reply.text]).toEqual([false, expect.stringContaining("biome lint .: 1 new error")]);
    expect(reply.text).not.toContain("bad.js");
  });
});

describe.if(confines && requirePart("go"))("go vet", () => {
  const GO = "package a\n\nfunc One() int { return 1 }\n";
  test("is a check where CI calls it", async () => {
    const files = {
      "go.mod": "module example.org/a\n\ngo 1.20\n",
      "a.go": GO,
      Makefile: "vet:\n\tgo vet ./...\n",
    };
    const self = proposal(
      "Self",
      replace("a.go", "func One() int { return 1 }", "func One() int {\n\ta := 1\n\ta = a\n\treturn a\n}"),
    );
    await open(files, { answers: [self] });
    const reply = await at.send("/code3 change a.go");
    expect([reply.ok, reply.text]).toEqual([false, expect.stringContaining("go vet ./...: 1 new error")]);
    expect(reply.text).toContain("self-assignment of a");
  });
});

describe.if(confines && requirePart("cargo"))("cargo check", () => {
  test("judges a crate without tests", async () => {
    const files = {
      "Cargo.toml": '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n',
      "Cargo.lock": 'version = 3\n\n[[package]]\nname = "a"\nversion = "0.1.0"\n',
      "src/lib.rs": "pub fn one() -> i32 { 1 }\n",
      ".gitlab-ci.yml": "check:\n  script:\n    - cargo check --all-targets\n",
    };
    const wrong = proposal(
      "Wrong",
      replace("src/lib.rs", "pub fn one() -> i32 { 1 }", 'pub fn one() -> i32 { "1" }'),
    );
    await open(files, { answers: [wrong] });
    const reply = await at.send("/code3 change src/lib.rs");
    expect([reply.ok, reply.text]).toEqual([false, expect.stringContaining("E0308")]);
  });
});

describe.if(confines && requirePart("mypy") && requirePart("ruff"))("mypy and ruff", () => {
  const FILES = {
    "pyproject.toml": "[tool.mypy]\nstrict = true\n",
    ".pre-commit-config.yaml": "repos:\n  - repo: local\n    hooks:\n      - id: ruff\n",
    "a.py": "import os\n\n\ndef one() -> int:\n    return 1\n",
    "test_a.py":
      "import unittest\nfrom a import one\n\n\nclass One(unittest.TestCase):\n    def test_one(self) -> None:\n        self.assertTrue(one())\n",
  };
  test("judge by configuration and by a hook", async () => {
    const wrong = proposal("Wrong", replace("a.py", "    return 1", '    import sys\n    return "1"'));
    await open(FILES, { answers: [wrong] });
    const reply = await at.send("/code3 change a.py");
    expect([reply.ok, reply.text]).toEqual([false, expect.stringContaining("mypy: 1 new error")]);
    expect(reply.text).toContain("ruff check: 1 new error");
    expect(reply.text).not.toContain("`os`");
  });
});
