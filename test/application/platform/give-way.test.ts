import { expect, test } from "bun:test";
import { giveWay } from "../../../src/application/platform/give-way.ts";

test("of several that give way one continues in each turn, in their order, and again and again", async () => {
  const seen: string[] = [];
  let turns = 0;
  const count = () => {
    turns += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const work = async (name: string) => {
    for (const step of [1, 2]) {
      await giveWay();
      seen.push(`${name}${step} in ${turns}`);
    }
  };
  await Promise.all(["a", "b", "c"].map(work));
  await giveWay();
  clearImmediate(timer);
  expect(seen.map((one) => one.slice(0, 2))).toEqual(["a1", "b1", "c1", "a2", "b2", "c2"]);
  expect(new Set(seen.map((one) => one.slice(2))).size).toBe(6);
});
