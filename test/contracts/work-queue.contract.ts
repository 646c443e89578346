import { afterEach, describe, expect, test } from "bun:test";
import type { NewWork, Work, WorkQueue } from "../../src/application/ports/serve.ts";

/** The parts of an implementation that a test needs. */
export interface QueueKit {
  readonly newId: () => string;
  /** A process of its own over the same store; `gone` are those this machine knows to be dead. */
  open(owner: string, gone?: readonly string[]): Promise<WorkQueue>;
  /** As if the process had not been heard of for that long. */
  silence(owner: string, ms: number): Promise<void>;
  /** Something that is written within a transaction of the queue, and read back. */
  readonly mark: (text: string) => (within: unknown) => Promise<void>;
  readonly marks: () => Promise<readonly string[]>;
}

/** Every queue has a name of its own a test, since the store is shared. */
export function describeWorkQueue(name: string, makeKit: () => QueueKit): void {
  describe(`work queue: ${name}`, () => {
    const opened: WorkQueue[] = [];
    let tests = 0;
    afterEach(async () => {
      for (const queue of opened.splice(0)) await queue.close();
    });

    async function setUp(...owners: string[]) {
      const kit = makeKit();
      tests += 1;
      const queueName = `test-${tests}`;
      const nameOf = (owner: string) => `${queueName} ${owner}`;
      const open = async (owner: string, gone: readonly string[] = []) => {
        const queue = await kit.open(nameOf(owner), gone.map(nameOf));
        opened.push(queue);
        return queue;
      };
      const queues = await Promise.all((owners.length === 0 ? ["a"] : owners).map((owner) => open(owner)));
      const work = (ref: string, key = "chat", more: Partial<NewWork> = {}): NewWork => ({
        id: kit.newId(),
        queue: queueName,
        key,
        group: "user",
        ref,
        light: false,
        ...more,
      });
      const take = async (queue: WorkQueue, more = {}): Promise<Work | null> =>
        (await queue.claim({ queue: queueName, ...more }, async () => null))?.work ?? null;
      /** Claims and ends until there is nothing more; what it was about. */
      const drain = async (queue: WorkQueue): Promise<string[]> => {
        const refs: string[] = [];
        for (let next = await take(queue); next !== null; next = await take(queue)) {
          refs.push(next.ref);
          expect(await queue.finish(next, {})).toBe("done");
        }
        return refs;
      };
      const silence = (owner: string, ms: number) => kit.silence(nameOf(owner), ms);
      return { ...kit, open, queues, first: queues[0] as WorkQueue, queueName, work, take, drain, silence };
    }

    test("work waits in its own queue until it is claimed, and what waits behind it in its key does not", async () => {
      const { first, work, take, queueName } = await setUp();
      expect(await first.waitsIn(queueName)).toBe(false);
      await first.add([work("1")]);
      expect([await first.waitsIn(queueName), await first.waitsIn(`${queueName}-other`)]).toEqual([
        true,
        false,
      ]);
      const taken = (await take(first)) as Work;
      expect(await first.waitsIn(queueName)).toBe(false);
      await first.handBack(taken, { begun: false });
      expect(await first.waitsIn(queueName)).toBe(true);
    });

    test("work of one key is claimed one at a time and in order, also where it was added at one moment", async () => {
      const { first, work, take, drain } = await setUp();
      await first.add([1, 2, 3, 4, 5, 6, 7, 8].map((n) => work(`${n}`)));
      const one = (await take(first)) as Work;
      expect([one.ref, one.attempt]).toEqual(["1", 1]);
      expect(await take(first)).toBeNull();
      await first.finish(one, {});
      expect(await drain(first)).toEqual(["2", "3", "4", "5", "6", "7", "8"]);
    });

    test("keys are independent, and the oldest is first", async () => {
      const { first, work, take } = await setUp();
      await first.add([work("a1", "a"), work("a2", "a")]);
      await first.add([work("b1", "b")]);
      expect([(await take(first))?.ref, (await take(first))?.ref, await take(first)]).toEqual([
        "a1",
        "b1",
        null,
      ]);
    });

    test("of many that claim at once one gets it", async () => {
      const { queues, work, take } = await setUp("a", "b", "c", "d");
      await queues[0]!.add([work("1"), work("2")]);
      const claims = await Promise.all(queues.map((queue) => take(queue)));
      expect(claims.filter((one) => one !== null).map(({ ref }) => ref)).toEqual(["1"]);
    });

    test("work that is given back keeps its place; an attempt that had not begun does not count", async () => {
      const { first, work, take, drain } = await setUp();
      await first.add([work("1"), work("2")]);
      const begun = (await take(first)) as Work;
      expect(await first.handBack(begun, { begun: true })).toBe("done");
      const again = (await take(first)) as Work;
      expect([again.ref, again.attempt]).toEqual(["1", 2]);
      await first.handBack(again, { begun: false });
      const third = (await take(first)) as Work;
      expect([third.ref, third.attempt]).toEqual(["1", 2]);
      await first.handBack(third, { begun: true });
      expect(await drain(first)).toEqual(["1", "2"]);
    });

    test("an end, what it writes and the work that follows are one; an end is there once", async () => {
      const { first, work, take, drain, mark, marks } = await setUp();
      await first.add([work("1")]);
      const one = (await take(first)) as Work;
      const failing = first.finish(one, {
        add: [work("never", "x")],
        write: async (within) => {
          await mark("rolled back")(within);
          throw new Error("no");
        },
      });
      expect(failing).rejects.toThrow("no");
      await failing.catch(() => {});
      expect(await first.finish(one, { add: [work("2")], write: mark("end 1") })).toBe("done");
      expect(await first.finish(one, { add: [work("3")], write: mark("end 2") })).toBe("lost");
      expect(await first.handBack(one, { begun: true })).toBe("lost");
      expect(await drain(first)).toEqual(["2"]);
      const seen = await marks();
      expect(seen).toContain("end 1");
      expect(seen).not.toContain("end 2");
      expect(seen).not.toContain("rolled back");
    });

    test("work added within a transaction that fails was never added", async () => {
      const { first, work, take } = await setUp();
      await first.add([work("1")]);
      const one = (await take(first)) as Work;
      const add = (within: unknown) => first.add([work("inner", "y")], within);
      await first.finish(one, { write: add });
      expect((await take(first))?.ref).toBe("inner");
    });

    test("what a claim reads is noted with it", async () => {
      const { first, work, queueName, mark, marks } = await setUp();
      await first.add([work("1")]);
      const claimed = await first.claim({ queue: queueName }, async ({ ref }, within) => {
        await mark(`claimed ${ref}`)(within);
        return ref.length;
      });
      expect(claimed?.read).toBe(1);
      expect(await marks()).toContain("claimed 1");
    });

    test("what a silent process had is another's; its late end is lost and changes nothing", async () => {
      const { queues, work, take, drain, silence, mark, marks } = await setUp("a", "b");
      const [a, b] = queues as [WorkQueue, WorkQueue];
      await a.add([work("1"), work("2")]);
      await a.beat();
      const late = (await take(a)) as Work;
      await silence("a", 10_000);
      await b.beat();
      expect(await take(b)).toBeNull();
      await silence("a", 10_000);
      await b.beat();
      const taken = (await take(b)) as Work;
      expect([taken.ref, taken.attempt]).toEqual(["1", 2]);
      expect(await a.finish(late, { write: mark("late") })).toBe("lost");
      expect(await marks()).not.toContain("late");
      expect(await b.finish(taken, {})).toBe("done");
      expect(await drain(b)).toEqual(["2"]);
    });

    test("a process that returns learns what it lost, and keeps what it has", async () => {
      const { queues, work, take, silence } = await setUp("a", "b");
      const [a, b] = queues as [WorkQueue, WorkQueue];
      await a.add([work("1", "x"), work("2", "y")]);
      const first = (await take(a)) as Work;
      expect(await a.beat()).toEqual([]);
      await silence("a", 20_000);
      await b.beat();
      const second = (await take(a)) as Work;
      expect(await a.beat()).toEqual([first]);
      expect(await a.finish(second, {})).toBe("done");
    });

    test("a process that died before its first beat is noticed too", async () => {
      const { queues, work, take, silence } = await setUp("a", "b");
      const [a, b] = queues as [WorkQueue, WorkQueue];
      await a.add([work("1")]);
      await take(a);
      await silence("a", 20_000);
      await b.beat();
      expect((await take(b))?.attempt).toBe(2);
    });

    test("what a process of this machine had is free as soon as it is gone", async () => {
      const { first, open, work, take } = await setUp("dead");
      await first.add([work("1")]);
      await first.beat();
      await take(first);
      const next = await open("next", ["dead"]);
      await next.beat();
      expect((await take(next))?.ref).toBe("1");
    });

    test("some can be left out, and work without a lane is taken first or alone", async () => {
      const { first, work, take } = await setUp();
      await first.add([
        work("m1", "a", { group: "busy" }),
        work("m2", "b", { group: "other" }),
        work("c1", "c", { group: "busy", light: true }),
        work("c2", "a", { light: true }),
      ]);
      expect((await take(first, { lightOnly: true }))?.ref).toBe("c1");
      expect(await take(first, { lightOnly: true })).toBeNull();
      expect((await take(first, { notGroups: ["busy"] }))?.ref).toBe("m2");
      expect(await take(first, { notGroups: ["busy"] })).toBeNull();
      expect((await take(first))?.ref).toBe("m1");
    });

    test("work that was given up does not block its key, and is retried or forgotten on request", async () => {
      const { first, work, take, drain, queueName } = await setUp();
      await first.add([work("poison"), work("next")]);
      const one = (await take(first)) as Work;
      await first.finish(one, { dead: "three deaths" });
      expect(await drain(first)).toEqual(["next"]);
      const dead = (await first.dead(50)).filter(({ queue }) => queue === queueName);
      expect(dead).toMatchObject([{ ref: "poison", key: "chat", attempt: 1, reason: "three deaths" }]);
      expect(await first.retryDead(one.id)).toBe(true);
      expect(await first.retryDead(one.id)).toBe(false);
      const again = (await take(first)) as Work;
      expect([again.ref, again.attempt]).toEqual(["poison", 1]);
      await first.finish(again, { dead: "again" });
      expect(await first.discardDead(again.id)).toBe(true);
      expect((await first.dead(50)).filter(({ queue }) => queue === queueName)).toEqual([]);
    });

    test("one piece of work can be claimed by its id: while it waits, and never past others of its key", async () => {
      const { queues, work, take } = await setUp("a", "b");
      const [a, b] = queues as [WorkQueue, WorkQueue];
      const [first, second, other] = [work("1"), work("2"), work("3", "y")];
      await a.add([work("0", "x"), first, second, other]);
      expect(await take(a, { id: second.id })).toBeNull();
      expect(await take(a, { id: work("none").id })).toBeNull();
      const mine = (await take(b, { id: first.id })) as Work;
      expect([mine.ref, mine.attempt, mine.light]).toEqual(["1", 1, false]);
      expect(await take(a, { id: first.id })).toBeNull();
      expect((await take(a, { id: other.id }))?.ref).toBe("3");
      await b.handBack(mine, { begun: true });
      expect(await take(a, { lightOnly: true })).toBeNull();
      expect((await take(a, { id: first.id }))?.attempt).toBe(2);
      expect([(await take(a))?.ref, await take(a)]).toEqual(["0", null]);
    });

    test("work that its process begins itself is not offered to others first, and waits for its key like any other", async () => {
      const { queues, work, take, drain } = await setUp("a", "b");
      const [a, b] = queues as [WorkQueue, WorkQueue];
      const begun = await a.begin(work("1"), async ({ ref }) => `read ${ref}`);
      expect([begun?.work.ref, begun?.work.attempt, begun?.read]).toEqual(["1", 1, "read 1"]);
      expect(await take(b)).toBeNull();
      expect(await b.begin(work("2"), async () => null)).toBeNull();
      await a.finish(begun?.work as Work, {});
      expect(await drain(b)).toEqual([]);
      expect((await b.begin(work("3"), async () => null))?.work.ref).toBe("3");
    });

    test("a listener hears of work that another process added", async () => {
      const { queues, work, take } = await setUp("a", "b");
      const [a, b] = queues as [WorkQueue, WorkQueue];
      const heard = Promise.withResolvers<void>();
      b.onWork(() => heard.resolve());
      await a.add([work("1")]);
      await heard.promise;
      expect((await take(b))?.ref).toBe("1");
    });

    test("what waits is there after a restart, in its order", async () => {
      const { first, open, work, drain } = await setUp("before");
      await first.add([work("1"), work("2")]);
      await first.add([work("3")]);
      opened.splice(opened.indexOf(first), 1);
      await first.close();
      expect(await drain(await open("after"))).toEqual(["1", "2", "3"]);
    });
  });
}
