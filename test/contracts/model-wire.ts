import { describe, expect, test } from "bun:test";
import type { ModelEvent } from "../../src/application/ports/models.ts";
import type { ScriptedReply } from "../fakes/model-server/reply.ts";
import { answerOf, ask, eventsOf, failureOf, type ModelBench } from "./model-kit.ts";

/** The contract of every model behind a wire. `begins` frames come before the first part. */
export function wireContract(bench: () => ModelBench, begins: number): void {
  const on = (...replies: ScriptedReply[]) => {
    bench().say(...replies);
    return bench().open();
  };
  const server = () => {
    const { server: found } = bench();
    if (found === undefined) throw new Error("no server");
    return found;
  };

  describe("a stream", () => {
    test("may split a character over chunks", async () => {
      const text = "日本語と絵文字 👩‍👩‍👧‍👦 und Ümläute";
      expect((await answerOf(on({ text, fault: { kind: "drip" } }))).text).toBe(text);
    });

    test("may come in one chunk, however large", async () => {
      const text = "あ".repeat(2 * 1024 * 1024);
      expect((await answerOf(on({ text, fault: { kind: "one-chunk" } }))).text).toBe(text);
    });

    test("that dies before its first part is tried again", async () => {
      const events = await eventsOf(on({ text: "x", fault: { kind: "cut", after: 0 } }, { text: "yes" }));
      expect(events[0]).toMatchObject({ type: "retrying", failure: { code: "cut-off" } });
      expect(events.at(-1)).toMatchObject({ type: "finished", answer: { text: "yes" } });
    });

    test("that dies later is cut off, and nothing is reported twice", async () => {
      const before = bench().asked();
      const { promise: when, resolve: cut } = Promise.withResolvers<void>();
      const model = on({ chunks: ["once ", "upon ", "a"], fault: { kind: "cut", after: begins + 1, when } });
      const events: ModelEvent[] = [];
      for await (const event of model.generate(ask())) {
        events.push(event);
        cut();
      }
      expect(events).toMatchObject([
        { type: "text", text: "once " },
        { type: "failed", failure: { code: "cut-off", retryable: true } },
      ]);
      expect(bench().asked() - before).toBe(1);
    });

    test("that ends without its end is cut off as well", async () => {
      const model = on({ chunks: ["once ", "upon ", "a"], fault: { kind: "end-early", after: begins + 2 } });
      expect((await failureOf(model)).code).toBe("cut-off");
    });

    test("with a frame that is not JSON cannot be read", async () => {
      const model = on({ text: "x", fault: { kind: "malformed-frame", after: begins } });
      expect((await failureOf(model)).code).toBe("malformed");
      expect((await failureOf(on({ fault: { kind: "html" } }))).code).toBe("malformed");
    });

    test("that reports a problem before its first part is tried again", async () => {
      const events = await eventsOf(on({ fault: { kind: "problem-in-stream", after: 0 } }, { text: "yes" }));
      expect(events[0]).toMatchObject({ type: "retrying", failure: { code: "server-error" } });
      expect(events.at(-1)?.type).toBe("finished");
    });
  });

  describe("limits", () => {
    test("a server that takes the question and says nothing is given up", async () => {
      bench().say({ fault: { kind: "hang-before-headers" } });
      const before = bench().asked();
      expect(await failureOf(bench().open({ firstTokenMs: 60 }))).toMatchObject({ code: "timeout" });
      expect(bench().asked() - before).toBe(1);
      bench().say({ chunks: ["x"], fault: { kind: "hang", after: 0 } });
      expect((await failureOf(bench().open({ firstTokenMs: 60 }))).message).toContain("0.06 s");
    });

    test("one that falls silent in its answer as well", async () => {
      bench().say({ chunks: ["once ", "upon"], fault: { kind: "hang", after: begins + 1 } });
      const events = await eventsOf(bench().open({ idleMs: 60 }));
      expect(events[0]).toMatchObject({ type: "text", text: "once " });
      expect(events.at(-1)).toMatchObject({ type: "failed", failure: { code: "timeout" } });
    });

    test("a slow reader is not a silent server", async () => {
      bench().say({ chunks: ["once ", "upon"] });
      const seen: string[] = [];
      for await (const event of bench().open({ idleMs: 250 }).generate(ask())) {
        seen.push(event.type);
        await Bun.sleep(300);
      }
      expect(seen).toEqual(["text", "text", "finished"]);
    });

    test("a host that takes no connection is distinguished from one that is slow", async () => {
      bench().say({ fault: { kind: "hang-before-headers" } });
      const dead = bench().open(
        { connectMs: 40, retries: 1 },
        { connects: () => new Promise<boolean>(() => {}) },
      );
      const events = await eventsOf(dead);
      expect(events.map(({ type }) => type)).toEqual(["retrying", "failed"]);
      expect(events.at(-1)).toMatchObject({ failure: { code: "timeout" } });
      const slow = bench().open({ connectMs: 20, firstTokenMs: 100 }, { connects: async () => true });
      expect((await failureOf(slow)).message).toContain("did not start to answer within 0.1 s");
    });
  });

  test("leaving the loop hangs up", async () => {
    const gone = server().abandoned(0);
    await gone;
    bench().say({ chunks: ["once ", "upon"], fault: { kind: "hang", after: begins + 1 } });
    let before = 0;
    for await (const event of bench().open().generate(ask())) {
      expect(event.type).toBe("text");
      before += 1;
      break;
    }
    expect(before).toBe(1);
    await server().abandoned(1);
  });

  test("abort while nothing has come yet hangs up", async () => {
    const stop = new AbortController();
    bench().say({ fault: { kind: "hang-before-headers" } });
    const asked = server().requests.length + 1;
    const ended = failureOf(bench().open(), ask("x", { signal: stop.signal }));
    await server().asked(asked);
    stop.abort();
    expect((await ended).code).toBe("aborted");
  });

  test("the key is in no failure, though the server repeats it", async () => {
    const { message } = await failureOf(on({ fault: { kind: "unauthorized" } }));
    expect(message).not.toContain("sk-very-secret-key");
  });

  test("an account without credit is not asked again", async () => {
    const model = on({ fault: { kind: "no-credit" } });
    const before = bench().asked();
    expect((await failureOf(model)).retryable).toBe(false);
    expect(bench().asked() - before).toBe(1);
  });

  test("a part that this model does not know is left out from then on, without counting as a try", async () => {
    const model = on({ fault: { kind: "no-temperature" } }, { text: "yes" });
    const before = bench().asked();
    expect((await eventsOf(model, ask("x", { temperature: 0.5 }))).map(({ type }) => type)).toEqual([
      "text",
      "finished",
    ]);
    await eventsOf(model, ask("y", { temperature: 0.5 }));
    const bodies = server()
      .requests.slice(before)
      .map(({ body }) => JSON.stringify(body));
    const name = bodies[0]?.includes('"truncate"') ? '"truncate"' : '"temperature"';
    expect(bodies.map((body) => body.includes(name))).toEqual([true, false, false]);
  });

  test("a redirect is not followed", async () => {
    const model = on({
      fault: { kind: "status", status: 307, headers: { location: "https://elsewhere.example/" } },
    });
    expect(await failureOf(model)).toMatchObject({ code: "bad-request", status: 307 });
  });

  test("half a character does not spoil the request", async () => {
    await answerOf(on({ text: "yes" }), ask("a\ud83d"));
    expect(JSON.stringify(server().requests.at(-1)?.body)).toContain("a\ufffd");
  });
}
