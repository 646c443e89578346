import { expect, test } from "bun:test";
import { createTaskProgress } from "../../../src/adapters/cli/live-progress.ts";
import type { CliProgram } from "../../../src/adapters/cli/program.ts";
import { NO_USAGE } from "../../../src/domain/models/model-facts.ts";
import { recordOf, type TaskEvent } from "../../../src/domain/tasks/task-record.ts";
import { taskMessagesFor } from "../../../src/domain/texts/tasks.ts";
import { taskFacts } from "../../domain/tasks/task-facts.ts";

const at = "2026-11-15T00:00:00Z";
const facts = taskFacts();
const story: TaskEvent[] = [
  { type: "created", at, task: facts },
  { type: "planning", at },
  { type: "planned", at, criteria: [{ id: "AC-1", description: "greets" }], usage: NO_USAGE },
  { type: "decided", at, loop: 1, action: "run_worker", reason: "go", prompt: "p", usage: NO_USAGE },
];

function play(options: { readonly follow: boolean; readonly line: boolean }) {
  const said = { out: "", err: "" };
  const program = {
    out(text: string) {
      said.out += text;
    },
    err(text: string) {
      said.err += text;
    },
  } as unknown as CliProgram;
  const progress = createTaskProgress(program, taskMessagesFor("en"), options);
  story.forEach((event, index) => {
    const record = recordOf(story.slice(0, index + 1));
    if (record) progress.record(record, event);
  });
  progress.worker({ kind: "command", command: "ls \u001b[2J" });
  progress.worker({ kind: "edit", path: "a.ts" });
  progress.end();
  return said;
}

test("a terminal has one line: state, loop, time, tokens, cost, last action", () => {
  const { out, err } = play({ follow: false, line: true });
  expect(out).toBe("");
  expect(err).toContain("running · loop 1/10 · 0:00 · 0 → 0 tokens · $0.0000 · ✎ a.ts");
  expect(err).not.toContain("\u001b[2J");
  expect(err.endsWith("\r\u001b[K")).toBe(true);
});

test("--follow says every step, and nothing that steers a terminal", () => {
  const { out, err } = play({ follow: true, line: false });
  expect(err).toBe("");
  expect(out).toBe(
    `[${at}] PENDING Greet\n[${at}] PLANNING planning\n[${at}] RUNNING AC-1: greets\n[${at}] RUNNING 1: run_worker go\n$ ls  [2J\n✎ a.ts\n`,
  );
});

test("--follow prints each line of a worker's growing words once, when it is whole", () => {
  let out = "";
  const program = { out: (text: string) => (out += text), err: () => {} } as unknown as CliProgram;
  const progress = createTaskProgress(program, taskMessagesFor("en"), { follow: true, line: false });
  const words = "I look at the code.\nThen I fix it.";
  for (let end = 1; end <= words.length; end++) progress.worker({ kind: "text", text: words.slice(0, end) });
  progress.worker({ kind: "text", text: words });
  progress.worker({ kind: "edit", path: "a.ts" });
  for (let i = 0; i < 36; i++) progress.worker({ kind: "setup", text: "waiting for the engine" });
  progress.worker({ kind: "text", text: "Done." });
  progress.end();
  expect(out).toBe(`${words}\n✎ a.ts\nwaiting for the engine\nDone.\n`);
});

test("otherwise it is silent", () => {
  expect(play({ follow: false, line: false })).toEqual({ out: "", err: "" });
});
