import { describe, expect, test } from "bun:test";
import type { TryOutResult } from "../../../src/application/coder/bench.ts";
import { createCoderLooks, createExplorer } from "../../../src/application/coder/explorer.ts";
import type { ModelAnswer } from "../../../src/application/ports/models.ts";
import { TOOL_DEFINITIONS } from "../../../src/tools/registry/definitions.ts";
import { memoryProject } from "../../fakes/memory-project.ts";

const ended = (exitCode: number | null, output: string, more: Partial<TryOutResult> = {}): TryOutResult => ({
  ...{ exitCode, output, outcome: "exited", seconds: 0.2, limitSeconds: 120, mostSeconds: 1_700 },
  ...more,
});

const project = memoryProject({
  "src/a.ts": "one\ntwo\nthree\nfour\n",
  "src/deep/b.ts": "export function b() {}\n",
  "README.md": "# It\n",
});
const explorer = createExplorer({
  project: () => project,
  request: "",
  limit: 4_000,
  mask: (text) => text.replaceAll("secret", "****"),
  run: async (command) => ended(command === "false" ? 1 : 0, `ran ${command}: secret`),
});

test("a coder's read_file takes lines under the names of the toolkit's", () => {
  const read = explorer.tools.find(({ name }) => name === "read_file");
  const { encoding: _, ...shared } = TOOL_DEFINITIONS.read_file.parameters.properties;
  expect(Object.keys(read?.parameters.properties as object)).toEqual(Object.keys(shared));
});

test.each<[string, unknown, boolean, string]>([
  [
    "read_file",
    { path: "src/a.ts", from: 2, to: 3 },
    true,
    '<file path="src/a.ts" lines="2-3 of 4">\ntwo\nthree\n</file>',
  ],
  [
    "read_file",
    { path: "src/a.ts", start_line: "4" },
    true,
    '<file path="src/a.ts" lines="4-4 of 4">\nfour\n</file>',
  ],
  ["read_file", { path: "src/a.ts:1-1" }, true, '<file path="src/a.ts" lines="1-1 of 4">\none\n</file>'],
  [
    "read_file",
    { path: "nowhere.ts" },
    false,
    '<file path="nowhere.ts">does not exist, or may not be shown</file>',
  ],
  ["read_file", "{ broken", false, "read_file needs a path"],
  [
    "search",
    { pattern: "function b", path: "src" },
    true,
    '<search pattern="function b" lines="1" files="1">\nsrc/deep/b.ts\n1: export function b() {}\n</search>',
  ],
  ["search", {}, false, "search needs a pattern"],
  ["tree", {}, true, "src/ a.ts\nsrc/deep/ b.ts\n./ README.md"],
  ["tree", { path: "./src/deep/" }, true, "src/deep/ b.ts"],
  ["tree", { path: "lib" }, true, "there is no folder lib"],
  ["run", { command: "npm test" }, true, "Exit code 0.\nran npm test: ****"],
  ["run", { command: "false" }, false, "Exit code 1.\nran false: ****"],
  ["delete_all", {}, false, "there is no tool delete_all; there are read_file, search, tree, run"],
])("%s %j", async (name, args, ok, text) => {
  expect(await explorer.call({ id: "1", name, arguments: args })).toEqual({ ok, text });
});

test("what cannot be run is not offered", async () => {
  const { tools } = createExplorer({ project: () => project, request: "", limit: 100, mask: (text) => text });
  expect(tools.map(({ name }) => name)).toEqual(["read_file", "search", "tree"]);
  expect(JSON.stringify(explorer.tools).length).toBeLessThan(1_200);
});

