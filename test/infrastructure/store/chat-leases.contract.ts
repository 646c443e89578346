import { beforeEach, describe, expect, test } from "bun:test";
import type { ChatLeases } from "../../../src/application/ports/chat.ts";

export interface LeaseHarness {
  /** What a process of this name has; it takes those among `gone` for gone. */
  readonly open: (process: string, gone?: readonly string[]) => ChatLeases;
  /** Puts everything that was heard of a process so far into the past. */
  readonly silence: (process: string, ms: number) => Promise<void>;
  readonly beats: () => Promise<readonly string[]>;
}

const ALL = Number.MAX_SAFE_INTEGER;

export function describeChatLeases(name: string, prepare: () => Promise<LeaseHarness>): void {
  describe(`leases in ${name}:`, () => {
    let kit: LeaseHarness;
    let leases: ChatLeases;
    beforeEach(async () => {
      kit = await prepare();
      leases = kit.open("process");
    });
    const take = (owner: string, ticket: number, of = leases) => of.take({ chatKey: "c", owner, ticket });

    test("a chat is held by one, and by the next in line when it is given back", async () => {
      const first = await leases.enter("c", "one");
      const second = await leases.enter("c", "two");
      const third = await leases.enter("c", "three");
      expect(await take("one", first)).toEqual({ taken: true, ahead: 0 });
      await leases.leave("c", "one");
      expect(await take("two", second)).toEqual({ taken: false, ahead: 1 });
      expect(await take("three", third)).toEqual({ taken: false, ahead: 2 });
      await leases.release("c", "one");
      expect(await take("three", third)).toEqual({ taken: false, ahead: 1 });
      expect(await take("two", second)).toEqual({ taken: true, ahead: 0 });
    });

    test("of many that try at once, one gets it", async () => {
      const results = await Promise.all(
        Array.from({ length: 12 }, async (_, n) => take(`o${n}`, await leases.enter("c", `o${n}`))),
      );
      expect(results.filter(({ taken }) => taken).length).toBeLessThanOrEqual(1);
      const tickets = await Promise.all(Array.from({ length: 8 }, (_, n) => leases.enter("d", `o${n}`)));
      expect(new Set(tickets).size).toBe(8);
    });

    test("nobody waits for a process that was not heard of for fifteen seconds, holder or waiting", async () => {
      const dead = kit.open("dead");
      expect((await take("one", ALL, dead)).taken).toBe(true);
      await dead.enter("c", "before");
      const mine = await leases.enter("c", "mine");
      await kit.silence("dead", 14_000);
      expect(await take("mine", mine)).toEqual({ taken: false, ahead: 2 });
      await kit.silence("dead", 2_000);
      expect(await take("mine", mine)).toEqual({ taken: true, ahead: 0 });
      expect(await dead.look("c", "one")).toEqual({ held: false, stop: false });
    });

    test("nobody waits for a process that is surely gone, holder or waiting", async () => {
      const dead = kit.open("dead");
      await take("one", ALL, dead);
      await dead.enter("c", "before");
      const other = kit.open("other", ["dead"]);
      const mine = await other.enter("c", "mine");
      expect(await take("mine", mine, other)).toEqual({ taken: true, ahead: 0 });
    });

    test("a short turn costs no beat; the row of a longer one goes with it", async () => {
      await take("one", ALL);
      await leases.beat();
      expect(await kit.beats()).toEqual([]);
      await leases.release("c", "one");
      expect(await kit.beats()).toEqual([]);
    });

    test("a stop reaches the holder once, and is not there for the next", async () => {
      expect(await leases.requestStop("c")).toBe(false);
      await take("one", ALL);
      expect(await leases.requestStop("c")).toBe(true);
      expect(await leases.look("c", "one")).toEqual({ held: true, stop: true });
      await leases.release("c", "one");
      await take("two", ALL);
      expect(await leases.look("c", "two")).toEqual({ held: true, stop: false });
      await kit.silence("process", 16_000);
      expect(await leases.requestStop("c")).toBe(false);
    });

    test("chats do not wait for each other", async () => {
      await take("one", ALL);
      expect(await leases.take({ chatKey: "d", owner: "two", ticket: ALL })).toEqual({
        taken: true,
        ahead: 0,
      });
    });
  });
}
