import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type ToolLoop, toolLoop, withEveryResult } from "../../../src/application/models/tool-loop.ts";
import type { ModelMessage, ToolCall } from "../../../src/application/ports/models.ts";
import { openStubModel, WIRES, type WireKind } from "../../contracts/stub-model.ts";
import type { ScriptedReply } from "../../fakes/model-server/reply.ts";
import { type ModelServer, startModelServer } from "../../fakes/model-server/server.ts";

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.stop());

const TOOLS = [
  {
    name: "write",
    description: "Writes a file.",
    parameters: { type: "object", properties: { path: { type: "string" }, text: { type: "string" } } },
  },
];
const write = (path: string) => ({ name: "write", arguments: { path } });

interface Run {
  readonly replies: readonly ScriptedReply[];
  readonly loop?: Partial<ToolLoop>;
  readonly start?: readonly ModelMessage[];
  readonly result?: (call: ToolCall) => { ok: boolean; text: string };
}

async function run(kind: WireKind, { replies, loop = {}, start = [], result }: Run) {
  const before = server.requests.length;
  server.say(...replies);
  const messages: ModelMessage[] = [{ role: "user", text: "go" }, ...start];
  const made: unknown[] = [];
  const end = await toolLoop({
    model: () => openStubModel(kind, server),
    tools: TOOLS,
    transcript: { messages: () => messages, add: (...more) => void messages.push(...more) },
    request: (step) => ({ messages: step.messages }),
    call: async (call) => {
      made.push(call.arguments);
      return result?.(call) ?? { ok: true, text: "written" };
    },
    limits: { steps: 10 },
    signal: new AbortController().signal,
    ...loop,
  });
  const sent = server.requests.slice(before).map(({ body }) => JSON.stringify(body));
  return { end, made, messages, sent };
}

const results = (messages: readonly ModelMessage[]) =>
  messages.flatMap((one) => (one.role === "tool" ? [one.text] : []));

test.each([
  ["gemini", "signature of write"],
  ["openai-chat", '"reasoning_content":"hm"'],
] as const)(
  "thoughts over %s are sent back with their calls, regardless of who opens the model next",
  async (protocol, kept) => {
    const kind = WIRES.find((one) => one.protocol === protocol);
    if (kind === undefined) throw new Error("no wire");
    const replies = [{ reasoning: "hm", toolCalls: [write("a")] }, { text: "done" }];
    const { sent } = await run(kind, { replies });
    expect(sent[1]).toContain(kept);
  },
);

