/** Drafts with processes: checks under the landing turn, our own commits on the HEAD of now, commands that run again. */
import { afterEach, expect } from "bun:test";
import { execFileSync } from "node:child_process";
import { withChecks } from "../../e2e/node-project.ts";
import { findOwnLeftovers } from "../../left-behind.ts";
import { proposal, replace } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const git = (...args: readonly string[]) =>
  execFileSync("git", ["-c", "user.name=T", "-c", "user.email=t@example.com", ...args], {
    cwd: at.workspace,
    encoding: "utf8",
  });
const requestOf = (messages: readonly { readonly text: string }[]) =>
  messages[0]?.text.split("Request:").at(-1) ?? "";

function createGate(count: number) {
  const open = Promise.withResolvers<void>();
  let waiting = 0;
  return async () => {
    if (++waiting === count) open.resolve();
    await open.promise;
  };
}

withChecks("eight auto-committed files at once are eight commits, each with its own file", async () => {
  const gate = createGate(8);
  at = await openConversation(
    async ({ messages }) => {
      const number = /file (\d)/.exec(requestOf(messages))?.[1] ?? "";
      await gate();
      return proposal(`Write ${number}`, `\`\`\`txt:f${number}.txt\n${number}\n\`\`\``);
    },
    { config: "worker: { auto_commit: true }\n" },
  );
  at.write("README", "x\n");
  git("init", "-q");
  git("add", "-A");
  git("commit", "-qm", "first");
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, number) =>
      at.send(`/code3 write file ${number}`, { chatId: `c${number}` }),
    ),
  );
  expect(replies.map(({ ok }) => ok)).toEqual(Array.from({ length: 8 }, () => true));
  const commits = git("log", "--format=>%p", "--name-only", "--reverse")
    .split(">")
    .slice(2)
    .map((one) => one.trim().split("\n"));
  expect(commits.map((lines) => lines.length)).toEqual(Array.from({ length: 8 }, () => 3));
  expect(commits.map((lines) => lines.at(-1)).sort()).toEqual(
    Array.from({ length: 8 }, (_, number) => `f${number}.txt`),
  );
  expect(git("status", "--porcelain")).toBe("");
});

const TIMES = process.env.TEST_NIGHTLY === "1" || process.env.PICOCLAW_TEST_NIGHTLY === "1" ? 50 : 3;

withChecks("two drafts that are each green and red together never both land", async () => {
  for (let time = 0; time < TIMES; time++) {
    const gate = createGate(2);
    at = await openConversation(
      async ({ messages }) => {
        if (messages.length > 1) return "Then not.";
        const name = /set (\w)/.exec(requestOf(messages))?.[1] ?? "";
        await gate();
        return proposal(`Set ${name}`, replace(`${name}.txt`, "0", "1"));
      },
      { config: 'checks: { command: "! (grep -q 1 a.txt && grep -q 1 b.txt)" }\n' },
    );
    at.write("a.txt", "0\n");
    at.write("b.txt", "0\n");
    const replies = await Promise.all(
      ["a", "b"].map((name) => at.send(`/code3 set ${name}`, { chatId: name })),
    );
    const stands = `${at.read("a.txt").trim()}${at.read("b.txt").trim()}`;
    expect({ time, stands, ok: replies.filter(({ ok }) => ok).length }).toEqual({
      time,
      stands: expect.stringMatching(/^(01|10)$/),
      ok: 1,
    });
    if (time < TIMES - 1) await at.close();
  }
});

withChecks("a formatter runs again over the edits that landed meanwhile", async () => {
  const format = "```bash\nsed -i 's/ *= */ = /' *.py\n```";
  at = await openConversation(async ({ messages }) => {
    if (requestOf(messages).includes("edit")) return proposal("Edit", replace("a.py", "x=1", "x=2"));
    expect((await at.send("/code3 edit a.py", { chatId: "other" })).ok).toBe(true);
    return proposal("Format", format);
  });
  at.write("a.py", "x=1\ny=1\n");
  at.write("b.py", "z=1\n");
  expect((await at.send("/code3 format everything")).ok).toBe(true);
  expect(at.tree()).toEqual({ "a.py": "x = 2\ny = 1\n", "b.py": "z = 1\n" });
});

withChecks(
  "files that commands wrote are written again, not merged, if another job wrote them too",
  async () => {
    const gate = createGate(2);
    at = await openConversation(async ({ messages }) => {
      const name = /add (\w+)/.exec(requestOf(messages))?.[1] ?? "";
      await gate();
      return proposal(
        `Add ${name}`,
        `\`\`\`bash\necho ${name} >> list; sort -o list list; wc -l < list > list.lock\n\`\`\``,
      );
    });
    at.write("list", "m\n");
    at.write("list.lock", "1\n");
    const replies = await Promise.all(
      ["alpha", "zeta"].map((name) => at.send(`/code3 add ${name}`, { chatId: name })),
    );
    expect(replies.map(({ ok }) => ok)).toEqual([true, true]);
    expect(at.tree()).toEqual({ list: "alpha\nm\nzeta\n", "list.lock": "3\n" });
  },
);

withChecks("a command whose file gave way to a save is not run twice when it lands", async () => {
  at = await openConversation(async () =>
    proposal("Add alpha", "```bash\necho alpha >> list; wc -l < list > list.lock; echo ready; sleep 1\n```"),
  );
  at.write("list", "m\n");
  at.write("list.lock", "1\n");
  let saved = false;
  const reply = await at.conversation.handle(
    { channel: "cli", chatId: "default", userId: "u", text: "/code3 add alpha" },
    {
      signal: new AbortController().signal,
      onEvent: (event) => {
        if (saved || !JSON.stringify(event).includes("ready\\n")) return;
        saved = true;
        at.write("list", "m\nzeta\n");
        at.write("list.lock", "2\n");
      },
    },
  );
  expect({ ok: reply.ok, saved }).toEqual({ ok: true, saved: true });
  expect(at.tree()).toEqual({ list: "m\nzeta\nalpha\n", "list.lock": "3\n" });
});

withChecks("a user who saves during the checks keeps both changes, and it is checked again", async () => {
  at = await openConversation(async () => proposal("Edit", replace("a.txt", "one", "ONE")), {
    config: 'checks: { command: "test -f a.txt; echo checked >> /dev/null; sleep 0.5" }\n',
  });
  at.write("a.txt", "one\n2\n3\n4\nfive\n");
  let saved = false;
  const reply = at.conversation.handle(
    { channel: "cli", chatId: "default", userId: "u", text: "/code3 edit a.txt" },
    {
      signal: new AbortController().signal,
      onEvent: (event) => {
        if (saved || event.type !== "progress" || event.doing !== "checking") return;
        saved = true;
        setTimeout(() => at.write("a.txt", "one\n2\n3\n4\nFIVE\n"), 100);
      },
    },
  );
  expect((await reply).ok).toBe(true);
  expect(at.read("a.txt")).toBe("ONE\n2\n3\n4\nFIVE\n");
});

withChecks("the bound of a job is given back after its hooks", async () => {
  at = await openConversation(() => proposal("Write", "```txt:a.txt\nx\n```"), {
    config: "hooks: { after_landing: ['true'] }\n",
  });
  expect(await at.send("/code3 write a.txt")).toMatchObject({ ok: true });
  expect(await findOwnLeftovers()).toEqual([]);
});
