import { beforeEach, describe, expect, test } from "bun:test";
import type { NewSession, NewTurn, SessionStore } from "../../../src/application/ports/chat.ts";

export interface SessionHarness {
  readonly store: SessionStore;
  /** Changes rows behind the store's back. */
  readonly damage: (statement: string) => Promise<void>;
}

const CUT = { at: "2026-03-01T15:00:00.000Z", clock: "Asia/Tokyo 00:00" };

function newSession(more: Partial<NewSession> = {}): NewSession {
  return {
    chatKey: "cli:default",
    id: "20260301-cli-default",
    channel: "cli",
    chatId: "default",
    openedAt: "2026-03-01T00:00:00.000Z",
    cut: CUT,
    carried: "",
    ...more,
  };
}

const turn = (text: string, more: Partial<NewTurn> = {}): NewTurn => ({
  at: "2026-03-01T01:00:00.000Z",
  role: "user",
  text,
  agent: "",
  groupId: null,
  ...more,
});

export function describeSessionStore(name: string, open: () => Promise<SessionHarness>): void {
  describe(`sessions in ${name}:`, () => {
    let store: SessionStore;
    let damage: SessionHarness["damage"];
    beforeEach(async () => {
      ({ store, damage } = await open());
    });

    test("a chat that never spoke has no session", async () => {
      expect(await store.current("cli:default")).toEqual({ session: null, damaged: 0 });
      expect(await store.list("cli:default", 10)).toEqual([]);
      expect(await store.settings("cli:default")).toEqual({
        dry: false,
        memory: {},
        rewound: [],
        models: {},
      });
    });

    test("an opened session is the current one, as it was given", async () => {
      expect(await store.open(newSession({ carried: "昨日の続き" }), null)).toBe("opened");
      expect(await store.current("cli:default")).toEqual({
        session: {
          ...newSession({ carried: "昨日の続き" }),
          closedAt: null,
          summary: { text: "", upTo: 0 },
          turns: 0,
        },
        damaged: 0,
      });
    });

    test("one chat has one open session, in any race", async () => {
      const results = await Promise.all(
        ["a", "b", "c", "d"].map((id) => store.open(newSession({ id }), null).catch(() => "moved")),
      );
      expect(results.filter((one) => one === "opened")).toHaveLength(1);
      expect((await store.list("cli:default", 10)).filter(({ closedAt }) => closedAt === null)).toHaveLength(
        1,
      );
    });

    test("opening the next closes the one before, and only when that one is still open", async () => {
      await store.open(newSession({ id: "one" }), null);
      expect(await store.open(newSession({ id: "two" }), "one")).toBe("opened");
      expect(await store.open(newSession({ id: "three" }), "one")).toBe("moved");
      expect(await store.open(newSession({ id: "three" }), null)).toBe("moved");
      expect(await store.open(newSession({ id: "one" }), "two")).toBe("taken");
      expect((await store.current("cli:default")).session?.id).toBe("two");
      expect((await store.find("cli:default", "one"))?.closedAt).not.toBeNull();
    });

    test("turns keep their order and their text, odd characters included", async () => {
      await store.open(newSession(), null);
      const texts = ["こんにちは 👋", "a\0b", "\ud800 half", "'; drop table turns; --", "x".repeat(100_000)];
      await store.append(
        "cli:default",
        "20260301-cli-default",
        texts.map((text) => turn(text)),
      );
      await store.append("cli:default", "20260301-cli-default", [
        turn("answer", { role: "assistant", agent: "Mio", groupId: "g1" }),
      ]);
      const { turns, damaged } = await store.turns("cli:default", "20260301-cli-default", {
        after: 0,
        limit: 99,
      });
      expect(damaged).toBe(0);
      expect(turns.map(({ position }) => position)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(turns.map(({ text }) => text)).toEqual([
        texts[0]!,
        "a\ufffdb",
        "\ufffd half",
        texts[3]!,
        texts[4]!,
        "answer",
      ]);
      expect(turns[5]).toEqual({
        ...turn("answer", { role: "assistant", agent: "Mio", groupId: "g1" }),
        position: 6,
      });
      const last = await store.lastTurns("cli:default", "20260301-cli-default", 2, 0);
      expect(last.turns.map(({ position }) => position)).toEqual([5, 6]);
      const after = await store.lastTurns("cli:default", "20260301-cli-default", 9, 4);
      expect(after.turns.map(({ position }) => position)).toEqual([5, 6]);
      expect((await store.find("cli:default", "20260301-cli-default"))?.turns).toBe(6);
    });

    test("turns appended at once are all there", async () => {
      await store.open(newSession(), null);
      await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          store.append("cli:default", "20260301-cli-default", [turn(`q${n}`), turn(`a${n}`)]),
        ),
      );
      const { turns } = await store.turns("cli:default", "20260301-cli-default", { after: 0, limit: 99 });
      expect(turns).toHaveLength(40);
      expect(new Set(turns.map(({ position }) => position)).size).toBe(40);
    });

    test("chats whose ids look alike see nothing of each other", async () => {
      const one = newSession({ chatKey: "a:b-c", channel: "a", chatId: "b-c", id: "20260301-a-b-c" });
      const other = newSession({ chatKey: "a-b:c", channel: "a-b", chatId: "c", id: "20260301-a-b-c" });
      expect(await store.open(one, null)).toBe("opened");
      expect(await store.open(other, null)).toBe("opened");
      await store.append("a:b-c", one.id, [turn("secret of the first")]);
      await store.saveNote({ chatKey: "a:b-c", sessionId: one.id, text: "n", turns: 1, savedAt: CUT.at });
      await store.saveSettings("a:b-c", { dry: true });
      expect((await store.turns("a-b:c", other.id, { after: 0, limit: 9 })).turns).toEqual([]);
      expect(await store.note("a-b:c", other.id)).toBeNull();
      expect(await store.settings("a-b:c")).toEqual({ dry: false, memory: {}, rewound: [], models: {} });
      expect(await store.find("a-b:c", "nothing")).toBeNull();
    });

    test("going back opens the older session with the later messages at its end", async () => {
      await store.open(newSession({ id: "one" }), null);
      await store.append("cli:default", "one", [turn("1"), turn("2")]);
      await store.open(newSession({ id: "two" }), "one");
      await store.append("cli:default", "two", [turn("3"), turn("4")]);
      const cut = { at: "2026-03-02T15:00:00.000Z", clock: "Asia/Tokyo 00:00" };
      expect(await store.reopen("cli:default", "one", "two", cut)).toBe(true);
      const { session } = await store.current("cli:default");
      expect(session).toMatchObject({ id: "one", closedAt: null, turns: 4, cut });
      const { turns } = await store.turns("cli:default", "one", { after: 0, limit: 9 });
      expect(turns.map(({ text }) => text)).toEqual(["1", "2", "3", "4"]);
      expect(await store.find("cli:default", "two")).toMatchObject({ turns: 0 });
      expect(await store.reopen("cli:default", "one", "two", cut)).toBe(false);
      expect(await store.reopen("cli:default", "missing", "one", cut)).toBe(false);
      expect((await store.current("cli:default")).session?.id).toBe("one");
    });

    test("a summary of fewer turns does not replace one of more", async () => {
      await store.open(newSession(), null);
      await store.append("cli:default", "20260301-cli-default", [turn("1"), turn("2"), turn("3")]);
      await store.saveSummary("cli:default", "20260301-cli-default", { text: "two", upTo: 2 });
      await store.saveSummary("cli:default", "20260301-cli-default", { text: "one", upTo: 1 });
      const { session } = await store.current("cli:default");
      expect(session?.summary).toEqual({ text: "two", upTo: 2 });
    });

    test("a note is one a session, and the newest come first", async () => {
      const note = { chatKey: "cli:default", sessionId: "one", text: "first", turns: 2, savedAt: CUT.at };
      await store.saveNote(note);
      await store.saveNote({ ...note, text: "better", turns: 4 });
      const later = { ...note, sessionId: "two", savedAt: "2026-03-02T15:00:00.000Z" };
      await store.saveNote(later);
      expect(await store.note("cli:default", "one")).toEqual({ ...note, text: "better", turns: 4 });
      expect((await store.notes("cli:default", 9)).map(({ sessionId }) => sessionId)).toEqual(["two", "one"]);
    });

    test("an open session past its time is due", async () => {
      await store.open(newSession({ chatKey: "a:1", id: "early" }), null);
      const late = { at: "2026-03-09T15:00:00.000Z", clock: CUT.clock };
      await store.open(newSession({ chatKey: "a:2", id: "late", cut: late }), null);
      await store.open(newSession({ chatKey: "a:3", id: "closed" }), null);
      await store.open(newSession({ chatKey: "a:3", id: "next", cut: late }), "closed");
      const due = async (at: string) => (await store.due(new Date(at), 9)).map(({ id }) => id);
      expect(await due("2026-03-01T14:59:59.999Z")).toEqual([]);
      expect(await due("2026-03-01T15:00:00.000Z")).toEqual(["early"]);
      await store.setCut("a:1", "early", late);
      expect(await due("2026-03-05T00:00:00.000Z")).toEqual([]);
    });

    test("a damaged session row is passed over, counted, and makes room for a new session", async () => {
      await store.open(newSession({ id: "broken" }), null);
      await damage("update sessions set opened_at = 'not a time', cut_at = 'neither'");
      expect(await store.current("cli:default")).toEqual({ session: null, damaged: 1 });
      expect(await store.list("cli:default", 9)).toEqual([]);
      expect(await store.find("cli:default", "broken")).toBeNull();
      expect(await store.open(newSession({ id: "broken" }), null)).toBe("taken");
      expect(await store.open(newSession({ id: "fresh" }), null)).toBe("opened");
      expect((await store.current("cli:default")).session?.id).toBe("fresh");
    });

    test("a note and what a session knows from before can be forgotten, in their chat alone", async () => {
      const note = { chatKey: "cli:default", sessionId: "x", text: "n", turns: 1, savedAt: CUT.at };
      await store.saveNote(note);
      await store.open(newSession({ carried: "from before" }), null);
      expect(await store.removeNote("line:other", "x")).toBe(false);
      expect(await store.removeNote("cli:default", "x")).toBe(true);
      expect(await store.removeNote("cli:default", "x")).toBe(false);
      await store.clearSummary("line:other", "20260301-cli-default");
      expect((await store.current("cli:default")).session?.carried).toBe("from before");
      await store.clearSummary("cli:default", "20260301-cli-default");
      expect((await store.current("cli:default")).session?.carried).toBe("");
    });

    test("turns that are set aside are out of sight until they are put back, and their positions stay theirs", async () => {
      const id = "20260301-cli-default";
      await store.open(newSession(), null);
      await store.append("cli:default", id, [turn("1"), turn("2"), turn("3")]);
      await store.saveSummary("cli:default", id, { text: "of two", upTo: 2 });
      const said = async () =>
        (await store.turns("cli:default", id, { after: 0, limit: 9 })).turns.map(
          ({ text, position }) => `${position} ${text}`,
        );
      await store.setAside("cli:default", id, 2, "aside-2");
      expect(await said()).toEqual(["1 1", "2 2"]);
      expect((await store.current("cli:default")).session?.summary.text).toBe("of two");
      await store.setAside("cli:default", id, 1, "aside-1");
      expect(await said()).toEqual(["1 1"]);
      expect((await store.current("cli:default")).session?.summary).toEqual({ text: "", upTo: 0 });
      await store.append("cli:default", id, [turn("4")]);
      expect(await said()).toEqual(["1 1", "4 4"]);
      await store.putBack("line:other", id, "aside-1");
      await store.putBack("cli:default", id, "aside-1");
      expect(await said()).toEqual(["1 1", "2 2", "4 4"]);
      const rewound = [
        {
          sessionId: id,
          name: "aside-2",
          jobIds: ["job_1_aaaaaaaa", "job_2_aaaaaaaa"],
          again: ["job_2_aaaaaaaa"],
        },
      ];
      await store.saveSettings("cli:default", { rewound });
      expect((await store.settings("cli:default")).rewound).toEqual(rewound);
    });

    test("damaged turns, notes and settings are passed over", async () => {
      await store.open(newSession(), null);
      await store.append("cli:default", "20260301-cli-default", [turn("1"), turn("2"), turn("3")]);
      await damage("update turns set role = 'nobody' where position = 2");
      const { turns, damaged } = await store.turns("cli:default", "20260301-cli-default", {
        after: 0,
        limit: 9,
      });
      expect([turns.map(({ text }) => text), damaged]).toEqual([["1", "3"], 1]);
      const note = { chatKey: "cli:default", sessionId: "x", text: "n", turns: 1, savedAt: CUT.at };
      await store.saveNote(note);
      await damage("update daily_notes set saved_at = 'never'");
      expect(await store.notes("cli:default", 9)).toEqual([]);
      await store.saveSettings("cli:default", { dry: false });
      await damage("update chat_settings set settings = '{half'");
      expect(await store.settings("cli:default")).toEqual({ dry: true, memory: {}, rewound: [], models: {} });
      await store.saveSettings("cli:default", { dry: false });
      expect(await store.settings("cli:default")).toEqual({
        dry: false,
        memory: {},
        rewound: [],
        models: {},
      });
    });
  });
}
