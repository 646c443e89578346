import { beforeEach, describe, expect, test } from "bun:test";
import type { ChatLeases } from "../../../src/application/ports/chat-leases.ts";

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000);
const nobodyGone = () => false;

export function describeChatLeases(name: string, open: () => Promise<ChatLeases>): void {
  describe(`leases in ${name}:`, () => {
    let leases: ChatLeases;
    beforeEach(async () => {
      leases = await open();
    });
    const take = (
      owner: string,
      ticket: number,
      second: number,
      isGone: (owner: string) => boolean = nobodyGone,
    ) => leases.take({ chatKey: "c", owner, ticket, now: at(second), until: at(second + 10), isGone });

    test("a chat is held by one, and by the next in line when it is given back", async () => {
      const first = await leases.enter("c", "one", at(10));
      const second = await leases.enter("c", "two", at(10));
      const third = await leases.enter("c", "three", at(10));
      expect(await take("one", first, 0)).toEqual({ taken: true, ahead: 0 });
      await leases.leave("c", first);
      expect(await take("two", second, 0)).toEqual({ taken: false, ahead: 1 });
      expect(await take("three", third, 0)).toEqual({ taken: false, ahead: 2 });
      await leases.release("c", "one");
      expect(await take("three", third, 1)).toEqual({ taken: false, ahead: 1 });
      expect(await take("two", second, 1)).toEqual({ taken: true, ahead: 0 });
    });

    test("of many that try at once, one gets it", async () => {
      const results = await Promise.all(
        Array.from({ length: 12 }, async (_, n) => {
          const ticket = await leases.enter("c", `o${n}`, at(10));
          return take(`o${n}`, ticket, 0);
        }),
      );
      expect(results.filter(({ taken }) => taken).length).toBeLessThanOrEqual(1);
      const tickets = await Promise.all(
        Array.from({ length: 8 }, (_, n) => leases.enter("d", `o${n}`, at(10))),
      );
      expect(new Set(tickets).size).toBe(8);
    });

    test("a lease that is not renewed ends; a renewed one does not", async () => {
      const first = await leases.enter("c", "one", at(10));
      await take("one", first, 0);
      await leases.leave("c", first);
      const second = await leases.enter("c", "two", at(60));
      expect((await take("two", second, 9)).taken).toBe(false);
      expect(await leases.renew("c", "one", at(19))).toEqual({ held: true, stop: false });
      expect((await take("two", second, 11)).taken).toBe(false);
      expect((await take("two", second, 19)).taken).toBe(true);
      expect(await leases.renew("c", "one", at(40))).toEqual({ held: false, stop: false });
    });

    test("nobody waits for an owner that is surely gone, holder or waiting", async () => {
      const first = await leases.enter("c", "dead", at(100));
      await take("dead", first, 0);
      const waiting = await leases.enter("c", "dead too", at(100));
      expect(waiting).toBeGreaterThan(0);
      const third = await leases.enter("c", "alive", at(100));
      const gone = (owner: string) => owner.startsWith("dead");
      expect(await take("alive", third, 1, gone)).toEqual({ taken: true, ahead: 0 });
    });

    test("a stop reaches the holder once, and is not there for the next", async () => {
      expect(await leases.requestStop("c", at(0))).toBe(false);
      const first = await leases.enter("c", "one", at(10));
      await take("one", first, 0);
      expect(await leases.requestStop("c", at(1))).toBe(true);
      expect(await leases.renew("c", "one", at(20))).toEqual({ held: true, stop: true });
      await leases.leave("c", first);
      await leases.release("c", "one");
      const second = await leases.enter("c", "two", at(20));
      await take("two", second, 2);
      expect(await leases.renew("c", "two", at(20))).toEqual({ held: true, stop: false });
    });

    test("chats do not wait for each other", async () => {
      const first = await leases.enter("c", "one", at(10));
      await take("one", first, 0);
      const other = await leases.enter("d", "two", at(10));
      const request = {
        chatKey: "d",
        owner: "two",
        ticket: other,
        now: at(0),
        until: at(10),
        isGone: nobodyGone,
      };
      expect(await leases.take(request)).toEqual({ taken: true, ahead: 0 });
    });
  });
}
