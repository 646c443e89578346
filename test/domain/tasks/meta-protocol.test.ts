import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readAssessment, readCriteriaPlan, readDecision } from "../../../src/domain/tasks/meta-protocol.ts";

const criteria = [
  { id: "AC-1", description: "a" },
  { id: "AC-2", description: "b" },
];

describe("a plan", () => {
  test("is read from plain JSON, a fence, or between words", () => {
    const json = '{"acceptance_criteria":[{"id":"AC-1","description":" tests pass "},"second"]}';
    for (const text of [json, `Here:\n\`\`\`json\n${json}\n\`\`\`\nDone.`, `Sure! ${json} ok`])
      expect(readCriteriaPlan(text)).toEqual({
        ok: true,
        value: [
          { id: "AC-1", description: "tests pass" },
          { id: "AC-2", description: "second" },
        ],
      });
  });
  test.each([
    ["nothing", "the answer must be one JSON object and nothing else"],
    ["[1]", "the answer must be one JSON object and nothing else"],
    ["{}", "acceptance_criteria must be a list with at least one entry"],
    ['{"acceptance_criteria":[]}', "acceptance_criteria must be a list with at least one entry"],
    ['{"acceptance_criteria":[{"id":"x"}]}', "acceptance_criteria[0].description must be a text"],
    [
      '{"acceptance_criteria":[{"id":"x","description":"a"},{"id":"x","description":"b"}]}',
      "acceptance_criteria[1].id x is used twice",
    ],
    [
      JSON.stringify({ acceptance_criteria: Array.from({ length: 31 }, (_, i) => `c${i}`) }),
      "acceptance_criteria must have at most 30 entries",
    ],
  ])("%s is refused with what is wrong", (text, problem) => {
    expect(readCriteriaPlan(text)).toEqual({ ok: false, problem });
  });
});

describe("a decision", () => {
  test("needs a prompt only to run the worker", () => {
    expect(
      readDecision('{"decision":{"action":"run_worker","reason":"r"},"worker_call":{"prompt":"p"}}'),
    ).toEqual({
      ok: true,
      value: { action: "run_worker", reason: "r", prompt: "p" },
    });
    expect(readDecision('{"action":"mark_complete","prompt":"ignored"}')).toEqual({
      ok: true,
      value: { action: "mark_complete", reason: "", prompt: "" },
    });
    expect(readDecision('{"decision":{"action":"run_worker"}}')).toMatchObject({ ok: false });
    expect(readDecision('{"decision":{"action":"stop"}}')).toMatchObject({ ok: false });
  });
});

describe("an assessment", () => {
  test("judges every criterion, in the plan's order", () => {
    const text =
      '{"criteria":[{"id":"AC-2","status":"failed","reason":"no"},{"id":"AC-1","passed":true}],"summary":"s"}';
    expect(readAssessment(text, criteria)).toEqual({
      ok: true,
      value: {
        verdicts: [
          { id: "AC-1", passed: true, reason: "" },
          { id: "AC-2", passed: false, reason: "no" },
        ],
        summary: "s",
      },
    });
  });
  test.each([
    ['{"criteria":[{"id":"AC-1","status":"passed"}]}', "criteria without a verdict: AC-2"],
    ['{"criteria":[{"id":"AC-9","status":"passed"}]}', 'criteria[0].id "AC-9" is not a criterion'],
    ['{"criteria":[{"id":"AC-1","status":"maybe"}]}', 'criteria[0].status must be "passed" or "failed"'],
    ['{"criteria":[1]}', "criteria[0] must be an object"],
    ["{}", "criteria must be a list"],
  ])("%s is refused", (text, problem) => {
    expect(readAssessment(text, criteria)).toEqual({ ok: false, problem });
  });
});

test("every answer of a model is read", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        fc
          .jsonValue()
          .map((value) => JSON.stringify({ criteria: value, decision: value, acceptance_criteria: value })),
      ),
      (text) => {
        for (const answer of [readCriteriaPlan(text), readDecision(text), readAssessment(text, criteria)])
          expect(typeof answer.ok).toBe("boolean");
      },
    ),
  );
});
