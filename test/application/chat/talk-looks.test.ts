import { afterEach, expect, test } from "bun:test";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const read = (path: string) => ({ calls: [{ name: "read_file", arguments: { path } }] });

test("a question about the project is answered from its files, also where nothing could be classified", async () => {
  at = await openConversation(({ role, messages }) => {
    if (role === "worker") return "It is surely a question, is it not?";
    const seen = messages.at(-1)?.text ?? "";
    return seen.includes("carts") ? "It sells carts." : { ...read("src/shop.js"), text: "Let me look." };
  });
  at.write("AGENTS.md", "Use tabs.\n");
  at.write("src/shop.js", "// sells carts\nexport function sell() {}\n");
  const reply = await at.send("what does this project do?");
  expect(reply).toMatchObject({ ok: true, decision: { route: "CHAT" } });
  expect(reply.text).toBe("Let me look.\n\nIt sells carts.");
  const [first] = at.of("chat");
  expect(first?.tools?.map(({ name }) => name)).toEqual(["read_file", "search", "tree"]);
  expect(first?.system).toContain("src/ shop.js");
  expect(first?.system).toContain("Use tabs.");
  expect(at.events.filter(({ type }) => type === "tool")).toEqual([
    { type: "tool", name: "read_file", state: "started", note: "src/shop.js" },
    { type: "tool", name: "read_file", state: "succeeded" },
  ]);
  const streamed = at.events.flatMap((event) => (event.type === "text" ? [event.text] : [])).join("");
  expect(streamed).toBe("Let me look.\n\nIt sells carts.");
});

test("what no model may see is not shown, and a call of anything else changes nothing", async () => {
  at = await openConversation(({ messages }) => {
    const calls = messages.filter(({ role }) => role === "tool").length;
    if (calls === 0) return read(".env");
    if (calls === 1) return { calls: [{ name: "file_edit", arguments: { path: "a.txt", content: "x" } }] };
    return "no";
  });
  at.write(".env", "KEY=hunter2\n");
  expect((await at.send("/chat what is the key?")).text).toBe("no");
  expect(JSON.stringify(at.asked)).not.toContain("hunter2");
  expect(Object.keys(at.tree())).toEqual([".env"]);
});

test("a model that takes no tools is asked without them", async () => {
  at = await openConversation(({ tools }) =>
    tools === undefined ? "plain words" : { fails: "bad-request", message: "does not support tools" },
  );
  expect(await at.send("/chat hello")).toMatchObject({ ok: true, text: "plain words" });
  expect(at.asked[1]?.system).not.toContain("Available MCP Tools");
});

test("a call that a small model writes as text is made, and not shown", async () => {
  at = await openConversation(({ messages }) =>
    messages.at(-1)?.role === "tool" ? "seen" : '{"name": "tree", "arguments": {}}',
  );
  at.write("a.txt", "x");
  expect((await at.send("/chat which files?")).text).toBe("seen");
  expect(at.events.flatMap((event) => (event.type === "text" ? [event.text] : [])).join("")).toBe("seen");
});

test("a model that only ever looks is asked for its words in the end", async () => {
  at = await openConversation(({ tools }) =>
    tools === undefined ? "that is all" : { calls: [{ name: "tree", arguments: {} }] },
  );
  at.write("a.txt", "x");
  expect((await at.send("/chat which files?")).text).toBe("that is all");
  expect(at.of("chat")).toHaveLength(12);
});
