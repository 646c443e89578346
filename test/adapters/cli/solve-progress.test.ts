import { expect, test } from "bun:test";
import { createSolveProgress } from "../../../src/adapters/cli/live-progress.ts";
import type { StepFacts } from "../../../src/domain/tasks/task-steps.ts";
import { solveMessagesFor } from "../../../src/domain/texts/tasks.ts";

const at = "2026-11-15T00:00:00.000Z";
const STEPS: readonly StepFacts[] = [
  { kind: "taken-up", again: false },
  { kind: "said", text: "I look \u001b[2Jfirst.", inputTokens: 900, outputTokens: 20, costUsd: 0.02 },
  { kind: "edited", path: "a.ts", ok: true },
];

function play(options: { readonly line: boolean; readonly words: boolean }): string {
  let said = "";
  const program = {
    err(text: string) {
      said += text;
    },
  };
  const now = () => new Date("2026-11-15T00:01:05.000Z");
  const progress = createSolveProgress(program, solveMessagesFor("en"), { ...options, maxSteps: 60, now });
  progress.say("work");
  for (const step of STEPS) progress.step({ ...step, at });
  progress.end();
  return said;
}

test("a terminal shows words and edits, and below them step, time, tokens and cost", () => {
  const said = play({ line: true, words: true });
  expect(said).toContain("» I look  [2Jfirst.\n");
  expect(said).toContain("✎ a.ts\n");
  expect(said).toContain("\r\u001b[Kstep 1 of at most 60 · 1:05 · 900 → 20 tokens · $0.0200 · ✎ a.ts");
  expect(said).not.toContain("\u001b[2J");
  expect(said.endsWith("\r\u001b[K")).toBe(true);
});

test("elsewhere there is no line that moves, and for programs no words", () => {
  expect(play({ line: false, words: true })).toBe("work\n» I look  [2Jfirst.\n✎ a.ts\n");
  expect(play({ line: false, words: false })).toBe("work\n");
});
