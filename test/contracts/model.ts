import { describe, expect, test } from "bun:test";
import type { ModelEvent } from "../../src/application/ports/models.ts";
import type { ScriptedReply } from "../fakes/model-server/reply.ts";
import { answerOf, ask, eventsOf, failureOf, type ModelBench } from "./model-kit.ts";

const TOOL = {
  name: "read_file",
  description: "Reads a file.",
  parameters: { type: "object", properties: { path: { type: "string" } } },
} as const;

/** The promises of the port, for every implementation. */
export function modelContract(bench: () => ModelBench): void {
  const on = (...replies: ScriptedReply[]) => {
    bench().say(...replies);
    return bench().open();
  };

  describe("an answer", () => {
    test("arrives in pieces, ends once, and is their sum", async () => {
      const events = await eventsOf(
        on({ chunks: ["Guten ", "Tag, ", "世界 🌏"], usage: { input: 100, output: 5 } }),
      );
      const text = events.flatMap((event) => (event.type === "text" ? [event.text] : [])).join("");
      expect(text).toBe("Guten Tag, 世界 🌏");
      expect(events.filter(({ type }) => type === "text").length).toBe(3);
      expect(events.at(-1)).toEqual({
        type: "finished",
        answer: {
          text,
          toolCalls: [],
          finish: "stop",
          usage: { inputTokens: 100, outputTokens: 5, cachedTokens: 0 },
        },
      });
    });

    test("calls tools, several at once, with parsed arguments and ids of their own", async () => {
      const calls = [
        { name: "read_file", arguments: { path: "a b.ts", lines: [1, 2] } },
        { name: "read_file", arguments: {} },
      ];
      const events = await eventsOf(
        on({ text: "Let me look.", toolCalls: calls }),
        ask("look", { tools: [TOOL] }),
      );
      const last = events.at(-1);
      if (last?.type !== "finished") throw new Error(JSON.stringify(last));
      const { answer } = last;
      expect(answer.text).toBe("Let me look.");
      expect(answer.finish).toBe("tool-calls");
      expect(answer.toolCalls.map(({ name, arguments: args }) => ({ name, arguments: args }))).toEqual(calls);
      expect(new Set(answer.toolCalls.map(({ id }) => id)).size).toBe(2);
      expect(events.flatMap((event) => (event.type === "tool-call" ? [event.call] : []))).toEqual([
        ...answer.toolCalls,
      ]);
    });

    test("keeps arguments that are not JSON as text", async () => {
      const broken = '{"path": "a.ts';
      const { toolCalls } = await answerOf(on({ toolCalls: [{ name: "read_file", arguments: broken }] }));
      expect(toolCalls[0]?.arguments).toBe(broken);
    });

    test("has its thoughts apart, also those in <think>", async () => {
      const thoughts = (events: readonly ModelEvent[]) =>
        events.flatMap((event) => (event.type === "reasoning" ? [event.text] : [])).join("");
      const told = await eventsOf(on({ reasoning: "hm", text: "yes" }));
      expect(thoughts(told)).toBe("hm");
      expect(told.at(-1)).toMatchObject({ type: "finished", answer: { text: "yes" } });
      const tagged = await eventsOf(on({ chunks: ["<thi", "nk>h", "m</th", "ink>\n\n", "yes"] }));
      expect(thoughts(tagged)).toBe("hm");
      expect(tagged.at(-1)).toMatchObject({ type: "finished", answer: { text: "yes" } });
    });

    test("says when it was cut by its limit", async () => {
      expect((await answerOf(on({ text: "once upon", finish: "length" }))).finish).toBe("length");
    });

    test("that is empty is a failure", async () => {
      expect((await failureOf(on({ text: "" }))).code).toBe("empty");
      expect((await failureOf(on({ text: " \n" }))).code).toBe("empty");
    });
  });

  describe("abort", () => {
    test("before the call asks no model", async () => {
      const model = on({ text: "yes" });
      const before = bench().asked();
      const events = await eventsOf(model, ask("x", { signal: AbortSignal.abort() }));
      expect(events.map(({ type }) => type)).toEqual(["failed"]);
      expect(events[0]).toMatchObject({ failure: { code: "aborted", retryable: false } });
      expect(bench().asked()).toBe(before);
    });

    test("between two pieces ends the stream, with what came before", async () => {
      const stop = new AbortController();
      const seen: string[] = [];
      const model = on({ chunks: ["a", "b", "c"], fault: { kind: "hang", after: 4 } });
      for await (const event of model.generate(ask("x", { signal: stop.signal }))) {
        seen.push(event.type === "failed" ? event.failure.code : event.type);
        stop.abort();
      }
      expect(seen.at(0)).toBe("text");
      expect(seen.at(-1)).toBe("aborted");
      expect(seen).not.toContain("finished");
    });

    test("while waiting for the next try ends it", async () => {
      const stop = new AbortController();
      bench().say({ fault: { kind: "status", status: 500 } });
      const before = bench().asked();
      const model = bench().open({}, { pause: async () => stop.abort() });
      expect((await failureOf(model, ask("x", { signal: stop.signal }))).code).toBe("aborted");
      expect(bench().asked() - before).toBe(1);
    });
  });

  describe("another try", () => {
    test("follows 429 after the time that the server asks for", async () => {
      const limited: ScriptedReply = {
        fault: { kind: "status", status: 429, headers: { "retry-after": "2" } },
      };
      const model = on(limited, limited, { text: "yes" });
      const before = bench().asked();
      const waited = bench().waits.length;
      const events = await eventsOf(model);
      expect(events.map(({ type }) => type)).toEqual(["retrying", "retrying", "text", "finished"]);
      expect(events[0]).toMatchObject({
        attempt: 1,
        waitMs: 2000,
        failure: { code: "rate-limited", status: 429, retryAfterMs: 2000 },
      });
      expect(bench().waits.slice(waited)).toEqual([2000, 2000]);
      expect(bench().asked() - before).toBe(3);
    });

    test("follows 5xx, at most three times, after waits that grow", async () => {
      const model = on({ fault: { kind: "status", status: 503 } });
      const before = bench().asked();
      const waited = bench().waits.length;
      expect(await failureOf(model)).toMatchObject({ code: "server-error", retryable: true, status: 503 });
      expect(bench().asked() - before).toBe(4);
      const waits = bench().waits.slice(waited);
      expect(waits.length).toBe(3);
      for (const [index, wait] of waits.entries()) {
        expect(wait).toBeGreaterThanOrEqual(250 * 2 ** index);
        expect(wait).toBeLessThanOrEqual(500 * 2 ** index);
      }
    });

    test("does not follow any other 4xx", async () => {
      for (const [fault, code] of [
        [{ kind: "status", status: 400 }, "bad-request"],
        [{ kind: "status", status: 409 }, "bad-request"],
        [{ kind: "unauthorized" }, "unauthorized"],
        [{ kind: "unknown-model" }, "unknown-model"],
        [{ kind: "context-length" }, "context-too-long"],
      ] as const) {
        const model = on({ fault });
        const before = bench().asked();
        expect(await failureOf(model)).toMatchObject({ code, retryable: false });
        expect(bench().asked() - before).toBe(1);
      }
    });

    test("is not made for a wait of an hour: the failure says how long", async () => {
      const model = on({ fault: { kind: "status", status: 429, headers: { "retry-after": "3600" } } });
      const before = bench().asked();
      expect(await failureOf(model)).toMatchObject({ code: "rate-limited", retryAfterMs: 3_600_000 });
      expect(bench().asked() - before).toBe(1);
    });

    test("is not made once a part of the answer was given", async () => {
      const model = on({ chunks: ["once ", "upon"], fault: { kind: "problem-in-stream", after: 4 } });
      const before = bench().asked();
      const events = await eventsOf(model);
      expect(events[0]?.type).toBe("text");
      expect(events.at(-1)).toMatchObject({ type: "failed", failure: { code: "server-error" } });
      expect(bench().asked() - before).toBe(1);
    });
  });

  test("a check says that it would answer", async () => {
    expect(await on({ text: "yes" }).check(new AbortController().signal)).toMatchObject({ ok: true });
  });
}
