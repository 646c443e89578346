import { afterEach, describe, expect, test } from "bun:test";
import type { Reply } from "../../../src/application/ports/chat.ts";
import { backoffMs } from "../../../src/application/serve/send-replies.ts";
import { createCommitGuard } from "../../../src/application/serve/take-work.ts";
import { createFakeChannel, inbound } from "../../fakes/channel.ts";
import { createFakeConversation, replyOf } from "../../fakes/conversation.ts";
import { PNG, PNG_BASE64 } from "../../fakes/pictures.ts";
import { settle } from "../../fakes/timers.ts";
import { createServeBench, type ServeBench, type ServeChoices } from "./serve-kit.ts";

const benches: ServeBench[] = [];
afterEach(async () => {
  for (const bench of benches.splice(0).reverse()) await bench.close();
});
async function open(choices: ServeChoices = {}): Promise<ServeBench> {
  const bench = await createServeBench(choices);
  benches.push(bench);
  return bench;
}
const shown = (bench: ServeBench) => bench.fake.shown.map(({ text }) => text);

test("a message is stopped by a word that comes as soon as others know that it has begun", async () => {
  const heard: boolean[] = [];
  const conversation = createFakeConversation((_, { aborted }) => {
    heard.push(aborted);
    return replyOf("stopped");
  });
  const bench = await open({ conversation });
  bench.bus.subscribe((event) => {
    if (event.type === "begun") heard.push(bench.answering.cancel(event.message.id));
  });
  await bench.receive(inbound(1));
  await settle();
  expect(heard).toEqual([true, true]);
});

describe("receiving", () => {
  test("a message is stored when its acknowledgement may go out", async () => {
    const bench = await open({ conversation: createFakeConversation(() => new Promise(() => {})) });
    const received = await bench.receive(inbound(1));
    expect(received.status).toBe("accepted");
    expect((await bench.store.message((received as { messageId: string }).messageId))?.text).toBe("text 1");
    benches.pop();
  });

  test("the same event twice is one message, also in one burst", async () => {
    const bench = await open();
    const [first, second] = await Promise.all([bench.receive(inbound(1)), bench.receive(inbound(1))]);
    const third = await bench.receive(inbound(1));
    expect([first.status, second.status, third.status]).toEqual(["accepted", "duplicate", "duplicate"]);
    await settle();
    expect(shown(bench)).toEqual(["re: text 1"]);
  });

  test("a reply that people read in the store is stored as sent, and no work sends it", async () => {
    const { channel, ...fake } = createFakeChannel();
    const bench = await open({ fake: { ...fake, channel: { ...channel, isReadFromStore: true } } });
    const received = await bench.receive(inbound(1));
    await settle();
    const [reply] = await bench.store.repliesTo((received as { messageId: string }).messageId);
    expect(reply).toMatchObject({ state: "sent", content: { reply: { text: "re: text 1" } } });
    expect(await bench.store.counts()).toMatchObject({ waitingReplies: 0, failedReplies: 0 });
    expect(bench.fake.calls).toEqual([]);
    expect(bench.events.at(-1)).toMatchObject({ type: "delivered", channel: "test", ok: true });
  });

  test("the same event id on two channels is two messages", async () => {
    const bench = await open();
    await bench.receive(inbound(1));
    expect((await bench.receive(inbound(1, { channel: "other" }))).status).toBe("accepted");
  });

  test("a burst is noticed while it lasts", async () => {
    const bench = await open();
    expect(bench.isBusy()).toBe(false);
    await Promise.all(Array.from({ length: 20 }, (_, n) => bench.receive(inbound(n))));
    expect(bench.isBusy()).toBe(true);
    await bench.timers.advance(500);
    expect(bench.isBusy()).toBe(false);
  });

  test("one event that cannot be stored does not fail the others that came with it", async () => {
    const bench = await open({
      around: (store) => ({
        ...store,
        addAll: (all) =>
          all.some(({ message }) => message.eventId === "bad")
            ? Promise.reject(new Error("a bad event"))
            : store.addAll(all),
      }),
    });
    const all = [inbound(1), inbound(2, { eventId: "bad" }), inbound(3)].map((one) => bench.receive(one));
    const ends = await Promise.allSettled(all);
    expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });

  test("a message that cannot be stored is not acknowledged", async () => {
    const bench = await open({
      around: (store) => ({ ...store, addAll: () => Promise.reject(new Error("disk full")) }),
    });
    expect(bench.receive(inbound(1))).rejects.toThrow("disk full");
  });
});

