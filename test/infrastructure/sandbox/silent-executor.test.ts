import { expect, test } from "bun:test";
import { closeSync } from "node:fs";
import { ChannelClosed } from "../../../src/application/ports/sandbox.ts";
import { rawPipe, setNonblocking } from "../../../src/infrastructure/platform/process-calls.ts";
import { createCall, encodeFrame, writeFrame } from "../../../src/infrastructure/sandbox/executor-channel.ts";

/** Both channels of an executor that was stopped: what is sent to it is never read. */
function openChannels() {
  const [calls, answers] = [rawPipe(), rawPipe()];
  if (!calls.ok || !answers.ok) throw new Error("no pipes");
  setNonblocking(calls.value.writeEnd);
  const ends = [...Object.values(calls.value), ...Object.values(answers.value)];
  return { calls: calls.value, answers: answers.value, close: () => ends.forEach(closeSync) };
}

test.skipIf(process.platform !== "linux").each([
  ["that does not answer", 0],
  ["that does not even read what is sent", 1_000_000],
])("a call to an executor %s ends as one to a dead executor", (_name, bytes) => {
  const { calls, answers, close } = openChannels();
  const call = createCall(calls.writeEnd, answers.readEnd, 50);
  expect(() => call({ op: "write", path: "a" }, new Uint8Array(bytes))).toThrow(ChannelClosed);
  close();
});

test.skipIf(process.platform !== "linux")("an answer is read whole", () => {
  const { calls, answers, close } = openChannels();
  const answer = encodeFrame({ names: ["a"] }, new Uint8Array(40_000).fill(7));
  writeFrame(answers.writeEnd, answer);
  const { head, body } = createCall(calls.writeEnd, answers.readEnd, 5_000)({ op: "list", path: "" });
  expect([head, body]).toEqual([{ names: ["a"] }, new Uint8Array(40_000).fill(7)]);
  close();
});
