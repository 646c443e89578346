import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { PROGRAM } from "../../e2e/cli-kit.ts";
import { type ChatCli, createChatCli, proposal } from "./chat-kit.ts";
import { openPty, type Typist } from "./pty-kit.ts";

let cli: ChatCli;
let at: Typist;
afterEach(async () => {
  at.signal("SIGKILL");
  await cli.remove();
});

function open(columns = 80): Typist {
  return openPty([PROGRAM, "chat"], {
    cwd: cli.workspace,
    columns,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: join(cli.folder, "user"),
      PICOCLAW_HOME: cli.home,
      PICOCLAW_LOCALE: "en",
    },
  });
}

test("a command is completed, a change is made, shown in colour and taken back; Ctrl-D ends", async () => {
  cli = createChatCli([{ when: { role: "coder3" }, text: proposal("Write it", "```txt:a.txt\nhello\n```") }]);
  at = open();
  await at.expect("> ");
  at.type("/co\t");
  await at.expect("/code");
  at.type("\t");
  await at.expect("/code  /code1  /code2  /code3");
  at.type("3 make a.txt\r");
  await at.expect("To take it back: /undo");
  expect(cli.read("a.txt")).toBe("hello\n");
  at.type("/dif\t\r");
  await at.expect("\x1b[32m+hello\x1b[0m");
  at.type("/undo\r");
  await at.expect("Taken back");
  expect(cli.tree()).toEqual({});
  at.type("\x04");
  expect(await at.exited).toBe(0);
  expect(at.seen()).toEndWith("\x1b[?2004l");
});

test("Ctrl-C stops the running job, takes it back, and the conversation goes on", async () => {
  cli = createChatCli([
    {
      when: { role: "coder3", message: "slow" },
      text: proposal("Be slow", "```txt:a.txt\nx\n```\n```bash\ntouch began; sleep 60\n```"),
    },
    { when: { role: "chat" }, text: "Still here." },
  ]);
  at = open();
  await at.expect("> ");
  at.type("/code3 be slow\r");
  await at.expect("sleep 60");
  at.type("\x03");
  await at.expect("Failed: ");
  await at.expect("> ");
  expect(cli.tree()).toEqual({});
  at.type("/chat are you there\r");
  await at.expect("Still here.");
  at.type("/exi\t\r");
  expect(await at.exited).toBe(0);
});

test("a paste of several lines is one message; Japanese is as wide as it looks; the history comes back", async () => {
  cli = createChatCli([{ when: { role: "chat" }, text: "You said: {{message}}" }]);
  at = open(20);
  await at.expect("> ");
  at.type("\x1b[200~/chat 一行目\n二行目\x1b[201~");
  await at.expect("二行目");
  // The cursor stands two columns of indent and three characters of two columns to the right.
  await at.expect("\r\x1b[8C");
  at.type("\r");
  await at.expect(/You said: 一行目\r+\n二行目/);
  await at.expect("> ");
  at.type("\x1b[A");
  await at.expect("二行目");
  at.type("\x03");
  await at.expect("> ");
  at.type("あいうえおかきくけこ");
  // Nine characters fill the first row of twenty columns behind the prompt; the tenth stands on the next one.
  await at.expect(/け\S*こ\r\x1b\[2C/);
  at.type("\x03\x04");
  expect(await at.exited).toBe(0);
  at = open(80);
  await at.expect("> ");
  at.type("\x1b[A");
  await at.expect("二行目");
  at.type("\x03\x04");
  expect(await at.exited).toBe(0);
});

test("ended from outside, it stops what runs, takes it back and sets the terminal back", async () => {
  cli = createChatCli([
    { when: { role: "coder3" }, text: proposal("Be slow", "```txt:a.txt\nx\n```\n```bash\nsleep 60\n```") },
  ]);
  at = open();
  await at.expect("> ");
  at.type("/code3 be slow\r");
  await at.expect("sleep 60");
  at.signal("SIGTERM");
  expect(await at.exited).toBe(0);
  expect(at.seen()).toEndWith("\x1b[?2004l");
  expect(cli.tree()).toEqual({});
});
