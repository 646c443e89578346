import { expect, test } from "bun:test";
import { createCheckSlots } from "../../../src/application/jobs/check-slots.ts";

const forever = new AbortController().signal;

test("no more run at once than there are slots, and what is urgent goes before what waits", async () => {
  const slots = createCheckSlots(1);
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
  const slots = createCheckSlots(1);
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
