import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { renderLateDoor, renderTextDoors } from "../../../scripts/text-doors.ts";
import type {
  CommandResult,
  NotCovered,
  TransactionKind,
  TransactionReason,
} from "../../../src/domain/jobs/result.ts";
import type { FileTrouble, Remedy } from "../../../src/domain/platform/machine-trouble.ts";
import { chatMessagesFor } from "../../../src/domain/texts/chat.ts";
import { terminalMessagesFor } from "../../../src/domain/texts/cli-terminal.ts";
import {
  type ConfigProblem,
  type ConfigWarning,
  listProblems,
  NOTHING,
} from "../../../src/domain/texts/config-problem.ts";
import { environmentMessages } from "../../../src/domain/texts/containers.ts";
import { pulls } from "../../../src/domain/texts/en/chat-pulls.ts";
import * as enJobs from "../../../src/domain/texts/en/jobs.ts";
import { formatBytes, oneLine } from "../../../src/domain/texts/format-text.ts";
import { historyMessagesFor } from "../../../src/domain/texts/history.ts";
import * as jaJobs from "../../../src/domain/texts/ja/jobs.ts";
import { type Messages, messagesFor, reportMessages } from "../../../src/domain/texts/jobs.ts";
import { wordNote } from "../../../src/domain/texts/jobs-notes.ts";
import { formatResults, wordError } from "../../../src/domain/texts/jobs-report.ts";
import { runningMessagesFor } from "../../../src/domain/texts/jobs-running.ts";
import { LOCALES } from "../../../src/domain/texts/locale.ts";
import { modelMessagesFor } from "../../../src/domain/texts/models.ts";
import { consoleMessagesFor } from "../../../src/domain/texts/web.ts";
import { inEveryLanguage } from "../../../src/domain/texts/worded.ts";

const { messages: en } = enJobs;
const { messages: ja } = jaJobs;

const paths = ["a.ts", "b.ts"];
const ASIDE = { jobId: "job_1", folder: "/aside/job_1", files: 2, bytes: 5_000 };
const many = Array.from({ length: 25 }, (_, i) => `file-${i}`);
const at = { file: "picoclaw.yaml", line: 3, column: 5 };

const PROBLEMS: readonly ConfigProblem[] = [
  { code: "unknown-key", key: "wrker", nearest: "worker", at },
  { code: "unknown-key", key: "zzz" },
  { code: "invalid-value", key: "a.b", value: '"x"', expected: "integer", at: { file: "f" } },
  { code: "invalid-value", key: "a.b", value: '"x"', expected: "integer", variable: "PICOCLAW_A_B" },
  { code: "literal-secret", key: "line.channel_secret", at },
  { code: "unset-reference", key: "a", variable: "X", at: { file: "f", line: 1 } },
  { code: "invalid-yaml", detail: "bad", at },
  { code: "unreadable-file", detail: "EACCES", at: { file: "f" } },
];
const WARNINGS: readonly ConfigWarning[] = [
  { code: "unknown-variable", variable: "PICOCLAW_X", nearest: "PICOCLAW_HOME" },
  { code: "unknown-variable", variable: "PICOCLAW_X" },
  { code: "untrusted-keys", file: "f", keys: ["worker.confine", "mcp_servers.x"] },
  { code: "ignored-key", key: "k", at },
  { code: "docker-socket" },
  { code: "cloud-allowed" },
];
const TROUBLES: Readonly<Record<FileTrouble, true>> = {
  "disk-error": true,
  "too-many-files": true,
  "other-mount": true,
  "no-space": true,
  "read-only": true,
  "permission-denied": true,
  "not-text": true,
  "is-directory": true,
  "not-directory": true,
  vanished: true,
  exists: true,
  "not-found": true,
  busy: true,
  "name-too-long": true,
  "too-large": true,
};
const REMEDIES: Readonly<Record<Remedy, true>> = {
  "let-write": true,
  "install-git": true,
  "init-repository": true,
  "install-bubblewrap": true,
  "install-util-linux": true,
  "other-file-system": true,
  "allow-user-namespaces": true,
  "raise-copy-limit": true,
  "transaction-none": true,
  "raise-undo-quota": true,
  "free-space": true,
  "temporary-folder": true,
  "create-workspace": true,
  "own-storage": true,
  "writable-home": true,
  "writable-workspace": true,
  "trust-workspace": true,
  "set-git-identity": true,
  "start-docker": true,
  "start-ollama": true,
};
const KINDS: readonly TransactionKind[] = ["direct", "overlay", "copy", "none"];
const REASONS: readonly TransactionReason[] = [
  "file-edits-only",
  "configured",
  "overlay-available",
  "no-bubblewrap",
  "no-user-namespaces",
  "mount-below-workspace",
  "foreign-group",
  "folds-case",
  "not-linux",
  "overlay-failed",
];
const UNCOVERED: readonly NotCovered[] = ["network", "daemons", "other-folders", "forge"];
const keysOf = <K extends string>(record: Readonly<Record<K, true>>) => Object.keys(record) as K[];

