/** `/rewind`: every later job newest first, all or nothing, listed first, redoable; the history forgets and remembers. */
import { afterEach, describe, expect, test } from "bun:test";
import { proposal } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

/** Writes the file that the request names, with the number of the request in it. */
const writer = async (locale: "en" | "ja" = "en") =>
  openConversation(
    ({ messages }, n) => {
      const name = /(\w+\.txt)\s*$/.exec(messages.at(-1)?.text ?? "")?.[1] ?? "none.txt";
      return proposal(`Write ${name}`, `\`\`\`txt:${name}\n${name} ${n}\n\`\`\``);
    },
    { locale },
  );
const files = () => Object.keys(at.tree()).sort();
const lastRequest = () =>
  at.asked
    .at(-1)
    ?.messages.map(({ text }) => text)
    .join("\n") ?? "";

describe("/rewind", () => {
  test("lists the messages, then the jobs to undo, then undoes and forgets them", async () => {
    at = await writer();
    for (const name of ["a.txt", "b.txt", "b.txt", "c.txt"]) await at.send(`/code3 ${name}`);
    const list = await at.send("/rewind");
    expect(list.text).toMatch(/^1 {2}\d\d:\d\d {2}a\.txt {2}\(1 file\)\n2 {2}/);
    const plan = await at.send("/rewind 1");
    expect(plan.text).toContain("Back to message 1. This is undone, all of it or nothing:");
    expect(plan.text.match(/#\d+: \S+/g)?.map((line) => line.split(": ")[1])).toEqual([
      "c.txt",
      "b.txt",
      "b.txt",
    ]);
    expect(plan.actions).toMatchObject([{ label: "Rewind", message: "/rewind 1 --yes" }]);
    expect(files()).toEqual(["a.txt", "b.txt", "c.txt"]);
    const done = await at.send("/rewind 1 --yes");
    expect(done).toMatchObject({ ok: true, actions: [{ message: "/rewind redo" }] });
    expect(files()).toEqual(["a.txt"]);
    await at.send("/code3 d.txt");
    expect([lastRequest().includes("a.txt"), lastRequest().includes("c.txt")]).toEqual([true, false]);
    expect((await at.send("/rewind")).text).not.toContain("c.txt");
  });

  test("stays within its conversation and says how the one before is reached", async () => {
    at = await writer();
    expect((await at.send("/rewind")).text).not.toContain("/resume");
    for (const name of ["a.txt", "b.txt"]) await at.send(`/code3 ${name}`);
    await at.send("/new");
    const told = "Only messages of this conversation are listed.";
    expect((await at.send("/rewind")).text).toContain(told);
    await at.send("/code3 c.txt");
    for (const asked of ["/rewind", "/rewind 9"]) expect((await at.send(asked)).text).toContain(told);
    expect(await at.send("/resume")).toMatchObject({ ok: true });
    const list = (await at.send("/rewind")).text;
    expect(list).toMatch(/^1 .*a\.txt.*\n2 .*b\.txt.*\n3 .*c\.txt/);
    expect(list).not.toContain(told);
    expect(await at.send("/rewind 1 --yes")).toMatchObject({ ok: true });
    expect(files()).toEqual(["a.txt"]);
  });

  test("is brought in again, files and history", async () => {
    at = await writer();
    for (const name of ["a.txt", "b.txt", "b.txt"]) await at.send(`/code3 ${name}`);
    const before = at.tree();
    await at.send("/rewind 0 --yes");
    expect(files()).toEqual([]);
    expect(await at.send("/rewind redo")).toMatchObject({ ok: true });
    expect(at.tree()).toEqual(before);
    await at.send("/code3 d.txt");
    expect(lastRequest()).toContain("b.txt");
    expect((await at.send("/rewind redo")).ok).toBe(false);
  });

  test("changes nothing if one of the jobs cannot be undone", async () => {
    at = await writer();
    for (const name of ["a.txt", "b.txt", "c.txt"]) await at.send(`/code3 ${name}`);
    at.write("b.txt", "mine\n");
    const reply = await at.send("/rewind 1 --yes");
    expect(reply.ok).toBe(false);
    expect(reply.text).toContain("b.txt");
    expect(reply.text).toContain("files and conversation are as they were");
    expect(files()).toEqual(["a.txt", "b.txt", "c.txt"]);
    expect(at.read("b.txt")).toBe("mine\n");
    expect(at.archive.list().map(({ state }) => state)).toEqual(["committed", "committed", "committed"]);
    await at.send("/code3 d.txt");
    expect(lastRequest()).toContain("c.txt");
  });

  test("leaves the jobs of other chats alone, and says what it does not know", async () => {
    at = await writer("ja");
    await at.send("/code3 a.txt");
    await at.send("/code3 z.txt", { channel: "slack", chatId: "C1:1.2" });
    expect((await at.send("/rewind 7")).text).toContain("/rewind 番号");
    expect((await at.send("/rewind 1")).text).toBe("戻る対象がありません。");
    expect((await at.send("/rewind 0 --yes")).text).toStartWith("取り消しました");
    expect(files()).toEqual(["z.txt"]);
  });

  test("undoes a preview that was applied after the message, though it was made before", async () => {
    at = await writer();
    await at.send("/preview a.txt");
    await at.send("/code3 b.txt");
    await at.send("/apply");
    await at.send("/rewind 2 --yes");
    expect(files()).toEqual(["b.txt"]);
  });

  test("redoes what was undone after the message, in one step with the later changes", async () => {
    at = await writer();
    for (const name of ["a.txt", "b.txt"]) await at.send(`/code3 ${name}`);
    const before = at.tree();
    await at.send("/undo");
    await at.send("/code3 b.txt");
    const later = at.tree();
    const plan = await at.send("/rewind 2");
    expect(plan.text).toMatch(/This is undone, .*\n.*: b\.txt\nThis is applied again:\n.*: b\.txt\n/);
    expect((await at.send("/rewind 2 --yes")).text).toMatch(/^Undone\n.*b\.txt\nApplied\n.*b\.txt\n/);
    expect(at.tree()).toEqual(before);
    expect((await at.send("/rewind 2")).ok).toBe(false);
    expect((await at.send("/rewind redo")).ok).toBe(true);
    expect(at.tree()).toEqual(later);
    at.write("b.txt", "mine\n");
    expect((await at.send("/rewind 2 --yes")).text).toContain("files and conversation are as they were");
    expect(at.archive.list().map(({ state }) => state)).toEqual(["committed", "undone", "committed"]);
  });

  test("leaves alone what was undone and redone since", async () => {
    at = await writer();
    await at.send("/code3 a.txt");
    await at.send("/undo");
    await at.send("/redo");
    expect((await at.send("/rewind 1 --yes")).text).toStartWith("No change\n");
    await at.send("/undo");
    expect((await at.send("/rewind 0")).text).toContain("No file changes.");
    await at.send("/rewind 1 --yes");
    expect(files()).toEqual(["a.txt"]);
  });
});