describe.each(WIRES.map((kind) => [kind.protocol, kind] as const))("over %s", (_, kind) => {
  test("calls run in their order, their results are sent, and an answer without a call is the end", async () => {
    const { end, made, messages, sent } = await run(kind, {
      replies: [{ text: "first", toolCalls: [write("a"), write("b")] }, { text: "done" }],
    });
    expect(end).toMatchObject({ kind: "answered", answer: { text: "done", finish: "stop" } });
    expect(made).toEqual([{ path: "a" }, { path: "b" }]);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool", "assistant"]);
    expect(sent[1]).toContain("written");
  });

  test("calls of an answer that was cut by its length are refused with the reason, and nothing runs", async () => {
    const { end, made, messages, sent } = await run(kind, {
      replies: [
        {
          toolCalls: [write("whole"), { name: "write", arguments: { path: "a", text: "half of" } }],
          finish: "length",
        },
        { toolCalls: [write("small")] },
        { text: "done" },
      ],
    });
    expect(end).toMatchObject({ kind: "answered" });
    expect(made).toEqual([{ path: "small" }]);
    expect(results(messages).map((text) => text.slice(0, 42))).toEqual([
      "refused: your answer was cut off at its ma",
      "refused: your answer was cut off at its ma",
      "written",
    ]);
    expect(sent[1]).toContain("refused: your answer was cut off at its maximum length");
  });

  test("arguments that stop in the middle go back to the provider in a form that it takes", async () => {
    const half = '{"path": "a.ts", "text": "half of';
    const { end, made, messages, sent } = await run(kind, {
      replies: [{ toolCalls: [{ name: "write", arguments: half }], finish: "length" }, { text: "done" }],
    });
    expect([end.kind, made, sent.length]).toEqual(["answered", [], 2]);
    expect(messages[1]).toMatchObject({ role: "assistant", toolCalls: [{ name: "write", arguments: half }] });
    expect(results(messages)[0]).toStartWith("refused: your answer was cut");
    expect(sent[1]).toContain("half of");
  });

  test("arguments that are not JSON are refused with the place where they end, though the server names no cut", async () => {
    const half = '{"path": "a.ts", "text": "half of';
    const { end, made, messages } = await run(kind, {
      replies: [{ toolCalls: [{ name: "write", arguments: half }] }, { text: "done" }],
    });
    expect([end.kind, made]).toEqual(["answered", []]);
    expect(results(messages)[0]).toContain("max_tokens");
    expect(results(messages)[0]).toContain("half of");
  });

  test("answers that are cut again and again end the loop", async () => {
    const { end, made, sent } = await run(kind, {
      replies: [{ toolCalls: [write("a")], finish: "length" }],
    });
    expect(end).toMatchObject({ kind: "cut" });
    expect(made).toEqual([]);
    expect(sent).toHaveLength(3);
  });

  test("the same call that fails again and again is refused, then the loop ends", async () => {
    const { end, made, messages } = await run(kind, {
      replies: [{ toolCalls: [write("a")] }],
      result: () => ({ ok: false, text: "no such folder" }),
    });
    expect(end).toMatchObject({ kind: "stuck", call: { name: "write" } });
    expect(made).toHaveLength(3);
    expect(results(messages)).toEqual([
      ...Array(3).fill("no such folder"),
      ...Array(2).fill("refused: this exact call failed 3 times and was not run again. Try something else."),
    ]);
  });

  test("two calls that take turns in failing are refused all the same", async () => {
    const { end, made } = await run(kind, {
      replies: Array(9)
        .fill([{ toolCalls: [write("a")] }, { toolCalls: [write("b")] }])
        .flat(),
      loop: { limits: { steps: 18 } },
      result: () => ({ ok: false, text: "no such folder" }),
    });
    expect(end).toMatchObject({ kind: "stuck" });
    expect(made).toHaveLength(6);
  });

  test("a failing call with one that succeeds between is not stuck", async () => {
    const { end, made } = await run(kind, {
      replies: [
        ...Array(4)
          .fill([{ toolCalls: [write("a")] }, { toolCalls: [write("b")] }])
          .flat(),
        { text: "done" },
      ],
      result: (call) => ({ ok: JSON.stringify(call.arguments).includes("b"), text: "…" }),
    });
    expect(end).toMatchObject({ kind: "answered" });
    expect(made).toHaveLength(8);
  });

  test("the steps are a limit, and the last one can be left for an answer", async () => {
    const replies = [{ toolCalls: [write("a")] }];
    const all = await run(kind, { replies, loop: { limits: { steps: 3 } } });
    expect([all.end.kind, all.made.length]).toEqual(["steps", 3]);
    const last = await run(kind, {
      replies: [{ toolCalls: [write("a")] }, { text: "as far as I came" }],
      loop: { limits: { steps: 2, lastAnswers: true } },
    });
    expect(last.end).toMatchObject({ kind: "answered", answer: { text: "as far as I came" } });
    expect(last.sent[0]).toContain("Writes a file.");
    expect(last.sent[1]).not.toContain("Writes a file.");
  });

  test("the time is a limit", async () => {
    const { end, made } = await run(kind, {
      replies: [{ toolCalls: [write("a")], fault: { kind: "hang", after: 0 } }],
      loop: { deadline: AbortSignal.timeout(5) },
    });
    expect(end).toMatchObject({ kind: "aborted", by: "deadline" });
    expect(made).toEqual([]);
  });

  test("an abort during a call ends the loop before the next", async () => {
    const stop = new AbortController();
    const { end, made } = await run(kind, {
      replies: [{ toolCalls: [write("a"), write("b")] }],
      loop: { signal: stop.signal },
      result: () => {
        stop.abort();
        return { ok: true, text: "written" };
      },
    });
    expect(end).toMatchObject({ kind: "aborted", by: "signal" });
    expect(made).toEqual([{ path: "a" }]);
  });

  test("a stream that is cut in the middle of a call runs nothing", async () => {
    const { end, made } = await run(kind, {
      replies: [{ text: "first", toolCalls: [write("a")], fault: { kind: "cut", after: kind.begins + 1 } }],
    });
    expect(end).toMatchObject({ kind: "failed", failure: { code: "cut-off" } });
    expect(made).toEqual([]);
  });

  test("429 is waited for, no answer ends the loop with its facts", async () => {
    const busy = await run(kind, {
      replies: [{ fault: { kind: "status", status: 429 } }, { toolCalls: [write("a")] }, { text: "done" }],
    });
    expect([busy.end.kind, busy.made.length]).toEqual(["answered", 1]);
    const empty = await run(kind, { replies: [{ toolCalls: [write("a")] }, { text: "" }] });
    expect(empty.end).toMatchObject({ kind: "empty" });
  });

  test("an answer can be sent on its way again", async () => {
    const { end, messages } = await run(kind, {
      replies: [{ text: "I think so" }, { text: "done" }],
      loop: { next: ({ text }) => (text === "done" ? null : "Go on.") },
    });
    expect(end).toMatchObject({ kind: "answered", answer: { text: "done" } });
    expect(messages.map(({ text }) => text)).toEqual(["go", "I think so", "Go on.", "done"]);
  });

  test("a request that was too long is sent smaller from then on", async () => {
    const sizes: string[] = [];
    const { end } = await run(kind, {
      replies: [{ fault: { kind: "context-length" } }, { toolCalls: [write("a")] }, { text: "done" }],
      loop: {
        request: ({ size, messages }) => {
          sizes.push(size);
          return { messages };
        },
      },
    });
    expect(end).toMatchObject({ kind: "answered" });
    expect(sizes).toEqual(["full", "small", "small"]);
  });
});

