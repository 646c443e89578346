import { expect, test } from "bun:test";
import { conversePlainly } from "../../../src/adapters/cli/chat-plain.ts";
import { exportCommand } from "../../../src/adapters/cli/chats.ts";
import type { CliProgram, OpenedChat } from "../../../src/adapters/cli/program.ts";
import type { Conversation } from "../../../src/application/ports/chat.ts";
import { chatMessagesFor } from "../../../src/domain/texts/chat.ts";
import { terminalMessagesFor } from "../../../src/domain/texts/cli-terminal.ts";
import { replyOf } from "../../fakes/conversation.ts";

type Opened = Extract<OpenedChat, { ok: true }>;

/** A terminal whose lines a test types, on a conversation whose first message waits until it is let go. */
function openPlain(steer: Conversation["steer"]) {
  const sent: string[] = [];
  const shown = { text: "" };
  const typed: string[] = [];
  let woken = Promise.withResolvers<void>();
  const first = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const conversation: Conversation = {
    interrupts: ({ text }) => text.startsWith("/jobs"),
    needsNoModel: () => false,
    steer,
    async handle({ text }) {
      sent.push(text);
      if (text === "work") {
        begun.resolve();
        await first.promise;
      }
      return replyOf(`re: ${text}`);
    },
  };
  const program = {
    version: "1",
    cwd: "/",
    out: (text: string) => {
      shown.text += text;
    },
    terminalHost: async () => ({
      async *lines() {
        for (;;) {
          for (let line = typed.shift(); line !== undefined; line = typed.shift()) yield line;
          await woken.promise;
          woken = Promise.withResolvers();
        }
      },
      readFile: () => null,
    }),
  };
  const opened = {
    conversation,
    chat: chatMessagesFor("en"),
    workspace: { root: "/" },
    images: {},
    who: async () => ({ chat: "m", coder: "c" }),
    close: async () => {},
  };
  const ended = conversePlainly(program as unknown as CliProgram, opened as unknown as Opened, {
    texts: terminalMessagesFor("en"),
    chatId: "default",
    route: undefined,
    first: null,
  });
  return {
    sent,
    shown,
    ended,
    begun: begun.promise,
    letGo: first.resolve,
    type(...lines: string[]) {
      typed.push(...lines);
      woken.resolve();
    },
    async until(text: string) {
      for (let n = 0; n < 1000 && !shown.text.includes(text); n++)
        await new Promise((go) => setTimeout(go, 1));
      expect(shown.text).toContain(text);
    },
  };
}

test("words typed while a coder works join its round; a look is answered at once", async () => {
  const joined: string[] = [];
  const at = openPlain(({ text }) => {
    if (text.startsWith("/")) return null;
    joined.push(text);
    return Promise.resolve(true);
  });
  at.type("work");
  await at.begun;
  at.type("also an empty cart", "/jobs");
  await at.until("re: /jobs");
  expect(joined).toEqual(["also an empty cart"]);
  expect(at.shown.text).toContain("The coder takes what you wrote into its next round.");
  at.letGo();
  await at.until("re: work");
  at.type("exit");
  expect(await at.ended).toBe(0);
  expect(at.sent).toEqual(["work", "/jobs"]);
});

test("what no round took is the next message, in the order in which it was typed", async () => {
  const late = Promise.withResolvers<boolean>();
  const at = openPlain(({ text }) => (text === "late" ? late.promise : null));
  at.type("work");
  await at.begun;
  at.type("late", "then this");
  await at.until("joins its next round");
  late.resolve(false);
  at.letGo();
  await at.until("re: then this");
  at.type("exit");
  await at.ended;
  expect(at.sent).toEqual(["work", "late", "then this"]);
});

test("an exported conversation has no character that steers a terminal", async () => {
  let out = "";
  const opened = { ok: true, warnings: [], exportTalk: async () => "+\u001b[2Jx\n", close: async () => {} };
  const program = { cwd: "/", openChat: async () => opened, out: (text: string) => (out += text) };
  const flags = { values: {}, words: [] };
  if (!("run" in exportCommand)) throw new Error("export has no actions");
  expect(await exportCommand.run(program as unknown as CliProgram, flags)).toBe(0);
  expect(out).toBe("+[2Jx\n");
});