test("a long text is read page by page: a file, a search, the output of a command", async () => {
  const lines = Array.from({ length: 400 }, (_, at) => `const line${at} = ${at};`);
  let runs = 0;
  const long = createExplorer({
    project: () =>
      memoryProject({
        "src/long.ts": `${lines.join("\n")}\n`,
        ...Object.fromEntries(
          Array.from({ length: 60 }, (_, at) => [`src/use-${at}.ts`, `needle(${at});${" x".repeat(90)}\n`]),
        ),
      }),
    request: "",
    limit: 2_000,
    mask: (text) => text,
    run: async () => {
      runs++;
      return ended(0, lines.join("\n"));
    },
  });
  const call = async (name: string, args: unknown) =>
    (await long.call({ id: "1", name, arguments: args })).text;
  const file = await call("read_file", { path: "src/long.ts" });
  const next = /\(cut; the next is src\/long\.ts:(\d+)-400\)$/.exec(file)?.[1];
  expect(file).toStartWith('<file path="src/long.ts" lines="1-');
  expect(file).not.toContain("not shown");
  expect(await call("read_file", { path: "src/long.ts", from: Number(next) })).toContain(
    `\nconst line${Number(next) - 1} =`,
  );
  const first = await call("search", { pattern: "needle" });
  const skip = Number(/more files \(skip_files: (\d+)\)/.exec(first)?.[1]);
  const second = await call("search", { pattern: "needle", skip_files: skip });
  expect(skip).toBeGreaterThan(0);
  expect(second).not.toContain("src/use-0.ts");
  expect(second).toContain("needle(");
  expect(await call("run", { command: "print" })).toContain("from: LINE");
  expect(await call("run", { command: "print", from: 200 })).toContain("\nconst line199 = 199;");
  expect(runs).toBe(1);
});

