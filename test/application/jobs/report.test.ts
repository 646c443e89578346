import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import {
  type ReplyPiece,
  say,
  wordCard,
  wordPieces,
  wordReply,
} from "../../../src/application/chat/reply-words.ts";
import { previewFacts, takeBackFacts, wordAction } from "../../../src/application/jobs/action-report.ts";
import { storedFacts, toJobJson, toListedJob } from "../../../src/application/jobs/job-facts.ts";
import type { StoredJob } from "../../../src/application/ports/jobs.ts";
import { changedFiles, type RanJob } from "../../../src/domain/jobs/result.ts";
import { messagesFor } from "../../../src/domain/texts/jobs.ts";
import { toResultJson, wordChatJob, wordJob } from "../../../src/domain/texts/jobs-report.ts";
import { createBench, edit, shell } from "./worker-kit.ts";

const [en, ja] = [messagesFor("en"), messagesFor("ja")];
let bench: ReturnType<typeof createBench>;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

const firstLine = (text: string) => text.split("\n", 1)[0] as string;

async function factsOf(...run: Parameters<typeof bench.execute>): Promise<RanJob> {
  const facts = await bench.execute(...run);
  if (facts.about !== "job") throw new Error("the job did not begin");
  return facts;
}

test("every report of a job lists and counts the same files, without the folders that came with them", async () => {
  const commands = [edit("create", "a/b/c", "1"), edit("create", "d", "1")];
  const staged = await factsOf(commands, { preview: true });
  const facts = await factsOf(commands, {});
  expect(facts.changes).toHaveLength(4);
  expect(firstLine(wordChatJob(en, facts, "p"))).toBe("Applied: 2 files");
  for (const word of [wordJob, (...of: Parameters<typeof wordJob>) => wordChatJob(...of, "p")]) {
    expect(word(en, facts)).toMatch(/\nChanged files: 2\n {2}A a\/b\/c.*\n {2}A d.*\n\n/);
    expect(word(ja, facts)).toContain("\n変更されたファイル: 2 件\n  A a/b/c");
    expect(word(en, staged)).toContain("\n2 changed files are staged. ");
    expect(word(ja, staged)).toContain("\n2 件のファイルを変更。");
  }
  const { archive } = await bench.open();
  const stored = archive.read(facts.jobId) as StoredJob;
  const listed = [
    { path: "a/b/c", kind: "added" },
    { path: "d", kind: "added" },
  ] as const;
  expect(toJobJson(toListedJob(stored), false)).toMatchObject({ change_count: 2, changes: listed });
  expect(toResultJson(en, facts).changes).toEqual(listed);
  expect(archive.events(facts.jobId).map(({ event }) => event)).toContainEqual({
    type: "committed",
    changes: 2,
  });
});

test("a chat lists and explains the first failed commands, and counts the others", async () => {
  const commands = [
    edit("create", "a", "1"),
    ...Array.from({ length: 40 }, (_, i) => edit("delete", `no-${i}`)),
  ];
  const said = wordChatJob(en, await factsOf(commands, {}), "p").split("\n");
  const failures = said.filter((line) => /^✗ \[\d+\]/.test(line));
  expect([failures.length, failures.at(-1)?.slice(0, 6), said.includes("… +30")]).toEqual([
    10,
    "✗ [11]",
    true,
  ]);
  expect(said.length).toBeLessThan(80);
});

test("a folder that was a file before, or got another mode, is a change beside those inside", () => {
  const changes = [
    { path: "was-a-file", kind: "modified" },
    { path: "was-a-file/new", kind: "added" },
    { path: "gone", kind: "deleted" },
    { path: "gone/inside", kind: "deleted" },
    { path: "empty", kind: "added" },
  ] as const;
  expect(changedFiles(changes).map(({ path }) => path)).toEqual([
    "was-a-file",
    "was-a-file/new",
    "gone/inside",
    "empty",
  ]);
});

