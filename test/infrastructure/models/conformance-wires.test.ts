/** Answers and errors that real providers gave, as other projects recorded them, read by our wires. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { ModelUsage, ToolCall } from "../../../src/application/ports/models.ts";
import { eventsOf } from "../../contracts/model-kit.ts";
import { type Bytes, openRecorded, type RecordedAnswer, requestOf } from "./recorded-answer.ts";

const folder = join(
  process.env.PICOCLAW_TEST_CONFORMANCE ?? join(import.meta.dir, "../../../../shared/conformance"),
  "wires",
);
const answers = join(folder, "answers.jsonl.gz");
const errors = join(folder, "errors.jsonl");

interface Case extends RecordedAnswer {
  readonly id: string;
  readonly expect: {
    readonly text: string;
    readonly calls: readonly ToolCall[];
    /** Null where the recording does not say. */
    readonly finish: string | null;
    readonly reasoning: boolean;
    readonly usage: ModelUsage | null;
  } | null;
  /** The code of an error. */
  readonly want?: string;
}

const WIRES = ["anthropic", "openai", "openai-compatible", "google"] as const;

const bytesOf = (text: string): Bytes => new TextEncoder().encode(text);
const isStream = ({ type }: Case) => type.includes("event-stream");

function inPieces(bytes: Bytes, size: number): readonly Bytes[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.slice(index * size, (index + 1) * size),
  );
}

/** How the same answer may come over a network. */
const WAYS: Readonly<Record<string, (one: Case) => readonly Bytes[]>> = {
  whole: ({ text_body }) => [bytesOf(text_body)],
  "in pieces of seven bytes": ({ text_body }) => inPieces(bytesOf(text_body), 7),
  "with CRLF": ({ text_body }) => inPieces(bytesOf(text_body.replaceAll(/\r?\n/g, "\r\n")), 1000),
  // Servers that answer in one piece send empty lines meanwhile.
  "with keep-alive comments": (one) => [
    bytesOf(
      isStream(one)
        ? `: connected\n\n${one.text_body.replaceAll(/\r?\n\r?\n/g, "\n\n: keep-alive\n\n")}`
        : `\n\n${one.text_body}`,
    ),
  ],
};

interface Read {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly finish: string;
  readonly reasoning: boolean;
  readonly usage?: ModelUsage;
}

async function readBy(one: Case, chunks: readonly Bytes[]): Promise<Read> {
  const events = await eventsOf(openRecorded(one, chunks), requestOf(one));
  const last = events.at(-1);
  const reasoning = events.some(({ type }) => type === "reasoning");
  if (last?.type === "finished") {
    const { text, toolCalls, finish, usage } = last.answer;
    return { text, calls: toolCalls, finish, reasoning, usage };
  }
  const finish = last?.type === "failed" ? `failed: ${last.failure.code}` : "no end";
  return { text: "", calls: [], finish, reasoning };
}

/** Where we mean to differ, and why. */
const OURS: Readonly<Record<string, string>> = {
  "opencode/packages/llm/test/fixtures/recordings/cloudflare-ai-gateway/cloudflare-ai-gateway-workers-ai-llama-3-1-8b-text.json#0":
    "the last figures of its stream are zeros: those before them are told",
  "pydantic-ai/tests/models/cassettes/test_huggingface/test_hf_model_instructions.yaml#0":
    "<think> is no text",
  "pydantic-ai/tests/models/cassettes/test_huggingface/test_hf_model_thinking_part.yaml#1":
    "<think> is no text",
  "pydantic-ai/tests/models/cassettes/test_huggingface/test_request_simple_usage.yaml#0":
    "<think> is no text",
  "pydantic-ai/tests/models/cassettes/test_huggingface/test_simple_completion.yaml#0": "<think> is no text",
  "vercel-ai/packages/google/src/__fixtures__/google-stream-tool-call-array-arguments-missing-terminal-function-call.chunks.txt":
    "arguments that come in pieces are one call",
};

/** The codes of errors where we mean to differ. */
const OUR_CODES: Readonly<Record<string, string>> = {
  // The account lacks money: a new key would not help.
  "anthropic 402": "rate-limited",
};