describe("answering", () => {
  test("a notice that follows the answer is a message of its own", async () => {
    const late = Promise.withResolvers<void>();
    const answers = createFakeConversation();
    const conversation: typeof answers = {
      ...answers,
      async handle(message, options) {
        void late.promise.then(() => options.onEvent?.({ type: "notice", text: "the hook failed" }));
        return answers.handle(message, options);
      },
    };
    const bench = await open({ conversation });
    await bench.receive(inbound(1));
    await settle();
    expect(shown(bench)).toEqual(["re: text 1"]);
    late.resolve();
    await settle();
    expect(shown(bench)).toEqual(["re: text 1", "the hook failed"]);
  });

  test("a message about the running one does not wait for its turn, and the order of the rest stays", async () => {
    const held = Promise.withResolvers<Reply>();
    const conversation = createFakeConversation(({ text }) =>
      text === "text 1" ? held.promise : replyOf(`re: ${text}`),
    );
    const bench = await open({ conversation });
    await bench.receive(inbound(1));
    await settle();
    await bench.receive(inbound(2));
    await bench.receive(inbound(3, { text: "/stop" }));
    await settle();
    expect(conversation.asked.map(({ text }) => text)).toEqual(["text 1", "/stop"]);
    expect(shown(bench)).toEqual(["re: /stop"]);
    held.resolve(replyOf("one"));
    await settle();
    expect(shown(bench)).toEqual(["re: /stop", "one", "re: text 2"]);
    expect(conversation.asked).toHaveLength(3);
  });

  test("one chat is answered in order, many at once", async () => {
    const open2 = new Map<string, (reply: Reply) => void>();
    const conversation = createFakeConversation(
      ({ text }) => new Promise((resolve) => open2.set(text, resolve)),
    );
    const bench = await open({ conversation });
    for (const n of [1, 2, 3]) await bench.receive(inbound(n));
    await bench.receive(inbound(4, { chatId: "chat-2" }));
    await settle();
    expect(conversation.asked.map(({ text }) => text)).toEqual(["text 1", "text 4"]);
    open2.get("text 4")?.(replyOf("four"));
    open2.get("text 1")?.(replyOf("one"));
    await settle();
    expect(conversation.asked.map(({ text }) => text)).toEqual(["text 1", "text 4", "text 2"]);
    open2.get("text 2")?.(replyOf("two"));
    await settle();
    open2.get("text 3")?.(replyOf("three"));
    await settle();
    expect(bench.fake.shown.filter(({ chatId }) => chatId === "chat-1").map(({ text }) => text)).toEqual([
      "one",
      "two",
      "three",
    ]);
  });

  test("not more chats than the limit are answered at once, and none is forgotten", async () => {
    const counts = { now: 0, most: 0 };
    const conversation = createFakeConversation(async ({ text }) => {
      counts.now += 1;
      counts.most = Math.max(counts.most, counts.now);
      await settle();
      counts.now -= 1;
      return replyOf(text);
    });
    const bench = await open({ conversation, limit: 3 });
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        bench.receive(inbound(n, { chatId: `chat-${n}`, userId: `user-${n % 5}` })),
      ),
    );
    while (bench.fake.shown.length < 20) await settle();
    expect(counts.most).toBe(3);
    expect(bench.fake.shown.length).toBe(20);
  });

  test("an outage while an answer is stored is waited out: nothing is asked twice, and the chat continues", async () => {
    const store = { isDown: false };
    const whileUp = async <T>(act: () => Promise<T>): Promise<T> => {
      if (store.isDown) throw new Error("the store is away");
      return act();
    };
    const held = Promise.withResolvers<Reply>();
    const conversation = createFakeConversation(({ text }) =>
      text === "text 1" ? held.promise : replyOf(`re: ${text}`),
    );
    const bench = await open({
      conversation,
      around: (real) => ({
        ...real,
        claimMessage: (request) => whileUp(() => real.claimMessage(request)),
        finish: (work, end) => whileUp(() => real.finish(work, end)),
        handBack: (work, how) => whileUp(() => real.handBack(work, how)),
      }),
    });
    await bench.receive(inbound(1));
    await bench.receive(inbound(2));
    await settle();
    store.isDown = true;
    held.resolve(replyOf("one"));
    await bench.timers.advance(12_000);
    expect(shown(bench)).toEqual([]);
    store.isDown = false;
    await bench.timers.advance(2_000);
    expect(shown(bench)).toEqual(["one", "re: text 2"]);
    expect(conversation.asked.map(({ text }) => text)).toEqual(["text 1", "text 2"]);
  });

  test("an answer that ended because its chat was lost is started again, unless a job of it is in effect", async () => {
    const answers = [
      replyOf("Stopped.", { lost: true }),
      replyOf("one"),
      replyOf("Stopped.", { lost: true, jobs: [{ job_id: "job_1_aaaaaaaa" } as never] }),
    ];
    const bench = await open({
      conversation: createFakeConversation(() => answers.shift() ?? replyOf("more")),
    });
    await bench.receive(inbound(1));
    await bench.receive(inbound(2));
    await settle();
    expect(shown(bench)).toEqual(["one", "Stopped."]);
  });

  test("one user leaves a lane to the others, and commands need none", async () => {
    const conversation = createFakeConversation(({ text }) =>
      text.startsWith("hang") ? new Promise(() => {}) : replyOf(`re: ${text}`),
    );
    const bench = await open({ conversation, limit: 4 });
    for (const n of [1, 2, 3, 4]) await bench.receive(inbound(n, { text: "hang", chatId: `chat-${n}` }));
    await settle();
    expect(conversation.asked.length).toBe(3);
    await bench.receive(inbound(5, { userId: "other", chatId: "chat-5" }));
    await bench.receive(inbound(6, { text: "hang", userId: "other", chatId: "chat-6" }));
    await bench.receive(inbound(7, { userId: "third", chatId: "chat-7" }));
    await bench.receive(inbound(8, { text: "/jobs", chatId: "chat-8" }));
    await settle();
    expect(shown(bench)).toEqual(["re: text 5", "re: /jobs"]);
    benches.pop();
  });

  test("files that come with a message are read with it", async () => {
    const conversation = createFakeConversation();
    const bench = await open({ conversation });
    await bench.receive(
      inbound(1, {
        attachments: [
          { name: "a.md", mediaType: "text/markdown", sizeBytes: 9, text: "```\nx\n```" },
          { name: "b.png", mediaType: "image/png", sizeBytes: 7 },
        ],
      }),
    );
    await settle();
    expect(conversation.asked[0]?.text).toBe(
      "text 1\n\na.md:\n````\n```\nx\n```\n````\n\n[attachment: b.png, 7 bytes, not read: it is not text, or too long]",
    );
  });

  test("a long text is stored apart from its message, and read when that is answered", async () => {
    const conversation = createFakeConversation();
    const bench = await open({ conversation });
    const text = "a line of a log\n".repeat(60_000);
    const file = { name: "a.log", mediaType: "text/plain", sizeBytes: text.length };
    const received = await bench.receive(inbound(1, { text: "why?", attachments: [{ ...file, text }] }));
    const stored = await bench.store.message((received as { messageId: string }).messageId);
    expect(stored?.attachments).toEqual([{ ...file, storedText: { id: expect.any(String), pieces: 10 } }]);
    await settle();
    expect(conversation.asked[0]?.text === `why?\n\na.log:\n\`\`\`\n${text}\n\`\`\``).toBe(true);
  });

  test("images are stored once they are let in, and are the message's when it is answered", async () => {
    const conversation = createFakeConversation();
    const bench = await open({ conversation });
    const file = { name: "a.png", mediaType: "image/png", sizeBytes: PNG.length, bytes: PNG };
    const received = await bench.receive(inbound(1, { text: "", attachments: [file] }));
    const stored = await bench.store.message((received as { messageId: string }).messageId);
    expect(stored?.attachments).toEqual([
      { name: "a.png", mediaType: "image/png", sizeBytes: PNG.length, image: expect.any(String) },
    ]);
    await settle();
    const [asked] = conversation.asked;
    expect(asked).toMatchObject({
      text: "",
      images: [{ name: "a.png", id: stored?.attachments?.[0]?.image }],
    });
    const found = await bench.images.load("test:chat-1", [asked?.images?.[0]?.id ?? ""]);
    expect(found).toMatchObject([{ mediaType: "image/png", data: PNG_BASE64 }]);
  });

  test("images at the service are fetched when their message is answered; a failure is reported", async () => {
    const conversation = createFakeConversation();
    const fake = createFakeChannel();
    const asked: string[] = [];
    const channel = {
      ...fake.channel,
      async download(remote: string) {
        asked.push(remote);
        if (remote === "gone") return { ok: false as const, reason: "HTTP 404" };
        return { ok: true as const, bytes: remote === "text" ? new TextEncoder().encode("hello") : PNG };
      },
    };
    const bench = await open({ conversation, fake: { ...fake, channel } });
    const file = { name: "a.jpg", mediaType: "image/jpeg", sizeBytes: 0 };
    const sent = [
      { ...file, remote: "there" },
      { ...file, remote: "gone" },
      { ...file, remote: "text" },
      { ...file, remote: "huge", sizeBytes: 50_000_000 },
    ];
    for (const [n, attachment] of sent.entries()) {
      await bench.receive(inbound(n, { text: "", attachments: [attachment] }));
      await settle();
    }
    expect(conversation.asked).toMatchObject([{ images: [{ name: "a.jpg" }] }]);
    expect(asked).toEqual(["there", "gone", "text"]);
    expect(shown(bench).slice(1)).toEqual([
      expect.stringContaining("HTTP 404"),
      expect.stringContaining("not an image"),
      expect.stringContaining("too large"),
    ]);
  });

  test("a conversation that breaks its promise and throws loses no message", async () => {
    const tries = { count: 0 };
    const conversation = createFakeConversation(({ text }) => {
      tries.count += 1;
      if (tries.count === 1) throw new Error("a bug");
      return replyOf(`re: ${text}`);
    });
    const bench = await open({ conversation });
    await bench.receive(inbound(1));
    await settle();
    expect(bench.troubles.length).toBe(1);
    await bench.timers.advance(5_000);
    expect(shown(bench)).toEqual(["re: text 1"]);
  });
});

