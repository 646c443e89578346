/** Behaviour that only real processes show: signals, two programs at one chat, a terminal at standard output. */
import { afterEach, expect, test } from "bun:test";
import { PROGRAM, until } from "../../e2e/cli-kit.ts";
import { type ChatCli, createChatCli, proposal } from "./chat-kit.ts";
import { openPty } from "./pty-kit.ts";

let cli: ChatCli;
afterEach(() => cli.remove());

/** A message whose job has begun to sleep. */
async function startSlow() {
  cli.rewrite([
    {
      when: { role: "coder3" },
      text: proposal("Be slow", "```txt:a.txt\nx\n```\n```bash\necho began; sleep 60\n```"),
    },
  ]);
  const child = cli.start(["chat", "--events", "/code3 be slow"]);
  let out = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  const exited = new Promise<number | null>((resolve) => child.on("exit", resolve));
  await until(() => out.includes('"text":"began'));
  return {
    child,
    exited,
    reply: () => JSON.parse(out.trimEnd().split("\n").at(-1) ?? "{}") as Record<string, unknown>,
  };
}

test("SIGINT ends the message, takes its job back and says so", async () => {
  cli = createChatCli([]);
  const { child, exited, reply } = await startSlow();
  child.kill("SIGINT");
  // A shell expects this code of a program that Ctrl-C ended.
  expect(await exited).toBe(130);
  expect(reply()).toMatchObject({ type: "reply", success: false });
  expect(cli.tree()).toEqual({});
});

test("/stop from another process ends it as well", async () => {
  cli = createChatCli([]);
  const { exited, reply } = await startSlow();
  const stopped = cli.chat("/stop");
  expect(stopped).toMatchObject({ code: 0, out: "Stopped what was running.\n" });
  expect(await exited).toBe(1);
  expect(reply()).toMatchObject({ success: false });
  expect(cli.tree()).toEqual({});
});

test("at a terminal one message streams, says what happens, and ends with who answered", async () => {
  cli = createChatCli([{ when: { role: "chat" }, chunks: ["One. ", "Two. ", "Three."], pause_ms: 30 }]);
  const at = openPty([PROGRAM, "chat", "/chat count"], {
    cwd: cli.workspace,
    env: { PATH: process.env.PATH ?? "", HOME: cli.folder, PICOCLAW_HOME: cli.home, PICOCLAW_LOCALE: "en" },
  });
  await at.expect("Mio (demo/demo) is thinking");
  await at.expect("One.");
  expect(at.seen()).not.toContain("Three.");
  await at.expect("Three.");
  await at.expect("demo/demo (local) ·");
  expect(await at.exited).toBe(0);
  expect(at.seen().match(/Two\./g)).toHaveLength(1);
});

test("bad usage runs nothing: no message, an unknown route, a message that is not text", () => {
  cli = createChatCli([]);
  expect(cli.run(["chat"], { input: "" }).code).toBe(2);
  expect(cli.run(["chat", "-"], { input: new Uint8Array([0xff, 0xfe, 0x00]) }).code).toBe(2);
  expect(cli.run(["chat", "--route", "MAGIC", "hello"]).code).toBe(2);
  expect(cli.run(["chat", "--nonsense"]).code).toBe(2);
  expect(cli.run(["chat", "--help"]).code).toBe(0);
});

test("the message is read from standard input or from several words, and --route names the agent", () => {
  cli = createChatCli([{ when: { role: "chat" }, text: "You said: {{message}}" }]);
  expect(cli.run(["chat", "--route", "chat"], { input: "one\ntwo\n" }).out).toBe("You said: one\ntwo\n");
  expect(cli.run(["chat", "/chat", "three", "words", "here"]).out).toBe("You said: three words here\n");
});

test("a conversation remembers over processes", () => {
  cli = createChatCli([
    { when: { role: "chat", turn: 2 }, text: "You told me before." },
    { when: { role: "chat" }, text: "Noted." },
  ]);
  expect(cli.chat("/chat my name is Ada").out).toBe("Noted.\n");
  expect(cli.chat("/chat what is my name?").out).toBe("You told me before.\n");
});
