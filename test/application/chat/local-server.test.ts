/** A small local model behind a real server: what is asked, what is remembered of it, and what a bad server does. */
import { afterEach, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeRecords } from "../../../src/application/models/diagnose-models.ts";
import type { ModelRecord } from "../../../src/application/ports/models.ts";
import { messagesFor } from "../../../src/domain/texts/jobs.ts";
import { readModelRecords } from "../../../src/infrastructure/models/model-records.ts";
import { withChecks } from "../../e2e/node-project.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

const STUB = "export function leap(year) {}\n";
const WRONG = "export function leap(year) {\n  return year % 4 === 1;\n}\n";
const RIGHT = "export function leap(year) {\n  return year % 4 === 0;\n}\n";
const TESTS = `import assert from "node:assert";
import test from "node:test";
import { leap } from "./leap.js";
test("four", () => assert.equal(leap(4), true));
test("five", () => assert.equal(leap(5), false));
`;
const ASK = "/code3 Write leap in leap.js so that the tests in leap.test.js pass.";
const block = (text: string) => `\`\`\`js:leap.js\n${text}\`\`\`\n`;

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly temperature?: number;
  readonly response_format?: { readonly type: string; readonly json_schema?: { readonly schema: unknown } };
}

type Answered =
  | string
  | Response
  | { readonly text: string; readonly waitMs?: number; readonly usage?: object };

interface Server {
  readonly answer: (asked: Asked, turn: number) => Answered;
  readonly listed?: () => object;
  /** YAML lines beside the provider. */
  readonly config?: string;
}

let at: OpenedConversation;
let server: ReturnType<typeof Bun.serve>;
afterEach(async () => {
  await at.close();
  await server.stop(true);
});

