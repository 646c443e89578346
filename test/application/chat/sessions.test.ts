import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { sql } from "kysely";
import { cutSessionsOnTime } from "../../../src/application/chat/sessions.ts";
import { createSummarise } from "../../../src/application/chat/summarise.ts";
import type { NewTurn } from "../../../src/application/ports/chat.ts";
import { createDayClock } from "../../../src/domain/platform/days.ts";
import { createSessionStore } from "../../../src/infrastructure/chat/session-store.ts";
import { answering, type Bench, listeningLogger, NO_MODEL, openBench } from "./memory-kit.ts";

const chat = { channel: "line", chatId: "U1" };
const { signal } = new AbortController();
const turn = (text: string, role: NewTurn["role"] = "user"): NewTurn => ({
  at: "2026-03-01T03:00:00.000Z",
  role,
  text,
  agent: role === "user" ? "" : "Mio",
  groupId: null,
});

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.remove());

describe("a session", () => {
  test("begins with the first message and stays for the day", async () => {
    const sessions = bench.sessions();
    const first = await sessions.open(chat, signal);
    expect(first).toMatchObject({ session: { id: "20260301-line-U1", chatKey: "line:U1" }, cutOver: null });
    bench.time.now = "2026-03-01T14:59:00.000Z";
    expect((await sessions.open(chat, signal)).session.id).toBe("20260301-line-U1");
  });

  test("is cut at local midnight, its note saved, its summary carried, and says so", async () => {
    const sessions = bench.sessions();
    const { session } = await sessions.open(chat, signal);
    await sessions.append(session, [turn("青が好き"), turn("覚えた", "assistant")]);
    bench.time.now = "2026-03-01T15:00:00.000Z";
    const { session: next, cutOver } = await sessions.open(chat, signal);
    expect(cutOver).toMatchObject({ cut: true, previousId: "20260301-line-U1", note: "青が好き / 覚えた" });
    expect(next).toMatchObject({ id: "20260302-line-U1", carried: "青が好き / 覚えた", turns: 0 });
    expect((await sessions.context(next)).memory).toBe("青が好き / 覚えた");
    const store = createSessionStore({ db: bench.db, now: () => new Date(bench.time.now), workspace: "/ws" });
    expect(await store.note("line:U1", "20260301-line-U1")).toMatchObject({ turns: 2 });
    expect(bench.lines.map(({ event }) => event)).toContain("session.cut_over");
  });

  test("stays when its note cannot be saved, and is cut later", async () => {
    const store = createSessionStore({ db: bench.db, now: () => new Date(bench.time.now), workspace: "/ws" });
    const sessions = bench.sessions({
      store: {
        ...store,
        saveNote: async () => {
          throw new Error("disk full");
        },
      },
    });
    const { session } = await sessions.open(chat, signal);
    await sessions.append(session, [turn("important")]);
    bench.time.now = "2026-03-02T03:00:00.000Z";
    const stayed = await sessions.open(chat, signal);
    expect(stayed).toMatchObject({ session: { id: "20260301-line-U1" }, cutOver: null });
    expect(bench.lines.find(({ event }) => event === "session.cut_over_failed")?.fields.error).toContain(
      "disk full",
    );
    expect((await sessions.context(stayed.session)).turns.map(({ text }) => text)).toEqual(["important"]);
    expect((await bench.sessions().open(chat, signal)).session.id).toBe("20260302-line-U1");
  });

  test("is not cut twice for one day, though the process that saved its note died", async () => {
    const asked: number[] = [];
    const summarise = async () => {
      asked.push(1);
      return { text: "note", by: "model" as const };
    };
    const store = createSessionStore({ db: bench.db, now: () => new Date(bench.time.now), workspace: "/ws" });
    const dying = bench.sessions({
      summarise,
      store: {
        ...store,
        open: async (next, from) => {
          if (from !== null) throw new Error("killed");
          return store.open(next, from);
        },
      },
    });
    const { session } = await dying.open(chat, signal);
    await dying.append(session, [turn("x")]);
    bench.time.now = "2026-03-02T03:00:00.000Z";
    await expect(dying.open(chat, signal)).rejects.toThrow("killed");
    const { session: next } = await bench.sessions({ summarise }).open(chat, signal);
    expect(next).toMatchObject({ id: "20260302-line-U1", carried: "note" });
    expect(asked).toHaveLength(1);
  });

  test("without a message leaves no note, and the carried note is carried on", async () => {
    const sessions = bench.sessions();
    const { session } = await sessions.open(chat, signal);
    await sessions.append(session, [turn("青")]);
    bench.time.now = "2026-03-02T03:00:00.000Z";
    await sessions.open(chat, signal);
    bench.time.now = "2026-03-05T03:00:00.000Z";
    const { session: later } = await sessions.open(chat, signal);
    expect(later).toMatchObject({ id: "20260305-line-U1", carried: "青" });
    const store = createSessionStore({ db: bench.db, now: () => new Date(), workspace: "/ws" });
    expect(await store.notes("line:U1", 9)).toHaveLength(1);
  });
});

