import { expect, test } from "bun:test";
import { createCheckSlots } from "../../../src/application/platform/check-slots.ts";

const forever = new AbortController().signal;

/** One core for checks and three at most, and a load that the test tells. */
function createWatchedSlots() {
  let look: ((busyCores: number) => void) | null = null;
  const slots = createCheckSlots({
    cores: 1,
    most: 3,
    watchLoad(onLook) {
      expect(look).toBeNull();
      look = onLook;
      return () => {
        look = null;
      };
    },
  });
  return { slots, isWatched: () => look !== null, look: (busyCores: number) => look?.(busyCores) };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Checks that run until each is let go, by name. */
function createChecks({ slots }: Pick<ReturnType<typeof createWatchedSlots>, "slots">) {
  const running = new Map<string, () => void>();
  const start = (name: string, { urgent = false, signal = forever } = {}) =>
    slots.run(
      async () => {
        const { promise, resolve } = Promise.withResolvers<void>();
        running.set(name, resolve);
        await promise;
        running.delete(name);
      },
      { urgent, signal },
    );
  const end = async (name: string) => {
    running.get(name)?.();
    await settled();
  };
  return { start, end, running: () => [...running.keys()] };
}

test("waiting checks keep no others back, up to a limit; the load is watched only while a check waits", async () => {
  const at = createWatchedSlots();
  const checks = createChecks(at);
  const all = [checks.start("a")];
  await settled();
  expect(at.isWatched()).toBe(false);
  all.push(checks.start("b"), checks.start("c"), checks.start("d"), checks.start("e"));
  await settled();
  expect(checks.running()).toEqual(["a"]);
  at.look(0.1);
  await settled();
  expect(checks.running()).toEqual(["a", "b", "c"]);
  at.look(0.1);
  await settled();
  expect(checks.running()).toEqual(["a", "b", "c"]);
  // Two still run: who follows is let in by a look alone.
  await checks.end("a");
  expect(checks.running()).toEqual(["b", "c"]);
  at.look(0.1);
  await settled();
  expect(checks.running()).toEqual(["b", "c", "d"]);
  for (const name of ["b", "c", "d"]) await checks.end(name);
  expect(checks.running()).toEqual(["e"]);
  expect(at.isWatched()).toBe(false);
  await checks.end("e");
  await Promise.all(all);
});

test("checks that compute do not pile up, however often the load is looked at", async () => {
  const at = createWatchedSlots();
  const checks = createChecks(at);
  const all = ["a", "b", "c"].map((name) => checks.start(name));
  for (const busy of [1, 0.6, 2, 0.99, 1.4]) at.look(busy);
  await settled();
  expect(checks.running()).toEqual(["a"]);
  for (const name of ["a", "b", "c"]) {
    expect(checks.running()).toEqual([name]);
    await checks.end(name);
  }
  await Promise.all(all);
});

test("the watch ends when the last waiting check gave up", async () => {
  const at = createWatchedSlots();
  const checks = createChecks(at);
  const stop = new AbortController();
  const first = checks.start("a");
  const second = checks.start("b", { signal: stop.signal });
  expect(at.isWatched()).toBe(true);
  stop.abort();
  await settled();
  at.look(1);
  expect(at.isWatched()).toBe(false);
  await checks.end("a");
  await checks.end("b");
  await Promise.all([first, second]);
});

test("no more run at once than there are slots, and urgent ones precede waiting ones", async () => {
  const { slots } = createWatchedSlots();
  const order: string[] = [];
  const first = Promise.withResolvers<void>();
  let running = 0;
  const add = (name: string, urgent: boolean, until = Promise.resolve()) =>
    slots.run(
      async () => {
        expect(++running).toBe(1);
        order.push(name);
        await until;
        running--;
      },
      { urgent, signal: forever },
    );
  const all = [add("first", false, first.promise), add("patient", false), add("urgent", true)];
  first.resolve();
  await Promise.all(all);
  expect(order).toEqual(["first", "urgent", "patient"]);
});

test("who gives up leaves the line, and takes no slot from others", async () => {
  const { slots } = createWatchedSlots();
  const first = Promise.withResolvers<void>();
  const stop = new AbortController();
  const one = slots.run(() => first.promise, { urgent: false, signal: forever });
  const two = slots.run(async () => "gave up", { urgent: false, signal: stop.signal });
  stop.abort();
  expect(await two).toBe("gave up");
  first.resolve();
  await one;
  expect(await slots.run(async () => "free", { urgent: false, signal: forever })).toBe("free");
});