test("a reply names the commands of the place where it is read: a shell's or a chat's", async () => {
  const create = [edit("create", "a", "1")];
  const staged = await factsOf(create, { preview: true });
  const applied = await factsOf(create, {});
  const workspace = await bench.open();
  const undone = takeBackFacts(
    workspace,
    "undo",
    await workspace.takeBack({ direction: "undo", force: false }),
  );
  const said: ReplyPiece[] = [
    { kind: "job", facts: staged, plan: "p" },
    { kind: "job", facts: applied, plan: "p" },
    { kind: "action", facts: undone },
    { kind: "loop", changes: [], outward: null, evictions: [], undo: "job_1_aaaaaaaa" },
  ];
  const commandsIn = (text: string) => text.match(/picoclaw \w+|(?<=[\s:])\/\w+/g);
  for (const locale of ["en", "ja"] as const) {
    expect(commandsIn(wordReply(locale, { text: "", said }, "terminal"))).toEqual([
      "picoclaw apply",
      "picoclaw show",
      "picoclaw discard",
      "picoclaw undo",
      "picoclaw redo",
      "picoclaw undo",
    ]);
    expect(commandsIn(wordReply(locale, { text: "", said }))).toEqual([
      "/apply",
      "/diff",
      "/discard",
      "/undo",
      "/redo",
      "/undo",
    ]);
  }
});

test("the sentence about a failed command is in every report, whether or not a command was left out", async () => {
  const [write, fails] = [edit("create", "a", "1"), shell("exit 3")];
  const said = "コマンド実行に失敗したよ: 終了コード 3";
  for (const stopOnError of [false, true])
    for (const commands of [[fails], [write, fails], [fails, edit("create", "b", "1")]])
      expect(wordJob(ja, await factsOf(commands, { stopOnError })).split("\n")[2]).toBe(said);
  const chat = wordChatJob(ja, await factsOf([write, fails, fails], {}), "p").split("\n");
  expect(chat[2]).toBe(said);
  // The sentence has the error of one command: with several, each shows its own.
  expect(chat.filter((line) => line === "    エラー: コマンドが失敗しました: 終了コード 3")).toHaveLength(2);
});

test("a chat says the cause of one failed command once, with its output and with what was restored", async () => {
  bench.write(".env", "K=1\n");
  const causes = async (script: string, request = {}) => {
    const facts = await factsOf([edit("create", "a", "1"), shell(script)], request);
    return [en, ja].map((messages) =>
      wordChatJob(messages, facts, "p").match(
        /exit status 3|終了コード 3|\.env \(restored\)|\.env（元に戻しました）/g,
      ),
    );
  };
  expect(await causes("echo said; exit 3")).toEqual([["exit status 3"], ["終了コード 3"]]);
  expect(await causes("exit 3", { atomic: true })).toEqual([["exit status 3"], ["終了コード 3"]]);
  expect(await causes("echo said; rm .env; exit 3")).toEqual([
    ["exit status 3", "exit status 3", ".env (restored)"],
    ["終了コード 3", "終了コード 3", ".env（元に戻しました）"],
  ]);
});

test("a terminal says once how its only failed command ended, with its output", async () => {
  const facts = await factsOf([edit("create", "a", "1"), shell("echo said; exit 3")], {});
  for (const messages of [en, ja])
    expect(wordJob(messages, facts).match(/exit status 3|終了コード 3|: said$/gm)).toHaveLength(2);
});

test("the console names no command of a terminal for what its buttons do", async () => {
  await factsOf([edit("create", "a", "1")], {});
  const workspace = await bench.open();
  const taken = await workspace.takeBack({ direction: "undo", force: false });
  const again = await workspace.takeBack({ direction: "undo", force: false, name: "1" });
  for (const outcome of [taken, again]) {
    const undone = takeBackFacts(workspace, "undo", outcome);
    expect(wordAction(en, undone, "terminal")).toContain("picoclaw redo 1");
    for (const messages of [en, ja])
      expect(wordAction(messages, undone, "console")).not.toMatch(/picoclaw|\/redo/);
  }
});

test("a terminal's list has each error in the executor's words, also of the only command that failed", async () => {
  const commands = [edit("create", "a", "1"), edit("delete", "nope")];
  for (const [messages, label] of [
    [en, "Error:"],
    [ja, "エラー:"],
  ] as const) {
    const lines = wordJob(messages, await factsOf(commands, {})).split("\n");
    expect(lines.filter((line) => line.startsWith("    "))).toEqual([
      `    ${label} failed to delete file nope: no such file or directory: nope`,
    ]);
    const [, failed] = wordJob(messages, await factsOf([shell("echo oops; exit 9")], {})).split("✗ ");
    expect(failed?.split("\n")[1]).toBe(`    ${label} command failed: exit status 9 (output: oops)`);
  }
});