describe("the clock", () => {
  test("going back changes nothing", async () => {
    const sessions = bench.sessions();
    const { session } = await sessions.open(chat, signal);
    bench.time.now = "2026-02-27T03:00:00.000Z";
    expect((await sessions.open(chat, signal)).session.id).toBe(session.id);
    bench.time.now = "2026-03-01T16:00:00.000Z";
    expect((await sessions.open(chat, signal)).session.id).toBe("20260302-line-U1");
  });

  test("that had been years ahead does not keep a session for years", async () => {
    bench.time.now = "2031-01-01T00:00:00.000Z";
    const sessions = bench.sessions();
    expect((await sessions.open(chat, signal)).session.id).toBe("20310101-line-U1");
    bench.time.now = "2026-03-01T03:00:00.000Z";
    expect((await sessions.open(chat, signal)).session.id).toBe("20310101-line-U1");
    bench.time.now = "2026-03-01T16:00:00.000Z";
    expect((await sessions.open(chat, signal)).session.id).toBe("20260302-line-U1");
  });

  test("of another time zone gets a new end", async () => {
    const tokyo = bench.sessions();
    const { session } = await tokyo.open(chat, signal);
    const newYork = bench.sessions({ clock: createDayClock("America/New_York", "00:00") });
    bench.time.now = "2026-03-01T04:59:00.000Z";
    expect((await newYork.open(chat, signal)).session).toMatchObject({
      id: session.id,
      cut: { at: "2026-03-01T05:00:00.000Z", clock: "America/New_York 00:00" },
    });
    bench.time.now = "2026-03-01T05:00:00.000Z";
    expect((await newYork.open(chat, signal)).session.id).toBe("20260301-line-U1.2");
  });
});

describe("/new and /resume", () => {
  test("a new session knows nothing of the one before; resuming restores it with the messages since", async () => {
    const sessions = bench.sessions();
    const { session } = await sessions.open(chat, signal);
    await sessions.append(session, [turn("one")]);
    const { session: second } = await sessions.startNew(session, signal);
    expect(second).toMatchObject({ id: "20260301-line-U1.2", carried: "" });
    await sessions.append(second, [turn("two")]);
    const resumed = await sessions.resume((await sessions.open(chat, signal)).session);
    expect(resumed?.id).toBe("20260301-line-U1");
    expect((await sessions.context(resumed!)).turns.map(({ text }) => text)).toEqual(["one", "two"]);
  });

  test("a cut-over can be undone, and the session then lasts for the new day", async () => {
    const sessions = bench.sessions();
    const { session } = await sessions.open(chat, signal);
    await sessions.append(session, [turn("late work")]);
    bench.time.now = "2026-03-01T15:10:00.000Z";
    const { session: next } = await sessions.open(chat, signal);
    const resumed = await sessions.resume(next);
    expect(resumed).toMatchObject({ id: "20260301-line-U1", cut: { at: "2026-03-02T15:00:00.000Z" } });
    expect((await sessions.open(chat, signal)).session.id).toBe("20260301-line-U1");
    bench.time.now = "2026-03-02T15:00:00.000Z";
    expect((await sessions.open(chat, signal)).session.id).toBe("20260303-line-U1");
  });

  test("a session that went on after its note was saved gets a new one", async () => {
    const sessions = bench.sessions();
    const { session } = await sessions.open(chat, signal);
    await sessions.append(session, [turn("before")]);
    bench.time.now = "2026-03-01T15:10:00.000Z";
    const resumed = await sessions.resume((await sessions.open(chat, signal)).session);
    await sessions.append(resumed!, [turn("after")]);
    bench.time.now = "2026-03-02T15:10:00.000Z";
    const { session: next } = await sessions.open(chat, signal);
    expect(next.carried).toContain("after");
    const store = createSessionStore({ db: bench.db, now: () => new Date(), workspace: "/ws" });
    expect(await store.note("line:U1", "20260301-line-U1")).toMatchObject({
      turns: 2,
      text: "before / after",
    });
  });

  test("an earlier day is found by its date, another chat's is not", async () => {
    const sessions = bench.sessions();
    const { session } = await sessions.open(chat, signal);
    await sessions.append(session, [turn("x")]);
    const other = await sessions.open({ channel: "line", chatId: "U2" }, signal);
    await sessions.append(other.session, [turn("theirs")]);
    bench.time.now = "2026-03-03T03:00:00.000Z";
    const { session: today } = await sessions.open(chat, signal);
    expect(await sessions.resume(today, "20260301-line-U2")).toBeNull();
    expect(await sessions.resume(today, "1999")).toBeNull();
    expect((await sessions.resume(today, "20260301"))?.id).toBe("20260301-line-U1");
  });

  test("there is nothing to resume in a first session", async () => {
    const sessions = bench.sessions();
    expect(await sessions.resume((await sessions.open(chat, signal)).session)).toBeNull();
  });
});

