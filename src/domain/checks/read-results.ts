import { readCargo } from "./formats/cargo.ts";
import { readGo } from "./formats/go.ts";
import { readGoJson } from "./formats/go-json.ts";
import { readJest } from "./formats/jest.ts";
import { readJunit } from "./formats/junit.ts";
import { readMocha } from "./formats/javascript.ts";
import { readNodeSpec } from "./formats/node-spec.ts";
import { readPytest } from "./formats/pytest.ts";
import { readTap } from "./formats/tap.ts";
import { readVitest } from "./formats/vitest.ts";
import { createTestList, type TestResults } from "./test-results.ts";

/** Each takes whole lines and answers only when the summary of the tool is there and bears out the names. */
const READERS: readonly ((lines: readonly string[]) => TestResults | null)[] = [
  readTap,
  readNodeSpec,
  readMocha,
  readJest,
  readVitest,
  readPytest,
  readGo,
  readGoJson,
  readCargo,
];

/** No line that a reader looks for is longer, except XML's. */
const LONGEST_LINE = 4000;

/**
 * What the output of a check says about its tests; null where no format is known or the end is missing. A check that
 * runs several tools has the tests of all of them.
 */
export function readResults(output: string): TestResults | null {
  const lines = wholeLines(output);
  const short = lines.map((line) => (line.length > LONGEST_LINE ? "" : line));
  const found = [...READERS.flatMap((read) => read(short) ?? []), ...[readJunit(lines) ?? []].flat()];
  if (found.length <= 1) return found[0] ?? null;
  const list = createTestList();
  for (const { tests } of found) for (const [name, outcome] of tests) list.add(name, outcome);
  const sum = (key: "passed" | "failed" | "skipped") =>
    found.reduce((all, { counts }) => all + counts[key], 0);
  return {
    formats: found.flatMap(({ formats }) => formats),
    listed: found.every(({ listed }) => listed === "all") ? "all" : "failed",
    tests: list.tests,
    counts: { passed: sum("passed"), failed: sum("failed"), skipped: sum("skipped") },
  };
}

const COLOURS = /\u001b\[[0-9;?]*[A-Za-z]/g;

/** Without colours. What does not end in a newline may be cut, and is left out. */
function wholeLines(output: string): string[] {
  const lines = output.replace(COLOURS, "").split(/\r?\n/);
  return lines.slice(0, -1);
}
