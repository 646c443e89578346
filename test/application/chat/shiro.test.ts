import { afterEach, describe, expect, test } from "bun:test";
import { proposal, worked } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const write = (path: string, content: string) => ({
  calls: [{ name: "write_file", arguments: { path, content } }],
});

describe("the tool loop", () => {
  test("tools are offered and called, results go back masked, and the answer is the result of the contract", async () => {
    at = await openConversation((_, turn) =>
      turn === 0
        ? { calls: [{ name: "read_file", arguments: { path: "a.txt" } }] }
        : worked("It says hello."),
    );
    at.write("a.txt", "hello\nAPI_KEY=abcdef1234567890abcdef\n");
    const reply = await at.send("/analyze what is in a.txt?");
    expect(reply).toMatchObject({ ok: true, text: "It says hello.", jobs: [] });
    expect(at.asked[0]?.tools?.map(({ name }) => name)).toContain("execute_command");
    expect(at.asked[0]?.system).toMatch(/^You are Shiro .*# Available MCP Tools\n- .*# Behavior Rules\n/s);
    const result = at.asked[1]?.messages.at(-1);
    expect(result).toMatchObject({ role: "tool", name: "read_file" });
    expect(result?.text).toContain("hello");
    expect(result?.text).not.toContain("abcdef1234567890abcdef");
    expect(at.events.filter(({ type }) => type === "tool")).toEqual([
      { type: "tool", name: "read_file", state: "started" },
      { type: "tool", name: "read_file", state: "succeeded" },
    ]);
  });

  test("a new file that matches a protected pattern is reported", async () => {
    at = await openConversation((_, turn) =>
      turn === 0
        ? { calls: [{ name: "execute_command", arguments: { command: "echo k=v > .env" } }] }
        : worked("Done."),
    );
    const reply = await at.send("/ops make it");
    expect(reply.text).toContain("New files match a protected pattern:\n  .env");
  });

  test("changes are reported from the jobs, regardless of the model's claims, and /undo undoes the whole message", async () => {
    at = await openConversation(
      (_, turn) =>
        [write("a.txt", "1\n"), write("b.txt", "2\n"), worked("I changed nothing at all.")][turn] ??
        worked(""),
    );
    const reply = await at.send("/ops set it up");
    expect(reply.text).toStartWith("Applied\n\nI changed nothing at all.\n\n");
    expect(reply.text).toContain("A a.txt");
    expect(reply.text).toContain("A b.txt");
    expect(reply.text).toContain("/undo");
    expect(reply.jobs).toHaveLength(2);
    expect(at.tree()).toEqual({ "a.txt": "1\n", "b.txt": "2\n" });
    const undone = await at.send("/undo");
    expect(undone.text).toContain("Changed files: 2\n  D b.txt\n  D a.txt\n");
    expect(at.tree()).toEqual({});
    expect((await at.send("/redo")).ok).toBe(true);
    expect(at.tree()).toEqual({ "a.txt": "1\n", "b.txt": "2\n" });
  });

  test("a failed command and its reason are reported from the jobs, regardless of the model's claims", async () => {
    const command = "echo 1 > a.txt; echo 'no identity' >&2; exit 3";
    at = await openConversation((_, turn) =>
      turn === 0 ? { calls: [{ name: "execute_command", arguments: { command } }] } : worked("Committed."),
    );
    const reply = await at.send("/ops commit this");
    expect(reply.text).toStartWith("Applied, 1 command failed\n\nCommitted.\n\n");
    expect(reply.text).toContain(`\n✗ ${command}: command failed: exit status 3: no identity\n`);
  });

  test("a command that changes nothing reports no change", async () => {
    at = await openConversation((_, turn) =>
      turn === 0
        ? { calls: [{ name: "execute_command", arguments: { command: "echo hello" } }] }
        : worked("."),
    );
    await at.send("/ops say hello");
    expect(at.asked[1]?.messages.at(-1)?.text).not.toContain("changed:");
  });

  test("a call that a small model wrote as text is made", async () => {
    at = await openConversation((_, turn) =>
      turn === 0
        ? '```json\n{"name": "write_file", "arguments": {"path": "a.txt", "content": "1\\n"}}\n```'
        : worked("Done."),
    );
    const reply = await at.send("/ops write a.txt");
    expect(reply.ok).toBe(true);
    expect(at.tree()).toEqual({ "a.txt": "1\n" });
  });

  test("an unknown tool, bad arguments and a refused path are results, not crashes", async () => {
    at = await openConversation((_, turn) =>
      turn === 0
        ? {
            calls: [
              { name: "no_such_tool", arguments: {} },
              { name: "read_file", arguments: "not json" },
              { name: "read_file", arguments: { path: "../../etc/passwd" } },
            ],
          }
        : worked("Could not."),
    );
    const reply = await at.send("/analyze x");
    expect(reply.ok).toBe(true);
    const results = at.asked[1]?.messages.filter(({ role }) => role === "tool").map(({ text }) => text);
    expect(results?.[0]).toContain("UNKNOWN_TOOL");
    expect(results?.[1]).toContain("the arguments of this call are not valid JSON");
    expect(results?.[2]).toContain("OUTSIDE_WORKSPACE");
  });

  test("words that are not JSON are the answer", async () => {
    at = await openConversation(() => "Just words.");
    expect(await at.send("/research x")).toMatchObject({ ok: true, text: "Just words." });
  });
});

describe("limits", () => {
  test("needs_next_loop continues until it is false", async () => {
    at = await openConversation((_, turn) => worked(`step ${turn}`, { needs_next_loop: turn < 2 }));
    expect((await at.send("/analyze x")).text).toBe("step 2");
    expect(at.asked).toHaveLength(3);
  });

  test("max_loops ends it and says so", async () => {
    at = await openConversation((_, turn) => worked(`step ${turn}`, { needs_next_loop: true }));
    const reply = await at.send("/analyze x");
    expect(at.asked).toHaveLength(5);
    expect(reply.text).toBe(
      "step 4\n\nStopped after 5 rounds, the most for one message (loop.max_loops); this is how far it got.",
    );
  });

  test("max_millis ends a model that does not answer, and says which limit it was", async () => {
    at = await openConversation(() => "hangs-until-aborted", { config: "loop: { max_millis: 60 }\n" });
    const reply = await at.send("/analyze x");
    expect(reply.ok).toBe(false);
    expect(reply.text).toContain("the time limit was reached");
    expect(reply.text).toContain("loop.max_millis");
  });

  test("tool calls of an answer that was cut off by its length are not run, and the model learns why", async () => {
    const write = { name: "write_file", arguments: { path: "a.txt", content: "half of" } };
    at = await openConversation((_, turn) =>
      turn === 0 ? { calls: [write], finish: "length" } : worked("I will write less."),
    );
    expect(await at.send("/ops write a.txt")).toMatchObject({
      ok: true,
      text: "I will write less.",
      jobs: [],
    });
    expect(at.tree()).toEqual({});
    const [result] = at.asked[1]?.messages.filter(({ role }) => role === "tool") ?? [];
    expect(result?.text).toStartWith("refused: your answer was cut off at its maximum length");
  });

  test("the same failing call, made again and again, ends the work, and the reply says so", async () => {
    at = await openConversation(() => ({ calls: [{ name: "read_file", arguments: { path: "none.txt" } }] }));
    const reply = await at.send("/analyze x");
    expect(reply).toMatchObject({
      ok: false,
      text: "The same call of read_file failed repeatedly; this is how far it got.",
    });
    expect(at.asked).toHaveLength(5);
  });

  test("an answer that was cut at its end is said to be cut", async () => {
    at = await openConversation(() => ({ text: "The log says that", finish: "length" }));
    expect((await at.send("/analyze x")).text).toBe(
      "The log says that\n\nNote: the answer reached the length limit (max_tokens) and was cut off.",
    );
  });
});

describe("the one automatic re-route", () => {
  const advice = (more: Record<string, unknown>) =>
    worked("Not for me.", { suggested_route: "CODE3", confidence: 0.9, fit: 0.1, ...more });

  test("happens with confidence ≥ 0.8 and fit < 0.3, and both answers are one reply", async () => {
    at = await openConversation(({ role }) =>
      role === "worker" ? advice({ confidence: 0.8 }) : proposal("Write it", "```txt:a.txt\nx\n```"),
    );
    const reply = await at.send("write a.txt for me", { forcedRoute: "OPS" });
    expect(at.asked.map(({ role }) => role)).toEqual(["worker", "coder3"]);
    expect(reply.text).toStartWith("【Shiro】\nNot for me.\n\n【Gin】\n");
    expect(at.tree()).toEqual({ "a.txt": "x\n" });
    expect(reply.jobs).toHaveLength(1);
    // The second decision is the one that `/why` explains.
    expect((await at.send("/why")).text).toContain("CODE3");
    expect((await at.send("/why")).text).toContain("Handed over from OPS to CODE3.");
  });

  test.each([
    ["the confidence is below", { confidence: 0.79 }],
    ["it fits well enough", { fit: 0.3 }],
    ["the route is the same", { suggested_route: "OPS" }],
    ["the route is unknown", { suggested_route: "MAGIC" }],
  ])("does not happen when %s", async (_, more) => {
    at = await openConversation(() => advice(more));
    await at.send("x", { forcedRoute: "OPS" });
    expect(at.asked).toHaveLength(1);
  });

  test("never leaves a route that the user named; the other one is offered", async () => {
    at = await openConversation(() => advice({ confidence: 1 }));
    const reply = await at.send("/ops write a.txt for me");
    expect(at.asked.map(({ role }) => role)).toEqual(["worker"]);
    expect(reply.actions).toMatchObject([{ label: "Ask CODE3", message: "/code3 write a.txt for me" }]);
  });

  test("happens once only", async () => {
    at = await openConversation((_, turn) =>
      worked("No.", { suggested_route: turn === 0 ? "ANALYZE" : "RESEARCH", fit: 0, confidence: 1 }),
    );
    await at.send("x", { forcedRoute: "OPS" });
    expect(at.asked).toHaveLength(2);
  });
});

test("several routes in one message are answered in order, in one reply and one group", async () => {
  at = await openConversation(({ role }) =>
    role === "worker" ? worked("Two files.") : proposal("Write it", "```txt:a.txt\nx\n```"),
  );
  const reply = await at.send("/analyze how many files?\n/code3 write a.txt\nwith an x");
  expect(reply.text).toStartWith("【Shiro · ANALYZE】\nTwo files.\n\n【Gin · CODE3】\n");
  expect(at.of("coder3")[0]?.messages.at(-1)?.text).toEndWith("write a.txt\nwith an x");
});

test("once the window was too small, the next calls are small from the start", async () => {
  at = await openConversation((_, turn) =>
    turn === 0
      ? { fails: "context-too-long" }
      : turn < 3
        ? { calls: [{ name: "tree", arguments: {} }] }
        : worked("Done."),
  );
  expect((await at.send("/analyze x")).text).toBe("Done.");
  expect(at.asked).toHaveLength(4);
  expect(at.events.filter(({ type }) => type === "notice")).toHaveLength(1);
});

test("a cloud coder learns which files Shiro has just changed, and nothing of the conversation", async () => {
  const answer: Parameters<typeof openConversation>[0] = (request, turn) => {
    if (request.tools?.some(({ name }) => name === "write_file"))
      return turn === 0 ? write("limits.txt", "rate = 5\n") : worked("The private limit is five.");
    return proposal("Go on.", "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+b\n");
  };
  at = await openConversation(answer, { local: (role) => role === "chat" || role === "worker" });
  await at.send("/ops write down the limit that my boss told me");
  await at.send("/code3 now also write b.txt");
  const [told = ""] = at.asked.at(-1)?.messages.map(({ text }) => text) ?? [];
  expect(told).toMatch(
    /# Just changed in this conversation, by another route\n- #\d+: Done: added limits\.txt\./,
  );
  expect(told).not.toContain("boss");
  expect(told).not.toContain("private limit");
});

test("words without the object are asked for again once, and are the answer where they stay words", async () => {
  const object = JSON.stringify({
    result: "all is well",
    needs_next_loop: false,
    confidence: 0.9,
    risk: "low",
  });
  at = await openConversation((_, turn) => (turn === 0 ? "All is well." : object));
  expect((await at.send("/analyze the log")).text).toBe("all is well");
  expect(at.of("worker")).toHaveLength(2);
  expect(at.of("worker")[1]?.messages.at(-1)?.text).toContain("one JSON object");
  await at.close();
  at = await openConversation((_, turn) => `words ${turn}`);
  expect((await at.send("/analyze the log")).text).toBe("words 0");
  expect(at.of("worker")).toHaveLength(2);
});