describe("memory", () => {
  test("what no longer fits is summarised, the newest turns stay word for word", async () => {
    const sessions = bench.sessions();
    const { session } = await sessions.open(chat, signal);
    for (let n = 0; n < 12; n++) await sessions.append(session, [turn(`${n}: ${"あ".repeat(30)}`)]);
    const again = async () => (await sessions.open(chat, signal)).session;
    const before = await sessions.context(await again());
    expect(before.turns.at(-1)?.text).toStartWith("11:");
    expect(before.turns.length).toBeLessThan(12);
    expect(before.memory).toBe("");
    await sessions.compact(session, signal);
    const after = await sessions.context(await again());
    expect(after.memory).toStartWith("0: ");
    expect(after.turns.at(-1)?.text).toStartWith("11:");
    const first = after.turns[0]!.position;
    expect(after.memory).toContain(`${first - 2}: `);
    await sessions.compact(session, signal);
    expect(await sessions.context(await again())).toEqual(after);
  });

  test("turns that still fit are not read again to find that out", async () => {
    const store = createSessionStore({ db: bench.db, now: () => new Date(), workspace: "/ws" });
    const read: string[] = [];
    const turns: typeof store.turns = (...asked) => {
      read.push(asked[1]);
      return store.turns(...asked);
    };
    const sessions = bench.sessions({ store: { ...store, turns } });
    const { session } = await sessions.open(chat, signal);
    await sessions.context(session);
    await sessions.append(session, [turn("short")]);
    expect(await sessions.compact(session, signal)).toBe(0);
    expect(read).toEqual([]);
    for (let n = 0; n < 12; n++) await sessions.append(session, [turn(`${n}: ${"あ".repeat(30)}`)]);
    expect(await sessions.compact(session, signal)).toBeGreaterThan(0);
  });

  test("secrets and megabytes are not kept", async () => {
    const sessions = bench.sessions();
    const { session } = await sessions.open(chat, signal);
    await sessions.append(session, [turn("key sk-secret"), turn("x".repeat(1_000_000))]);
    const { turns } = await createSessionStore({
      db: bench.db,
      now: () => new Date(),
      workspace: "/ws",
    }).turns("line:U1", session.id, {
      after: 0,
      limit: 9,
    });
    expect(turns[0]?.text).toBe("key ****");
    expect(turns[1]!.text.length).toBeLessThan(70_000);
    expect((await sessions.context(session)).turns).toHaveLength(1);
  });

  test("a damaged row is skipped and reported", async () => {
    const sessions = bench.sessions();
    const { session } = await sessions.open(chat, signal);
    await sessions.append(session, [turn("a"), turn("b")]);
    await sql`update turns set role = 'x' where position = 1`.execute(bench.db);
    expect(await sessions.context(session)).toMatchObject({ damaged: 1, turns: [{ text: "b" }] });
    await sql`update sessions set cut_at = 'garbage'`.execute(bench.db);
    const opened = await sessions.open(chat, signal);
    expect(opened).toMatchObject({ damaged: 1, session: { id: "20260301-line-U1.2" } });
    expect(bench.lines.map(({ event }) => event)).toContain("session.damaged");
  });
});

