import { expect, test } from "bun:test";
import { createStyle } from "../../../src/adapters/cli/terminal-style.ts";
import { textWidth } from "../../../src/adapters/cli/terminal-text.ts";
import { createTurnView } from "../../../src/adapters/cli/turn-view.ts";
import { addToSteps, type WorkStep } from "../../../src/application/chat/describe-event.ts";
import type { ChatEvent } from "../../../src/application/ports/chat.ts";
import { chatMessagesFor } from "../../../src/domain/texts/chat.ts";
import { terminalMessagesFor } from "../../../src/domain/texts/cli-terminal.ts";

const view = (locale: "en" | "ja" = "en") =>
  createTurnView({
    texts: terminalMessagesFor(locale),
    chat: chatMessagesFor(locale),
    style: () => createStyle({ colour: false, ground: "dark" }),
    now: () => 0,
  });
const rows = (blocks: readonly { render(columns: number): readonly string[] }[]) =>
  blocks.flatMap((block) => block.render(80)).filter((row) => row.trim() !== "");
const agent = (number: number, more: Partial<Extract<ChatEvent, { type: "agent" }>> = {}): ChatEvent => ({
  type: "agent",
  jobId: "job_1_a",
  number,
  task: `part ${number}`,
  writes: true,
  state: "working",
  doing: "",
  files: 0,
  tokens: 0,
  costUsd: 0,
  ...more,
});

test("sub-agents are steps side by side, each with what it does, until it has ended", () => {
  const turn = view();
  turn.event(agent(1));
  turn.event(agent(2, { doing: "read_file a.ts" }));
  turn.event(agent(1, { state: "done", files: 2 }));
  expect(turn.live(80).map((row) => row.trim())).toEqual([
    "✓ agent  1 part 1  2 files",
    "⠋ agent  2 part 2  read_file a.ts",
  ]);
  turn.event(agent(2, { state: "stopped" }));
  expect(turn.live(80).at(-1)?.trim()).toBe("✗ agent  2 part 2  stopped");
});

test("several coders that write at once are seen one below the other, each under its name", () => {
  const turn = view();
  turn.event({ type: "drafting", agent: "Aka", text: "One plan.\nIn two lines.\n", lines: 0 });
  turn.event({ type: "drafting", agent: "Ao", text: "Another plan.\n", lines: 0 });
  turn.event({ type: "drafting", agent: "Aka", text: "And a third.\n", lines: 0 });
  const live = turn.live(80).map((row) => row.trim());
  expect(live.indexOf("Aka")).toBeLessThan(live.findIndex((row) => row.includes("And a third.")));
  expect(live.findIndex((row) => row.includes("And a third."))).toBeLessThan(live.indexOf("Ao"));
  const final = rows(turn.event({ type: "proposed", agent: "Aka", plan: "One plan.", commands: 1 }));
  expect(final[0]?.trim()).toBe("Aka");
  expect(final.join(" ")).not.toContain("Another");
  expect(turn.live(80).join(" ")).toContain("Another plan.");
});

test("an agent's words become final when its next step begins", () => {
  const turn = view();
  turn.event({ type: "drafting", agent: "Gin", text: "I look around first.\n", lines: 0 });
  const blocks = turn.event({
    type: "job-command",
    jobId: "job_1_a",
    index: 1,
    command: "shell_command run ls",
  });
  expect(rows(blocks).join(" ")).toContain("I look around first.");
});

test("tries of the same thing are one step, which shows the last of them", () => {
  const retry = (detail: string) => ({ type: "notice", text: "", step: { kind: "retry", detail } }) as const;
  const steps = ["1 · 1 s", "2 · 4 s"].reduce<readonly WorkStep[]>(
    (all, detail, at) => addToSteps(all, retry(detail), at),
    [],
  );
  expect(steps).toMatchObject([{ kind: "retry", detail: "2 · 4 s", startedAt: 0, endedAt: 1 }]);
});

test("the check of a job that failed did not fail itself", () => {
  const events = [
    { type: "job-command", jobId: "job_1_a", index: 1, command: "shell_command run rm .env" },
    { type: "notice", text: "", step: { kind: "retry", detail: "rm .env" } },
    { type: "progress", attempt: 1, of: 4, doing: "checking", detail: "npm test", tokens: 0, costUsd: 0 },
    { type: "job-finished", jobId: "job_1_a", success: false },
  ] as unknown as readonly ChatEvent[];
  const steps = events.reduce<readonly WorkStep[]>((all, event, at) => addToSteps(all, event, at), []);
  expect(steps.map(({ kind, state }) => [kind, state])).toEqual([
    ["run", "done"],
    ["retry", "failed"],
    ["check", "done"],
  ]);
});

test("ja: the details of all steps begin in one column", () => {
  const turn = view("ja");
  for (const command of ["file_edit update a.js", "shell_command run b.js"])
    turn.event({ type: "job-command", jobId: "job_1_a", index: 1, command });
  turn.event({ type: "notice", text: "", step: { kind: "retry", detail: "c.js" } });
  const columns = turn.allSteps().map((row) => textWidth(row.slice(0, row.search(/[abc]\.js/))));
  expect(new Set(columns).size).toBe(1);
});
