import { expect, test } from "bun:test";
import { readPlanSteps, stepLines, tellSteps } from "../../../src/application/chat/describe-event.ts";
import type { ChatEvent } from "../../../src/application/ports/chat.ts";

const PLAN = "Do it:\n1. Add `total` to src/cart.js\n2. Document it in README.md\n3. Run the tests";

test("a list of a plan has steps; prose, or one item, has none", () => {
  expect(readPlanSteps(PLAN).map(({ text }) => text)).toEqual([
    "Add total to src/cart.js",
    "Document it in README.md",
    "Run the tests",
  ]);
  expect(readPlanSteps("- [ ] 型を追加する\n- [x] テストを書く")).toHaveLength(2);
  expect(readPlanSteps("Fix the total.\nIt was wrong.")).toEqual([]);
  expect(readPlanSteps("- only one")).toEqual([]);
});

test("steps are ticked by what runs and by the checks, not by the coder's word", () => {
  const told: string[] = [];
  const emit = tellSteps((event: ChatEvent) => {
    if (event.type === "steps")
      told.push(stepLines(event.steps).replaceAll(/ .*$/gm, "").replaceAll("\n", ""));
  });
  const progress = (doing: "asking" | "running" | "checking", attempt = 1) =>
    emit({ type: "progress", attempt, of: 4, doing, detail: "", tokens: 0, costUsd: 0 });
  emit({ type: "proposed", plan: PLAN, commands: 2 });
  emit({ type: "job-command", jobId: "j", index: 1, command: "file_edit update src/cart.js" });
  emit({ type: "job-command", jobId: "j", index: 2, command: "file_edit update README.md" });
  progress("checking");
  progress("checking");
  progress("asking", 2);
  emit({ type: "proposed", plan: "Mend it", commands: 1 });
  progress("checking", 2);
  emit({ type: "job-finished", jobId: "j", success: true });
  expect(told).toEqual(["☐☐☐", "▸☐☐", "☑▸☐", "☑☑▸", "☑☑✗", "☑☑▸", "☑☑☑"]);
});