test("a search shows lines around each match where they are asked for, and all matches of a single file", async () => {
  const lines = Array.from({ length: 60 }, (_, at) => (at % 3 === 1 ? `  needle(${at});` : `  // ${at}`));
  const explorer = createExplorer({
    project: () => memoryProject({ "src/one.ts": `${lines.join("\n")}\n`, "src/two.ts": "other();\n" }),
    request: "",
    limit: 6_000,
    mask: (text) => text,
  });
  const search = async (args: object) =>
    (await explorer.call({ id: "1", name: "search", arguments: args })).text;
  const all = await search({ pattern: "needle" });
  expect(all.match(/needle\(/g)).toHaveLength(20);
  expect(all).not.toContain("more");
  const around = await search({ pattern: "needle\\(31\\)", context: 1 });
  expect(around).toBe(
    '<search pattern="needle\\(31\\)" lines="1" files="1">\nsrc/one.ts\n31-   // 30\n32:   needle(31);\n33-   // 32\n</search>',
  );
  expect(await search({ pattern: "needle\\((?:1|58)\\)", after: 1 })).toContain("3-   // 2\n…\n58-");
  expect(await search({ pattern: "needle", skip_files: 1 })).toContain(
    "all 1 files were skipped (skip_files)",
  );
  expect(await search({ pattern: "absent" })).toContain("nothing found");
});

test("a command that is refused is answered with the reason", async () => {
  const explorer = createExplorer({
    project: () => memoryProject({}),
    request: "",
    limit: 2_000,
    run: async () => ({ refused: "the folder is not trusted" }),
    mask: (text) => text,
  });
  expect(await explorer.call({ id: "1", name: "run", arguments: { command: "true" } })).toEqual({
    ok: false,
    text: "nothing can be run here: the folder is not trusted",
  });
});

describe("a long output", () => {
  const source = Array.from({ length: 400 }, (_, at) => [
    `    # the cut set of step ${at}, and why`,
    "    # it is not empty",
    `    cut_${at} = find(${at})`,
    "",
    "  ok 1 is what TAP would print",
    "  PASSED tests/test_a.py::test_b",
  ]).flat();
  const report = [
    ...Array.from({ length: 400 }, (_, at) => [`# title ${at}`, `ok ${at + 1} is equal`]).flat(),
    "not ok 401 is equal",
    "1..401",
    "# tests 401",
    "# pass 400",
    "# fail 1",
    "",
  ];
  const show = async (command: string, lines: readonly string[]) => {
    const explorer = createExplorer({
      project: () => memoryProject({}),
      request: "",
      limit: 8_000,
      run: async () => ended(1, lines.join("\n")),
      mask: (text) => text,
    });
    return (await explorer.call({ id: "1", name: "run", arguments: { command } })).text;
  };

  test.each([
    ["sed -n 95,235p kcutsets.py", source],
    ["cat kept.tap", report],
    ["npm test; cat kept.tap", report],
    ["npm test | grep -v x kept.tap", report],
    ["npm test", source],
  ])("of %s that is no report of tests keeps its head and tail", async (command, lines) => {
    const text = await show(command, lines);
    expect(text).not.toContain("did not fail");
    expect(text).toContain(`\n${lines.slice(0, 20).join("\n")}\n`);
  });

  test.each(["npm test", "cd pkg && CI=1 npm test 2>&1 | tail -n 900", "npx jest test/a.test.js"])(
    "of %s is the failure of its report",
    async (command) => {
      const text = await show(command, report);
      expect(text).toContain("… 800 lines about tests that did not fail …\nnot ok 401 is equal\n");
    },
  );
});

test("the pages of a command's output lead through all of it, also where one line is longer than a page", async () => {
  const output = ["first", "x".repeat(9_000), ...Array.from({ length: 900 }, (_, at) => `line ${at}`)].join(
    "\n",
  );
  const explorer = createExplorer({
    project: () => memoryProject({}),
    request: "",
    limit: 2_000,
    run: async () => ended(0, output),
    mask: (text) => text,
  });
  const seen: string[] = [];
  for (let from = 1, pages = 0; from > 0 && pages < 20; pages++) {
    const call = { id: "1", name: "run", arguments: { command: "print", from } };
    const { text } = await explorer.call(call);
    seen.push(...text.split("\n").filter((line) => /^(?:first|line \d+)$/.test(line)));
    from = Number(/\(from: (\d+) shows the next\)$/.exec(text)?.[1] ?? 0);
  }
  expect(seen).toEqual(output.split("\n").filter((line) => line.length < 100));
});

test("a run says how it ended, after how many seconds, and what limit it had", async () => {
  const asked: (number | undefined)[] = [];
  const results = [
    ended(0, "a", { seconds: 24.4 }),
    ended(null, "up to here", { outcome: "timed-out", seconds: 120 }),
    ended(null, "b", { outcome: "signaled", seconds: 3 }),
  ];
  const explorer = createExplorer({
    ...{ project: () => memoryProject({}), request: "", limit: 2_000, mask: (text: string) => text },
    run: async (_, seconds) => results[asked.push(seconds) - 1] ?? null,
  });
  const run = async (args: object) =>
    (await explorer.call({ id: "1", name: "run", arguments: { command: "make", ...args } })).text;
  expect(await run({})).toStartWith("Exit code 0 after 24 s.\na");
  const text = await run({ seconds: "400" });
  expect(text).toStartWith("Ended after 120 s, its limit (seconds: 1700 is the most that is left).");
  expect(text).toContain("\nup to here");
  expect(await run({ seconds: -1 })).toStartWith(
    "It was ended after 3 s: signaled. Its output up to there:\nb",
  );
  expect(asked).toEqual([undefined, 400, undefined]);
});

test("old results are masked ten at once, the last five and short ones stay, and a masked file can be read again", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => [`f${at}.ts`, `// ${at}\n${"x\n".repeat(1_000)}`]),
  );
  const masking = createExplorer({
    project: () => memoryProject(files),
    request: "",
    limit: 24_000,
    mask: (text) => text,
  });
  const looks = createCoderLooks({ explorer: masking, rounds: 100, tell: () => {} });
  const read = async (path: string) => {
    looks.sent(looks.woven([]));
    const call = { id: path, name: "read_file", arguments: { path } };
    await looks.take([], { text: "", toolCalls: [call] } as unknown as ModelAnswer);
  };
  const results = () =>
    looks
      .woven([])
      .filter(({ role }) => role === "tool")
      .map(({ text }) => text.length);
  const counts: number[] = [];
  for (let at = 0; at < 26; at++) {
    await read(`f${at}.ts`);
    counts.push(results().filter((length) => length < 400).length);
  }
  expect(counts.slice(12, 16)).toEqual([0, 0, 10, 10]);
  expect(counts.at(-1)).toBe(20);
  expect(counts.filter((count, at) => at > 0 && count !== counts[at - 1])).toEqual([10, 20]);
  const callIds = looks.woven([]).flatMap((message) => (message.role === "tool" ? [message.callId] : []));
  expect(callIds).toHaveLength(26);
  await read("f3.ts");
  expect(results().at(-1)).toBeGreaterThan(2_000);
});
