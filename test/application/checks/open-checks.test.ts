import { expect, test } from "bun:test";
import { type CheckSettings, openChecks } from "../../../src/application/checks/baseline.ts";

const SETTINGS: CheckSettings = {
  command: null,
  timeout: 60,
  auto_limit: 60,
  network: false,
  enabled: "auto",
};

/** The checks of a project that holds these files alone; `listed` is every folder that was opened. */
function openOf(paths: readonly string[], text = "") {
  const listed: string[] = [];
  const inside = (folder: string) => (folder === "" ? "" : `${folder}/`);
  const opened = openChecks({
    files: {
      look: (path: string) =>
        paths.includes(path)
          ? { kind: "file", size: 0, mode: 0o644 }
          : { kind: paths.some((one) => one.startsWith(`${path}/`)) ? "directory" : "missing" },
      list(folder: string) {
        listed.push(folder);
        const below = paths.filter((path) => path.startsWith(inside(folder)));
        return [...new Set(below.map((path) => path.slice(inside(folder).length).split("/")[0] ?? ""))];
      },
      read: () => new TextEncoder().encode(text),
    } as unknown as Parameters<typeof openChecks>[0]["files"],
    settings: SETTINGS,
    memory: { fingerprint: () => "", recall: () => null, keep: () => {}, running: new Map() },
    now: () => 0,
    hasProgram: (name) => name !== "ruff",
  });
  return { checks: opened.ok ? opened.checks.map(({ command }) => command) : opened.why, listed };
}

test.each<[string, readonly string[]]>([
  ["in tests", ["README.md", "ledger/book.py", "tests/test_book.py"]],
  ["in a folder of tests", ["ledger/book.py", "test/unit/test_book.py"]],
  ["in src", ["src/book.py", "src/book_test.py"]],
])("tests in Python are found where the root holds none: %s", (_, paths) => {
  expect(openOf(paths).checks).toEqual(["python -m pytest -q"]);
});

test.each([".venv", "venv"])("a linter in %s is found though none is on the PATH", (folder) => {
  const project = ["pyproject.toml", "tests/test_book.py"];
  const settings = "[tool.ruff]\n";
  expect(openOf([...project, `${folder}/bin/ruff`], settings).checks).toContain("ruff check .");
  expect(openOf(project, settings).checks).not.toContain("ruff check .");
});

test("sources in Python without tests are not checked", () => {
  expect(openOf(["src/book.py", "tests/data/book.json"]).checks).toBe("no-checks");
});

test("of a folder of tests with many folders, a few are opened", () => {
  const many = Array.from({ length: 300 }, (_, number) => `tests/case${number}/input.txt`);
  const { checks, listed } = openOf(many);
  expect(checks).toBe("no-checks");
  expect(listed.length).toBeLessThan(30);
});
