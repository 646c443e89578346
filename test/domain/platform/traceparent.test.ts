import { expect, test } from "bun:test";
import {
  readTraceparent,
  traceparentOfTask,
  writeTraceparent,
} from "../../../src/domain/platform/traceparent.ts";

const [TRACE, SPAN] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];

test("a context is read as the standard writes it, and written the same", () => {
  const context = { traceId: TRACE, spanId: SPAN, sampled: true };
  expect(readTraceparent(`00-${TRACE}-${SPAN}-01`)).toEqual(context);
  expect(readTraceparent(`00-${TRACE}-${SPAN}-02`)?.sampled).toBe(false);
  expect(readTraceparent(`01-${TRACE}-${SPAN}-01-more`)).toEqual(context);
  expect(writeTraceparent(context)).toBe(`00-${TRACE}-${SPAN}-01`);
});

test("an invalid one counts as absent", () => {
  const none = [
    "",
    null,
    undefined,
    "00",
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  ];
  expect(none.map(readTraceparent)).toEqual(none.map(() => null));
});

test("every machine knows a task's trace by its id", () => {
  const id = "4bf92f35-77b3-4da6-a3ce-929d0e0e4736";
  expect(traceparentOfTask(id)).toBe(`00-${TRACE}-a3ce929d0e0e4736-01`);
  expect(traceparentOfTask("task-7")).toBeNull();
});
