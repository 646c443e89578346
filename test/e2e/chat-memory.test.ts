/** The program's memory from one process to the next. */
import { afterEach, expect, test } from "bun:test";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type ChatCli, createChatCli } from "../application/chat/chat-kit.ts";
import { startPostgres } from "../infrastructure/store/postgres-server.ts";
import { requirePart } from "../require.ts";

const SCRIPT = [
  {
    when: { message: "以下のメッセージを分類" },
    text: '```json\n{"route": "PLAN", "confidence": 0.9, "reason": "guess"}\n```',
  },
  { text: "fine" },
];

const open: ChatCli[] = [];
function chatCli(config = ""): ChatCli {
  const cli = createChatCli(SCRIPT, config);
  open.push(cli);
  return cli;
}
afterEach(() => {
  for (const cli of open.splice(0)) cli.remove();
});

test("a named chat continues where it was; a fork knows what the other one knew and is independent", () => {
  const cli = createChatCli(
    [1, 2, 3, 4].map((turn) => ({ when: { role: "chat", turn }, text: `turn ${turn}` })),
  );
  open.push(cli);
  const say = (...args: string[]) => cli.chat("/chat hello", args);
  expect(say("--name", "a").out).toBe("turn 1\n");
  expect(say("--name", "a").out).toBe("turn 2\n");
  expect(say().out).toBe("turn 1\n");
  expect(say("--name", "b", "--fork", "a").out).toBe("turn 3\n");
  expect(say("--name", "a").out).toBe("turn 3\n");
  expect(say("--name", "b").out).toBe("turn 4\n");
  expect(say("--name", "b", "--fork", "a")).toMatchObject({
    code: 2,
    err: expect.stringContaining("already exists"),
  });
  expect(say("--name", "c", "--fork", "nobody")).toMatchObject({ code: 2, out: "" });
  expect(say("--name", "../x")).toMatchObject({ code: 2, out: "" });
});

test("chats are listed with their last message, and forgotten by their names", () => {
  const cli = chatCli();
  cli.chat("/chat hello\nthere", ["--name", "a"]);
  cli.chat("/chat bye", ["--name", "b"]);
  expect(cli.run(["chat", "--list"]).out).toMatch(
    /^chat +last +messages +last message +workspace\nb .* 1 +bye .*\na .* 1 +hello … +\S+\n$/,
  );
  const forgotten = cli.run(["chat", "--forget", "b"]);
  expect(forgotten).toMatchObject({ code: 0, out: expect.stringContaining("b was forgotten") });
  expect(cli.run(["chat", "--forget", "b"])).toMatchObject({ code: 2, out: "" });
  expect(cli.json(cli.run(["chat", "--list", "--json"])).chats).toMatchObject([
    { name: "a", messages: 1, here: true, last_text: "hello …" },
  ]);
});

test("a decision is explained, corrected, learned and forgotten", () => {
  const cli = chatCli("routing:\n  rules:\n    - { pattern: '(a+)+$', route: CODE }\n");
  expect(cli.chat("utils.ts の様子がなんか変").code).toBe(0);
  expect(cli.chat("/why").out).toContain("Route: PLAN (classifier, confidence 0.90)\nReason: guess");
  const corrected = cli.chat("/route CHAT");
  expect(corrected.out).toContain("Route corrected: PLAN → CHAT");
  expect(corrected.out).toContain("fine");
  expect(cli.chat("/remember").out).toContain("の様子がなんか変 → CHAT");
  cli.chat("main.ts の様子がなんか変");
  expect(cli.chat("/why").out).toContain("Route: CHAT (rule dictionary, confidence 0.95)");
  const rules = cli.chat("/rules").out;
  expect(rules).toContain("1. の様子がなんか変 → CHAT");
  expect(rules).toContain('The rule "(a+)+$" is not used: matching it could take forever');
  expect(cli.chat("/forget 1").code).toBe(0);
  expect(cli.chat("/rules").out).toContain("learned no rules");
}, 300_000);

