import { describe, expect, test } from "bun:test";
import { readTaskFile, taskFileJsonSchema } from "../../src/config/task-file.ts";
import { messagesFor } from "../../src/domain/texts/jobs.ts";

const minimal = "version: 1\ntask:\n  prd: { text: Say hello }\nrunner:\n  worker: { kind: codex-cli }\n";
const read = (text: string, env: Record<string, string> = {}) => readTaskFile(text, "task.yaml", env);
const problemsOf = (text: string, env?: Record<string, string>) => {
  const result = read(text, env);
  return result.ok ? [] : result.problems.map((problem) => messagesFor("en").configProblem(problem));
};

test("an omitted value has its default", () => {
  const result = read(minimal);
  if (!result.ok) throw new Error("refused");
  expect(result.file).toEqual({
    version: 1,
    task: { repo: ".", prd: { text: "Say hello" } },
    runner: {
      max_loops: 10,
      max_total_time_sec: 14_400,
      meta: {},
      worker: { kind: "codex-cli", max_run_time_sec: 1800, env: {} },
    },
  });
});

test("references to the host's environment are replaced, literals stay", () => {
  const text = minimal.replace(
    "{ kind: codex-cli }",
    "{ kind: claude-code-cli, env: { A: 'env:HOST_A', B: literal } }",
  );
  expect(read(text, { HOST_A: "secret" })).toMatchObject({
    ok: true,
    workerEnv: { A: "secret", B: "literal" },
    secrets: ["secret"],
  });
  expect(problemsOf(text)).toEqual([expect.stringContaining("HOST_A")]);
  expect(problemsOf(text)[0]).toContain("task.yaml:5");
});

describe("problems name the key, the place and what would do", () => {
  test.each([
    ["version: 2\n", /task\.yaml:1:1.*version/],
    [minimal.replace("task:\n", "task:\n  titel: x\n"), /task\.yaml:3:3.*task\.titel.*task\.title/],
    [minimal.replace("codex-cli", "codex"), /runner\.worker\.kind.*codex-cli/],
    [minimal.replace("prd: { text: Say hello }", "prd: {}"), /task\.prd/],
    [minimal.replace("prd: { text: Say hello }", "prd: { text: a, path: b }"), /task\.prd/],
    [minimal.replace("  prd: { text: Say hello }\n", "  repo: .\n"), /task\.prd/],
    [minimal.replace("task:\n", "task:\n  id: ../x\n"), /task\.id.*letters/],
    [`${minimal}  max_loops: 0\n`, /runner\.max_loops/],
    [minimal.replace("{ kind: codex-cli }", "{ kind: codex-cli, env: { 1a: b } }"), /1a/],
    ["a: [", /task\.yaml:1/],
    ["[]", /task\.yaml:1:1/],
    ["", /task\.yaml/],
  ])("%j", (text, expected) => {
    expect(problemsOf(text).join("\n")).toMatch(expected);
  });
});

test("the schema for editors accepts what the reader does", () => {
  const schema = JSON.stringify(taskFileJsonSchema());
  for (const word of ["max_loops", "codex-cli", "prd", "max_run_time_sec", "additionalProperties"])
    expect(schema).toContain(word);
});

test("a key that occurs twice in one map is a mistake, reported at each of its places", () => {
  const twice = `${minimal}version: 1\ntask:\n  prd: { text: again, text: and again }\n`;
  expect(problemsOf(twice)).toEqual([
    "task.yaml:6:1: not valid YAML: Map keys must be unique",
    "task.yaml:7:1: not valid YAML: Map keys must be unique",
    "task.yaml:8:23: not valid YAML: Map keys must be unique",
  ]);
});
