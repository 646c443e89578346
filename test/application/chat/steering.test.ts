import { afterEach, expect, test } from "bun:test";
import type { Reply } from "../../../src/application/ports/chat.ts";
import { proposal, replace } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const FAILING = proposal("First", "```txt:a.txt\none\n```\n```bash\nexit 3\n```");

test("a message that arrives while a coder works joins its next round and is acknowledged", async () => {
  let joined: Promise<Reply> | undefined;
  at = await openConversation((_, turn) => {
    if (turn > 0) return proposal("Second", replace("a.txt", "one", "two"));
    joined = at.send("make it two");
    return FAILING;
  });
  const reply = await at.send("/code3 write a.txt");
  expect(reply.ok).toBe(true);
  expect(at.asked[1]?.messages.at(-1)?.text).toEndWith("Meanwhile the user wrote:\nmake it two");
  expect(await joined).toMatchObject({
    ok: true,
    text: "The coder takes what you wrote into its next round.",
  });
  expect(at.tree()).toEqual({ "a.txt": "two\n" });
  expect(at.archive.list()).toHaveLength(1);
});

test("a green draft waits for a message that arrived meanwhile", async () => {
  let joined: Promise<Reply> | undefined;
  at = await openConversation((_, turn) => {
    if (turn > 0) return proposal("As it is", "");
    joined = at.send("is that all?");
    return proposal("First", "```txt:a.txt\none\n```");
  });
  const reply = await at.send("/code3 write a.txt");
  expect(reply).toMatchObject({ ok: true, jobs: [{ status: "applied" }] });
  expect(at.asked[1]?.messages.at(-1)?.text).toStartWith(
    "Nothing failed.\n\nMeanwhile the user wrote:\nis that all?",
  );
  expect((await joined)?.ok).toBe(true);
  expect(at.tree()).toEqual({ "a.txt": "one\n" });
});

test("a message that the coder did not take is answered in its own turn", async () => {
  let joined: Promise<Reply> | undefined;
  at = await openConversation(
    ({ role }) => {
      if (role === "chat") return "Hello.";
      joined ??= at.send("hello there", { forcedRoute: "CHAT" });
      return proposal("First", "```txt:a.txt\none\n```");
    },
    { config: "coder: { attempts: 1 }\n" },
  );
  const reply = await at.send("/code3 write a.txt");
  expect(reply.ok).toBe(true);
  expect((await joined)?.text).toBe("Hello.");
});

test("a command does not join: /stop ends the coder, and the workspace is as it was", async () => {
  let stopped: Promise<Reply> | undefined;
  at = await openConversation((_, turn) => {
    if (turn === 0) return FAILING;
    stopped = at.send("/stop");
    return "hangs-until-aborted";
  });
  at.write("b.txt", "mine\n");
  const reply = await at.send("/code3 write a.txt");
  expect(await stopped).toMatchObject({ ok: true, text: "Stopped what was running." });
  expect(reply.ok).toBe(false);
  expect(reply.text).toStartWith("Stopped, nothing changed");
  expect(at.tree()).toEqual({ "b.txt": "mine\n" });
});
