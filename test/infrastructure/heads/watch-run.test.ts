import { expect, test } from "bun:test";
import type { WorkerProgress } from "../../../src/application/ports/heads.ts";
import { geminiCli } from "../../../src/infrastructure/heads/kinds/gemini-cli.ts";
import { watchRun } from "../../../src/infrastructure/heads/watch-run.ts";

const LINES = 60_000;

/** Reads each line as one more piece of a message, as agents stream them; `$` is a command. */
function watchPieces(mostReported?: number) {
  const seen = { masked: 0, told: [] as WorkerProgress[] };
  let said = "";
  const watch = watchRun({
    reader: {
      feed: (text) =>
        text.split("\n").map((line): WorkerProgress => {
          if (line === "$") return { kind: "command", command: "ls" };
          const grown = said !== "";
          said += line;
          return { kind: "text", text: said, grown };
        }),
    },
    mask(text) {
      seen.masked += text.length;
      return text;
    },
    ...(mostReported !== undefined && { mostReported }),
    onProgress: (progress) => seen.told.push(progress),
  });
  return { watch, seen };
}

test("of a message that arrives in many pieces at once the whole is masked and told, not each beginning", () => {
  const { watch, seen } = watchPieces();
  const pieces = Array.from({ length: LINES }, () => "x").join("\n");
  watch.onOutput("stdout", `${pieces}\n$\ny`);
  expect(seen.told).toEqual([
    { kind: "text", text: "x".repeat(LINES) },
    { kind: "command", command: "ls" },
    { kind: "text", text: `${"x".repeat(LINES)}y` },
  ]);
  expect(seen.masked).toBeLessThan(3 * LINES);
});

test("messages of their own that arrive together are all told", () => {
  const told: unknown[] = [];
  const progress = [{ text: "one" }, { text: "one more" }, { text: "a" }, { text: "ab", grown: true }];
  const watch = watchRun({
    reader: { feed: () => progress.map((one) => ({ kind: "text", ...one })) },
    mask: (text) => text,
    onProgress: (one) => told.push(one),
  });
  watch.onOutput("stdout", "");
  expect(told).toEqual(["one", "one more", "ab"].map((text) => ({ kind: "text", text })));
});

test("Gemini's pieces of one message are told once, and its next message by itself", () => {
  const told: unknown[] = [];
  const reader = geminiCli.createReader();
  const watch = watchRun({ reader, mask: (text) => text, onProgress: (one) => told.push(one) });
  const said = [
    { content: "one" },
    { content: " more", delta: true },
    { content: " piece", delta: true },
    { content: "two" },
  ];
  const lines = said.map((one) => `${JSON.stringify({ type: "message", role: "assistant", ...one })}\n`);
  watch.onOutput("stdout", lines.join(""));
  expect(told).toEqual(["one more piece", "two"].map((text) => ({ kind: "text", text })));
});

test("progress that is not told is not masked either", () => {
  const { watch, seen } = watchPieces(10);
  for (let at = 0; at < 2_000; at++) watch.onOutput("stdout", "x");
  expect(seen.told).toHaveLength(10);
  expect(seen.masked).toBe(55);
});
