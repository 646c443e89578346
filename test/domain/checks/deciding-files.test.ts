import { describe, expect, test } from "bun:test";
import { changesWhatDecides, findTestRunLines } from "../../../src/domain/checks/deciding-files.ts";

const added = (path: string, after: string, before = "") => findTestRunLines([{ path, before, after }]);

test.each([
  ["src/sum.pyi", "import pytest"],
  ["src/sum.d.ts", 'import { test } from "vitest";'],
  ["src/sum.js", "if (process.env.NODE_TEST_CONTEXT) module.exports = fake;"],
  ["src/sum.js", "require('node:test').test('adds', () => {});"],
  ["src/sum.js", "assert.equal = () => {};"],
  ["src/sum.js", "assert['equal'] = () => {};"],
  ["src/sum.js", "assert[name] = assert.strict[name] = () => {};"],
  ["src/sum.js", "assert.strict['equal'] = () => {};"],
  ["src/sum.js", "globalThis.expect['x'] = 1;"],
  ["src/sum.js", "Object.assign(assert, { equal() {} });"],
  ["src/sum.js", "Object.defineProperty(assert, 'equal', { value() {} });"],
  ["src/sum.js", "Reflect.set(assert, 'equal', () => {});"],
  ["src/sum.js", "Object.assign(assert.strict, { equal() {} });"],
  ["src/sum.js", "Object.getPrototypeOf(expect(0)).toBe = () => {};"],
  ["src/sum.js", "expect(0).__proto__.toBe = () => {};"],
  ["src/sum.js", "assert.AssertionError.prototype.name = '';"],
  ["src/sum.js", "require('node:assert').equal = () => {};"],
  ["src/sum.js", "expect.extend({ toBe() {} });"],
  ["src/sum.js", "process.exit(0);"],
  ["pkg/sum.py", "unittest.TestCase.assertEqual = lambda *a: None"],
  ["pkg/sum.py", "import pytest"],
  ["pkg/sum.py", "os._exit(0)"],
])("%s: %s speaks of the test run", (path, line) => {
  expect(added(path, `one\n  ${line}\n`, "one\n")).toEqual([{ path, line }]);
});

test.each([
  ["test/sum.test.js", "const test = require('node:test');"],
  ["tests/test_sum.py", "import pytest"],
  ["conftest.py", "import pytest"],
  ["bin/run.js", "process.exit(1);"],
  ["src/start.js", "#!/usr/bin/env node\nprocess.exit(1);"],
  ["README.md", "node:test"],
  ["src/sum.js", "assert.equal(1, 1); if (assert.x == 1) latest.test();"],
  ["src/sum.js", "const a = Object.assign({}, assert); my.assert.x = 1; assert(list[0] === 1);"],
  ["src/sum.js", 'import assert from "node:assert";\nassert.equal(a, b);'],
])("%s: %s does not", (path, text) => {
  expect(added(path, `${text}\n`)).toEqual([]);
});

test.each([
  ['import a from "node:assert";', "a.equal = () => {};"],
  ["const strict = require('assert/strict');", "strict['equal'] = () => {};"],
  ['import * as all from "assert";', "Object.assign(all.default, {});"],
  ["const check = assert;", "check.equal = () => {};"],
])("%s gives it another name", (names, line) => {
  expect(added("src/sum.js", `${names}\n${line}\n`)).toEqual([{ path: "src/sum.js", line }]);
});

test("a line that was there, and one more end in a file that ends already, say nothing", () => {
  expect(added("src/a.js", "process.exit(0);\nx\n", "process.exit(0);\n")).toEqual([]);
  expect(added("src/a.js", "process.exit(0);\nprocess.exit(1);\n", "process.exit(0);\n")).toEqual([]);
});

describe("of a manifest only what decides how checks run counts", () => {
  const pyproject = `[build-system]
requires = ["hatchling"]

[project]
name = "attrs"
version = "1.0"
dependencies = [
  "six>=1 ; python_version < '3'", # [old]
  "zope",
]

[project.optional-dependencies]
tests = ["pytest"]

[tool.pytest.ini_options]
addopts = "-ra"
`;
  const cargo = `[package]
name = "a"
version = "0.1.0"

[dependencies]
serde = { version = "1", features = ["derive"] }

[dev-dependencies.trybuild]
version = "1"

[[test]]
name = "it"
`;
  const edited = (path: string, text: string, from: string, to: string) => {
    expect(text).toContain(from);
    return changesWhatDecides({ path, before: text, after: text.replace(from, to) });
  };
  test.each([
    ['"zope",', '"zope>=2",\n  "yarl",'],
    ['version = "1.0"', 'version = "1.1"'],
    ['tests = ["pytest"]', 'tests = [\n  "pytest>=9",\n]'],
  ])("pyproject.toml: %s", (from, to) => expect(edited("pyproject.toml", pyproject, from, to)).toBe(false));
  test.each([
    ['addopts = "-ra"', 'addopts = "-ra --ignore=tests/test_a.py"'],
    ['name = "attrs"', 'name = "attrs"\nentry-points.pytest11.x = "x"'],
    ["[build-system]", 'tool."pytest".ini_options.addopts = "-x"\n[build-system]'],
    ['tests = ["pytest"]', 'tests = ["pytest"]\n[tool.tox]\nx = 1'],
    ['addopts = "-ra"', 'x = """\n[project.optional-dependencies]\n"""\naddopts = "--ignore=tests"'],
  ])("pyproject.toml decides: %s -> %s", (from, to) =>
    expect(edited("pyproject.toml", pyproject, from, to)).toBe(true),
  );
  test("Cargo.toml: dependencies do not, tests do", () => {
    expect(edited("Cargo.toml", cargo, '{ version = "1", features = ["derive"] }', '"2"')).toBe(false);
    expect(edited("Cargo.toml", cargo, '[dev-dependencies.trybuild]\nversion = "1"', "")).toBe(false);
    expect(edited("sub/Cargo.toml", cargo, 'name = "it"', 'name = "it"\nharness = false')).toBe(true);
    expect(edited("Cargo.toml", cargo, 'name = "a"', 'name = "a"\nautotests = false')).toBe(true);
  });
  test("package.json: dependencies do not, scripts do; another deciding file does as a whole", () => {
    const text = '{"scripts":{"test":"x"},"dependencies":{"a":"1"}}';
    expect(edited("package.json", text, '"a":"1"', '"a":"2"')).toBe(false);
    expect(edited("package.json", text, '"test":"x"', '"test":"y"')).toBe(true);
    expect(edited("tox.ini", "[tox]\n# a\n", "# a", "# b")).toBe(true);
    expect(changesWhatDecides({ path: "package.json", before: null, after: text })).toBe(true);
  });
});
