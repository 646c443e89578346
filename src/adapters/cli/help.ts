import { resolveLocale } from "../../config/locale.ts";
import { nearest } from "../../config/nearest.ts";
import type { Locale } from "../../domain/texts/messages.ts";
import { messagesFor } from "../../domain/texts/messages.ts";

export { nearest };

type Environment = Readonly<Record<string, string | undefined>>;

interface CommandText {
  readonly usage: string;
  readonly ja: string;
  readonly en: string;
  readonly flags: readonly (readonly [flag: string, ja: string, en: string])[];
}

const TEXTS: Readonly<Record<string, CommandText>> = {
  chat: {
    usage: "chat [MESSAGE|-]",
    ja: "メッセージを 1 つ送る。端末では引数なしで会話になる",
    en: "send one message; without one, a conversation at a terminal",
    flags: [
      [
        "--route ROUTE",
        "担当を指定する（CHAT, PLAN, ANALYZE, OPS, RESEARCH, CODE, CODE1-3）",
        "who answers: CHAT, PLAN, ANALYZE, OPS, RESEARCH, CODE, CODE1-3",
      ],
      ["--events", "途中経過を NDJSON で出力する", "print what happens as NDJSON"],
    ],
  },
  apply: {
    usage: "apply [FILE|-]",
    ja: "patch を 1 つのジョブとして実行する",
    en: "carry out a patch as one job",
    flags: [
      ["--dry-run", "実行せず、内容だけ表示する", "list the commands, run nothing"],
      [
        "--preview",
        "実際に実行して変更を表示し、適用せずに保留する",
        "really run it aside, show the changes, keep them staged",
      ],
      ["--job JOB", "そのプレビューをそのまま適用する", "apply exactly that preview"],
      ["--stop-on-error", "最初の失敗で中断する", "stop at the first failure"],
      ["--atomic", "1 つでも失敗したら全部を元に戻す", "any failure takes everything back"],
      ["--auto-commit", "実行前後に git commit する", "commit before and after"],
      ["--group NAME", "ジョブをまとめる名前", "put the job into a group that undo takes back at once"],
      ["--allow-net", "プレビューでネットワークを許可する", "allow the network in a preview"],
    ],
  },
  undo: {
    usage: "undo [JOB|GROUP]",
    ja: "最後の（または指定した）ジョブを取り消す",
    en: "take back the last or the named job",
    flags: [
      ["--list", "取り消す対象のパスだけ表示する", "only show which paths it would restore"],
      ["--force", "後の変更を上書きする", "overwrite what was changed since"],
    ],
  },
  redo: {
    usage: "redo [JOB|GROUP]",
    ja: "取り消したジョブをやり直す",
    en: "bring a taken-back job in again",
    flags: [["--force", "後の変更を上書きする", "overwrite what was changed since"]],
  },
  jobs: {
    usage: "jobs",
    ja: "ジョブの履歴",
    en: "the history of jobs",
    flags: [
      ["--limit N", "件数", "how many"],
      ["--all", "すべての workspace", "of every workspace"],
    ],
  },
  stop: {
    usage: "stop JOB",
    ja: "実行中のジョブを止める（何も適用しない）",
    en: "end a running job; nothing of it is applied",
    flags: [],
  },
  show: {
    usage: "show [JOB]",
    ja: "1 つのジョブの詳細",
    en: "one job with its changes",
    flags: [["--diff", "差分を表示する", "with the differences"]],
  },
  tool: {
    usage: "tool NAME [ARGS|-]",
    ja: "エージェントのツールを 1 つ呼び出し、結果を JSON で表示する",
    en: "call one of the agent's tools; prints its result as JSON",
    flags: [],
  },
  tools: {
    usage: "tools",
    ja: "ツールの一覧と定義",
    en: "the agent's tools and their definitions",
    flags: [
      ["--format FORM", "openai, anthropic, mcp の形式で出力する", "as openai, anthropic or mcp write them"],
    ],
  },
  solve: {
    usage: "solve URL",
    ja: "GitHub/GitLab の Issue・PR・MR を 1 つ解決し、PR/MR を作成する",
    en: "work on one issue, PR or MR of GitHub or GitLab, up to its pull request",
    flags: [
      [
        "--worker KIND",
        "自前のループの代わりに CLI を使う",
        "a worker CLI instead of our own loop: codex-cli, claude-code, gemini-cli",
      ],
    ],
  },
  pair: {
    usage: "pair [CODE]",
    ja: "LINE・Slack で話しかけた人を承認する。list, add, remove も可",
    en: "let in somebody who spoke on LINE or Slack; also list, add, remove",
    flags: [
      ["--role ROLE", "user（既定）または operator", "user (default) or operator"],
      ["--name NAME", "表示名", "a name to show"],
    ],
  },
  mcp: {
    usage: "mcp",
    ja: "MCP サーバー（標準入出力、または --http）",
    en: "an MCP server on stdio, or on HTTP with --http",
    flags: [["--http PORT", "127.0.0.1 の HTTP で待ち受ける", "listen on 127.0.0.1 instead of stdio"]],
  },
  env: {
    usage: "env ACTION",
    ja: "タスクの実行環境 (prepare, exec, edit, list, info, cleanup, prune)",
    en: "task environments: prepare, exec, edit, list, info, cleanup, prune",
    flags: [
      [
        "--task UUID",
        "タスク (prepare, exec, edit, info, cleanup)",
        "the task (prepare, exec, edit, info, cleanup)",
      ],
      ["--repo URL|PATH", "prepare: リポジトリ", "prepare: the repository"],
      [
        "--env NAME",
        "prepare: 環境名（既定: プロジェクトから判定）",
        "prepare: the environment (default: by the project's files)",
      ],
      ["--branch B", "prepare: ブランチ、タグ、または refs/…", "prepare: a branch, a tag, or refs/…"],
      [
        "--target B",
        "prepare: 比較するマージ先ブランチ",
        "prepare: the branch it will be merged into, to compare with",
      ],
      ["--timeout S", "exec: 制限時間（秒）", "exec: seconds before it is ended"],
      ["--cwd DIR", "exec: 作業ディレクトリ", "exec: the folder to run in"],
      [
        "--session NAME",
        "exec: 状態を共有するセッション",
        "exec: share folder and variables with earlier commands of that session",
      ],
      ["-- COMMAND", "exec: コマンド", "exec: the command"],
      ["--tool NAME", "edit: text_editor 以外のツール", "edit: another tool than text_editor"],
    ],
  },
  images: {
    usage: "images build [NAME]",
    ja: "実行環境のイメージを作る",
    en: "build the images of environments",
    flags: [
      [
        "--from IMAGE",
        "土台のイメージ。debian-rootfs なら debootstrap で作る",
        "what they stand on; debian-rootfs makes it with debootstrap",
      ],
      ["--again", "変更がなくても作り直す", "build even what is unchanged"],
    ],
  },
  serve: {
    usage: "serve [link|token …]",
    ja: "Web コンソール、HTTP API、Webhook、スケジュール",
    en: "the web console, the HTTP API, webhooks and schedules",
    flags: [
      ["--host ADDRESS", "待ち受けるアドレス", "the address to listen on"],
      ["--port N", "ポート（0 は空いているもの）", "the port; 0 is any free one"],
      ["--demo", "台本モデルと使い捨ての workspace で動かす", "a scripted model and a throw-away workspace"],
      ["link", "ログイン用のリンクを作る", "make another link to sign in"],
      ["token create NAME", "API トークンを作る", "make a token for the API"],
      ["token list", "API トークンの一覧", "the tokens there are"],
      ["token remove ID", "API トークンを削除する", "take a token away"],
      ["--user NAME", "リンクやトークンの持ち主", "whose link or token it is"],
      ["--role ROLE", "operator または user", "operator or user"],
      ["--scope LIST", "read,chat,jobs,mcp のいずれか", "some of read,chat,jobs,mcp"],
    ],
  },
  run: {
    usage: "run [TASK.yaml|-]",
    ja: "タスクファイルを実行する（計画 → コンテナ内の worker CLI → 評価、完了まで）",
    en: "carry out a task file: plan, worker CLI in a container, assess, until done",
    flags: [
      [
        "--no-meta",
        "計画モデルなしで worker を 1 回だけ実行する",
        "run the worker once, without a planning model",
      ],
      [
        "--preview",
        "変更を適用せずに保留する（--no-meta のとき）",
        "keep the changes staged (with --no-meta)",
      ],
      ["--follow", "経過をすべて表示する", "show every step as it comes"],
      ["--resume ID", "中断したタスクを再開する", "go on with a task that was interrupted"],
      ["--print-schema", "エディタ用の JSON Schema を表示する", "print the JSON Schema for editors"],
    ],
  },
  init: {
    usage: "init",
    ja: "この環境にあるものを調べ、最初の設定ファイルを作る（上書きはしない）",
    en: "write a first configuration file from what this machine has; never overwrites",
    flags: [],
  },
  config: {
    usage: "config show|check",
    ja: "有効な設定の表示と検査",
    en: "the effective configuration, secrets masked; check it",
    flags: [],
  },
  trust: {
    usage: "trust",
    ja: "このフォルダの picoclaw.yaml を信頼する",
    en: "trust this folder's picoclaw.yaml",
    flags: [],
  },
  doctor: {
    usage: "doctor",
    ja: "環境を診断し、対処方法を示す",
    en: "check this machine and say what helps",
    flags: [["--repair", "中断した処理を修復する", "finish an interrupted commit"]],
  },
  db: {
    usage: "db migrate|status",
    ja: "ジョブの索引（SQLite）の移行と状態",
    en: "the index of jobs (SQLite): migrate it, or its status",
    flags: [],
  },
  demo: {
    usage: "demo",
    ja: "使い捨てのフォルダで一巡するデモ",
    en: "a guided tour in a throw-away folder",
    flags: [],
  },
};

