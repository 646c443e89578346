import { expect, test } from "bun:test";
import { liveLine } from "../../../src/adapters/web/live-streams.ts";
import type { ChatEvent } from "../../../src/application/ports/chat.ts";
import { createBus, createLiveWorks, type ServeEvent } from "../../../src/application/serve/serve-events.ts";
import { consoleMessagesFor } from "../../../src/domain/texts/web.ts";

const message = { id: "msg_1" } as Extract<ServeEvent, { type: "chat" }>["message"];

test("a message at work shows who works, the command, its last lines and the cost, and nothing once it is answered", () => {
  const bus = createBus();
  const works = createLiveWorks(bus);
  const happens = (event: ChatEvent) => bus.publish({ type: "chat", message, event });
  const line = () => liveLine(consoleMessagesFor("en"), works.of("msg_1"), "Working on it");
  const jobId = "job_1_aaaaaaaa";
  expect(line()).toMatchObject({ face: "澪", now: "Working on it", command: "", lines: "", cost: "" });
  happens({ type: "thinking", agent: "Gin", provider: "p", model: "m", local: false });
  expect(line()).toMatchObject({ face: "銀", style: "gin", now: "Gin is thinking" });
  happens({ type: "progress", attempt: 1, of: 4, doing: "running", detail: "", tokens: 9, costUsd: 0.0123 });
  happens({ type: "job-command", jobId, index: 1, command: "shell_command run npm test" });
  for (let n = 1; n <= 12; n += 1) happens({ type: "job-output", jobId, text: `line ${n}\n` });
  happens({ type: "job-output", jobId, text: "half \u202e" });
  expect(line()).toMatchObject({
    now: "Try 1 of 4 · running it · 9 tokens",
    command: "npm test",
    lines: ["line 6", "line 7", "line 8", "line 9", "line 10", "line 11", "line 12", "half ⟦202E⟧"].join(
      "\n",
    ),
    cost: "$0.0123",
  });
  happens({ type: "progress", attempt: 2, of: 4, doing: "asking", detail: "", tokens: 9, costUsd: 0.02 });
  expect(line()).toMatchObject({ command: "", lines: "", cost: "$0.0200" });
  bus.publish({ type: "answered", message, reply: {} as never, ms: 1 });
  expect(line()).toMatchObject({ face: "澪", cost: "" });
});
