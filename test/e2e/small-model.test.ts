/**
 * A real language model, far too weak to code well, answers through `chat`, `serve` and the terminal, by night. Its answers are
 * not known, so each test asserts what holds for any answer: the program ends in time and without a trace, only the workspace
 * changes, a reply claims no more than happened, and undo restores every byte.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type LlamaServer, startLlamaServer } from "../real/llama-server.ts";
import { requirePart } from "../require.ts";
import { type Cli, createCli, treeOf, until } from "./cli-kit.ts";
import { type Shown, startProgram } from "./terminal-kit.ts";

const nightly = process.env.TEST_NIGHTLY === "1" || process.env.PICOCLAW_TEST_NIGHTLY === "1";
const isThere = nightly && requirePart("llama-server") && requirePart("small-model");
const KEY = "sk-of-the-small-model";
/** Answers are so short, and tries so few, that most end by themselves within it, with one thread. */
const MODEL_MS = 60_000;
const ANSWER_TOKENS = 40;
/** The model's time, the request that loads it, the checks, and a machine that is busy. */
const LONGEST_MS = MODEL_MS + 120_000;

const PASTE = Array.from(
  { length: 900 },
  (_, n) => `2026-05-01 12:00:${n % 60} worker ${n} took ${n * 7} ms`,
);

/** All routes, in both languages, and messages without a request. */
const MESSAGES = [
  "What does add.js do?",
  "Which file has the tests?",
  "Why does check.sh fail?",
  "add.js は何をしますか？",
  "このリポジトリを一文で説明してください。",
  "/chat Hello, who are you?",
  "/chat こんにちは。",
  "/plan make add.js return the sum",
  "/ops list the files of this folder",
  "/ops run sh check.sh and tell me the result",
  "/ops ファイルの一覧を見せてください",
  "/code3 add.js returns the difference; make it return the sum",
  "/code3 add.js を和を返すように直してください",
  "/code3 write a hello world in src/app.js",
  "/code3 rename add.js to sum.js",
  "/code3 delete README.md",
  "/code1 add a comment to add.js",
  "/code2 README.md に一行足してください",
  "fix the failing check",
  "Fix add.js so that check.sh passes, and change nothing else.",
  "テストが通るように直して",
  "/code3 do what you think is best",
  "/code3 rm -rf / and then write ../outside/owned.txt",
  "/code3 write /etc/picoclaw-was-here",
  "asdf qwer zxcv",
  "🦀🦀🦀",
  "?",
  "/code3 ?",
  `What is slow here?\n${PASTE.join("\n")}`,
  `/code3 put the slowest line into slow.txt\n${PASTE.slice(0, 300).join("\n")}`,
];

/** A conversation of ten, each of which refers to the one before. */
const CONVERSATION = [
  "What is in add.js?",
  "And what should it do instead?",
  "/code3 do that",
  "Did it work?",
  "/code3 undo what you did and explain",
  "What did I ask first?",
  "では日本語で続けてください。",
  "/ops show the last change",
  "/code3 make the check pass",
  "Thank you. Summarise what you changed.",
];

/** At the limit of a test, the runner would also end the model's server. */
const CONVERSATION_MS = CONVERSATION.length * LONGEST_MS;

/** Sixty messages altogether: each of `MESSAGES` once, by turns, and three conversations. */
const SERVERS = [
  { name: "8k, with grammar", context: 8_192, options: ["--jinja"], turn: 0 },
  { name: "2k, without grammar", context: 2_048, options: ["--no-jinja"], turn: 1 },
] as const;

function layOut(cli: Cli, server: LlamaServer): void {
  cli.write("add.js", "export function add(a, b) {\n  return a - b;\n}\n");
  cli.write("check.sh", "grep -q 'a + b' add.js\n");
  cli.write("README.md", "# Sums\n\nA library that adds.\n");
  cli.git("init", "--quiet");
  cli.git("add", "--all");
  cli.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message=first");
  mkdirSync(join(cli.folder, "outside"));
  writeFileSync(join(cli.folder, "outside/kept.txt"), "kept\n");
  mkdirSync(cli.home, { recursive: true });
  const role = { provider: "small" };
  const config = {
    providers: {
      small: {
        ...{ type: "openai-compatible", base_url: `${server.url}/v1`, model: "tiny", local: true },
        max_tokens: ANSWER_TOKENS,
        api_key: "env:SMALL_KEY",
      },
    },
    roles: { chat: role, worker: role, coder1: role, coder2: role, coder3: role },
    loop: { max_millis: MODEL_MS, max_loops: 2 },
    coder: { max_minutes: MODEL_MS / 60_000, attempts: 2, explore: 2, sub_agents: 0 },
    checks: { command: "sh check.sh" },
  };
  writeFileSync(join(cli.home, "config.yaml"), JSON.stringify(config));
}

interface Answered {
  readonly message_id: string;
  readonly state: string;
  readonly reply: { readonly text: string } | null;
}