test("a refusal by policy is said in the reader's language, in a chat once", async () => {
  const facts = await factsOf([edit("create", "../x", "1")], {});
  for (const [messages, said] of [
    [en, /outside (the )?workspace/g],
    [ja, /workspace (の)?外/g],
  ] as const) {
    expect(wordJob(messages, facts)).toContain(`${messages.securityViolation}\n`);
    const text = wordChatJob(messages, facts, "p");
    expect(text.match(said)).toHaveLength(1);
    expect(text).toContain(`${messages.securityViolation}\n`);
  }
});

test("an edit that does not match says its cause once, and where the nearest lines are, in the reader's language", async () => {
  bench.write("greet.js", "let one = 3;\n");
  const facts = await factsOf(
    "greet.js\n```\n<<<<<<< SEARCH\nlet one = 1;\n=======\nlet one = 2;\n>>>>>>> REPLACE\n```\n",
    {},
  );
  for (const [messages, said] of [
    [en, /expected lines are not in the file|The nearest lines:|Nothing of this edit was written/g],
    [ja, /書き換える行がファイルにありません|近い行:|この編集は何も書き込んでいません/g],
  ] as const) {
    expect(wordChatJob(messages, facts, "p").match(said)).toHaveLength(3);
    expect(new Set(wordJob(messages, facts).match(said)).size).toBe(3);
  }
});

test("calls of other services that all failed applied nothing", () => {
  const outward = { succeeded: 0, total: 2, error: "down" };
  const loop: ReplyPiece = { kind: "loop", changes: [], outward, evictions: [], undo: null };
  expect(wordPieces("en", [loop])).toContain("No change, 2 commands failed (0/2 commands succeeded)");
  expect(wordPieces("ja", [loop])).toContain("変更なし、2 件のコマンドが失敗 (0/2 コマンド成功)");
});

test("a coder's remaining failure is left out only where the job of the same answer shows it", async () => {
  const job: ReplyPiece = { kind: "job", facts: await factsOf([shell("exit 3")]), plan: "p" };
  const coder = (brief: string): ReplyPiece => ({
    kind: "coder",
    facts: { attempts: 1, red: "failing", brief, tried: [], words: "", costUsd: 0, isDropped: false },
  });
  const [one, other] = ["A", "B"].map((text): ReplyPiece => ({ kind: "heading", text }));
  const said = wordPieces("en", [one!, job, coder("exit 3"), other!, coder("pytest: 2 failed")]);
  expect(said.match(/Still failing: .*/g)).toEqual(["Still failing: pytest: 2 failed"]);
});

