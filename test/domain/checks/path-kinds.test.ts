import { expect, test } from "bun:test";
import { decidesChecks, isDocumentation, isTestPath } from "../../../src/domain/checks/path-kinds.ts";

const TESTS = [
  "test/a.js",
  "src/__tests__/a.tsx",
  "src/a.test.ts",
  "a.spec.mjs",
  "pkg/sum_test.go",
  "tests/conftest.py",
  "test_calc.py",
  "calc_test.py",
  "src/test/java/org/SumTest.java",
  "spec/models/user_spec.rb",
  "src/__snapshots__/a.test.js.snap",
  "tests/whole.rs",
  "test.js",
  "src/tests.rs",
  "test/README.md",
];
const DOCUMENTATION = [
  "README.md",
  "docs/guide.rst",
  "LICENSE",
  "CHANGES.txt",
  "docs/a.png",
  "a/b/NOTES.adoc",
];
const SOURCES = [
  "src/a.ts",
  "requirements.txt",
  "CMakeLists.txt",
  "docs/conf.py",
  "latest/a.js",
  "src/contest.py",
  "src/greatest.go",
  "package.json",
  "src/attestation.java",
  "logo.png",
];

test("which paths are tests, which documentation, and which neither", () => {
  const kind = (path: string) =>
    isTestPath(path) ? "test" : isDocumentation(path) ? "documentation" : "source";
  const kinds = (paths: readonly string[]) => Object.fromEntries(paths.map((path) => [path, kind(path)]));
  const all = (paths: readonly string[], expected: string) =>
    Object.fromEntries(paths.map((path) => [path, expected]));
  expect(kinds(TESTS)).toEqual(all(TESTS, "test"));
  expect(kinds(DOCUMENTATION)).toEqual(all(DOCUMENTATION, "documentation"));
  expect(kinds(SOURCES)).toEqual(all(SOURCES, "source"));
});

test.each([
  "evil.egg-info/entry_points.txt",
  "src/evil-1.0.dist-info/entry_points.txt",
  "evil.egg/EGG-INFO/entry_points.txt",
  "sitecustomize.py",
  "src/usercustomize/__init__.py",
  "more.pth",
  "env/lib/python3.11/site-packages/evil.pth",
  "tests/conftest.py",
  "pytest.toml",
  ".pytest.ini",
  ".venv/bin/python",
  ".venv/pyvenv.cfg",
  "random.py",
  "src/_pytest/runner.py",
  "pytest.py",
  "pluggy/__init__.py",
  "_strptime.py",
  "email/__init__.py",
  "xdist.pyc",
])("Python reads a new %s before the tests", (path) =>
  expect(decidesChecks(path, { isNew: true })).toBe(true),
);

test.each([
  "pkg.egg-info/PKG-INFO",
  "models/net.pth",
  "src/_version.py",
  "src/__init__.py",
  "pkg/random.py",
  "test/__init__.py",
  "randomly.py",
])("a new %s is not read before them", (path) => expect(decidesChecks(path, { isNew: true })).toBe(false));

test("a changed file that has the name of a module was there before", () => {
  expect(decidesChecks("random.py")).toBe(false);
});
