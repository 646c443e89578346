import { describe, expect, test } from "bun:test";
import { type Kysely, sql } from "kysely";
import { createSessionStore } from "../../../src/infrastructure/chat/session-store.ts";
import { createUsageStore } from "../../../src/infrastructure/models/usage-store.ts";
import { createChatTurns } from "../../../src/infrastructure/serve/chat-turns.ts";
import type { HeldTurn } from "../../../src/infrastructure/store/liveness.ts";
import type { Database } from "../../../src/infrastructure/store/schema.ts";

const CHAT = "cli:fenced";
const SESSION = "20260301-cli-fenced";
const now = () => new Date();

/** One process's stores of the chats of a workspace. */
function openProcess(db: Kysely<Database>, name: string) {
  const held = new Map<string, HeldTurn>();
  const common = { db, workspace: "/ws", held };
  const newId = () => crypto.randomUUID();
  const turns = createChatTurns({ ...common, process: name, isGone: () => false, newId });
  const claim = turns.name(CHAT);
  return {
    sessions: createSessionStore({ ...common, now }),
    usage: createUsageStore(db, held),
    takeTurn: async () => (await turns.begin(claim)) || (await turns.take(claim)).taken,
    endTurn: () => turns.end(claim),
  };
}

const said = (text: string) => ({
  at: "2026-03-01T01:00:00.000Z",
  role: "user" as const,
  text,
  agent: "",
  groupId: null,
});

const used = {
  at: "2026-03-01T01:00:00.000Z",
  chatKey: CHAT,
  sessionId: SESSION,
  groupId: "g",
  role: "coder3",
  provider: "claude",
  model: "m",
  local: false,
  inputTokens: 1,
  outputTokens: 1,
  cachedTokens: 0,
  costUsd: 1,
};

export function describeTurnFence(name: string, open: () => Promise<Kysely<Database>>): void {
  describe(`the fence of a turn in ${name}:`, () => {
    test("who lost the turn writes nothing more about the chat", async () => {
      const db = await open();
      const [lost, next] = [openProcess(db, "lost"), openProcess(db, "next")];
      const { sessions } = lost;
      expect(await lost.takeTurn()).toBe(true);
      const cut = { at: "2026-03-01T15:00:00.000Z", clock: "Asia/Tokyo 00:00" };
      const session = { chatKey: CHAT, id: SESSION, channel: "cli", chatId: "fenced", carried: "", cut };
      await sessions.open({ ...session, openedAt: "2026-03-01T00:00:00.000Z" }, null);
      await sessions.append(CHAT, SESSION, [said("before")]);
      await lost.usage.record(used);
      await sql`update work_claims set claimed_at = claimed_at - 16000`.execute(db);
      expect(await next.takeTurn()).toBe(true);

      await sessions.append(CHAT, SESSION, [said("late")]);
      await sessions.saveSummary(CHAT, SESSION, { text: "late", upTo: 1 });
      await sessions.saveNote({
        chatKey: CHAT,
        sessionId: SESSION,
        text: "late",
        turns: 1,
        savedAt: used.at,
      });
      await sessions.saveSettings(CHAT, { dry: true });
      await sessions.setAside(CHAT, SESSION, 0, "aside");
      await lost.usage.record(used);
      await next.sessions.append(CHAT, SESSION, [said("after")]);

      const { turns } = await sessions.turns(CHAT, SESSION, { after: 0, limit: 9 });
      expect(turns.map(({ text }) => text)).toEqual(["before", "after"]);
      expect((await sessions.find(CHAT, SESSION))?.summary.text).toBe("");
      expect(await sessions.notes(CHAT, 9)).toEqual([]);
      expect((await sessions.settings(CHAT)).dry).toBe(false);
      expect(await lost.usage.spent(new Date(0))).toBe(1);
    });

    test("who holds no turn writes as ever", async () => {
      const db = await open();
      const [one, other] = [openProcess(db, "one"), openProcess(db, "other")];
      expect(await one.takeTurn()).toBe(true);
      await other.sessions.saveSettings(CHAT, { dry: true });
      await one.endTurn();
      await one.sessions.saveSettings(CHAT, { memory: { s: { name: "value" } } });
      expect(await one.sessions.settings(CHAT)).toMatchObject({
        dry: true,
        memory: { s: { name: "value" } },
      });
    });
  });
}