/** Arguments for every message; a new one without an entry here fails to compile. */
type Samples = {
  readonly [K in keyof Messages as Messages[K] extends (...args: never[]) => string ? K : never]: (
    say: Messages[K],
    m: Messages,
  ) => readonly string[];
};
const SAMPLES: Samples = {
  noteOfNewer: (say) => [say("a-code")],
  cannotWork: (say) => [say("chat", "e")],
  parseErrorDetail: (say) => [say("d", 3), say("d", null)],
  commandFailed: (say) => [say("d")],
  timeout: (say) => [say(300)],
  patchFailed: (say) => [say("d")],
  installationIncomplete: (say) => [say("/p")],
  summary: (say) => [say({ total: 3, succeeded: 2, failed: 1 })],
  gitCommit: (say) => [say("abc")],
  executionSummary: (say) => [say({ total: 3, fileEdits: 1, shellCommands: 1, gitOperations: 1 })],
  changesHeader: (say) => [say(2)],
  rolledBack: (say) => [say("e")],
  cannotRollBack: (say) => [say("e")],
  jobLine: (say) => [say("job_1")],
  workerFailed: (say) => [say("e")],
  commitConflict: (say) => [say("#1", paths, "terminal"), say("#1", paths, "chat")],
  dryRunHeader: (say) => [say(2), say(1)],
  dryRunLine: (say) => [say(1, "c")],
  trialJobFailed: (say) => [say("c")],
  headRefused: (say) => [...REASONS, "unconfined" as const].map((reason) => say(reason)),
  transactionKind: (say) => KINDS.flatMap((kind) => REASONS.map((reason) => say(kind, reason))),
  notRun: (say) => [say(2)],
  nothingApplied: (say) => [say("job_1")],
  copyLimitExceeded: (say) => [say({ bytes: 3 * 1024 ** 3, limitBytes: 2 * 1024 ** 3 })],
  notCovered: (say) => [say(UNCOVERED)],
  changedOutside: (say) => [say(paths)],
  endedWithJob: (say) => [say(paths)],
  protectedRestored: (say) => [say(many)],
  filterUnknown: (say) => [say(paths)],
  protectedCreated: (say) => [say(paths)],
  protectedLogged: (say) => [say(paths)],
  undonePartly: (say) => [say({ jobId: "job_1", refs: ["refs/heads/main"] })],
  previewsWait: (say) => [say(["job_1", "job_2"])],
  previewsHint: (say) => [say(1, false), say(2, true)],
  workspaceReadOnly: (say) => [say("/ws")],
  alreadyApplied: (say) => [say("#1")],
  notAPreview: (say) => [say("job_1")],
  changedNothing: (say) => [say("#1")],
  stillAPreview: (say) => [say("job_1", "terminal"), say("job_1", "chat")],
  wrongState: (say) => [say("job_1", "undone"), say("job_1", "committed"), say("job_1", "discarded")],
  redoFirst: (say) => [say("a.ts", "job_2", "terminal"), say("a.ts", "job_2", "chat")],
  changedByJob: (say) => [say("a.ts", "job_2", "terminal"), say("a.ts", "job_2", "chat")],
  foldersKept: (say) => [say(paths)],
  startFolderAway: (say) => [say("/p")],
  parentNoFolder: (say) => [say("d/f")],
  recordDamaged: (say) => [say("job_1", "/p")],
  recordClosed: (say) => [say("job_1", "/p")],
  undoDamaged: (say) => [
    say("job_1", "/p", null),
    say("job_1", "/p", []),
    say("job_1", "/p", "closed"),
    say("job_1", "/p", ["a/b"]),
  ],
  undoRebuilt: (say) => [say([]), say(["a/b"])],
  undoDamagedRemedy: (say) => [say("/p/slots")],
  deletedSince: (say) => [say("a/b")],
  recordLost: (say) => [say("job_1", "/p")],
  recordRepaired: (say) => [say("job_1", "/p")],
  undoDataGone: (say) => [say("undo", "job_1", paths), say("redo", "job_1", paths)],
  repairImpossible: (say) => [say("job_1", "/p", false), say("job_1", "/p", true)],
  undoList: (say) => [say("job_1", paths)],
  undoUnavailable: (say) => [say("job_1")],
  quotaEvicted: (say) => [say(["#1"], 10, 1024)],
  unknownJob: (say) => [say("job_1", "terminal"), say("job_1", "chat")],
  jobRunning: (say) => [say("job_1", 7, "terminal"), say("job_1", null, "chat")],
  jobDied: (say) => [say("job_1")],
  homeAside: (say) => [say("/home/me/.picoclaw/home-aside")],
  homeRepaired: (say) => [say("/home/me/.picoclaw/home")],
  homeBusy: (say) => [say("/home/me/.picoclaw/home-aside")],
  sandboxPart: (say) =>
    (["bubblewrap", "setpriv", "user-namespaces", "overlay"] as const).flatMap((part) => [
      say(part, true),
      say(part, false),
    ]),
  fileSystems: (say) => [say("ext4", "/s", "xfs")],
  mountsBelow: (say) => [say(paths)],
  foreignRepository: (say) =>
    (["home", "owner", "untracked"] as const).map((why) => say({ topLevel: "/srv/all", why })),
  promise: (say) =>
    (["undo", "confined", "preview-offline", "loopback-reachable"] as const).flatMap((one) => [
      say(one, true),
      say(one, false),
    ]),
  moreLines: (say) => [say(10), say(1)],
  machineAway: (say) => [say("build-2")],
  orderUnsettled: (say) => [say("build-2")],
  machineGone: (say) => [say("box-2")],
  jobNotRunning: (say) => [say("job_1_a")],
  jobInterrupted: (say) => [say("job_1", "commit"), say("job_1", "undo"), say("job_1", "redo")],
  keptAside: (say) => [say("job_1", { folder: "/aside", paths })],
  asideKept: (say) => [say(ASIDE), say({ ...ASIDE, files: 1 })],
  asideRemedy: (say) => [say("job_1")],
  asideRemoved: (say) => [say(ASIDE), say({ ...ASIDE, files: 1 })],
  asideNone: (say) => [say("job_1")],
  asideUnfinished: (say) => [say("job_1")],
  jobRepaired: (say) =>
    (["finished", "taken-back"] as const).flatMap((outcome) => [
      say({ code: "repaired", jobId: "job_1", direction: "commit", outcome, paths: [] }),
      say({ code: "repaired", jobId: "job_1", direction: "undo", outcome, paths }),
    ]),
  repairStuck: (say) => [say("job_1", paths)],
  interruption: (say) =>
    (["open", "finished", "taken-back"] as const).map((outcome) =>
      say({ direction: "commit", outcome, left: [] }),
    ),
  notARepository: (say) => [say("/ws")],
  autoCommitAborted: (say) => [say("e")],
  mergedBy: (say) => [say("undo", "job_1", "job_2"), say("redo", "job_1", "job_2")],
  mergeTitle: (say) => [say("undo", "job_1", "t"), say("redo", "job_1", "t")],
  replacedChange: (say) => [say(["a.ts"]), say(["a.ts", "b.ts"])],
  answerSkipped: (say) => [say(["```ts a"]), say(["a", "b"])],
  mergedWith: (say) => [say("p", "job_1"), say("p", null)],
  hookRefused: (say) => [
    say({ command: "c", ended: 1, output: "e" }),
    say({ command: "c", ended: "timeout", output: "" }),
  ],
  hookFailed: (say) => [say({ moment: "on_red", command: "c", ended: "not-run", output: "" })],
  autoCommitFailed: (say) => [say("e")],
  workspaceMissing: (say) => [say("/ws")],
  workspaceGone: (say) => [say("/ws", "overlay"), say("/ws", "none")],
  workspaceNotADirectory: (say) => [say("/ws")],
  diskScarce: (say) => [say("/home/you/project", 4096)],
  storageForeignOutside: (say) => [
    say("/srv/.ws.picoclaw/s/1", ["/srv/.ws.picoclaw", "/srv/.ws.picoclaw/s/1"]),
  ],
  storageForeign: (say) => [say("/home/you/.picoclaw")],
  workspaceBusy: (say) => [say("/ws")],
  fileTrouble: (say) => keysOf(TROUBLES).map((trouble) => say(trouble, "a.ts")),
  remedy: (say) => keysOf(REMEDIES).map((remedy) => say(remedy)),
  moreProblems: (say) => [say(4990)],
  configProblem: (say) => PROBLEMS.map((problem) => say(problem)),
  configWarning: (say) => WARNINGS.map((warning) => say(warning)),
  workspaceTrusted: (say) => [say("/ws", []), say("/ws", ["picoclaw.yaml"])],
  notTogether: (say) => [say(["--live", "--all"])],
  unknownCommand: (say) => [say("aply", "apply"), say("zzz", null)],
  unknownFlag: (say) => [say("--jsn", "--json"), say("--z", null)],
  optionsBehind: (say) => [say("--force")],
  missingValue: (say) => [say("--config")],
  needlessValue: (say) => [say("--json")],
  unexpectedWords: (say) => [say("a b")],
  badCount: (say) => [say("--limit", "-1")],
  badChoice: (say) => [say("--route", "X", ["CHAT", "CODE"])],
  usageLines: (say) => [say("jobs", "jobs")],
  storeDenied: (say) => [say("d")],
  storeAway: (say) => [say("d")],
  unexpectedError: (say) => [say("d", "/l"), say("d", null)],
};

