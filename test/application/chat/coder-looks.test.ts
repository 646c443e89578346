import { afterEach, expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { requirePart } from "../../require.ts";
import { proposal, replace } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const cloud = { local: false };
const config = "security:\n  local_only: false\ncoder:\n  explore: 2\n";
const call = (name: string, args: unknown) => ({ name, arguments: args });

test("a cloud coder looks by tools, side by side, and what it saw stays where it was said", async () => {
  at = await openConversation(
    (_, turn) =>
      turn === 0
        ? {
            calls: [
              call("read_file", { path: "lib/deep.ts", from: 2, to: 2 }),
              call("search", { pattern: "two", context: 8 }),
            ],
          }
        : turn === 1
          ? proposal("p", replace("lib/deep.ts", "not there", "2"))
          : proposal("p", replace("lib/deep.ts", "two", "2")),
    { ...cloud, config },
  );
  for (let i = 0; i < 300; i++) at.write(`packages/part-${i}/index.ts`, `export const value${i} = ${i};\n`);
  at.write("lib/deep.ts", "one\ntwo\nthree\n");
  const reply = await at.send("/code3 raise it");
  expect(reply.ok).toBe(true);
  expect(at.read("lib/deep.ts")).toBe("one\n2\nthree\n");
  expect(at.events.flatMap((event) => (event.type === "notice" ? [event.text] : []))).toMatchObject([
    "Reading more files: lib/deep.ts:2-2",
    "Searching: two",
    expect.stringContaining("Try 1 of"),
  ]);
  const [first, second, third] = at.asked;
  expect(first?.tools?.map(({ name }) => name)).toEqual(["read_file", "search", "tree", "run", "delegate"]);
  expect(first?.system).not.toContain("## Files");
  expect(second?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool"]);
  expect(second?.messages[2]?.text).toBe('<file path="lib/deep.ts" lines="2-2 of 3">\ntwo\n</file>');
  expect(second?.messages[3]?.text).toEndWith("(1 round of calls is left)");
  // The beginning of each request is the whole of the one before: caches find it again.
  expect(third?.messages.slice(0, 4)).toEqual([...second!.messages]);
  expect(third?.messages.map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "tool",
    "tool",
    "assistant",
    "user",
  ]);
  expect(third?.system).toBe(second!.system as string);
});

test.if(requirePart("bwrap"))(
  "what it runs to try something out happens in a view that is thrown away",
  async () => {
    at = await openConversation(
      (_, turn) =>
        turn === 0
          ? { calls: [call("run", { command: "cat a.txt; echo left > behind.txt; exit 3" })] }
          : proposal("p", replace("a.txt", "one", "two")),
      { ...cloud, config },
    );
    at.write("a.txt", "one\n");
    const reply = await at.send("/code3 change a.txt");
    expect(reply.ok).toBe(true);
    expect(at.asked[1]?.messages[2]?.text).toBe("Exit code 3.\none\n\n(1 round of calls is left)");
    expect(at.read("a.txt")).toBe("two\n");
    expect(Object.keys(at.tree())).not.toContain("behind.txt");
    expect(at.events.find(({ type }) => type === "notice")).toMatchObject({
      text: "Running: cat a.txt; echo left > behind.txt; exit 3",
    });
  },
);

test.if(requirePart("bwrap"))(
  "what it runs finds the modules and programs that the checks find",
  async () => {
    at = await openConversation(
      (_, turn) =>
        turn === 0
          ? { calls: [call("run", { command: "only-here; echo $PYTHONPATH" })] }
          : proposal("p", replace("a.txt", "one", "two")),
      { ...cloud, config },
    );
    at.write("a.txt", "one\n");
    at.write("pyproject.toml", "[tool.pytest.ini_options]\n");
    at.write("src/own.py", "x = 1\n");
    at.write("tests/test_own.py", "def test_own(): pass\n");
    at.write(".venv/bin/only-here", "#!/bin/sh\necho found\n");
    chmodSync(join(at.workspace, ".venv/bin/only-here"), 0o755);
    await at.send("/code3 change a.txt");
    expect(at.asked[1]?.messages[2]?.text).toMatch(/^Exit code 0\.\nfound\n\/\S+\/src\n/);
  },
);

test("a call of any name and for any path is answered, and the next proposal counts", async () => {
  const names = Object.getOwnPropertyNames(Object.prototype);
  const paths = [
    "a\0b.txt",
    "a.txt/x",
    "shut/x.txt",
    "n".repeat(300),
    "d/".repeat(2_500),
    "\ud800",
    "../x",
    "",
  ];
  at = await openConversation(
    (_, turn) =>
      turn === 0
        ? {
            calls: [
              ...names.map((name) => call(name, { path: "a.txt" })),
              ...paths.flatMap((path) => ["read_file", "search", "tree"].map((name) => call(name, { path }))),
            ],
          }
        : proposal("p", turn === 1 ? replace("a\0b.txt", "x", "y") : replace("a.txt", "one", "two")),
    { ...cloud, config },
  );
  at.write("a.txt", "one\n");
  at.write("shut/x.txt", "closed\n");
  chmodSync(join(at.workspace, "shut"), 0);
  const reply = await at.send("/code3 change a.txt");
  chmodSync(join(at.workspace, "shut"), 0o755);
  expect(reply.text).not.toContain("unexpected");
  expect(reply.ok).toBe(true);
  expect(at.read("a.txt")).toBe("two\n");
  expect(at.asked[1]?.messages.filter(({ role }) => role === "tool")).toHaveLength(
    names.length + 3 * paths.length,
  );
});

test("a coder that only looks is asked to write, and then ends", async () => {
  at = await openConversation(() => ({ calls: [call("tree", {})], text: "I keep looking." }), {
    ...cloud,
    config,
  });
  at.write("a.txt", "one\n");
  const reply = await at.send("/code3 change a.txt");
  expect(at.asked).toHaveLength(6);
  expect(at.asked[3]?.messages.at(-1)?.text).toContain("no rounds of lookups are left");
  expect(reply.jobs).toEqual([]);
  expect(at.read("a.txt")).toBe("one\n");
});

test("a server that takes no tools is asked without them", async () => {
  at = await openConversation(
    ({ tools }) =>
      tools === undefined
        ? proposal("p", replace("a.txt", "one", "two"))
        : { fails: "bad-request", message: "tools are not supported" },
    { ...cloud, config },
  );
  at.write("a.txt", "one\n");
  expect((await at.send("/code3 change a.txt")).ok).toBe(true);
  expect(at.asked[1]?.system).toContain("## Files");
});

test("a local coder asks in words", async () => {
  at = await openConversation(() => proposal("p", ""));
  await at.send("/code3 write a poem");
  expect(at.asked[0]?.tools).toBeUndefined();
  expect(at.asked[0]?.system).toContain("## Files");
});

test("looking ends where the same calls bring nothing new, long before the rounds are used up", async () => {
  at = await openConversation(() => ({ calls: [call("tree", {})], text: "I keep looking." }), {
    ...cloud,
    config: "security:\n  local_only: false\n",
  });
  at.write("a.txt", "one\n");
  await at.send("/code3 change a.txt");
  expect(at.asked.length).toBeLessThan(9);
  expect(at.asked[2]?.messages.at(-1)?.text).toContain("this call returned the same result before");
  expect(JSON.stringify(at.asked.at(-1)?.messages)).toContain("no rounds of lookups are left");
});

test.if(requirePart("bwrap"))(
  "what it tries out stays for its next run, and a proposal begins anew",
  async () => {
    const run = (command: string) => ({ calls: [call("run", { command })] });
    at = await openConversation(
      (_, turn) =>
        [
          run("sed -i s/one/ONE/ a.txt; mkdir d; echo new > d/made.txt; rm b.txt"),
          run("cat a.txt d/made.txt; ls"),
          proposal("p", `${replace("a.txt", "not there", "x")}\n${replace("c.txt", "three", "3")}`),
          run("cat a.txt c.txt; ls"),
          proposal("p", replace("a.txt", "one", "two")),
        ][turn] ?? proposal("p", ""),
      { ...cloud, config: "security:\n  local_only: false\n" },
    );
    at.write("a.txt", "one\n");
    at.write("b.txt", "b\n");
    at.write("c.txt", "three\n");
    const reply = await at.send("/code3 change a.txt");
    expect(at.asked[2]?.messages.at(-1)?.text).toStartWith("Exit code 0.\nONE\nnew\na.txt\nc.txt\nd\n");
    expect(at.asked[4]?.messages.at(-1)?.text).toStartWith("Exit code 0.\none\n3\na.txt\nb.txt\nc.txt\n");
    expect(reply.ok).toBe(true);
    expect(Object.keys(at.tree())).not.toContain("d/made.txt");
    expect([at.read("a.txt"), at.read("b.txt"), at.read("c.txt")]).toEqual(["two\n", "b\n", "3\n"]);
  },
);

test("a file that was already shown whole is not sent again while it is unchanged", async () => {
  const read = { calls: [call("read_file", { path: "lib/deep.ts" })] };
  at = await openConversation(
    (_, turn) => (turn === 0 ? read : proposal("p", replace("lib/deep.ts", "two", "2"))),
    { ...cloud, config },
  );
  at.write("lib/deep.ts", "one\ntwo\nthree\n");
  expect((await at.send("/code3 raise it in lib/deep.ts")).ok).toBe(true);
  expect(at.asked[0]?.messages[0]?.text).toContain('<file path="lib/deep.ts">\none\ntwo\nthree\n</file>');
  const told = at.asked[1]?.messages.at(-1)?.text;
  expect(told).toStartWith("(lib/deep.ts is already above, whole and unchanged)");
});

test.if(requirePart("bwrap"))(
  "what it runs ends at the limit that it asked for, and shows its output up to there",
  async () => {
    const command = "echo first; tail -f /dev/null";
    at = await openConversation(
      (_, turn) =>
        turn === 0
          ? { calls: [call("run", { command, seconds: 1 })] }
          : proposal("p", replace("a.txt", "one", "two")),
      { ...cloud, config },
    );
    at.write("a.txt", "one\n");
    expect((await at.send("/code3 change a.txt")).ok).toBe(true);
    expect(at.asked[1]?.messages[2]?.text).toMatch(
      /^Ended after 1 s, its limit \(seconds: \d+ [^)]*\)\.[^\n]*\nfirst\n/,
    );
  },
);
