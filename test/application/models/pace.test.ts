import { describe, expect, test } from "bun:test";
import { createPace } from "../../../src/application/models/pace.ts";
import { createManualTimers } from "../../fakes/timers.ts";

const LIMIT = 120_000;

function open(most = 30 * 60_000) {
  const timers = createManualTimers();
  const start = timers.now().getTime();
  const clock = () => timers.now().getTime() - start;
  const pace = createPace(clock, LIMIT, most, (ms, then) => void timers.after(ms, then));
  return {
    isOver: () => pace.deadline.aborted,
    advance: timers.advance,
    /** Writes so many tokens a second for that long. */
    async write(tokensPerSecond: number, seconds: number) {
      for (let second = 0; second < seconds && !pace.deadline.aborted; second++) {
        await timers.advance(1_000);
        pace.onHeard("abcd".repeat(tokensPerSecond));
      }
    },
  };
}

describe("the time of a local model's answer", () => {
  test("is the configured limit where the model is fast enough for a long answer", async () => {
    const at = open();
    await at.write(40, 118);
    expect(at.isOver()).toBe(false);
    await at.write(40, 4);
    expect(at.isOver()).toBe(true);
  });

  test("is what a long answer needs at the measured speed of a slower one", async () => {
    const at = open();
    await at.advance(40_000);
    await at.write(5, 380);
    expect(at.isOver()).toBe(false);
    await at.write(5, 60);
    expect(at.isOver()).toBe(true);
  });

  test("does not end while the prompt is read, and counts from the first word", async () => {
    const at = open();
    await at.advance(300_000);
    expect(at.isOver()).toBe(false);
    await at.write(10, 100);
    expect(at.isOver()).toBe(false);
  });

  test("is never longer than the most that a coder may take", async () => {
    const at = open(200_000);
    await at.write(1, 198);
    expect(at.isOver()).toBe(false);
    await at.advance(7_000);
    expect(at.isOver()).toBe(true);
  });
});
