import { expect, test } from "bun:test";
import { shortenExchange } from "../../../src/application/models/tool-loop.ts";
import type { ModelMessage } from "../../../src/application/ports/models.ts";

test("messages shrink to head and tail, the newest least, and only those of the given role", () => {
  const long = `begin${"x".repeat(1000)}end`;
  const exchange: ModelMessage[] = [
    { role: "user", text: long },
    { role: "tool", callId: "1", name: "read", text: long },
    { role: "tool", callId: "2", name: "read", text: long },
  ];
  const lengths = (messages: readonly ModelMessage[]) => messages.map(({ text }) => text.length > 500);
  const limits = { newest: 1, newChars: 2000, oldChars: 100 };
  const all = shortenExchange(exchange, limits);
  expect(lengths(all)).toEqual([false, false, true]);
  expect(all[0]?.text).toMatch(/^begin.*characters cut.*end$/s);
  expect(lengths(shortenExchange(exchange, { ...limits, role: "tool" }))).toEqual([true, false, true]);
  expect(exchange[1]?.text).toBe(long);
});