test("a call that a model only wrote is run as one", async () => {
  const { made } = await run(WIRES[1] as WireKind, {
    replies: [{ text: 'I will. {"name": "write", "arguments": {"path": "c"}}' }, { text: "done" }],
  });
  expect(made).toEqual([{ path: "c" }]);
});

test("a model that is not there ends the loop before it is asked", async () => {
  const failure = { code: "no-key", message: "no key", retryable: false } as const;
  const { end, sent } = await run(WIRES[0] as WireKind, { replies: [], loop: { model: () => failure } });
  expect(end).toEqual({ kind: "failed", failure });
  expect(sent).toEqual([]);
});

test("a call whose result was lost in a crash is given as interrupted, in its place", () => {
  const call = (id: string): ToolCall => ({ id, name: "write", arguments: {} });
  const assistant = { role: "assistant", text: "", toolCalls: [call("1"), call("2")] } as const;
  const result = { role: "tool", callId: "1", name: "write", text: "written" } as const;
  const after = { role: "user", text: "The environment was made anew." } as const;
  const healed = withEveryResult([assistant, result, after]);
  expect(healed.map((one) => (one.role === "tool" ? `${one.callId}: ${one.text}` : one.role))).toEqual([
    "assistant",
    "2: interrupted: whether this ran is not known.",
    "1: written",
    "user",
  ]);
  const whole = [assistant, result, { ...result, callId: "2" }];
  expect(withEveryResult(whole)).toBe(whole);
});
