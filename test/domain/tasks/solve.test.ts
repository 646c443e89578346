import { describe, expect, test } from "bun:test";
import { branchName, isWorkflowPath } from "../../../src/domain/forges/publishable-change.ts";
import { jsonInAnswer } from "../../../src/domain/platform/json-text.ts";
import {
  PHASES,
  phaseAfter,
  phaseToResume,
  readDoneAnswer,
  readSolvePlan,
  taskVerdict,
} from "../../../src/domain/tasks/solve-decisions.ts";

test("the branch of an issue holds nothing that a forge, a file system or a shell could mind", () => {
  expect(branchName(7, "Fix the login!")).toBe("picoclaw/7-fix-the-login");
  expect(branchName(7, "ログインが壊れている")).toBe("picoclaw/7");
  expect(branchName(7, "Größe & $(rm -rf /) ..lock")).toBe("picoclaw/7-gro-e-rm-rf-lock");
  expect(branchName(7, "x".repeat(300)).length).toBeLessThan(60);
  expect(branchName(7, "a b", 2)).toBe("picoclaw/7-a-b-2");
});

test("what a forge's own machines would run is protected", () => {
  for (const path of [".github/workflows/ci.yml", ".GITHUB/Workflows/x.yml", ".gitlab-ci.yml", "Jenkinsfile"])
    expect(isWorkflowPath(path)).toBe(true);
  // Where a folder would be, a link or a submodule can stand for it.
  for (const path of [
    ".github",
    ".github/workflows",
    ".github/actions",
    ".gitlab",
    ".circleci",
    ".buildkite",
  ])
    expect(isWorkflowPath(path)).toBe(true);
  for (const path of [
    "src/.github/workflows/x.yml",
    ".github/ISSUE_TEMPLATE.md",
    ".githubx",
    "gitlab-ci.yml.md",
  ])
    expect(isWorkflowPath(path)).toBe(false);
});

describe("a model's plan", () => {
  const environments = ["python", "node"];
  test("is read bare, in a fence and out of prose, braces and all", () => {
    const plan = { steps: ["read {x}", "fix"], risk: "low", environment: "Node" };
    const expected = { steps: ["read {x}", "fix"], risk: "low" as const, environment: "node" };
    const json = JSON.stringify(plan);
    for (const answer of [json, `\`\`\`json\n${json}\n\`\`\``, `I {think} so: ${json} — fine?`])
      expect(readSolvePlan(answer, environments)).toEqual({ ok: true, value: expected });
  });
  test("names the mistake in it", () => {
    const problemOf = (answer: string) => {
      const reading = readSolvePlan(answer, environments);
      return reading.ok ? "" : reading.problem;
    };
    expect(problemOf("I would rather not")).toContain("no JSON");
    expect(problemOf('{"steps": "all"}')).toContain("list");
    expect(problemOf('{"steps": [" "]}')).toContain("empty");
  });
  test("an environment that does not exist leaves the choice to the project's files", () => {
    expect(readSolvePlan('{"steps": ["x"], "environment": "cobol"}', environments)).toEqual({
      ok: true,
      value: { steps: ["x"], risk: "medium", environment: null },
    });
  });
  test("done is only what says done", () => {
    expect(readDoneAnswer('All good. {"done": true, "summary": " fixed "}')).toEqual({
      done: true,
      summary: "fixed",
      answers: {},
    });
    expect(readDoneAnswer('{"done": false}')).toEqual({ done: false, summary: "", answers: {} });
    expect(readDoneAnswer('{"done": true, "answers": {"5": " renamed ", "6": 7, "8": ""}}')?.answers).toEqual(
      {
        "5": "renamed",
      },
    );
    expect(readDoneAnswer('{"done": "yes"}')).toBeNull();
    expect(readDoneAnswer("done: true")).toBeNull();
  });
  test("a text of nothing but braces is given up in time", () => {
    expect(jsonInAnswer("{".repeat(200_000))).toBeUndefined();
  });
});

test("phases run in order; after a pause the container is made again", () => {
  expect(PHASES.map((phase) => phaseAfter(phase))).toEqual([
    "plan",
    "prepare",
    "work",
    "verify",
    "publish",
    null,
  ]);
  expect(PHASES.map(phaseToResume)).toEqual(["gather", "plan", "prepare", "prepare", "prepare", "prepare"]);
});

test("only a green judgement closes an issue, regardless of the exit codes", () => {
  const checks = [{ exitCode: 0 }];
  const of = (
    verdict: "same" | "worse" | "doubtful" | "unknown" | "not-checked",
    notChecked: null | "blind" | "no-checks" = null,
  ) => taskVerdict({ checks, judged: { verdict, notChecked } });
  expect(of("same")).toBe("green");
  expect(of("worse")).toBe("red");
  expect(of("doubtful")).toBe("red");
  expect(of("unknown")).toBe("red");
  expect(of("not-checked", "blind")).toBe("not-run");
  expect(of("not-checked", "no-checks")).toBe("unchecked");
  expect(taskVerdict({ checks: [{ exitCode: 1 }] })).toBe("red");
});