function everything(m: Messages): string[] {
  const functions = Object.entries(SAMPLES).flatMap(([key, sample]) => {
    const say = m[key as keyof Messages];
    return (sample as (say: unknown, m: Messages) => readonly string[])(say, m);
  });
  const texts = Object.values(m).flatMap((value) =>
    typeof value === "string"
      ? [value]
      : typeof value === "object"
        ? Object.values(value as object).map((one) => String(typeof one === "function" ? one("name") : one))
        : [],
  );
  return [...functions, ...texts];
}

for (const m of [ja, en]) {
  test(`every message in ${m.locale} can be said`, () => {
    const said = everything(m);
    expect(said.length).toBeGreaterThan(100);
    expect(
      said.filter(
        (text) => /undefined|null|\[object|NaN|\$\{/.test(text) || text === "" || text.endsWith("\n"),
      ),
    ).toEqual([]);
    const unsampled = Object.entries(m).filter(
      ([key, value]) => typeof value === "function" && !(key in SAMPLES),
    );
    expect(unsampled).toEqual([]);
  });
}

/** Facts are kept as JSON, which makes null of undefined, and texts are made of them later. */
test("every message says the same when what it is filled with was kept in between", () => {
  for (const m of [ja, en])
    for (const [key, sample] of Object.entries(SAMPLES)) {
      const say = m[key as keyof Messages] as (...args: unknown[]) => string;
      const kept = (...args: unknown[]) => say(...(JSON.parse(JSON.stringify(args)) as unknown[]));
      const said = sample as (say: unknown, m: Messages) => readonly string[];
      expect([key, said(kept, m)]).toEqual([key, said(say, m)]);
    }
});

test("the catalogues have the same keys, and English has no Japanese in it", () => {
  expect(Object.keys(en).sort()).toEqual(Object.keys(ja).sort());
  expect(everything(en).filter((text) => /[\u3040-\u30ff\u4e00-\u9fff]/.test(text))).toEqual([]);
  expect([messagesFor("ja"), messagesFor("en")]).toEqual([ja, en]);
});

describe("wording that users know, exactly", () => {
  const cases: readonly (readonly [string, string])[] = [
    [ja.parseError, "patch のフォーマットが不正だよ。JSON または Markdown で書いてね。"],
    [ja.commandFailed("詳細"), "コマンド実行に失敗したよ: 詳細"],
    [ja.timeout(300), "コマンドがタイムアウトしたよ（制限時間: 300 秒）"],
    [ja.securityViolation, "セキュリティエラー: workspace 外への書き込みは許可されていないよ。"],
    [ja.patchFailed("x"), "patch の実行に失敗したよ: x"],
    [ja.summary({ total: 3, succeeded: 2, failed: 1 }), "実行: 3 件, 成功: 2 件, 失敗: 1 件"],
    [
      ja.cannotRollBack("e"),
      "実行失敗: e. Git auto-commit がOFFのため、ロールバックできません。手動で復旧してください。",
    ],
    [reportMessages("ja").headline("applied", 0), "実行完了！"],
    [
      reportMessages("ja").sentence({
        status: reportMessages("ja").status("applied", 0),
        succeeded: 3,
        total: 3,
        files: 2,
        checks: "",
      }),
      "実行完了 (3/3 コマンド成功)",
    ],
    [ja.workerFailed("e"), "Worker実行失敗: e"],
  ];
  for (const [said, known] of cases) test(known, () => expect(said).toBe(known));
});

function result(target: string, overrides: Partial<CommandResult> = {}): CommandResult {
  const command = { type: "shell_command", action: "run", target, content: "" };
  return {
    command,
    success: true,
    output: "",
    error: "",
    duration: 12,
    changes: [],
    notes: [],
    ...overrides,
  };
}

describe("results", () => {
  test("stand one under another, errors four spaces in", () => {
    const results = [
      result("go test ./..."),
      result("false", { success: false, error: "command failed: exit 1", duration: 3 }),
    ];
    expect(formatResults(results, ja)).toBe(
      "✓ [1] shell_command run go test ./... (12ms)\n✗ [2] shell_command run false (3ms)\n    エラー: command failed: exit 1",
    );
    expect(formatResults(results, en)).toContain("\n    Error: command failed: exit 1");
    expect(formatResults([], ja)).toBe("");
    for (const [error, words] of [
      ["command failed: exit status 1 (output: a)", "コマンドが失敗しました: 終了コード 1 (output: a)"],
      ["git command failed: signal: SIGTERM", "git コマンドが失敗しました: シグナル SIGTERM"],
      [
        "command failed: timed out after 5 seconds (output: a)",
        "コマンドが 5 秒以内に終わりませんでした (output: a)",
      ],
      ["failed to write file a: is a directory: a", "ファイルを変更できません: a: フォルダです: a"],
      [
        "failed to delete file a: no such file or directory: a",
        "ファイルを削除できません: a: ファイルまたはフォルダがありません: a",
      ],
      [
        "failed to rename d: cannot move a folder into itself: d/e",
        "移動・コピーできません: d: フォルダをそのフォルダ自身の中には移動できません: d/e",
      ],
      ["make: command failed: exit status 2", "make: コマンドが失敗しました: 終了コード 2"],
      [
        "protected file cannot be modified: .env (restored)\nprotected file cannot be modified: b (restored)",
        "保護されたファイルは変更できません: .env（元に戻しました）\n保護されたファイルは変更できません: b（元に戻しました）",
      ],
      ["a: No such file", "a: ファイルがありません"],
      ["is a directory: $& d", "フォルダです: $& d"],
    ] as const)
      expect([wordError(ja, error), wordError(en, error)]).toEqual([words, error]);
  });

  test("a person reads no advice that is meant for the model that wrote an edit", () => {
    for (const [error, enWords, jaWords] of [
      [
        "x.py hunk 1: the file has the result of this edit already, at line 3: leave it out; if another place is meant, add the lines around it",
        "x.py hunk 1: the file has the result of this edit already, at line 3",
        "x.py 変更箇所 1: 3 行目はすでに変更後の内容です",
      ],
      [
        "x.py: matches 2 places (lines 1, 4); add lines around it that occur once\nNothing of this edit was written.",
        "x.py: matches 2 places (lines 1, 4)\nNothing of this edit was written.",
        "x.py: 同じ行が 2 か所（1, 4 行目）にあり、場所が決まりません\nこの編集は何も書き込んでいません。",
      ],
    ] as const)
      expect([wordError(en, error), wordError(ja, error)]).toEqual([enWords, jaWords]);
  });

  test("an account without credit is not advised to wait", () => {
    const facts = { provider: "claude", model: "m", address: "a", detail: "too low" };
    for (const locale of LOCALES) {
      const detail = modelMessagesFor(locale).quotaSpent(facts);
      const asked = { agent: "Gin", role: "coder3", provider: "claude", model: "m" } as const;
      const said = chatMessagesFor(locale).modelTrouble("rate-limited", asked, detail);
      expect(said.split("→")).toHaveLength(2);
      expect(said).toContain("picoclaw init");
    }
  });

  test("a stored code that only a newer version has is a sentence", () => {
    const fact = { code: "of-later" } as never;
    expect(wordNote(en, fact)).toBe(
      "A newer PicoClaw wrote a note that this version cannot show (of-later).",
    );
    expect(wordNote(ja, fact)).toBe(
      "新しいバージョンの PicoClaw が書いた注記（of-later）は、このバージョンでは表示できません。",
    );
    for (const locale of LOCALES) expect(historyMessagesFor(locale).notACase(fact)).toContain("PicoClaw");
  });

  test("one model that talks and codes is named once", () => {
    for (const locale of LOCALES) {
      const { who } = terminalMessagesFor(locale);
      expect(who("p/m", "p/m").split("p/m")).toHaveLength(2);
      expect(who("p/m", "p/n")).toMatch(/p\/m.*p\/n/);
    }
  });

  test("one file that a commit leaves out is a singular", () => {
    expect(pulls.commitStop({ why: "nothing", changed: 1 })).toContain("the 1 file with changes is not");
    expect(pulls.commitStop({ why: "nothing", changed: 2 })).toContain("the 2 files with changes are not");
  });

  test("a script is shown as its first line", () => {
    expect([oneLine("npm ci\nnpm test\n"), oneLine("\n  ls  \r\npwd"), oneLine("ls\n")]).toEqual([
      "npm ci …",
      "ls …",
      "ls",
    ]);
  });
});

test("bytes for people", () => {
  expect([0, 1023, 1024, 1536, 5 * 1024 ** 3].map(formatBytes)).toEqual([
    "0 B",
    "1023 B",
    "1 KiB",
    "1.5 KiB",
    "5 GiB",
  ]);
});

test("a key that had to be there is missing, in both languages", () => {
  const problem = { code: "invalid-value", key: "version", value: NOTHING, expected: "1" } as const;
  expect(messagesFor("en").configProblem(problem)).toBe("version is missing; expected 1");
  expect(messagesFor("ja").configProblem(problem)).toBe("version がありません。期待する値: 1");
});

test("every door has every language (else: bun scripts/gen-config-docs.ts)", () => {
  const doors = renderTextDoors(join(import.meta.dir, "../../.."), LOCALES);
  expect(doors.size).toBeGreaterThan(10);
  for (const [path, text] of doors) expect([path, readFileSync(path, "utf8")]).toEqual([path, text]);
});

test("in the bundle a door asks for a language when its first text is needed", () => {
  const door = `import * as en from "./en/chat.ts";
import * as ja from "./ja/chat.ts";
import type { Locale } from "./locale.ts";
const TEXTS: Readonly<Record<Locale, typeof en>> = { en, ja };
`;
  expect(renderLateDoor(door)).toBe(`import type { Locale } from "./locale.ts";
const TEXTS: Readonly<Record<Locale, typeof en>> = { get en() { return require("./en/chat.ts"); }, get ja() { return require("./ja/chat.ts"); } };
`);
  expect(renderLateDoor("export const plain = 1;\n")).toBe("export const plain = 1;\n");
});

test("a text in every language is worded when it is read, and once", () => {
  const asked: string[] = [];
  const texts = inEveryLanguage((locale) => `${locale} ${asked.push(locale)}`);
  expect(asked).toEqual([]);
  expect([texts.en, texts.en, asked]).toEqual(["en 1", "en 1", ["en"]]);
  expect(JSON.parse(JSON.stringify(texts))).toEqual({ ja: "ja 2", en: "en 1" });
});

test("the source of a job is said in words, in both languages", () => {
  const recorded = ["cli", "chat:cli", "chat:slack", "tool:execute_command", "agent:1", "solve", "chat:new"];
  expect(recorded.map(runningMessagesFor("en").source)).toEqual([
    "command line",
    "chat in the terminal",
    "chat in Slack",
    "tool execute_command",
    "sub-agent",
    "issue",
    "chat in New",
  ]);
  expect(recorded.map(runningMessagesFor("ja").source)).toEqual([
    "コマンド",
    "ターミナルのチャット",
    "Slack のチャット",
    "ツール execute_command",
    "サブエージェント",
    "Issue",
    "New のチャット",
  ]);
});

test("a failure of the container engine is said in words, not by its code", () => {
  const said = (["en", "ja"] as const).map((locale) =>
    environmentMessages(locale).failure("engine", "engine-unreachable", "unix:///x: no such socket"),
  );
  expect(said).toEqual([
    "Docker cannot be reached:\nunix:///x: no such socket",
    "Docker に接続できません:\nunix:///x: no such socket",
  ]);
});

test("the state of a task is said in words", () => {
  expect(
    ["running: work", "PENDING ⏸", "COMPLETE", "paused"].map(consoleMessagesFor("en").taskState),
  ).toEqual(["running: work", "waiting ⏸", "done", "paused"]);
  expect(
    ["running: work", "PENDING ⏸", "COMPLETE", "paused"].map(consoleMessagesFor("ja").taskState),
  ).toEqual(["実行中: 作業", "待機中 ⏸", "完了", "一時停止中"]);
});

test.each([
  ["en", "… and 4990 more"],
  ["ja", "… ほか 4990 件"],
] as const)(
  "of thousands of problems the first are reported, and how many more there are (%s)",
  (locale, rest) => {
    const messages = messagesFor(locale);
    const { configProblem, configWarning } = messages;
    const problems = Array.from({ length: 5000 }, (_, i) => ({ code: "unknown-key", key: `k${i}` }) as const);
    expect(listProblems(messages, problems)).toEqual([...problems.slice(0, 10).map(configProblem), rest]);
    expect(listProblems(messages, problems.slice(0, 10))).toEqual(problems.slice(0, 10).map(configProblem));
    const keys = problems.map(({ key }) => key);
    expect(configWarning({ code: "untrusted-keys", file: "picoclaw.yaml", keys }).length).toBeLessThan(400);
  },
);

test("a job that no model answered names who could not, once", () => {
  for (const locale of ["en", "ja"] as const) {
    const { whyEnded } = runningMessagesFor(locale);
    expect(whyEnded("unanswered: Gin could not answer: no key")).toBe("Gin could not answer: no key");
    expect(whyEnded("unusable: no patch")).toEndWith(": no patch");
    expect(whyEnded("unanswered")).not.toBe("unanswered");
  }
});
