import { expect, test } from "bun:test";
import { envelopeText } from "../../../src/application/tasks/container-environments.ts";

test("a text is read unchanged, below the facts", () => {
  const envelope = {
    status: "success",
    data: { path: "a.js", content: '1\tlet a = "x"\n2\t', total_lines: 2 },
    notes: ["capped"],
  };
  expect(envelopeText(envelope)).toBe(
    '{"status":"success","data":{"path":"a.js","total_lines":2},"notes":["capped"]}\n1\tlet a = "x"\n2\t',
  );
});

test("what holds no text stays one document", () => {
  const failure = { status: "failure", message: "old_str occurs twice", error: { code: "ambiguous" } };
  expect(envelopeText(failure)).toBe(JSON.stringify(failure));
});