describe("the first line of a report is what became of the job:", () => {
  const write = edit("create", "a", "1");
  test.each([
    ["applied", [write], {}, "Applied", "実行完了！", "実行完了 (1/1 コマンド成功)"],
    [
      "applied in part",
      [write, shell("exit 3")],
      {},
      "Applied, 1 command failed",
      "適用済み、1 件のコマンドが失敗",
      "適用済み、1 件のコマンドが失敗 (1/2 コマンド成功)",
    ],
    ["nothing to do", [], {}, "No change", "変更なし", "変更なし"],
    [
      "nothing but failures",
      [shell("exit 3")],
      {},
      "No change, 1 command failed",
      "変更なし、1 件のコマンドが失敗",
      "変更なし、1 件のコマンドが失敗",
    ],
    [
      "a preview",
      [write],
      { preview: true },
      "Preview, nothing applied",
      "プレビュー（まだ何も適用していません）",
      "プレビュー（まだ何も適用していません）",
    ],
    [
      "a dry run",
      [write],
      { dryRun: true },
      "Preview, nothing applied",
      "プレビュー（まだ何も適用していません）",
      "プレビュー（まだ何も適用していません）",
    ],
    [
      "rolled back",
      [write, shell("exit 3")],
      { atomic: true },
      "Stopped, nothing changed",
      "中断しました（何も変更していません）",
      "中断しました（何も変更していません）",
    ],
  ] as const)("%s", async (_name, commands, request, english, japanese, chat) => {
    const facts = await factsOf(commands, request);
    expect([wordJob(en, facts), wordJob(ja, facts), wordChatJob(ja, facts, "p")].map(firstLine)).toEqual([
      english,
      japanese,
      chat,
    ]);
  });

  test("undo, redo, a preview that is applied, and what cannot be", async () => {
    const workspace = await bench.open();
    const { jobId } = await factsOf([write], { preview: true });
    const said = (facts: Parameters<typeof wordAction>[1]) => firstLine(wordAction(en, facts, "chat"));
    const apply = async () => said(previewFacts(workspace, jobId, await workspace.commitPreview(jobId)));
    const swap = async (direction: "undo" | "redo") =>
      said(
        takeBackFacts(
          workspace,
          direction,
          await workspace.takeBack({ direction, name: jobId, force: false }),
        ),
      );
    expect([await apply(), await apply()]).toEqual(["Applied", "Refused"]);
    expect([await swap("undo"), await swap("undo"), await swap("redo")]).toEqual([
      "Undone",
      "Refused",
      "Applied",
    ]);
    bench.write("a", "mine");
    expect(await swap("undo")).toBe("Refused");
    expect(said(takeBackFacts(workspace, "undo", { status: "nothing" }))).toBe("No change");
  });

  test("a job is undone and applied again also where its files are already as wanted", async () => {
    const workspace = await bench.open();
    const swap = async (direction: "undo" | "redo", name: string) => {
      const taken = await workspace.takeBack({ direction, name, force: false });
      const { status, done } = takeBackFacts(workspace, direction, taken);
      return [status, done.map(({ jobId }) => jobId)];
    };
    const added = await factsOf([edit("create", "new", "1")]);
    rmSync(bench.path("new"));
    expect(await swap("undo", added.jobId)).toEqual(["taken-back", [added.jobId]]);
    expect(await swap("redo", added.jobId)).toEqual(["applied", [added.jobId]]);
    bench.write("old", "1");
    const deleted = await factsOf([shell("rm old")]);
    bench.write("old", "1");
    expect(await swap("undo", deleted.jobId)).toEqual(["taken-back", [deleted.jobId]]);
    expect(await swap("redo", deleted.jobId)).toEqual(["applied", [deleted.jobId]]);
  });

  test("a job that changed nothing is neither undone nor applied again, alone and beside one that did", async () => {
    const [written, idle] = [await factsOf([write]), await factsOf([shell("true")])];
    const workspace = await bench.open();
    const swap = async (direction: "undo" | "redo", { jobId: name } = idle) =>
      takeBackFacts(workspace, direction, await workspace.takeBack({ direction, name, force: false }));
    const stored = () => storedFacts(workspace.archive.read(idle.jobId) as StoredJob, [], false);
    for (const direction of ["redo", "undo", "undo", "redo"] as const) {
      const facts = await swap(direction);
      expect([facts.code, facts.status, facts.done, wordAction(en, facts, "chat")]).toEqual([
        "done",
        "no-change",
        [{ jobId: idle.jobId, changes: [], left: [] }],
        "No change\n#2 changed nothing, so there is nothing to undo or redo.",
      ]);
      expect([stored().status, stored().undo]).toEqual(["no-change", "none"]);
    }
    const swapBoth = async (direction: "undo" | "redo") => {
      const both = await swap(direction, { ...idle, jobId: `${written.jobId} ${idle.jobId}` });
      return [both.status, both.name, ...both.done.map(({ jobId }) => jobId)];
    };
    // An undo begins with the idle one, a redo ends with it; the second time it was swapped before.
    for (const isSwapped of [false, true])
      for (const [direction, status] of [
        ["undo", "taken-back"],
        ["redo", "applied"],
      ] as const) {
        if (isSwapped) await swap(direction);
        expect(await swapBoth(direction)).toEqual([status, written.jobId, written.jobId]);
      }
  });
});

