import { expect, test } from "bun:test";
import { jobOrder } from "../../../src/domain/texts/format-text.ts";

test("an order for a shell has numbers without their sign, and groups by their whole name", () => {
  expect(jobOrder("terminal", "undo", "#4 #1")).toBe("picoclaw undo 4 1");
  expect(jobOrder("terminal", "apply", "#4/1")).toBe("picoclaw apply --job 4/1");
  expect(jobOrder("terminal", "redo", "cli:default#m1")).toBe("picoclaw redo cli:default#m1");
  expect(jobOrder("chat", "undo", "#4 #1")).toBe("/undo #4 #1");
});
