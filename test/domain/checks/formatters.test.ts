import { describe, expect, test } from "bun:test";
import { findFormatCalls } from "../../../src/domain/checks/formatters.ts";

/** A project of these texts; what is on the PATH is everything, unless said otherwise. */
function callsOf(paths: readonly string[], texts: Record<string, string>, isOnPath = true): string[] {
  const names = Object.keys(texts);
  return findFormatCalls(paths, {
    names: (folder) =>
      names.flatMap((name) => {
        const below =
          folder === "" ? name : name.startsWith(`${folder}/`) ? name.slice(folder.length + 1) : "";
        return below === "" ? [] : [below.split("/")[0] as string];
      }),
    text: (path) => texts[path] ?? "",
    isOnPath: () => isOnPath,
  }).map(({ line }) => line);
}

const PRETTIER = { "node_modules/.bin/prettier": "" };

describe("the formatter of a file", () => {
  test.each([
    [
      "prettier by its file",
      "a.ts",
      { ".prettierrc": "", ...PRETTIER },
      "./node_modules/.bin/prettier --write --ignore-unknown ./a.ts",
    ],
    [
      "prettier by package.json",
      "a.md",
      { "package.json": '{\n\t"prettier": {}\n}', ...PRETTIER },
      "./node_modules/.bin/prettier --write --ignore-unknown ./a.md",
    ],
    [
      "biome",
      "a.ts",
      { "biome.jsonc": "", "node_modules/.bin/biome": "" },
      "./node_modules/.bin/biome format --write ./a.ts",
    ],
    [
      "black of the project",
      "a.py",
      { "pyproject.toml": "[tool.black]\n", ".venv/bin/black": "" },
      "./.venv/bin/black -q ./a.py",
    ],
    ["black by a hook", "a.py", { ".pre-commit-config.yaml": "    - id: black\n" }, "black -q ./a.py"],
    ["ruff", "a.py", { "ruff.toml": "[format]\n" }, "ruff format -q --force-exclude ./a.py"],
    [
      "ruff by its section",
      "a.pyi",
      { "pyproject.toml": "[tool.ruff.format]\n" },
      "ruff format -q --force-exclude ./a.pyi",
    ],
    ["gofmt in a folder", "s v/a.go", { "s v/go.mod": "" }, "cd 's v' && gofmt -w ./a.go"],
    [
      "rustfmt with the edition of its workspace",
      "c/src/a.rs",
      {
        "c/Cargo.toml": "edition.workspace = true\n",
        "Cargo.toml": '[workspace.package]\nedition = "2024"\n',
      },
      "cd c && rustfmt --edition 2024 ./src/a.rs",
    ],
    [
      "prettier of the folder above",
      "p/q/a.css",
      { "p/q/.prettierrc.json": "", ...PRETTIER },
      "cd p/q && ./../../node_modules/.bin/prettier --write --ignore-unknown ./a.css",
    ],
  ] as const)("is %s", (_, path, texts, line) => {
    expect(callsOf([path], texts)).toEqual([line]);
  });

  test.each([
    ["prettier is configured and not installed", "a.ts", { ".prettierrc": "" }],
    [
      "prettier is installed and not configured",
      "a.ts",
      { ...PRETTIER, "package.json": '{\n  "devDependencies": {\n    "prettier": "3"\n  }\n}' },
    ],
    ["ruff only lints", "a.py", { "pyproject.toml": "[tool.ruff]\n" }],
    ["nothing formats the language", "a.rb", { ".prettierrc": "", ...PRETTIER }],
  ] as const)("does not exist where %s", (_, path, texts) => {
    expect(callsOf([path], texts)).toEqual([]);
  });

  test("does not exist where its program is missing", () => {
    expect(callsOf(["a.go"], { "go.mod": "" }, false)).toEqual([]);
  });

  test("is called once for the files of a folder", () => {
    expect(callsOf(["b/a.go", "b/c.go", "a.go"], { "go.mod": "", "b/go.mod": "" })).toEqual([
      "cd b && gofmt -w ./a.go ./c.go",
      "gofmt -w ./a.go",
    ]);
  });
});
