import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exercises } from "../../bench/exercises.ts";
import { remove, tempFolder } from "../../bench/workspaces.ts";

const figures = { seconds: 4, requests: 2, promptTokens: 1500, answerTokens: 500, cut: 0, asked: [] };
const sound = (exercise: string, solved = true) => ({ who: "judge", exercise, solved, ...figures });
const played = (exercise: string, facts: object) => ({
  who: "picoclaw",
  exercise,
  solved: false,
  ...figures,
  ...facts,
});

test("a summary counts what was called green but is red, and neither an unsound exercise nor an unfinished line", async () => {
  const folder = tempFolder("exercises");
  const record = join(folder, "record.ndjson");
  const lines = [
    ...["a", "b", "c", "d"].map((name) => sound(`python/${name}`)),
    sound("python/unsound", false),
    played("python/a", { solved: true, code: 0, text: "Applied: 1 file, pytest 3 passed", stray: [] }),
    played("python/b", { code: 0, text: "Applied: 1 file, pytest 3 passed", stray: [] }),
    played("python/c", { code: 0, text: "Applied: 1 file, NOT CHECKED: no tests", stray: ["?? app.ts"] }),
    played("python/d", { code: 1, text: "Preview, nothing applied: 1 failing", stray: [], kept: true }),
    played("python/unsound", { code: 0, text: "Applied: 1 file", stray: [] }),
    { ...played("python/a", { solved: true, tries: [false, true] }), who: "alone" },
  ];
  writeFileSync(record, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n{"who":"picoclaw","exer`);

  const rows = await exercises({ tasks: undefined, contest: { summary: true, record } });
  remove(folder);

  expect(rows.map(({ name, figure, ok }) => [name, figure, ok])).toEqual([
    [
      "python: alone",
      "solved 1 of 1 (100.0 %); with one try 0 (0.0 %); 4.0 s each, median 4.0 s; 2 requests; 2k / 1k tokens in / out",
      true,
    ],
    ["… solved, second try", "1", true],
    [
      "python: picoclaw",
      "solved 1 of 4 (25.0 %); 4.0 s each, median 4.0 s; 8 requests; 6k / 2k tokens in / out; said green but red 1; kept back though right 1; stray files in 1",
      false,
    ],
    ["… solved, and said so", "1", true],
    ["… SAID GREEN, BUT RED", "1", true],
    ["… applied unchecked, and red", "1", true],
    ["… kept back, though right", "1", true],
    ["left out, unsound here", "python/unsound", true],
  ]);
});

test("a track whose own solutions are red here is not played", async () => {
  const folder = tempFolder("exercises");
  const exercise = join(folder, "exercism+python/exercises/practice/one");
  mkdirSync(join(exercise, ".meta"), { recursive: true });
  const files = { solution: ["one.py"], test: ["one_test.py"], example: [".meta/example.py"] };
  const texts = {
    ".meta/config.json": JSON.stringify({ files }),
    ".meta/example.py": "def one():\n    return 1\n",
    "one.py": "",
    "one_test.py": "import a_module_that_is_not_installed_here\n",
  };
  for (const [path, text] of Object.entries(texts)) writeFileSync(join(exercise, path), text);
  const contest = { record: join(folder, "record.ndjson"), server: "http://127.0.0.1:9/v1", who: "tests" };

  const played = exercises({ tasks: folder, contest });

  await expect(played).rejects.toThrow("python: its own solutions are red here");
  remove(folder);
});
