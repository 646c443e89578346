import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { type Bench, createBench, edit } from "./worker-kit.ts";

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

test.each([
  ["commands", JSON.stringify([edit("create", "a", "1")]), "job"],
  ["commands after a byte order mark", `\uFEFF${JSON.stringify([edit("create", "a", "1")])}`, "job"],
  ["a whole proposal", JSON.stringify({ plan: "p", patch: "~~~bash\ntrue\n~~~\n" }), "job"],
  ["broken JSON", `[{"type":"file_edit"`, "refusal"],
  ["what is no patch", `{"a":1}`, "refusal"],
])("the text of a patch is parsed as JSON once: %s", async (_name, patch, about) => {
  const parse = spyOn(JSON, "parse");
  try {
    const done = await bench.execute(patch, { dryRun: true });
    const tried = parse.mock.calls.filter(
      ([text]) => String(text).replace("\uFEFF", "") === patch.replace("\uFEFF", ""),
    );
    expect([done.about, tried.length]).toEqual([about as typeof done.about, 1]);
  } finally {
    parse.mockRestore();
  }
});
