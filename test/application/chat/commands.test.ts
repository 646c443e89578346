import { afterEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Reply } from "../../../src/application/ports/chat.ts";
import { proposal } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

/** Writes the file that the request names. */
const writer = async (options = {}) =>
  openConversation(({ messages }) => {
    const name = /(\w+\.txt)\s*$/.exec(messages.at(-1)?.text ?? "")?.[1] ?? "none.txt";
    return proposal(`Write ${name}`, `\`\`\`txt:${name}\n${name}\n\`\`\``);
  }, options);

/** As a process that is killed after its first exchange. */
function cutOffCommit({ workspace }: OpenedConversation, jobId: string): void {
  const child = join(import.meta.dir, "../../faults/crash-child.ts");
  const args = ["--no-env-file", child, dirname(workspace), "commit", jobId, "4"];
  const ran = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect(ran.stdout.trim().split("\n").at(-1)).toMatch(/^(exchange|in) /);
}

describe("/undo and /redo", () => {
  test("undo message by message, newest first, and redo", async () => {
    at = await writer();
    for (const name of ["a.txt", "b.txt"]) await at.send(`/code3 ${name}`);
    expect((await at.send("/undo")).text).toContain("\n  D b.txt\n");
    expect(Object.keys(at.tree())).toEqual(["a.txt"]);
    await at.send("/undo");
    expect(at.tree()).toEqual({});
    expect(await at.send("/undo")).toMatchObject({
      ok: false,
      text: "No change\nThere is no job to undo.",
    });
    expect((await at.send("/redo")).text).toContain("\n  A a.txt\n");
    expect(Object.keys(at.tree())).toEqual(["a.txt"]);
    await at.send("/redo");
    expect(Object.keys(at.tree()).sort()).toEqual(["a.txt", "b.txt"]);
    expect((await at.send("/redo")).text).toBe("No change\nThere is no job to redo.");
  });

  test("a job whose apply was interrupted is finished first, and is then the last job", async () => {
    at = await writer();
    at.write("b.txt", "old\n");
    await at.send("/code3 a.txt");
    const made = await at.send("/preview /code3 b.txt");
    const jobId = made.jobs[0]?.job_id ?? "";
    cutOffCommit(at, jobId);
    const { text } = await at.send("/undo");
    expect(text).toContain("#2 was undone.");
    expect(text).toContain(`Job #2 was interrupted while it was being applied; that was completed since.`);
    expect(at.read("b.txt")).toBe("old\n");
  });

  test("a job is undone by its id", async () => {
    at = await writer();
    const first = await at.send("/code3 a.txt");
    await at.send("/code3 b.txt");
    expect((await at.send(`/undo ${first.jobs[0]?.job_id}`)).ok).toBe(true);
    expect(Object.keys(at.tree())).toEqual(["b.txt"]);
    expect((await at.send("/undo job_1_nosuch00")).ok).toBe(false);
  });

  test("later changes are named and kept, unless forced", async () => {
    at = await writer();
    await at.send("/code3 a.txt");
    at.write("a.txt", "mine\n");
    const reply = await at.send("/undo");
    expect(reply.ok).toBe(false);
    expect(reply.text).toContain("a.txt");
    expect(at.read("a.txt")).toBe("mine\n");
    expect((await at.send("/undo --force")).ok).toBe(true);
    expect(at.tree()).toEqual({});
  });

  test("a later job in the way is named with the chat's own command", async () => {
    let written = 0;
    at = await openConversation(() => {
      written += 1;
      return proposal("Write", `\`\`\`txt:a.txt\n${written}\n\`\`\``);
    });
    for (const message of ["/code3 a.txt", "/code3 a.txt"]) await at.send(message);
    const { text } = await at.send("/undo #1");
    expect(text).toContain("a.txt (changed since by #2; undo that first: /undo #2)");
    expect(text).not.toContain("picoclaw undo");
  });

  test("a chat undoes only its own jobs", async () => {
    at = await writer();
    const slack = { channel: "slack", chatId: "C1:1.2" };
    const first = await at.send("/code3 a.txt");
    expect(await at.send("/undo", slack)).toMatchObject({
      ok: false,
      text: "No change\nThere is no job to undo.",
    });
    const refused = await at.send(`/undo ${first.jobs[0]?.job_id}`, slack);
    expect(refused).toMatchObject({ text: expect.stringContaining("No such job"), actions: [] });
    expect((await at.send("/jobs", slack)).text).toBe("There are no jobs yet.");
    expect((await at.send(`/diff ${first.jobs[0]?.job_id}`, slack)).ok).toBe(false);
    expect(Object.keys(at.tree())).toEqual(["a.txt"]);
  });
});