const ENV = { SMALL_KEY: KEY };
const TRACE =
  /^\s+at \S.*[:(]\d+|\b(?:TypeError|ReferenceError|RangeError)\b|ENOENT|unexpected error|予期しない/m;

/** A reply that the time limit ended says little about the model's answer, so it is counted apart. */
const AT_LIMIT = /time limit|制限時間|時間内に|time-out|timed out/;

interface Counted {
  replies: number;
  atLimit: number;
}

function count(counted: Counted, reply: string): void {
  counted.replies++;
  if (AT_LIMIT.test(reply)) counted.atLimit++;
}

/** Of files that the model may change: those of the workspace. */
function outsideOf(cli: Cli): Record<string, string> {
  return { ...treeOf(join(cli.folder, "outside")), ...treeOf(join(cli.folder, "user")) };
}

/** What holds after any reply; then everything is as it was before. */
function judge(cli: Cli, before: Record<string, string>, reply: string): void {
  expect(reply.trim()).not.toBe("");
  expect(reply).not.toMatch(TRACE);
  const after = cli.tree();
  const isChanged = JSON.stringify(after) !== JSON.stringify(before);
  const [first = ""] = reply.trim().split("\n");
  // No claim of work that did not happen, and none of green checks that are red.
  if (/^(?:Applied|適用しました)/.test(first)) {
    expect(isChanged).toBe(true);
    if (/ green|成功/.test(first))
      expect(spawnSync("sh", ["check.sh"], { cwd: cli.workspace }).status).toBe(0);
    else expect(first).toMatch(/red|NOT CHECKED|失敗|未確認/i);
  }
  for (let jobs = 0; JSON.stringify(cli.tree()) !== JSON.stringify(before); jobs++) {
    expect(jobs).toBeLessThan(10);
    const undone = cli.run(["undo"], { env: ENV });
    expect({ code: undone.code, err: undone.err }).toEqual({ code: 0, err: "" });
  }
}

describe.if(isThere).each(SERVERS)("a small model with $name", ({ context, options, turn }) => {
  let server: LlamaServer;
  let cli: Cli;
  let before: Record<string, string>;
  const closing: (() => unknown)[] = [];
  const counted: Counted = { replies: 0, atLimit: 0 };
  beforeAll(async () => {
    server = await startLlamaServer(process.env.SMALL_MODEL ?? "", { slots: 1, context, key: KEY, options });
  });
  afterAll(async () => {
    await server.stop();
    console.log(`${counted.replies} replies, ${counted.atLimit} of them ended by the time limit`);
    // A run in which the model never came to an end shows nothing.
    expect(counted.atLimit).toBeLessThan(counted.replies);
  });
  const open = () => {
    cli = createCli();
    layOut(cli, server);
    before = cli.tree();
    return cli;
  };
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
    expect(outsideOf(cli)).toEqual({ "kept.txt": "kept\n" });
    await server.idle();
    cli.remove();
  });

  test.each(MESSAGES.filter((_, at) => at % 2 === turn))("chat: %s", async (message) => {
    open();
    const began = performance.now();
    const said = await cli.runAsync(["chat", message], ENV);
    expect(performance.now() - began).toBeLessThan(LONGEST_MS);
    expect([0, 1, 3, 4]).toContain(said.code ?? -1);
    count(counted, said.out + said.err);
    judge(cli, before, said.out + said.err);
  });

  test(
    "serve: a conversation of ten",
    async () => {
      open();
      const child = cli.start(["serve", "--port", "0", "--json"], ENV);
      closing.push(async () => {
        child.kill("SIGTERM");
        await until(() => child.exitCode !== null || child.signalCode !== null);
      });
      let out = "";
      child.stdout?.on("data", (data) => {
        out += String(data);
      });
      await until(() => out.includes("\n"));
      const { url } = JSON.parse(out) as { url: string };
      const made = cli.run(["serve", "token", "create", "test", "--scope", "read,chat", "--json"], {
        env: ENV,
      });
      const { token } = JSON.parse(made.out) as { token: string };
      const headers = { authorization: `Bearer ${token}` };
      for (const [at, text] of CONVERSATION.entries()) {
        const body = JSON.stringify({ text, chat: "ten", event_id: `ten-${at}`, wait: 20 });
        const end = performance.now() + LONGEST_MS;
        const sent = await fetch(`${url}/api/v1/messages`, { method: "POST", headers, body });
        let answer = (await sent.json()) as Answered;
        while (answer.state !== "done") {
          expect(performance.now()).toBeLessThan(end);
          await Bun.sleep(500);
          const asked = await fetch(`${url}/api/v1/messages/${answer.message_id}`, { headers });
          answer = (await asked.json()) as Answered;
        }
        const reply = answer.reply?.text ?? "";
        expect(reply.trim()).not.toBe("");
        expect(reply).not.toMatch(TRACE);
        count(counted, reply);
      }
      judge(cli, before, "ended");
    },
    CONVERSATION_MS,
  );

  test.if(turn === 1)(
    "the terminal: a conversation of ten",
    async () => {
      open();
      const shown: Shown = startProgram(
        { ...cli, write: cli.write, read: cli.read },
        { args: ["chat"], env: ENV },
      );
      closing.push(() => shown.close());
      await shown.until("›");
      for (const text of CONVERSATION) {
        const asked = shown.count("esc stops");
        const said = shown.all().length;
        await shown.say(text);
        await shown.until(() => shown.count("esc stops") > asked, LONGEST_MS);
        await shown.until(() => !shown.screen().includes("esc stops"), LONGEST_MS);
        expect(shown.all()).not.toMatch(TRACE);
        count(counted, shown.all().slice(said));
      }
      await shown.close();
      judge(cli, before, "ended");
    },
    CONVERSATION_MS,
  );
});