test("a message whose job may not be brought in is given back and answered again", async () => {
  const state: { ms: number; away: boolean } = { ms: 0, away: false };
  const guard = createCommitGuard(
    () => state.ms,
    () => new Promise(() => {}),
  );
  const may: boolean[] = [];
  const conversation = createFakeConversation(async ({ text }, signal) => {
    if (may.length === 0) Object.assign(state, { ms: 7_000, away: true });
    may.push(await guard.mayCommit(signal));
    state.away = false;
    return replyOf(may.at(-1) === true ? `re: ${text}` : "Stopped, nothing changed");
  });
  const bench = await open({
    conversation,
    guard: {
      ...guard,
      attach: (keeper) =>
        guard.attach({
          ...keeper,
          beat: () => (state.away ? Promise.reject(new Error("away")) : keeper.beat()),
        }),
    },
  });
  await bench.start();
  await bench.receive(inbound(1));
  while (shown(bench).length === 0) await settle();
  expect(may).toEqual([false, true]);
  expect(shown(bench)).toEqual(["re: text 1"]);
});

describe("after a death", () => {
  /** A killed process leaves the store as it was, and nothing that goes on. */
  async function killed(choices: ServeChoices, until: (bench: ServeBench) => Promise<void>) {
    const first = await open({ owner: "host:dead", ...choices });
    await until(first);
    return first;
  }

  test("a message whose answering had begun and changed nothing is answered by the next process", async () => {
    const stuck = createFakeConversation(() => new Promise(() => {}));
    const first = await killed({ conversation: stuck }, async (bench) => {
      await bench.receive(inbound(1));
      await bench.receive(inbound(2));
      await settle();
    });
    const second = await open({ file: first.file, isGone: (owner) => owner === "host:dead" });
    await second.start();
    await settle();
    expect(shown(second)).toEqual(["re: text 1", "re: text 2"]);
    benches.splice(benches.indexOf(first), 1);
  });

  test("a message that had caused a job is not carried out twice; its sender is informed", async () => {
    const stuck = createFakeConversation(() => new Promise(() => {}));
    const first = await killed({ conversation: stuck }, async (bench) => {
      await bench.receive(inbound(1));
      await settle();
    });
    const second = await open({
      file: first.file,
      settleEarlier: async () => ["job_1_aaaaaaaa"],
      isGone: () => true,
    });
    await second.start();
    await settle();
    expect(shown(second)[0]).toStartWith("PicoClaw was stopped while it was working on this message.");
    expect(shown(second)[0]).toContain("job_1_aaaaaaaa");
    benches.splice(benches.indexOf(first), 1);
  });

  test("messages that wait in a copy of a store, which carries no work with it, are answered by the process that serves it", async () => {
    const conversation = createFakeConversation();
    const first = await open({ listens: false });
    await first.receive(inbound(1));
    await first.db.updateTable("messages").set({ work_id: null }).execute();
    await first.db.deleteFrom("work").execute();
    const bench = await open({ file: first.file, conversation });
    await bench.start();
    await bench.receive(inbound(2));
    await settle();
    expect(conversation.asked.map(({ text }) => text)).toEqual(["text 1", "text 2"]);
  });

  test("a message that kills the process every time is left after three deaths", async () => {
    const stuck = createFakeConversation(() => new Promise(() => {}));
    const first = await killed({ conversation: stuck }, async (bench) => {
      await bench.receive(inbound(1));
      await settle();
    });
    for (const n of [2, 3]) {
      const owner = `host:dead${n}`;
      const next = await open({ file: first.file, owner, conversation: stuck, isGone: () => true });
      await next.start();
      await settle();
      benches.splice(benches.indexOf(next), 1);
    }
    const last = await open({ file: first.file, isGone: () => true });
    await last.start();
    await settle();
    expect(shown(last)[0]).toStartWith("PicoClaw ended 3 times");
    expect(await last.queue.dead(5)).toMatchObject([{ attempt: 4, reason: "ended 3 times over it" }]);
    benches.splice(benches.indexOf(first), 1);
  });

  test("a living process keeps its messages, until nothing was heard of it for 15 seconds", async () => {
    const stuck = createFakeConversation(() => new Promise(() => {}));
    const first = await killed({ conversation: stuck }, async (bench) => {
      await bench.receive(inbound(1));
      await settle();
    });
    const second = await open({ file: first.file, timers: first.timers });
    await second.start();
    await first.timers.advance(14_000);
    expect(shown(second)).toEqual([]);
    await first.timers.advance(5_000);
    expect(shown(second)).toEqual(["re: text 1"]);
    benches.splice(benches.indexOf(first), 1);
  });

  test("a reply that a dead process was sending is sent by a living one within seconds", async () => {
    const gone = new Set<string>();
    const first = await open({ owner: "host:dead" });
    Object.assign(first.fake.channel, { deliver: () => new Promise(() => {}) });
    const { file, timers } = first;
    const second = await open({ file, timers, isGone: (owner) => gone.has(owner), listens: false });
    await second.start();
    await first.receive(inbound(1));
    await settle();
    await timers.advance(10_000);
    expect(shown(second)).toEqual([]);
    gone.add("host:dead");
    second.queue.onWork(second.sending.look);
    await timers.advance(4_000);
    expect(shown(second)).toEqual(["re: text 1"]);
    benches.splice(benches.indexOf(first), 1);
  });

  test("a reply that was stored and not sent is sent by the next process", async () => {
    const first = await open({ owner: "host:dead" });
    first.fake.faults.push({ status: "later", reason: "network" });
    await first.receive(inbound(1));
    await settle();
    const second = await open({ file: first.file, fake: first.fake, isGone: () => true });
    await second.start();
    await settle();
    await second.timers.advance(2_000);
    expect(shown(second)).toEqual(["re: text 1"]);
  });

  test("a reply that was sent but not marked is sent again under its key, and shows once", async () => {
    const first = await open({
      owner: "host:dead",
      around: (store) => ({ ...store, endReply: () => new Promise(() => {}) }),
    });
    await first.receive(inbound(1));
    await settle();
    const second = await open({ file: first.file, fake: first.fake, isGone: () => true });
    await second.start();
    await settle();
    const keys = second.fake.calls.map(({ key }) => key);
    expect(keys.length).toBe(2);
    expect(new Set(keys).size).toBe(1);
    expect(shown(second)).toEqual(["re: text 1"]);
    benches.splice(benches.indexOf(first), 1);
  });

  test("a channel that knows of the reply is not asked to send it again", async () => {
    const first = await open({
      owner: "host:dead",
      around: (store) => ({ ...store, endReply: () => new Promise(() => {}) }),
    });
    await first.receive(inbound(1));
    await settle();
    const second = await open({ file: first.file, fake: first.fake, isGone: () => true });
    Object.assign(first.fake.channel, { wasDelivered: async () => true });
    await second.start();
    await settle();
    expect(second.fake.calls.length).toBe(1);
    expect((await second.store.counts()).waitingReplies).toBe(0);
    benches.splice(benches.indexOf(first), 1);
  });
});

