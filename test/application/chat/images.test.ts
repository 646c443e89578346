/** Images of a message on their way to a model that sees, and to one that does not. */
import { afterEach, describe, expect, test } from "bun:test";
import { PNG, PNG_BASE64 } from "../../fakes/pictures.ts";
import { proposal } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const IMAGE = { mediaType: "image/png", data: PNG_BASE64 } as const;
const keep = async (key = "cli:default", bytes = PNG) => {
  const kept = await at.images().keep(key, [{ name: "shot.png", bytes }]);
  if (!kept.ok) throw new Error(kept.trouble.kind);
  return kept.images;
};
const imagesOf = (role: "chat" | "worker" | "coder3") =>
  at
    .of(role)
    .map(({ messages }) => messages.flatMap((one) => (one.role === "user" ? (one.images ?? []) : [])));

describe("a model that sees", () => {
  test("is shown the image with its message, and again with the next ones", async () => {
    at = await openConversation(() => "A red pixel.", { seesImages: true });
    expect(await at.send("/chat what is this?", { images: await keep() })).toMatchObject({ ok: true });
    expect(imagesOf("chat")).toEqual([[IMAGE]]);
    await at.send("/chat and its colour?");
    const [asked] = at.of("chat").slice(-1);
    expect(asked?.messages[0]).toMatchObject({
      role: "user",
      text: "what is this?\n[image: shot.png]",
      images: [IMAGE],
    });
    expect(asked?.messages.at(-1)).toEqual({ role: "user", text: "and its colour?" });
  });

  test("is shown one that has no text", async () => {
    at = await openConversation(() => "A red pixel.", { seesImages: true });
    await at.send("", { images: await keep(), forcedRoute: "CHAT" });
    expect(at.of("chat").at(-1)?.messages.at(-1)).toEqual({
      role: "user",
      text: "[image: shot.png]",
      images: [IMAGE],
    });
  });

  test("works as a coder and with tools", async () => {
    at = await openConversation(
      ({ role }) =>
        role === "coder3"
          ? proposal("Do it", "```txt:a.txt\nred\n```")
          : JSON.stringify({ result: "red", needs_next_loop: false, confidence: 1, fit: 1 }),
      { seesImages: true },
    );
    await at.send("/code3 write its colour into a.txt", { images: await keep() });
    expect(at.read("a.txt")).toBe("red\n");
    expect(imagesOf("coder3")[0]).toEqual([IMAGE]);
    await at.send("/analyze the picture", { images: await keep() });
    expect(imagesOf("worker")[0]).toEqual([IMAGE, IMAGE]);
  });
});

test("a model with unknown abilities gets the image of the message, and none of earlier ones", async () => {
  at = await openConversation(() => "A red pixel.");
  await at.send("/chat what is this?", { images: await keep() });
  await at.send("/chat and its colour?");
  expect(imagesOf("chat")).toEqual([[IMAGE], []]);
});

test("a model that refuses images is not asked about anything else, and the reason is said", async () => {
  at = await openConversation(() => ({ fails: "no-images", message: "fake (chat) does not see images" }));
  const reply = await at.send("/chat what is this?", { images: await keep() });
  expect(reply).toMatchObject({ ok: false });
  expect(reply.text).toContain("does not see images");
  expect(reply.text).toContain("/model chat");
});

test("an image of one chat is not found in another, and one that is gone is said to be", async () => {
  at = await openConversation(() => "What image?", { seesImages: true });
  const images = await keep("cli:other");
  const reply = await at.send("/chat what is this?", { images });
  expect(reply).toMatchObject({ ok: false });
  expect(reply.text).toContain("shot.png");
  expect(at.of("chat")).toEqual([]);
});

test("a message with an image does not join a coder at work: it waits for its turn", async () => {
  const steered: unknown[] = [];
  at = await openConversation(
    async ({ role }) => {
      if (role !== "coder3") return "A red pixel.";
      const message = {
        channel: "cli",
        chatId: "default",
        text: "look at this",
        images: [{ id: "x", name: "a" }],
      };
      steered.push(at.conversation.interrupts(message), at.conversation.steer(message, AbortSignal.abort()));
      return proposal("Do it", "```txt:a.txt\nx\n```");
    },
    { seesImages: true },
  );
  await at.send("/code3 write a.txt");
  expect(steered).toEqual([false, null]);
});
