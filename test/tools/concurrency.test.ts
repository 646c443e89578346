import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ALL_TOOLS } from "../../src/tools/catalog.ts";
import { cases } from "../require.ts";
import { codeOf, createToolBench, jobOf, type ToolBench } from "./tool-kit.ts";

let bench: ToolBench;
beforeEach(() => {
  bench = createToolBench();
});
afterEach(() => bench.remove());

const count = (results: readonly string[]) =>
  Object.fromEntries(
    [...new Set(results)].map((code) => [code, results.filter((one) => one === code).length]),
  );

describe("many calls at once", () => {
  test("1,000 calls lose nothing: every edit of one file lands, every file is there, each job is its own", async () => {
    bench.write("list.txt", "start\n");
    const toolkit = await bench.toolkit();
    const calls = Array.from({ length: 1000 }, (_, at) => {
      switch (at % 5) {
        case 0:
          return toolkit.textEditor({
            command: "insert",
            path: "list.txt",
            insert_line: 1,
            insert_text: `entry ${at}`,
          });
        case 1:
          return toolkit.writeFile({ path: `files/${at}.txt`, content: String(at) });
        case 2:
          return toolkit.readFile({ path: "list.txt" });
        case 3:
          return toolkit.search({ pattern: "start" });
        default:
          return toolkit.textEditor({ command: "view", path: "list.txt" });
      }
    });
    const results = await Promise.all(calls);
    expect(count(results.map(codeOf))).toEqual({ success: 1000 });
    const jobs = results.filter((_, at) => at % 5 < 2).map((result) => jobOf(result));
    expect(new Set(jobs).size).toBe(400);
    const lines = bench.read("list.txt").trimEnd().split("\n");
    const entries = Array.from({ length: 200 }, (_, at) => `entry ${at * 5}`);
    expect(lines.sort()).toEqual(["start", ...entries].sort());
    for (let at = 1; at < 1000; at += 5) expect(bench.read(`files/${at}.txt`)).toBe(String(at));
  }, 300_000);

  test("two contexts, as two processes have them, lose no edit of one file", async () => {
    bench.write("list.txt", "start\n");
    const toolkits = [await bench.toolkit(), await bench.toolkit()];
    const wanted = Array.from({ length: 30 }, (_, at) => `entry ${at}`);
    const landed: string[] = [];
    await Promise.all(
      wanted.map(async (insert_text, at) => {
        const result = await toolkits[at % 2]?.textEditor({
          command: "insert",
          path: "list.txt",
          insert_line: 1,
          insert_text,
        });
        if (result !== undefined && codeOf(result) === "success") landed.push(insert_text);
        else expect(result && codeOf(result)).toMatch(/^failure (CONFLICT|ABORTED)$/);
      }),
    );
    expect(bench.read("list.txt").trimEnd().split("\n").sort()).toEqual(["start", ...landed].sort());
  }, 300_000);
});

describe("any arguments", () => {
  const value: fc.Arbitrary<unknown> = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(
      "a.txt",
      "sub",
      "../x",
      "/etc/passwd",
      "view",
      "create",
      "str_replace",
      "insert",
      "\0",
      "\ud800",
    ),
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    fc.array(fc.integer(), { maxLength: 3 }),
    fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }),
  );

  test("end in an envelope, and leave everything outside alone", async () => {
    bench.write("../outside.txt", "mine");
    bench.write("a.txt", "one\ntwo\n");
    bench.write("sub/b.txt", "three\n");
    const toolkit = await bench.toolkit();
    const call = fc
      .constantFrom(...ALL_TOOLS.filter(({ name }) => name !== "execute_command"))
      .chain((tool) =>
        fc.record({
          name: fc.constant(tool.name),
          args: fc.oneof(
            fc.record(
              Object.fromEntries([...Object.keys(tool.input.shape), "extra"].map((name) => [name, value])),
              { requiredKeys: [] },
            ),
            value,
          ),
        }),
      );
    await fc.assert(
      fc.asyncProperty(call, async ({ name, args }) => {
        const result = await toolkit.invoke(name, args);
        expect(["success", "failure", "denied"]).toContain(result.status);
        if (result.status !== "success")
          expect(result).toEqual({
            status: result.status,
            reason: expect.stringMatching(/^(policy|write-permission|path|arguments|tool)$/),
            message: expect.any(String),
            error: { code: expect.not.stringMatching("INTERNAL") },
          });
      }),
      { numRuns: cases(400) },
    );
    expect(bench.read("../outside.txt")).toBe("mine");
  }, 300_000);
});
