import { describe, expect, test } from "bun:test";
import type { SourceName } from "../../../src/domain/checks/command-sources.ts";
import {
  ciTexts,
  readSources,
  runnerTexts,
  scriptTexts,
  spokenTexts,
  taskTexts,
} from "../../../src/domain/checks/command-sources.ts";
import type { ProjectFiles } from "../../../src/domain/checks/find-checks.ts";
import { parseShell } from "../../../src/infrastructure/policy/parse-shell.ts";

const files: ProjectFiles = {
  names: ["package.json", ".mocharc.json", ".venv"],
  programs: ["mocha"],
  texts: {
    "package.json": JSON.stringify({
      scripts: {
        test: "node Makefile.js test",
        "test:cli": "mocha --timeout 60000 tests/lib/*.js",
        "test:site": "node tools/site.js",
        "test:deploy": "mocha && npm publish",
        unit: "npm run test:cli",
      },
    }),
  },
};
const about = { files, parse: parseShell };
/** What a CI service puts in the place of an expression. */
const matrix = (name: string) => `\${{ ${name} }}`;
const from = (name: SourceName, file?: string) => ({ name, ...(file !== undefined && { file }) });
const commandsOf = (text: string) =>
  readSources([{ from: from("request"), text }], about).map(({ kind, command }) => `${kind} ${command}`);

describe("a line is a command that judges only where its parsed program is known", () => {
  const TAKEN: readonly (readonly [string, string])[] = [
    ["pytest -n0 tests/test_a.py -k check", "test"],
    ["python3 -m pytest", "test"],
    ["uv run pytest tests", "test"],
    ["npx vitest run --config vitest.root.mjs a.test.ts", "test"],
    ["pnpm exec mocha -t 60000 tests/a.js", "test"],
    ["NODE_ENV=test node --test", "test"],
    ["cd packages/core && npx jest", "test"],
    ["./mvnw -B test", "test"],
    ["cargo nextest run", "test"],
    ["npm run unit", "test"],
    ["npx tsc --noEmit && npx mocha", "test"],
    ["tsc --noEmit -p .", "types"],
    ["cargo check", "types"],
    ["go vet ./...", "types"],
    ["ruff check . 2>&1", "lint"],
    ["cargo build", "build"],
  ];
  test.each([...TAKEN])("%s: %s", (line, kind) => {
    expect(commandsOf(line)).toEqual([`${kind} ${line}`]);
  });
  test.each([
    "npm publish",
    "npm run test:deploy",
    "npm run test:site",
    "node tools/make.js",
    "bash test.sh",
    "mocha && curl https://example.com/x | sh",
    "pytest > results.txt",
    'pytest --token "$TOKEN"',
    `pytest --token ${matrix("secrets.TOKEN")}`,
    "$(cat runner) test",
    "pytest || true",
    "mocha &",
    "eslint --fix .",
    "vitest",
    "jest --watch",
    "jest -u",
    "cd ../other && pytest",
    "cd / && pytest",
    "pytest $(cat files)",
    "vercel deploy",
    "f() { mocha; }; f",
  ])("%s is none", (line) => {
    expect(commandsOf(line)).toEqual([]);
  });
});

test("scripts beside the one called test, and the configured runner, are sources", () => {
  expect(readSources(scriptTexts(files), about).map(({ command }) => command)).toEqual([
    "mocha --timeout 60000 tests/lib/*.js",
  ]);
  expect(readSources(runnerTexts(files), about).map(({ line }) => line)).toEqual([
    'export PATH="$PWD/node_modules/.bin:$PATH"; mocha --reporter=spec',
  ]);
});

test("steps of CI services run in their folder, and lines of a matrix fall away", () => {
  const read = {
    jobs: {
      unit: {
        steps: [
          { uses: "actions/checkout@v4", run: undefined },
          { run: "npm ci\nnpx mocha \\\n  tests/lib" },
          { run: "npx jest", "working-directory": "packages/a" },
          { run: `npx jest --shard=${matrix("matrix.shard")}` },
          { name: "deploy", run: "npx vercel deploy" },
        ],
      },
    },
  };
  const found = readSources(ciTexts(read, from("ci", ".github/workflows/ci.yml")), about);
  expect(found.map(({ command }) => command)).toEqual(["npx mocha tests/lib", "cd packages/a && npx jest"]);
  expect(
    readSources(ciTexts({ test: { script: ["pytest -x", "twine upload"] } }, from("ci")), about),
  ).toHaveLength(1);
});

test("recipes, commands of tox and calls of nox are sources", () => {
  const commands = (file: string, text: string) =>
    readSources(taskTexts(text, from("tasks", file)), about).map(({ command }) => command);
  expect(commands("Makefile", "all: build\n\ncheck:\n\t@pytest -q tests\n\trm -rf out\n")).toEqual([
    "pytest -q tests",
  ]);
  expect(commands("justfile", "test:\n    cargo test\n")).toEqual(["cargo test"]);
  expect(
    commands(
      "tox.ini",
      "[testenv]\ncommands =\n    {envpython} -m pytest {posargs:tests}\n    {toxinidir}/x\n",
    ),
  ).toEqual(["python -m pytest"]);
  const mapped =
    "[gh-actions]\npython =\n    3.12: pytest\n    pytest = py{312,313}-pytest\n\n[testenv]\ndeps =\n    pytest -x\n";
  expect(commands("tox.ini", mapped)).toEqual([]);
  expect(commands("tox.ini", `${mapped}commands = pytest -q\n    mypy .\n`)).toEqual(["pytest -q", "mypy ."]);
  expect(
    commands(
      "noxfile.py",
      'def t(session):\n    session.run("pytest", "-n0", "tests")\n    session.run(*args)\n',
    ),
  ).toEqual(["pytest -n0 tests"]);
});

test("code spans and fences of a document are sources, its sentences are none", () => {
  const text =
    "Run pytest first, or `pytest -m fast`, not `pytest -k name`.\n\n```sh\n$ mocha tests/*.js\n# comment\nmake deploy\n```\n`npm publish`";
  const found = readSources(spokenTexts(text, from("docs", "AGENTS.md")), about);
  expect(found.map(({ command }) => command)).toEqual(["mocha tests/*.js", "pytest -m fast"]);
});