describe("a server at midnight", () => {
  test("cuts sessions that are due in idle chats, and leaves a busy chat for its next pause", async () => {
    const sessions = bench.sessions();
    for (const chatId of ["idle", "busy"]) {
      const { session } = await sessions.open({ channel: "line", chatId }, signal);
      await sessions.append(session, [turn("x")]);
    }
    expect(sessions.nextCut().toISOString()).toBe("2026-03-01T15:00:00.000Z");
    bench.time.now = "2026-03-01T15:00:01.000Z";
    const done = await sessions.cutDue(async (chatKey, work) => {
      if (chatKey !== "line:busy") await work();
    }, signal);
    expect(done.map(({ previousId }) => previousId)).toEqual(["20260301-line-idle"]);
    expect((await sessions.open({ channel: "line", chatId: "busy" }, signal)).cutOver?.cut).toBe(true);
    const idle = { channel: "line", chatId: "idle" };
    const told = await sessions.open(idle, signal);
    expect(told.cutOver).toMatchObject({ previousId: "20260301-line-idle", note: "x" });
    await sessions.append(told.session, [turn("y")]);
    expect((await sessions.open(idle, signal)).cutOver).toBeNull();
  });

  test("keeps time: catches up on what was missed, then wakes when the next day ends", async () => {
    const waits: { run: () => void; ms: number }[] = [];
    const woken = Promise.withResolvers<void>();
    const cuts: string[] = [];
    const stop = cutSessionsOnTime({
      sessions: {
        async cutDue(hold) {
          await hold("line:U1", async () => void cuts.push("line:U1"));
          return [];
        },
        nextCut: () => new Date(Date.parse(bench.time.now) + 60_000),
      },
      queue: {
        async run(chatKey, work, options) {
          return { ran: true, value: await work(options.signal), stopped: null, chatKey };
        },
      },
      now: () => new Date(bench.time.now),
      setTimer(run, ms) {
        waits.push({ run, ms });
        if (waits.length === 2) woken.resolve();
        return () => void waits.push({ run, ms: -1 });
      },
      onTrouble: (cause) => {
        throw cause;
      },
    });
    expect(waits.map(({ ms }) => ms)).toEqual([1000]);
    waits[0]!.run();
    await woken.promise;
    expect([cuts, waits[1]!.ms]).toEqual([["line:U1"], 60_000]);
    stop();
    expect(waits.at(-1)?.ms).toBe(-1);
  });
});

describe("a summary", () => {
  const input = (text: string) => ({
    chatKey: "line:U1",
    sessionId: "s",
    previous: "古いメモ",
    turns: [{ ...turn(text), position: 1 }],
    limitTokens: 64,
    signal,
  });

  test("is the chat model's", async () => {
    const { log } = listeningLogger();
    const { models, asked } = answering(["  新しいメモ  "]);
    const summarise = createSummarise({ modelsFor: async () => models, log, timeoutMs: 1000 });
    expect(await summarise(input("青"))).toEqual({ text: "新しいメモ", by: "model" });
    expect(asked[0]?.messages[0]).toMatchObject({ text: expect.stringContaining("古いメモ") });
  });

  test.each([
    ["no model", { forRole: () => NO_MODEL }],
    ["a failure", answering([{ code: "unreachable", message: "down", retryable: true }]).models],
    ["an empty answer", answering(["  "]).models],
    ["no answer in time", answering(["never"]).models],
  ])("without an answer is what was said, shortened: %s", async (_, models) => {
    const { log, lines } = listeningLogger();
    const summarise = createSummarise({ modelsFor: async () => models, log, timeoutMs: 20 });
    const { text, by } = await summarise(input("青が好き\nです"));
    expect(by).toBe("cut");
    expect(text).toBe("古いメモ\nUser: 青が好き です");
    expect(lines[0]?.event).toBe("session.summary_fallback");
  });

  test("never exceeds its budget", async () => {
    const { log } = listeningLogger();
    for (const models of [answering(["長".repeat(5000)]).models, { forRole: () => NO_MODEL }]) {
      const summarise = createSummarise({ modelsFor: async () => models, log, timeoutMs: 1000 });
      expect((await summarise(input("あ".repeat(9000)))).text.length).toBeLessThanOrEqual(70);
    }
  });

  test.each([
    ["by a model that forgets them", answering(["Decisions:\n- blue"]).models],
    ["without a model", { forRole: () => NO_MODEL }],
  ])("names the files that jobs changed: %s", async (_, models) => {
    const { log } = listeningLogger();
    const summarise = createSummarise({ modelsFor: async () => models, log, timeoutMs: 1000 });
    const done = { ...turn("Done: modified src/b.ts, added test/b.test.ts.", "assistant"), position: 2 };
    const { text } = await summarise({
      ...input("make it blue"),
      previous: "Decisions:\n- none\nFiles changed: src/a.ts",
      turns: [{ ...turn("make it blue"), position: 1 }, done],
      limitTokens: 200,
    });
    for (const path of ["src/a.ts", "src/b.ts", "test/b.test.ts"]) expect(text).toContain(path);
  });
});