/** An answer as llama.cpp streams it. `cut`: the stream ends in the middle. */
function stream(
  text: string,
  { waitMs = 0, usage = {}, cut = false }: { waitMs?: number; usage?: object; cut?: boolean } = {},
) {
  const frame = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
  const pieces = [
    frame({ choices: [{ delta: { content: text.slice(0, 20) } }] }),
    frame({ choices: [{ delta: { content: text.slice(20) } }] }),
  ];
  const end = [
    frame({ choices: [{ delta: {}, finish_reason: "stop" }] }),
    frame({ choices: [], usage: { prompt_tokens: 400, completion_tokens: 40, ...usage } }),
    "data: [DONE]\n\n",
  ];
  const body = new ReadableStream({
    async start(controller) {
      await Bun.sleep(waitMs);
      for (const piece of cut ? pieces.slice(0, 1) : [...pieces, ...end])
        controller.enqueue(new TextEncoder().encode(piece));
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

async function open({ answer, listed = () => ({ meta: { n_params: 1_500 } }), config = "" }: Server) {
  const asked: Asked[] = [];
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      if (request.method === "GET") return Response.json({ data: [{ id: "tiny-1.5b", ...listed() }] });
      const body = (await request.json()) as Asked;
      asked.push(body);
      const answered = answer(body, asked.length - 1);
      if (answered instanceof Response) return answered;
      return typeof answered === "string" ? stream(answered) : stream(answered.text, answered);
    },
  });
  const provider = `{ type: openai-compatible, base_url: "http://127.0.0.1:${server.port}/v1", model: tiny-1.5b, local: true }`;
  const roles = "roles: { coder3: { provider: near } }";
  at = await openConversation(() => "", {
    ownModels: true,
    config: `providers: { near: ${provider} }\n${roles}\n${config === "" ? "checks: { enabled: never }\n" : config}`,
  });
  at.write("package.json", '{ "type": "module" }\n');
  at.write("leap.js", STUB);
  at.write("leap.test.js", TESTS);
  return asked;
}

const seenFile = () => join(at.home, "models-seen.json");
const seen = () =>
  (JSON.parse(readFileSync(seenFile(), "utf8")) as Record<string, ModelRecord>)["near/tiny-1.5b"]!;
const IDENTITY = JSON.stringify(["tiny-1.5b", null, null, null, { n_params: 1_500 }]);

/** As if earlier answers had been these. */
function remember(record: Partial<ModelRecord>): void {
  const whole = {
    identity: IDENTITY,
    at: "2026-01-01T00:00:00.000Z",
    forms: {},
    reads: 0,
    writes: 0,
    ...record,
  };
  writeFileSync(seenFile(), JSON.stringify({ "near/tiny-1.5b": whole }));
}
const UNREADABLE = { whole: { read: 0, unread: 6, endless: 0, green: 0 } };

withChecks(
  "each try begins again at another temperature, and the record has what became of them",
  async () => {
    const asked = await open({
      answer: (_, turn) => block(turn < 2 ? WRONG : RIGHT),
      config: "checks: { command: node --test }\n",
    });
    const reply = await at.send(ASK);
    expect(reply.text.split("\n")[0]).toBe("Applied: 1 file, node --test 2 passed (2 fixed)");
    expect(asked.map(({ temperature }) => temperature)).toEqual([undefined, 0.7, 0.75]);
    for (const again of asked.slice(1)) {
      expect(again.messages.map(({ role }) => role)).toEqual(["system", "user"]);
      expect(JSON.stringify(again.messages)).not.toContain("% 4 === 1");
    }
    expect(seen()).toMatchObject({
      identity: IDENTITY,
      forms: { whole: { read: 3, unread: 0, endless: 0, green: 1 } },
    });
    expect(seen().writes).toBeGreaterThan(0);
    const [line] = describeRecords(readModelRecords(at.home), { messages: messagesFor("en") });
    expect(line?.text).toMatch(
      /^answers of near\/tiny-1.5b: whole files: 3 read, 0 not, 0 endless, 1 green; reads \d+ and writes \d+ tokens a second$/,
    );
  },
);

test("whose whole files could not be read is asked for an object that the grammar binds", async () => {
  const asked = await open({ answer: () => JSON.stringify({ path: "leap.js", text: RIGHT }) });
  remember({ forms: UNREADABLE });
  expect((await at.send(ASK)).ok).toBe(true);
  expect(at.read("leap.js")).toBe(RIGHT);
  expect(asked[0]?.response_format).toMatchObject({
    type: "json_schema",
    json_schema: { schema: { properties: { path: { enum: ["leap.js"] } } } },
  });
  expect(seen().forms.json).toEqual({ read: 1, unread: 0, endless: 0, green: 1 });
});

test("that ignores the schema is read as usual, and the record has it", async () => {
  await open({ answer: () => block(RIGHT) });
  remember({ forms: UNREADABLE });
  expect((await at.send(ASK)).ok).toBe(true);
  expect(at.read("leap.js")).toBe(RIGHT);
  expect(seen().forms).toMatchObject({ json: { read: 0, unread: 1 }, whole: { read: 1 } });
});

test("that refuses the schema is asked without it", async () => {
  const asked = await open({
    answer: (body) =>
      body.response_format === undefined
        ? block(RIGHT)
        : Response.json({ error: { message: "response_format is not supported" } }, { status: 400 }),
  });
  remember({ forms: UNREADABLE });
  expect((await at.send(ASK)).ok).toBe(true);
  expect(asked.map(({ response_format: format }) => format?.type)).toEqual(["json_schema", undefined]);
  expect(at.read("leap.js")).toBe(RIGHT);
});

test("another model behind the same name begins a new record", async () => {
  const asked = await open({ answer: () => block(RIGHT), listed: () => ({ meta: { n_params: 7_000 } }) });
  remember({ forms: UNREADABLE, reads: 3 });
  expect((await at.send(ASK)).ok).toBe(true);
  expect(asked[0]?.response_format).toBeUndefined();
  expect(seen().forms).toEqual({ whole: { read: 1, unread: 0, endless: 0, green: 1 } });
});

test("a record that is damaged is no record", async () => {
  await open({ answer: () => block(RIGHT) });
  writeFileSync(seenFile(), '{"near/tiny-1.5b": {"identity": 5}, "x": [');
  expect((await at.send(ASK)).ok).toBe(true);
  expect(seen().forms.whole?.read).toBe(1);
});

test("that reads slowly has the time that it needs, and the user reads how long that is", async () => {
  await open({
    answer: () => ({ text: block(RIGHT), waitMs: 2_500 }),
    config: "checks: { enabled: never }\nmodels: { first_token_timeout: 1 }\n",
  });
  remember({ reads: 20 });
  expect((await at.send(ASK)).ok).toBe(true);
  const notices = at.events.flatMap((event) => (event.type === "notice" ? [event.text] : []));
  expect(notices).toContainEqual(expect.stringMatching(/^Gin is reading \d+ tokens, about \d+ s…$/));
});

test("that says nothing is given up after the time that its reading may take", async () => {
  await open({
    answer: () => ({ text: block(RIGHT), waitMs: 30_000 }),
    config: "checks: { enabled: never }\nmodels: { first_token_timeout: 1 }\n",
  });
  remember({ reads: 2_000 });
  const reply = await at.send(ASK);
  expect(reply.ok).toBe(false);
  expect(reply.text).toContain("first_token_timeout");
});

test("that counts its tokens wrongly changes nothing but figures", async () => {
  const usage = { prompt_tokens: 9e15, completion_tokens: -5 };
  await open({ answer: () => ({ text: block(RIGHT), usage }) });
  expect((await at.send(ASK)).ok).toBe(true);
  expect([seen().reads, seen().writes]).toEqual([0, 0]);
});

test("whose stream is cut is asked once more", async () => {
  const asked = await open({
    answer: (_, turn) => (turn === 0 ? stream(block(RIGHT), { cut: true }) : block(RIGHT)),
  });
  expect((await at.send(ASK)).ok).toBe(true);
  expect(asked).toHaveLength(2);
  expect(at.read("leap.js")).toBe(RIGHT);
});

test("whose window is too short for the request is asked for less, and then says so", async () => {
  const error = {
    message: "the request exceeds the available context size (2048 tokens)",
    type: "exceed_context_size_error",
  };
  await open({ answer: () => Response.json({ error }, { status: 400 }) });
  const reply = await at.send(ASK);
  expect(reply.ok).toBe(false);
  expect(at.read("leap.js")).toBe(STUB);
});

test.each([
  ["in another language", "```python:leap.js\ndef leap(year):\n    return year % 4 == 0\n```\n"],
  [
    "that copies the words of the prompt",
    "Write the whole new text of leap.js in one code block that opens with the line ```js:leap.js\n",
  ],
  [
    "that rewrites the tests alone",
    `\`\`\`js:leap.test.js\nimport test from "node:test";\ntest("four", () => {});\n\`\`\`\n`,
  ],
  ["of words", "Sure! I have implemented leap."],
])("an answer %s is another try, and the right one lands alone", async (_, wrong) => {
  const asked = await open({ answer: (_asked, turn) => (turn === 0 ? wrong : block(RIGHT)) });
  expect((await at.send(ASK)).ok).toBe(true);
  expect(asked).toHaveLength(2);
  expect([at.read("leap.js"), at.read("leap.test.js")]).toEqual([RIGHT, TESTS]);
});

test("an answer that counts without end is ended before its cap, and the next one lands", async () => {
  const lines = Array.from({ length: 900 }, (_, n) => `assert f(${n}) == ${n + 1}`).join("\n");
  const asked = await open({ answer: (_, turn) => (turn === 0 ? block(lines) : block(RIGHT)) });
  expect((await at.send(ASK)).ok).toBe(true);
  expect(asked).toHaveLength(2);
  expect(seen().forms.whole).toMatchObject({ read: 1, endless: 1 });
});
