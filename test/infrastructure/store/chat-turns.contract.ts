import { beforeEach, describe, expect, test } from "bun:test";
import type { ChatTurns, TurnClaim } from "../../../src/application/ports/chat.ts";

export interface TurnHarness {
  /** The turns as a process of this name has them; it takes those among `gone` for gone. */
  readonly open: (process: string, gone?: readonly string[]) => ChatTurns;
  /** Puts everything that was heard of a process so far into the past. */
  readonly silence: (process: string, ms: number) => Promise<void>;
  readonly beats: () => Promise<readonly string[]>;
  readonly claims: () => Promise<number>;
}

export function describeChatTurns(name: string, prepare: () => Promise<TurnHarness>): void {
  describe(`turns in ${name}:`, () => {
    let kit: TurnHarness;
    let turns: ChatTurns;
    beforeEach(async () => {
      kit = await prepare();
      turns = kit.open("process");
    });
    const begin = async (of = turns, chatKey = "c"): Promise<TurnClaim & { readonly taken: boolean }> => {
      const claim = of.name(chatKey);
      return { ...claim, taken: await of.begin(claim) };
    };

    test("a chat is held by one, and by the next in line when it is given back", async () => {
      const one = await begin();
      const two = await begin();
      const three = await begin();
      expect([one.taken, two.taken, three.taken]).toEqual([true, false, false]);
      expect(await turns.take(two)).toEqual({ taken: false, ahead: 1 });
      expect(await turns.take(three)).toEqual({ taken: false, ahead: 2 });
      await turns.end(one);
      expect(await turns.take(three)).toEqual({ taken: false, ahead: 1 });
      expect(await turns.take(two)).toEqual({ taken: true, ahead: 0 });
      for (const claim of [two, three]) await turns.end(claim);
      expect(await kit.claims()).toBe(0);
    });

    test("of many that try at once, one gets it", async () => {
      const all = await Promise.all(Array.from({ length: 12 }, () => begin()));
      const first = all.filter(({ taken }) => taken);
      expect(first).toHaveLength(1);
      await turns.end(first[0]!);
      const waiting = all.filter(({ taken }) => !taken);
      const next = await Promise.all(waiting.map((claim) => turns.take(claim)));
      expect(next.filter(({ taken }) => taken)).toHaveLength(1);
    });

    test("no process waits for one that was silent for fifteen seconds, holder or waiting", async () => {
      const dead = kit.open("dead");
      const lost = await begin(dead);
      expect(lost.taken).toBe(true);
      await begin(dead);
      const mine = await begin();
      await kit.silence("dead", 14_000);
      expect(await turns.take(mine)).toEqual({ taken: false, ahead: 2 });
      await kit.silence("dead", 2_000);
      expect(await turns.take(mine)).toEqual({ taken: true, ahead: 0 });
      expect(await dead.look(lost)).toEqual({ held: false, stop: false });
    });

    test("no process waits for one that is surely gone, holder or waiting", async () => {
      const dead = kit.open("dead");
      await begin(dead);
      await begin(dead);
      const other = kit.open("other", ["dead"]);
      const mine = await begin(other);
      expect(await other.take(mine)).toEqual({ taken: true, ahead: 0 });
    });

    test("a waiting process that was taken for dead starts over, behind the others", async () => {
      const slept = kit.open("slept");
      const one = await begin();
      const early = await begin(slept);
      const late = await begin();
      await kit.silence("slept", 16_000);
      await turns.end(one);
      expect(await turns.take(late)).toEqual({ taken: true, ahead: 0 });
      expect(await slept.take(early)).toEqual({ taken: false, ahead: 1 });
      await turns.end(late);
      expect(await slept.take(early)).toEqual({ taken: true, ahead: 0 });
    });

    test("a short turn costs no beat; the row of a longer one is removed with it", async () => {
      const one = await begin();
      await turns.beat();
      expect(await kit.beats()).toEqual([]);
      await turns.end(one);
      expect(await kit.beats()).toEqual([]);
    });

    test("a stop reaches the holder once, and is not there for the next", async () => {
      expect(await turns.requestStop("c")).toBe(false);
      const one = await begin();
      expect(await turns.requestStop("c")).toBe(true);
      expect(await turns.look(one)).toEqual({ held: true, stop: true });
      await turns.end(one);
      const two = await begin();
      expect(await turns.look(two)).toEqual({ held: true, stop: false });
      await kit.silence("process", 16_000);
      expect(await turns.requestStop("c")).toBe(false);
    });

    test("chats do not wait for each other", async () => {
      expect((await begin()).taken).toBe(true);
      expect((await begin(turns, "d")).taken).toBe(true);
    });
  });
}
