/**
 * The contract of every channel and its service. A bench opens the channel on a stand-in for its service
 * (or none, where there is none) and says what a person at the other end does and sees.
 */
import { afterEach, describe, expect, test } from "bun:test";
import type { Channel, Delivery, InboundMessage, Receive } from "../../src/application/ports/serve.ts";
import { replyOf } from "../fakes/conversation.ts";

type Fault = "429" | "500" | "no-answer" | "refused";

export interface ChannelBench {
  readonly channel: Channel;
  /** A person writes; the same `event` twice is the service's redelivery. Tells whether it was acknowledged. */
  say(message: { readonly event: string; readonly text: string }): Promise<boolean>;
  /** The messages that the person was shown so far, in order. */
  shown(): Promise<readonly string[]>;
  /** The next delivery meets this. Absent where nothing lies between us and the person. */
  readonly fault?: (kind: Fault) => void;
  close(): Promise<void>;
}

/** `service`: whether something lies between us and the person that can fail. */
export function describeChannel(
  name: string,
  open: (receive: Receive) => Promise<ChannelBench>,
  service: "some" | "none" = "some",
): void {
  describe(`a channel: ${name}`, () => {
    const benches: ChannelBench[] = [];
    afterEach(async () => {
      for (const bench of benches.splice(0)) await bench.close();
    });
    async function start(
      receive: Receive = async () => ({ status: "accepted", messageId: "msg_1_aaaaaaaa" }),
    ) {
      const received: InboundMessage[] = [];
      const bench = await open(async (message) => {
        received.push(message);
        return receive(message);
      });
      benches.push(bench);
      return { ...bench, received };
    }
    const signal = () => AbortSignal.timeout(10_000);
    async function delivery(
      bench: { readonly received: readonly InboundMessage[] },
      text: string,
      key = crypto.randomUUID(),
    ): Promise<Delivery> {
      const asked = bench.received.at(-1);
      if (asked === undefined) throw new Error("nobody spoke");
      return {
        key,
        channel: asked.channel,
        chatId: asked.chatId,
        userId: asked.userId,
        content: { kind: "reply", reply: replyOf(text) },
        ...(asked.replyTo !== undefined && { replyTo: asked.replyTo }),
        since: new Date().toISOString(),
        attempt: 1,
      };
    }

    test("a message is handed in with its channel, chat, user, text and the service's own event id", async () => {
      const bench = await start();
      expect(await bench.say({ event: "e1", text: "hello <b>&" })).toBe(true);
      const [message] = bench.received;
      expect([message?.channel, message?.text]).toEqual([bench.channel.name, "hello <b>&"]);
      expect(message?.eventId).not.toBe("");
      expect(message?.chatId).not.toBe("");
      expect(message?.userId).not.toBe("");
      expect(JSON.parse(JSON.stringify(message?.replyTo ?? {}))).toEqual(message?.replyTo ?? {});
    });

    test("a redelivery carries the same event id, another message another one", async () => {
      const bench = await start();
      await bench.say({ event: "e1", text: "one" });
      await bench.say({ event: "e1", text: "one" });
      await bench.say({ event: "e2", text: "two" });
      const ids = bench.received.map(({ eventId }) => eventId);
      expect([ids[0] === ids[1], ids[0] === ids[2]]).toEqual([true, false]);
    });

    test("nothing is acknowledged before it is stored", async () => {
      const stored = Promise.withResolvers<void>();
      const bench = await start(async () => {
        await stored.promise;
        return { status: "accepted", messageId: "msg_1_aaaaaaaa" };
      });
      const said = bench.say({ event: "e1", text: "hello" });
      const early = await Promise.race([
        said.then(() => "acknowledged"),
        Bun.sleep(50).then(() => "waiting"),
      ]);
      expect(early).toBe("waiting");
      stored.resolve();
      expect(await said).toBe(true);
    });

    test("what could not be stored is not acknowledged", async () => {
      const bench = await start(() => Promise.reject(new Error("disk full")));
      expect(await bench.say({ event: "e1", text: "hello" })).toBe(false);
    });

    test("replies are shown in the order in which they were delivered", async () => {
      const bench = await start();
      await bench.say({ event: "e1", text: "hello" });
      for (const text of ["first", "second"])
        expect(await bench.channel.deliver(await delivery(bench, text), signal())).toEqual({
          status: "sent",
        });
      const shown = (await bench.shown()).join("\n");
      expect(shown.indexOf("first")).toBeGreaterThanOrEqual(0);
      expect(shown.indexOf("second")).toBeGreaterThan(shown.indexOf("first"));
    });

    test("a reply that is sent again after a death is shown once", async () => {
      const bench = await start();
      await bench.say({ event: "e1", text: "hello" });
      const once = await delivery(bench, "only once");
      await bench.channel.deliver(once, signal());
      if ((await bench.channel.wasDelivered?.(once, signal())) !== true)
        expect((await bench.channel.deliver({ ...once, attempt: 2 }, signal())).status).toBe("sent");
      const shown = (await bench.shown()).join("\n");
      expect(shown.split("only once").length - 1).toBe(1);
    });

    test("progress of any kind never throws", async () => {
      const bench = await start();
      await bench.say({ event: "e1", text: "hello" });
      const [asked] = bench.received as [InboundMessage];
      const message = {
        ...asked,
        id: "msg_1_aaaaaaaa",
        workspace: "/ws",
        receivedAt: "",
        state: "working" as const,
        attempts: 1,
      };
      for (const event of [
        { type: "queued", ahead: 1 },
        { type: "text", agent: "Mio", text: "hel" },
        { type: "job-output", jobId: "job_1_aaaaaaaa", text: "\x1b[31m" },
        { type: "notice", text: "" },
      ] as const)
        bench.channel.progress?.(message, event);
    });

    test("whether it works can be asked, and is answered in time", async () => {
      const bench = await start();
      expect(typeof (await bench.channel.check(signal())).ok).toBe("boolean");
    });

    if (service === "none") return;
    for (const kind of ["429", "500", "no-answer"] as const)
      test(`a service that answers ${kind} gets the reply later`, async () => {
        const bench = await start();
        await bench.say({ event: "e1", text: "hello" });
        meet(bench, kind);
        const reply = await delivery(bench, "in the end");
        expect((await bench.channel.deliver(reply, AbortSignal.timeout(3_000))).status).toBe("later");
        expect((await bench.channel.deliver({ ...reply, attempt: 2 }, signal())).status).toBe("sent");
        expect((await bench.shown()).join("\n").split("in the end").length - 1).toBe(1);
      });

    test("a reply that the service will never take is given up", async () => {
      const bench = await start();
      await bench.say({ event: "e1", text: "hello" });
      meet(bench, "refused");
      expect((await bench.channel.deliver(await delivery(bench, "never"), signal())).status).toBe(
        "impossible",
      );
    });
  });
}

function meet(bench: ChannelBench, kind: Fault): void {
  if (bench.fault === undefined) throw new Error("this bench cannot make its service fail");
  bench.fault(kind);
}