test("a session is started over and resumed; usage adds up", () => {
  const cli = chatCli();
  cli.chat("/chat one");
  expect(cli.chat("/new").out).toContain("A new conversation begins");
  cli.chat("/chat two");
  expect(cli.chat("/resume").out).toMatch(/The session continues: \d{8}-cli-default \(4 turns\)/);
  // Two answers, and the note of the session that ended.
  expect(cli.chat("/usage").out).toContain("demo/demo: 3 requests");
  expect(cli.chat("/usage").out).toBe(cli.chat("/cost").out);
  const figures = cli.run(["stats", "--days", "7"]).out;
  expect(figures).toContain("demo/demo");
  expect(cli.chat("/stats 7").out).toBe(figures);
  const refused = { code: 3, out: "The days are a number from 1 to 366.\n" };
  expect(cli.chat("/stats 0")).toMatchObject(refused);
  expect(cli.chat("/cost nothing").code).toBe(refused.code);
}, 300_000);

test("a failed classifier is logged", () => {
  const cli = chatCli();
  cli.rewrite([{ when: { message: "以下のメッセージを分類" }, text: "no idea" }, { text: "fine" }]);
  expect(cli.chat("なんとなく気になる").out).toContain("fine");
  const lines = readFileSync(join(cli.home, "logs/picoclaw.log"), "utf8").split("\n");
  const line = lines.find((one) => one.includes("Classifier failed, fallback to CHAT"));
  expect(JSON.parse(line ?? "{}")).toMatchObject({
    component: "routing",
    message: "なんとなく気になる",
    error_type: "malformed",
    fallback_route: "CHAT",
  });
}, 300_000);

test("a store that is not a database is named with advice, and nothing runs", () => {
  const cli = chatCli();
  writeFileSync(join(cli.home, "picoclaw.db"), "not a database ".repeat(500));
  const ran = cli.chat("/chat hello");
  expect([ran.code, ran.err.includes("picoclaw.db"), ran.err.includes("move it away")]).toEqual([
    3,
    true,
    true,
  ]);
}, 300_000);

test("a store of an older version is refused with what to do, in both languages, and a new one is made in its place", () => {
  const cli = chatCli();
  const file = join(cli.home, "picoclaw.db");
  const old = new DatabaseSync(file);
  old.exec("create table migrations (name text primary key, applied_at text not null)");
  old.exec("create table jobs (job_id text primary key)");
  old.exec(
    "insert into migrations values ('001-jobs', '2026-01-01'), ('016-chat-turns-breaking', '2026-01-01')",
  );
  old.close();
  for (const args of [
    ["chat", "/chat hello"],
    ["db"],
    ["db", "migrate"],
    ["backup", join(cli.home, "kept")],
  ]) {
    const ran = cli.run(args);
    expect([
      args[0],
      ran.code,
      ran.err.includes("016-chat-turns-breaking"),
      ran.err.includes(`Move ${file} away`),
    ]).toEqual([args[0], 3, true, true]);
  }
  expect(cli.run(["db"], { env: { PICOCLAW_LOCALE: "ja" } }).err).toContain(`${file} を ${file}-wal`);
  expect(cli.run(["doctor"]).out).toContain(`Move ${file} away`);
  const kept = new DatabaseSync(file, { readOnly: true });
  expect(
    kept.prepare("select name from sqlite_master where type = 'table' order by name").all(),
  ).toMatchObject([{ name: "jobs" }, { name: "migrations" }]);
  kept.close();
  renameSync(file, `${file}.old`);
  for (const end of ["-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
  expect(cli.chat("/chat hello").out).toContain("fine");
}, 300_000);

test.if(requirePart("postgres"))(
  "with database_url everything lives in Postgres, and a server that is gone is told without its password",
  () => {
    const server = startPostgres();
    const cli = chatCli('database_url: "env:STORE"\n');
    const env = { STORE: server.newDatabase() };
    try {
      expect(cli.run(["db", "status", "--json"], { env }).out).toContain('"applied":[]');
      expect(cli.run(["db", "migrate"], { env }).out).toContain("✓ 201-tables");
      expect(cli.chat("/chat hello", [], env).out).toContain("fine");
      expect(cli.chat("/usage", [], env).out).toContain("demo/demo: 1 request");
    } finally {
      server.stop();
    }
    const gone = cli.chat("/chat hello", [], { STORE: "postgres://u:hunter22@127.0.0.1:1/db" });
    expect([gone.code, gone.err.includes("postgres://127.0.0.1:1/db")]).toEqual([3, true]);
    expect(gone.out + gone.err).not.toContain("hunter22");
  },
  300_000,
);