describe("sending", () => {
  test("ten minutes without a network lose no reply, double none and keep their order", async () => {
    const bench = await open();
    for (let n = 0; n < 400; n += 1) bench.fake.faults.push({ status: "later", reason: "network" });
    for (const n of [1, 2, 3]) await bench.receive(inbound(n));
    await settle();
    await bench.timers.advance(600_000);
    expect(shown(bench)).toEqual([]);
    bench.fake.faults.length = 0;
    await bench.timers.advance(75_000);
    expect(shown(bench)).toEqual(["re: text 1", "re: text 2", "re: text 3"]);
  });

  test("a reply that is sent late is drawn from what became of its jobs since", async () => {
    const label = { now: "Undo" };
    const bench = await open({
      present: (reply) => ({ ...reply, actions: [{ label: label.now, message: "" }] }),
    });
    bench.fake.faults.push({ status: "later", reason: "429" });
    await bench.receive(inbound(1));
    await settle();
    label.now = "Redo";
    await bench.timers.advance(60_000);
    const labels = bench.fake.calls.map(
      ({ content }) => content.kind === "reply" && content.reply.actions[0]?.label,
    );
    expect(labels).toEqual(["Undo", "Redo"]);
  });

  test("a service that asks for patience gets it", async () => {
    const bench = await open();
    bench.fake.faults.push({ status: "later", reason: "429", afterMs: 30_000 });
    await bench.receive(inbound(1));
    await settle();
    await bench.timers.advance(29_000);
    expect(bench.fake.calls.length).toBe(1);
    await bench.timers.advance(1_500);
    expect(shown(bench)).toEqual(["re: text 1"]);
  });

  test("a reply that arrived without an answer shows once", async () => {
    const bench = await open();
    bench.fake.faults.push("silent-success");
    await bench.receive(inbound(1));
    await settle();
    await bench.timers.advance(5_000);
    expect([shown(bench), bench.fake.calls.length]).toEqual([["re: text 1"], 2]);
  });

  test("what can never arrive does not hold up what follows", async () => {
    const bench = await open();
    bench.fake.faults.push({ status: "impossible", reason: "blocked" });
    await bench.receive(inbound(1));
    await bench.receive(inbound(2));
    await settle();
    expect(shown(bench)).toEqual(["re: text 2"]);
    expect((await bench.store.counts()).failedReplies).toBe(1);
  });

  test("waiting doubles up to a minute, never all at the same moment", () => {
    expect([1, 2, 3, 7, 50].map((attempt) => backoffMs(attempt, 0.5))).toEqual([
      1_000, 2_000, 4_000, 60_000, 60_000,
    ]);
    expect([backoffMs(1, 0), backoffMs(1, 1)]).toEqual([800, 1_200]);
  });
});

describe("stopping", () => {
  test("what runs is finished within the time", async () => {
    const finish: ((reply: Reply) => void)[] = [];
    const bench = await open({
      conversation: createFakeConversation(() => new Promise((resolve) => finish.push(resolve))),
    });
    await bench.receive(inbound(1));
    await settle();
    const stopped = bench.answering.stop(20_000);
    finish[0]?.(replyOf("done"));
    await stopped;
    const { channel, chatId } = inbound(1);
    const [only] = await bench.store.transcript({ channel, chatId, limit: 1 });
    expect(only?.message.state).toBe("done");
  });

  test("an answer that is not finished in time is handed back and written by the next process", async () => {
    const conversation = createFakeConversation(
      (_, signal) =>
        new Promise((resolve) => signal.addEventListener("abort", () => resolve(replyOf("aborted")))),
    );
    const bench = await open({ conversation });
    await bench.receive(inbound(1));
    await settle();
    const stopped = bench.answering.stop(20_000);
    await bench.timers.advance(20_000);
    await stopped;
    const next = await open({ file: bench.file });
    await next.start();
    await settle();
    expect(shown(next)).toEqual(["re: text 1"]);
  });
});