/** Empty where the answer was read as it was meant. */
function differences({ id, expect: wanted }: Case, read: Read): readonly string[] {
  if (id in OURS) return [];
  const isFailure = read.finish.startsWith("failed: ");
  if (wanted === null) return isFailure ? [] : [`${read.finish}, but it is an error`];
  const isEmpty = wanted.text.trim() === "" && wanted.calls.length === 0 && wanted.finish !== "filtered";
  if (isEmpty && wanted.finish === null) return isFailure ? [] : [`${read.finish}, but nothing ended`];
  if (isEmpty) return read.finish === "failed: empty" ? [] : [`${read.finish}, but nothing was said`];
  // Google names no calls: then any name will do.
  const calls = read.calls.map((call, index) => (wanted.calls[index]?.id ? call : { ...call, id: "" }));
  const stop = wanted.finish ?? "stop";
  const finish = stop === "stop" && wanted.calls.length > 0 ? "tool-calls" : stop;
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ["text", read.text, wanted.text],
    ["calls", calls, wanted.calls.map((call) => ({ ...call, id: call.id ?? "" }))],
    ["finish", read.finish, finish],
    ["reasoning", read.reasoning, wanted.reasoning],
    ["usage", read.usage, wanted.usage ?? read.usage],
  ];
  return pairs
    .filter(([, got, want]) => !Bun.deepEquals(got, want))
    .map(([what, got, want]) => `${what} ${JSON.stringify(got)} ≠ ${JSON.stringify(want)}`.slice(0, 400));
}

/** From here on an answer says that it is over. */
const END =
  /"stop_reason":\s*"|"type":\s*"response\.(completed|incomplete|failed)|"finish_reason":\s*"[a-z]|"finishReason":\s*"|"blockReason"|\[DONE\]/;

/** Two answers, one after the other: between them everything was said. */
const TWO_ANSWERS = "vercel-ai/packages/anthropic/src/__fixtures__/anthropic-tool-search-bm25.1.chunks.txt";

function cutsOf(one: Case): readonly number[] {
  const size = bytesOf(one.text_body.trimEnd()).length;
  const spread = Array.from({ length: 12 }, (_, index) => Math.floor((size * index) / 12));
  return [...spread, size - 1];
}

async function finishedThoughCut(one: Case, whole: Read): Promise<readonly string[]> {
  const bytes = bytesOf(one.text_body);
  const found: string[] = [];
  for (const at of cutsOf(one)) {
    const given = new TextDecoder().decode(bytes.slice(0, at));
    const read = await readBy(one, [bytes.slice(0, at)]);
    const over = isStream(one) && END.test(given);
    // A stream that has named its end is complete: only figures may follow.
    const same = read.text === whole.text && Bun.deepEquals(read.calls, whole.calls);
    if (!read.finish.startsWith("failed") && !(over && same)) found.push(`${one.id} cut at ${at}`);
  }
  return found;
}

function casesIn(text: string): readonly Case[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line) as Case);
}

if (!existsSync(answers) || !existsSync(errors)) {
  test.skip("wire conformance: the folder is absent (set PICOCLAW_TEST_CONFORMANCE)", () => {});
} else {
  const recorded = casesIn(gunzipSync(readFileSync(answers)).toString("utf8"));

  describe.each(WIRES)("an answer of %s is read as it was meant", (wire) => {
    const cases = recorded.filter((one) => one.wire === wire);
    test.each(Object.keys(WAYS))("%s", async (way) => {
      const wrong: Record<string, readonly string[]> = {};
      for (const one of cases) {
        const found = differences(one, await readBy(one, WAYS[way]?.(one) ?? []));
        if (found.length > 0) wrong[one.id] = found;
      }
      expect(wrong).toEqual({});
    });
    test("cut anywhere it is not finished", async () => {
      const wrong: string[] = [];
      for (const one of cases.filter(({ id }) => id !== TWO_ANSWERS))
        wrong.push(...(await finishedThoughCut(one, await readBy(one, [bytesOf(one.text_body)]))));
      expect(wrong).toEqual([]);
    }, 300_000);
  });

  test("an error has the code that tells what to do", async () => {
    const wrong: Record<string, string> = {};
    for (const one of casesIn(readFileSync(errors, "utf8"))) {
      const { finish } = await readBy(one, [bytesOf(one.text_body)]);
      const code = OUR_CODES[one.id] ?? one.want;
      if (finish !== `failed: ${code}`) wrong[one.id] = `${finish} ≠ ${code}`;
    }
    expect(wrong).toEqual({});
  });
}