test("what the quota evicted is said by the text, the document, the journal and the chat", async () => {
  const settings = { PICOCLAW_WORKER_UNDO_QUOTA: "20000" };
  bench.write("big", "x".repeat(30_000));
  const first = await factsOf([edit("delete", "big")], { settings });
  bench.write("big", "y".repeat(15_000));
  const second = await factsOf([edit("delete", "big")], { settings });
  const evicted = [first, second].flatMap((facts) => facts.evicted.map(({ jobId }) => jobId));
  const told = [first, second].find((facts) => facts.evicted.length > 0) as RanJob;
  expect(evicted).toContain(first.jobId);
  const workspace = await bench.open(settings);
  const stored = workspace.archive.read(told.jobId);
  const later = storedFacts(
    stored as NonNullable<typeof stored>,
    workspace.archive.events(told.jobId),
    false,
  );
  for (const facts of [told, later]) {
    expect(wordJob(en, facts)).toContain("These jobs can no longer be undone:");
    expect(wordChatJob(ja, facts, "")).toContain("次のジョブはもう取り消せません");
    expect(toResultJson(en, facts).evicted).toEqual([{ job_id: first.jobId, bytes: expect.any(Number) }]);
  }
});

describe("a reply that was kept", () => {
  test("is worded in the reader's language, from JSON", async () => {
    const facts = await factsOf([edit("create", "a", "1"), shell("true")]);
    const said = [{ kind: "job", facts, plan: "Write a" } as const, say("cloudAnswered", "claude/m")];
    const row = JSON.parse(JSON.stringify({ text: wordPieces("en", said), said }));
    expect(wordReply("en", row)).toBe(row.text);
    const japanese = wordReply("ja", row);
    expect(firstLine(japanese)).toBe("実行完了 (2/2 コマンド成功)");
    expect(japanese).toContain("取り消しの対象外: ネットワーク越しの操作");
    expect(japanese).toContain("クラウドのモデル（claude/m）");
    expect(japanese).not.toMatch(/Applied|Undo does not|Transaction|To undo it/);
  });

  test("of an older version, or with a text that no longer exists, stays as it was said", () => {
    expect(wordReply("ja", { text: "Done (1/1 commands succeeded)" })).toBe("Done (1/1 commands succeeded)");
    const gone = JSON.parse('[{"kind":"say","name":"goneByNow","with":[]}]');
    expect(wordReply("ja", { text: "As said.", said: gone })).toBe("As said.");
  });
});

test("a command without a similar one is reported without one, also from a stored reply", () => {
  const kept = JSON.parse(JSON.stringify([say("unknownCommand", "zzz", null)]));
  expect(wordPieces("en", kept)).toBe("Unknown command: /zzz\nAll of them: /help");
  expect(wordPieces("ja", kept)).toBe("不明なコマンドです: /zzz\n一覧: /help");
});

test("a card counts the attempts at its head, so its steps name only what was tried and dropped", async () => {
  const facts = await factsOf([edit("create", "a", "1")]);
  const coder = { attempts: 2, tried: ["First"], words: "", costUsd: 0, isDropped: true };
  expect(wordCard("en", { facts, coder }).way).toContain("Tried before: First");
  expect(wordCard("ja", { facts, coder }).way).toContain("途中で試したもの: First");
  expect(wordCard("en", { facts, coder: { ...coder, isDropped: false } }).way).toEqual([]);
});

test("a card says why a command failed once, at that command", async () => {
  const facts = await factsOf([edit("update", ".env", "A=1")]);
  const coder = {
    attempts: 1,
    tried: [],
    words: "",
    costUsd: 0,
    isDropped: false,
    red: "failing",
    brief: ".env: protected file cannot be modified: .env",
  } as const;
  const { trouble, failed, way } = wordCard("en", { facts, coder });
  expect(failed).toEqual([
    { command: "update .env", error: "protected file cannot be modified: .env", output: "" },
  ]);
  expect([...trouble, ...way]).toEqual([]);
});

test("what a coder's work cost is said once, without its own estimate", async () => {
  const facts = await factsOf([edit("create", "a", "1")]);
  const coder = { attempts: 1, tried: [], words: "", costUsd: 0.5, isDropped: false };
  // The card's own line has the cost.
  expect(wordCard("en", { facts, coder }).way).toEqual([]);
});
