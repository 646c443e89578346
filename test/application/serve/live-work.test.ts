import { expect, test } from "bun:test";
import { liveLine } from "../../../src/adapters/web/live-streams.ts";
import type { ChatEvent } from "../../../src/application/ports/chat.ts";
import { createBus, createLiveWorks, type ServeEvent } from "../../../src/application/serve/serve-events.ts";
import { consoleMessagesFor } from "../../../src/domain/texts/web.ts";

const message = { id: "msg_1" } as Extract<ServeEvent, { type: "chat" }>["message"];
const jobId = "job_1_aaaaaaaa";

function open() {
  const bus = createBus();
  const clock = { ms: 0 };
  const works = createLiveWorks(bus, () => clock.ms);
  const line = () => {
    const { work, ...rest } = liveLine(consoleMessagesFor("en"), works.of("msg_1"), "Working on it");
    const text = String(work);
    const steps = [...text.matchAll(/<li class="(?:runs|done|failed)">([\s\S]*?)<\/li>/g)];
    return {
      ...rest,
      html: text,
      steps: steps.map(([, step = ""]) => step.replaceAll(/<[^>]*>/g, "")),
      lines: /data-lines>([^<]*)</.exec(text)?.[1] ?? "",
    };
  };
  return { bus, clock, line, happens: (event: ChatEvent) => bus.publish({ type: "chat", message, event }) };
}

test("a message at work shows who works, its last lines and the cost, and nothing once it is answered", () => {
  const { bus, line, happens } = open();
  expect(line()).toMatchObject({ face: "澪", now: "Working on it", steps: [], lines: "", cost: "" });
  happens({ type: "thinking", agent: "Gin", provider: "p", model: "m", local: false });
  expect(line()).toMatchObject({ face: "銀", style: "gin", now: "Gin is thinking" });
  happens({ type: "progress", attempt: 1, of: 4, doing: "running", detail: "", tokens: 9, costUsd: 0.0123 });
  happens({ type: "job-command", jobId, index: 1, command: "shell_command run npm test" });
  for (let n = 1; n <= 12; n += 1) happens({ type: "job-output", jobId, text: `line ${n}\n` });
  happens({ type: "job-output", jobId, text: "half \u202e" });
  expect(line()).toMatchObject({
    now: "Try 1 of 4 · running it · 9 tokens",
    steps: ["… run npm test"],
    lines: ["line 6", "line 7", "line 8", "line 9", "line 10", "line 11", "line 12", "half ⟦202E⟧"].join(
      "\n",
    ),
    cost: "$0.0123",
  });
  happens({ type: "progress", attempt: 2, of: 4, doing: "asking", detail: "", tokens: 9, costUsd: 0.02 });
  expect(line()).toMatchObject({ lines: "", cost: "$0.0200" });
  bus.publish({ type: "answered", message, reply: {} as never, ms: 1 });
  expect(line()).toMatchObject({ face: "澪", cost: "", steps: [] });
});

test("a coder's words, looks, edits and checks are shown as they happen, its words as Markdown", () => {
  const { clock, line, happens } = open();
  const drafting = (text: string, lines = 0) => happens({ type: "drafting", agent: "Gin", text, lines });
  const checking = (detail: string) =>
    happens({ type: "progress", attempt: 1, of: 4, doing: "checking", detail, tokens: 9, costUsd: 0 });
  happens({ type: "notice", text: "", step: { kind: "read", detail: "src/cart.js" } });
  drafting("Count **each** ");
  drafting("item <img src=x onerror=alert(1)>");
  expect(line()).toMatchObject({ now: "writing", steps: ["✓ read src/cart.js"] });
  expect(line().html).toContain("<p>Count <strong>each</strong> item &lt;img src=x onerror=alert(1)&gt;</p>");
  drafting("", 7);
  expect(line().now).toBe("writing the change, 7 lines");
  happens({ type: "proposed", plan: "Count each item", commands: 1 });
  expect(line().html).not.toContain("<strong>");
  happens({ type: "job-command", jobId, index: 1, command: "file_edit update src/cart.js" });
  checking("npm test");
  clock.ms = 2_500;
  checking("npm test · 3 of 12 tests");
  expect(line().steps.slice(-2)).toEqual(["✓ edit src/cart.js", "… check npm test · 3 of 12 tests"]);
  happens({ type: "notice", text: "", step: { kind: "retry", detail: "2 failed" } });
  happens({
    type: "agent",
    jobId,
    number: 1,
    task: "look <b>",
    writes: false,
    state: "failed",
    doing: "",
    files: 0,
    tokens: 0,
    costUsd: 0,
  });
  expect(line().steps.slice(-3)).toEqual([
    "✓ check npm test · 3 of 12 tests 2.5\u00a0s",
    "✗ try 2 failed",
    "✗ agent 1 look &lt;b&gt; failed",
  ]);
  for (let n = 0; n < 6; n += 1)
    happens({ type: "notice", text: "", step: { kind: "search", detail: `${n}` } });
  expect(line().html).toContain("<summary>6 earlier steps</summary>");
});