const COMMON: CommandText["flags"] = [
  ["--workspace DIR", "対象フォルダ（既定: 現在のフォルダ）", "the folder to work on (default: this one)"],
  ["--config FILE", "設定ファイル", "the configuration file"],
  ["--json", "JSON で出力する", "print one JSON document"],
  ["--help", "この説明", "this text"],
];

export function help(env: Environment): string {
  const locale = resolveLocale({ env });
  const lines = [
    locale === "ja" ? "使い方: picoclaw コマンド [オプション]" : "Usage: picoclaw COMMAND [options]",
    "",
  ];
  for (const text of Object.values(TEXTS)) lines.push(row(text.usage, text[locale]));
  lines.push("", ...flagRows(COMMON, locale), row("--version", locale === "ja" ? "版" : "the version"));
  lines.push(
    "",
    locale === "ja"
      ? "終了コード: 0 完了 · 1 一部失敗 · 2 入力の誤り（何も実行していない） · 3 実行前に拒否"
      : "Exit codes: 0 done · 1 ran, something failed · 2 bad input, nothing ran · 3 refused before running",
  );
  return `${lines.join("\n")}\n`;
}

export function commandHelp(env: Environment, command: string): string {
  const locale = resolveLocale({ env });
  const text = TEXTS[command] as CommandText;
  return `${[`picoclaw ${text.usage}`, `  ${text[locale]}`, "", ...flagRows([...text.flags, ...COMMON], locale)].join("\n")}\n`;
}

export function unknownCommand(env: Environment, name: string, known: readonly string[]): string {
  const messages = messagesFor(resolveLocale({ env }));
  return `${messages.unknownCommand(name, nearest(name, known))}\npicoclaw --help`;
}

function flagRows(flags: CommandText["flags"], locale: Locale): string[] {
  return flags.map(([flag, ja, en]) => row(flag, locale === "ja" ? ja : en));
}

function row(left: string, right: string): string {
  return `  ${left.padEnd(22)}${right}`;
}
