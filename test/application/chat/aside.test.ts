import { afterEach, expect, test } from "bun:test";
import { proposal } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

/** A coder that holds its answer back until it is let go. */
async function openBusy(locale: "en" | "ja" = "en") {
  const asked = Promise.withResolvers<void>();
  const goes = Promise.withResolvers<void>();
  at = await openConversation(
    async ({ role }) => {
      if (role === "chat") return "It is noon.";
      asked.resolve();
      await goes.promise;
      return proposal("Write a.txt", "```txt:a.txt\na\n```");
    },
    { locale },
  );
  return { asked: asked.promise, go: goes.resolve };
}

for (const [question, locale] of [
  ["btw, what time is it?", "en"],
  ["/btw what time is it?", "en"],
  ["ところで、今何時？", "ja"],
] as const)
  test(`${question}: answered beside the running work, which continues unaffected`, async () => {
    const { asked, go } = await openBusy(locale);
    const work = at.send("/code3 write a.txt");
    await asked;
    const message = { channel: "cli", chatId: "default", text: question };
    expect(at.conversation.interrupts(message)).toBe(true);
    expect(at.conversation.steer(message, new AbortController().signal)).toBeNull();
    const aside = await at.send(question);
    expect([aside.ok, aside.text]).toEqual([
      true,
      `It is noon.\n\n${locale === "en" ? "The work continues." : "作業は続いています。"}`,
    ]);
    const told = at.asked.find(({ role }) => role === "chat");
    expect(told?.system).toContain("Request: /code3 write a.txt");
    go();
    const reply = await work;
    expect(reply.ok).toBe(true);
    expect(at.read("a.txt")).toBe("a\n");
    // The coder was asked once, and its request says nothing of the question.
    expect(at.asked.filter(({ role }) => role === "coder3")).toHaveLength(1);
    // It is not remembered either.
    await at.send("/chat and now?");
    expect(JSON.stringify(at.asked.at(-1)?.messages)).not.toContain("noon");
  });

test("without running work the sentence is an ordinary message, and an empty question is refused", async () => {
  at = await openConversation(() => "Noon.");
  const message = { channel: "cli", chatId: "default", text: "btw, what time is it?" };
  expect(at.conversation.interrupts(message)).toBe(false);
  expect((await at.send("/btw")).text).toBe("What do you want to know? /btw QUESTION");
});

test("a coder's request contains the notes that the user asked to keep", async () => {
  at = await openConversation(() => "Nothing to do.", { local: (role) => role === "chat" });
  await at.send("/memo indent = tabs");
  await at.send("/code3 tidy up");
  expect(JSON.stringify(at.asked.at(-1)?.messages)).toContain("indent = tabs");
});