describe("one person of the console and another's jobs", () => {
  test("they are neither shown nor undone; the user's own jobs are, from any of their chats", async () => {
    at = await writer();
    const as = (userId: string, chatId = userId) => ({ channel: "web", chatId, userId });
    const first = await at.send("/code3 a.txt", as("ann", "ann.x1"));
    const job = first.jobs[0]?.job_id;
    for (const command of ["/diff", "/undo", "/apply", "/discard"])
      expect((await at.send(`${command} ${job}`, as("an"))).text).toContain("No such job");
    expect(Object.keys(at.tree())).toEqual(["a.txt"]);
    expect((await at.send(`/diff ${job}`, as("operator"))).ok).toBe(true);
    expect((await at.send(`/undo ${job}`, as("ann"))).ok).toBe(true);
    expect(at.tree()).toEqual({});
  });
});

test("/jobs lists every job to the owner and the operator, to others at the console those of their chats", async () => {
  at = await writer();
  const web = (userId: string, chatId = userId) => ({ channel: "web", chatId, userId });
  await at.send("/code3 a.txt");
  await at.send("/code3 b.txt", web("ann", "ann.x1"));
  const listed = async (more = {}): Promise<string[]> =>
    [...(await at.send("/jobs", more)).text.matchAll(/^#\d+/gm)].map(([number]) => number);
  expect(await listed(web("operator"))).toEqual(["#2", "#1"]);
  expect(await listed({ chatId: "another" })).toEqual(["#2", "#1"]);
  expect(await listed(web("ann"))).toEqual(["#2"]);
  expect(await listed(web("an"))).toEqual([]);
  const none = await at.send("/undo", web("operator"));
  expect([none.ok, none.text]).toEqual([false, expect.stringContaining("/undo JOB undoes one of them")]);
  expect((await at.send("/undo", web("an"))).text).not.toContain("/jobs");
  expect(Object.keys(at.tree()).sort()).toEqual(["a.txt", "b.txt"]);
});

describe("/preview and /apply", () => {
  test("the change is shown, not made; then exactly that is applied", async () => {
    at = await writer();
    const reply = await at.send("/preview a.txt");
    expect(reply.ok).toBe(true);
    expect(reply.decision?.route).toBe("CODE");
    expect(reply.text).toStartWith("Preview, nothing applied: NOT CHECKED");
    expect(reply.actions.map(({ message }) => message.split(" ")[0])).toEqual([
      "/apply",
      "/diff",
      "/discard",
    ]);
    expect(at.tree()).toEqual({});
    expect((await at.send("/diff")).text).toContain("+a.txt");
    expect((await at.send("/apply")).ok).toBe(true);
    expect(at.tree()).toEqual({ "a.txt": "a.txt\n" });
    expect(at.asked).toHaveLength(1);
    expect((await at.send("/apply")).text).toBe("There is no preview to apply.");
    await at.send("/undo");
    expect(at.tree()).toEqual({});
  });

  test("where the coder changes nothing, its words are the answer and no preview waits", async () => {
    at = await openConversation(() => proposal("It is so already.", ""));
    expect(await at.send("/preview a.txt")).toMatchObject({ ok: true, text: "It is so already.", jobs: [] });
    expect((await at.send("/apply")).text).toBe("There is no preview to apply.");
  });

  test("/discard throws away the only preview, and asks for a name where several wait", async () => {
    at = await writer();
    expect((await at.send("/discard")).text).toContain("There is no preview to discard.");
    const first = await at.send("/preview a.txt");
    expect(first.text).toContain("To discard it: /discard #1");
    await at.send("/preview b.txt");
    const asked = await at.send("/discard");
    expect(asked).toMatchObject({ ok: false, text: expect.stringContaining("name one:\n  #1\n") });
    expect((await at.send("/discard #1")).text).toContain(`The preview #1 was discarded.`);
    expect((await at.send("/discard")).ok).toBe(true);
    expect((await at.send("/apply")).text).toBe("There is no preview to apply.");
    expect(at.tree()).toEqual({});
  });

  test("a coder can be named, and without a request it says how it is used", async () => {
    at = await writer();
    expect((await at.send("/preview /code1 a.txt")).decision?.route).toBe("CODE1");
    expect(await at.send("/preview")).toMatchObject({ ok: false });
  });
});

test("/dry on shows proposals and runs nothing, for this chat only", async () => {
  at = await writer();
  expect((await at.send("/dry")).text).toStartWith("Dry mode: off");
  await at.send("/dry on");
  const reply = await at.send("/code3 a.txt");
  expect(reply.ok).toBe(true);
  expect(reply.text).toContain("[1] file_edit update a.txt");
  expect(at.tree()).toEqual({});
  await at.send("/code3 b.txt", { channel: "slack", chatId: "C2" });
  expect(Object.keys(at.tree())).toEqual(["b.txt"]);
  await at.send("/dry off");
  await at.send("/code3 a.txt");
  expect(Object.keys(at.tree()).sort()).toEqual(["a.txt", "b.txt"]);
  expect((await at.send("/dry maybe")).ok).toBe(false);
});

test("/jobs lists the newest first, /diff shows the last change", async () => {
  at = await writer();
  expect((await at.send("/diff")).text).toBe("There are no differences.");
  for (const name of ["a.txt", "b.txt"]) await at.send(`/code3 ${name}`);
  const lines = (await at.send("/jobs")).text.split("\n");
  expect(lines.map((line) => line.split(" ")[0])).toEqual(["#2", "#1"]);
  expect(lines[0]?.endsWith("  b.txt")).toBe(true);
  expect((await at.send("/diff")).text).toBe(
    "```diff\n--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1,1 @@\n+b.txt\n```",
  );
});

test("/diff counts the files of git's own folder after the change itself", async () => {
  at = await openConversation(() =>
    proposal("Begin", "```txt:a.txt\none\n```\n\n```bash\ngit init --quiet --template= .\n```"),
  );
  await at.send("/code3 begin");
  expect((await at.send("/diff")).text).toMatch(
    /^```diff\n--- \/dev\/null\n\+\+\+ b\/a\.txt\n@@ -0,0 \+1,1 @@\n\+one\n# \.git: \d+ files changed\n```$/,
  );
});

describe("/help", () => {
  test.each(["en", "ja"] as const)("names ten commands, and the rest on request (%s)", async (locale) => {
    at = await writer({ locale });
    const short = (await at.send("/help")).text.split("\n");
    expect(short).toHaveLength(11);
    expect(short.at(-1)).toStartWith("/help all");
    const { text } = await at.send("/help all");
    const names = at.commands.filter((name) => !/^code\d?$/.test(name));
    for (const name of names) expect(text).toContain(`/${name}`);
  });
});

describe("what other channels read of a list", () => {
  test("/status: folder, models, mode, what waits, what today cost; each line with its command", async () => {
    at = await writer();
    await at.send("/code3 x");
    const reply = await at.send("/status");
    expect(reply.text).toContain(`Folder: ${at.workspace} (/jobs)`);
    expect(reply.text).toMatch(/Codes: Gin \S+ \(\/model\)/);
    expect(reply.text).toContain("Proposals: run at once (/dry on)");
    expect(reply.text).toMatch(/Last job: #\d+ Applied: /);
    expect(reply.choices?.map(({ message }) => message)).toContain("/dry on");
  });

  test("/status says of a model that is not there why it would not answer", async () => {
    at = await writer({ trouble: "unreachable" });
    expect((await at.send("/status")).text).toMatch(
      /Talks: Mio fake\/chat, but its server cannot be reached \(\/model mio\)\nCodes: Gin fake\/coder3, but its/,
    );
  });

  test("/context: how much of the conversation is given, and /resume list names the ones before", async () => {
    at = await writer();
    await at.send("/code3 first words");
    expect((await at.send("/context")).text).toMatch(/Conversation: 1 message since/);
    expect((await at.send("/resume list")).text).toBe("There is no session to go back to.");
    await at.send("/new");
    const listed = await at.send("/resume list");
    expect(listed.text).toContain("“first words”");
    expect((await at.send(listed.choices?.[0]?.message ?? "")).text).toStartWith("The session continues");
  });

  test("/cost: by model and by day, and closer by name", async () => {
    at = await writer();
    await at.send("/code3 x");
    const cost = await at.send("/cost");
    expect(cost.text).toContain("Today:");
    const [first] = cost.choices ?? [];
    expect((await at.send(first?.message ?? "")).text).toStartWith(`${first?.label}:`);
    expect((await at.send("/cost nothing-like-it")).ok).toBe(false);
  });

  test("/jobs and /diff offer the jobs by number", async () => {
    at = await writer();
    await at.send("/code3 x");
    const [job] = (await at.send("/jobs")).choices ?? [];
    expect(job?.label).toStartWith("#1  ");
    expect((await at.send("/diff")).choices?.[0]).toEqual(job);
    expect((await at.send(job?.message ?? "")).text).toContain("```diff");
  });
});

test("a mistyped command is answered with the nearest one, and runs nothing", async () => {
  at = await writer();
  const reply = await at.send("/undoo");
  expect(reply.ok).toBe(false);
  expect(reply.text).toContain("/undo?");
  expect(at.asked).toEqual([]);
});

describe("/stop", () => {
  test("ends the running job of this chat; nothing of it is applied", async () => {
    at = await openConversation(() => proposal("p", "```txt:a.txt\nx\n```\n```bash\nsleep 60\n```"));
    const began = Promise.withResolvers<void>();
    const running = at.conversation.handle(
      { channel: "cli", chatId: "default", userId: "u", text: "/code3 x" },
      {
        signal: new AbortController().signal,
        onEvent: (event) => {
          if (event.type === "job-command" && event.index === 2) began.resolve();
        },
      },
    );
    await began.promise;
    expect((await at.send("/stop", { channel: "slack", chatId: "other" })).text).toBe("Nothing is running.");
    expect((await at.send("/stop")).text).toBe("Stopped what was running.");
    expect((await running).ok).toBe(false);
    expect(at.tree()).toEqual({});
    expect((await at.send("/stop")).text).toBe("Nothing is running.");
  });
});

test("/undo that waited behind a message which changed nothing leaves earlier jobs", async () => {
  // Every look at the clock is later than the one before.
  let ms = Date.parse("2026-03-01T12:00:00+09:00");
  at = await openConversation(
    ({ messages }) =>
      proposal(
        "p",
        /slow\s*$/.test(messages.at(-1)?.text ?? "") ? "```bash\nsleep 60\n```" : "```txt:a.txt\nx\n```",
      ),
    { now: () => new Date(ms++) },
  );
  await at.send("/code3 ok");
  const began = Promise.withResolvers<void>();
  const slow = at.conversation.handle(
    { channel: "cli", chatId: "default", userId: "u", text: "/code3 slow" },
    {
      signal: new AbortController().signal,
      onEvent: ({ type }) => {
        if (type === "job-command") began.resolve();
      },
    },
  );
  await began.promise;
  const waiting = [at.send("/undo"), at.send("/undo")];
  await at.send("/stop");
  expect((await slow).ok).toBe(false);
  for (const reply of await Promise.all(waiting))
    expect(reply).toMatchObject({
      ok: false,
      text: "Nothing to undo: the message that /undo waited for changed nothing. Earlier jobs stay applied; /undo now undoes the last of them.",
    });
  expect(at.tree()).toEqual({ "a.txt": "x\n" });
  expect((await at.send("/undo")).ok).toBe(true);
  expect(at.tree()).toEqual({});
});

test("two /undo that waited behind a message which changed files undo two messages", async () => {
  let ms = Date.parse("2026-03-01T12:00:00+09:00");
  at = await writer({ now: () => new Date(ms++) });
  await at.send("/code3 a.txt");
  const replies = await Promise.all(["/code3 b.txt", "/undo", "/undo"].map((text) => at.send(text)));
  expect(replies.map(({ ok }) => ok)).toEqual([true, true, true]);
  expect(at.tree()).toEqual({});
});

test("/undo that waited behind /apply undoes what it applied", async () => {
  let ms = Date.parse("2026-03-01T12:00:00+09:00");
  at = await writer({ now: () => new Date(ms++) });
  await at.send("/preview a.txt");
  const replies = await Promise.all(["/apply", "/undo"].map((text) => at.send(text)));
  expect(replies.map(({ ok }) => ok)).toEqual([true, true]);
  expect(at.tree()).toEqual({});
});

test("a new day is announced in the reply, and yesterday's jobs can still be undone", async () => {
  let day = new Date("2026-03-01T12:00:00+09:00");
  at = await writer({ now: () => day });
  await at.send("/code3 a.txt");
  day = new Date("2026-03-02T09:00:00+09:00");
  const reply = await at.send("/chat good morning");
  expect(reply.sessionId).toBe("20260302-cli-default");
  expect(reply.text).toStartWith("A new day, a new session (20260302-cli-default)");
  expect(at.events).toContainEqual({ type: "cut-over", sessionId: "20260302-cli-default" });
  expect((await at.send("/undo")).ok).toBe(true);
  expect(at.tree()).toEqual({});
});

describe("the buttons of a reply", () => {
  const buttons = ({ actions }: Reply) => actions.map(({ message }) => message);

  test("name their job: pressed on the first of two, they undo and redo the first", async () => {
    at = await writer();
    const first = await at.send("/code3 a.txt");
    await at.send("/code3 b.txt");
    const job = first.jobs[0]?.job_id;
    expect(buttons(first)).toEqual([`/undo ${job}`, `/diff ${job}`]);
    const undone = await at.send(buttons(first)[0] ?? "");
    expect(Object.keys(at.tree())).toEqual(["b.txt"]);
    expect(buttons(undone)).toEqual([`/redo ${job}`]);
    await at.send("/undo");
    const redone = await at.send(buttons(undone)[0] ?? "");
    expect(Object.keys(at.tree())).toEqual(["a.txt"]);
    expect(buttons(redone)).toEqual([`/undo ${job}`, `/diff ${job}`]);
  });

  test("pressed once more, they report the job's present state and offer the remaining actions", async () => {
    at = await writer();
    const first = await at.send("/code3 a.txt");
    await at.send("/code3 b.txt");
    const [press = ""] = buttons(first);
    await at.send(press);
    const again = await at.send(press);
    expect(again.ok).toBe(false);
    expect(buttons(again)).toEqual([`/redo ${first.jobs[0]?.job_id}`]);
    expect(Object.keys(at.tree())).toEqual(["b.txt"]);
  });

  test("name the group if a message made several jobs, and undo all of it", async () => {
    at = await writer();
    const both = await at.send("/code3 a.txt\n/code1 b.txt");
    expect(both.jobs).toHaveLength(2);
    await at.send("/code3 c.txt");
    const [press = ""] = buttons(both);
    expect(press).toBe(`/undo ${both.groupId}`);
    const undone = await at.send(press);
    expect(Object.keys(at.tree())).toEqual(["c.txt"]);
    await at.send("/undo");
    await at.send(buttons(undone)[0] ?? "");
    expect(Object.keys(at.tree()).sort()).toEqual(["a.txt", "b.txt"]);
  });

  test("a group of another chat is not this chat's", async () => {
    at = await writer();
    const first = await at.send("/code3 a.txt");
    const slack = { channel: "slack", chatId: "C1:1.2" };
    expect((await at.send(`/undo ${first.groupId}`, slack)).text).toContain("No such job");
    expect(Object.keys(at.tree())).toEqual(["a.txt"]);
  });
});

describe("/review", () => {
  test("asks a coder about the change, and a patch in its answer stays a preview", async () => {
    at = await openConversation(({ messages }) => {
      const asked = messages.at(-1)?.text ?? "";
      return asked.includes("git diff main...feature")
        ? proposal("Mend it", "```txt:a.txt\nmended\n```")
        : "It can be merged. a.txt:1 lacks a newline.";
    });
    at.write("a.txt", "old\n");
    const { text } = await at.send("/review");
    expect(text).toContain("a.txt:1 lacks a newline.");
    // A terminal has printed it as a notice already.
    expect(text).not.toContain("Reviewing");
    expect(at.asked[0]?.messages.at(-1)?.text).toContain("git diff HEAD");
    expect((await at.send("/review feature")).text).toContain("Preview, nothing applied");
    expect(at.read("a.txt")).toBe("old\n");
  });

  test("a branch or commit that does not exist is reported without asking a coder", async () => {
    at = await openConversation(() => "It can be merged.");
    const git = (...args: string[]) =>
      Bun.spawnSync(["git", "-c", "user.name=k", "-c", "user.email=k@example.org", ...args], {
        cwd: at.workspace,
      });
    git("init", "-q", "-b", "main");
    git("commit", "-q", "--allow-empty", "-m", "first");
    for (const what of ["nosuch", "main..nosuch", "deadbeef", "HEAD~9"]) {
      const { ok, text } = await at.send(`/review ${what}`);
      expect([ok, text]).toEqual([false, expect.stringContaining("There is no branch, tag or commit")]);
    }
    expect(at.asked).toEqual([]);
    expect((await at.send("/review HEAD..main")).text).toContain("It can be merged.");
  });

  test("takes nothing for a branch that a shell would read otherwise", async () => {
    at = await writer();
    for (const bad of ["a; rm -rf .", "--output=x", "$(id)", "a b"])
      expect(await at.send(`/review ${bad}`)).toMatchObject({ ok: false });
    expect(at.asked).toEqual([]);
  });
});

describe("/export", () => {
  test("writes the conversation with its jobs and their differences into a file that only its user reads", async () => {
    at = await writer();
    expect(await at.send("/export")).toMatchObject({ ok: false });
    await at.send("/code3 write <b>.txt a.txt");
    const [file = "", page = ""] = await Promise.all(
      ["/export", "/export html"].map(async (text) => (await at.send(text)).text.replace("Written: ", "")),
    );
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const markdown = readFileSync(file, "utf8");
    expect(markdown).toStartWith("# Conversation ");
    expect(markdown).toContain("> write &lt;b>.txt a.txt");
    expect(markdown).toMatch(/^### Applied: write &lt;b>.txt a.txt\n\n`#1`/m);
    expect(markdown).toMatch(/^```diff\n--- \/dev\/null\n\+\+\+ b\/a.txt\n/m);
    const shown = readFileSync(page, "utf8");
    expect(shown.includes("write &lt;b&gt;.txt a.txt")).toBe(true);
    expect(shown.includes('<section class="job-card good">')).toBe(true);
    expect(await at.send("/export pdf")).toMatchObject({ ok: false });
  });
});

test("commands of other agents do what their users mean, or name the place where it is done", async () => {
  at = await openConversation(({ role }, turn) =>
    role === "coder3" ? proposal("Describe", "```md:AGENTS.md\n# Project\n```") : `said ${turn}`,
  );
  for (const text of ["one", "two", "three"]) await at.send(`/chat ${text}`);
  expect((await at.send("/compact")).text).toStartWith("4 messages were folded into a summary");
  expect((await at.send("/compact")).text).toStartWith("There is nothing to fold yet");
  expect((await at.send("/clear")).text).toStartWith("A new conversation begins");
  expect((await at.send("/init")).ok).toBe(true);
  expect(at.events).not.toContainEqual({ type: "notice", text: "" });
  expect(at.read("AGENTS.md")).toBe("# Project\n");
  expect((await at.send("/login")).text).toContain("picoclaw login");
  expect((await at.send("/config")).text).toContain("picoclaw config show");
});

test("a job that later ones stand upon is undone with them, by one button and by numbers", async () => {
  let version = 0;
  at = await openConversation(() => proposal("Write", `\`\`\`txt:a.txt\n${++version}\n\`\`\``));
  for (const name of ["one", "two", "three"]) await at.send(`/code3 ${name}`);
  const refused = await at.send("/undo #1");
  expect(refused.ok).toBe(false);
  expect(refused.text).toContain("To undo #3, #2 and #1 together: /undo #3 #2 #1");
  expect(refused.actions).toMatchObject([{ label: "Undo #3, #2 and #1", message: "/undo #3 #2 #1" }]);
  const undone = await at.send(refused.actions[0]?.message ?? "");
  expect(undone).toMatchObject({ ok: true });
  expect(at.tree()).toEqual({});
  expect((await at.send("/redo 1 2 3")).ok).toBe(true);
  expect(at.read("a.txt")).toBe("3\n");
  expect((await at.send("/undo #3 #9")).text).toContain("#9");
});
