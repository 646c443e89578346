import { describe, expect, test } from "bun:test";
import { createPace } from "../../../src/domain/checks/pace.ts";

/** What a suite prints at these milliseconds, and the whole that its pace says after each; `files`: how many test files there are. */
function read(printed: readonly (readonly [ms: number, text: string])[], files = 0) {
  const pace = createPace(60_000, () => files);
  return printed.map(([ms, text]) => {
    pace.add(text, ms);
    return pace.findHopeless(ms);
  });
}
const pytest = (percent: number) => `tests/test_a.py::test_b PASSED      [ ${percent}%]\n`;

describe("the pace of a suite", () => {
  test("names the whole where even twice the pace would not end in time", () => {
    expect(
      read([
        [5_000, pytest(1)],
        [20_000, pytest(10)],
      ]),
    ).toEqual([null, 155_000]);
  });
  test("says nothing of one that may end in time, or has hardly begun", () => {
    expect(
      read([
        [1_000, pytest(1)],
        [9_000, pytest(2)],
        [20_000, pytest(25)],
      ]),
    ).toEqual([null, null, null]);
  });
  test("counts from the first test, not from the start of a slow runner", () => {
    expect(
      read([
        [40_000, pytest(1)],
        [51_000, pytest(60)],
      ]),
    ).toEqual([null, null]);
  });
  test("is not given the benefit of a faster rest while a draft waits for it", () => {
    const pace = createPace(60_000, () => 0);
    pace.add(pytest(1), 5_000);
    pace.add(pytest(20), 20_000);
    expect([pace.findHopeless(20_000), pace.findHopeless(20_000, true)]).toEqual([null, 80_000]);
  });
  test("counts the files of runners that report these, also where a line arrives in two parts", () => {
    const ended = (name: string) => `PASS test/${name}.test.js (5 s)\n`;
    expect(
      read(
        [
          [2_000, ended("a")],
          [14_000, "PASS test/b.te"],
          [15_000, `st.js\n${["c", "d", "e", "f"].map(ended).join("")}`],
        ],
        80,
      ),
    ).toEqual([null, null, 175_333]);
  });
  test("is unknown where the output names no share and the files are not counted", () => {
    expect(
      read([
        [2_000, "ok 1 - adds\n"],
        [30_000, "ok 2 - adds\n"],
      ]),
    ).toEqual([null, null]);
  });
});
