import type * as en from "../en/jobs-running.ts";
import { capitalize, wordRollbackBy } from "../format-text.ts";

const CHATS: Readonly<Record<string, string>> = {
  cli: "ターミナルのチャット",
  web: "コンソールのチャット",
  line: "LINE のチャット",
  acp: "エディターのチャット",
  pr: "プルリクエスト",
  commit: "コミット",
};

const SOURCES: Readonly<Record<string, string>> = {
  cli: "コマンド",
  web: "コンソール",
  api: "API",
  library: "ライブラリ",
  task: "タスクファイル",
  solve: "Issue",
  undo: "取り消し",
  redo: "やり直し",
  agent: "サブエージェント",
};

export const wordRollback = wordRollbackBy({
  answered: "変更はなく、言葉で回答しました",
  unexplained: "コーダーの回答には、パッチも、変更が不要な理由もありませんでした",
  unanswered: "モデルから回答がありませんでした",
  unusable: "回答を利用できませんでした",
  discarded: "破棄されました",
  withdrawn: "適用前に停止されました",
  aborted: "停止されました",
  "its process died": "プロセスが異常終了しました",
  unparsed: "パッチを読み取れませんでした",
  unread: "パッチを読み取れませんでした",
  doubts: "コーダーが見ていないコードを失うおそれのある編集でした",
  failing: "ジョブのコマンドが失敗しています",
  "still-red": "対象のテストがまだ失敗しています",
  "new-failing": "新しいテストが失敗しています",
  conflict: "同じ行がほかで変更されました",
});

function wordSource(source: string): string {
  const [kind = "", name = ""] = source.split(":");
  if (kind === "chat") return CHATS[name] ?? `${capitalize(name)} のチャット`;
  return kind === "tool" ? `ツール ${name}` : (SOURCES[kind] ?? source);
}

export const runningTexts: typeof en.runningTexts = {
  none: "実行中のものはありません。",
  running: (count) => `実行中: ${count} 件`,
  header: { id: "ID", time: "経過", from: "依頼元", title: "件名", step: "段階", latest: "最新" },
  seconds: (count) => `${count} 秒`,
  attempt: (attempt) => `試行 ${attempt}`,
  command: (command, commands) => `コマンド ${command}${commands === null ? "" : `/${commands}`}`,
  more: (rest) => `… ほか ${rest} 件`,
  source: wordSource,
  whyEnded: wordRollback,
  agent: (number, writes) => `サブエージェント ${number}${writes ? "" : "（読み取りのみ）"}`,
  process: (name) => `プロセス ${name}`,
  doing: { asking: "問い合わせ中", running: "パッチを実行中", checking: "チェック中" },
  stopHint: "止めるには: picoclaw stop ID",
  leaveHint: "q で終了（実行中のものは続きます）",
  latest: {
    began: "開始しました",
    check: (command, isBaseline) => `${isBaseline ? "変更前のチェック" : "チェック"}: ${command}`,
    exit: (code) => (code === null ? "自分では終わりませんでした" : `終了コード ${code}`),
    autoCommit: (moment, commit) =>
      `ジョブの${moment === "before" ? "前" : "後"}: ${commit === null ? "コミットするものはありません" : `${commit} をコミットしました`}`,
    autoCommitFailed: (error) => `コミットに失敗しました: ${error}`,
    replaced: (path) => `作業中の変更を置き換えました: ${path}`,
    merged: (path, by) => `${by ?? "外部の変更"} と統合しました: ${path}`,
    answerSkipped: (parts) => `コーダーの回答のうち実行していない部分: ${parts}`,
    staged: "プレビューとして残しました",
    committed: "適用しました",
    conflict: (paths) => `競合: ${paths}`,
    rolledBack: (reason) => (reason === "" ? "元に戻しました" : `元に戻しました: ${wordRollback(reason)}`),
    undone: "取り消しました",
    redone: "やり直しました",
    evicted: "取り消しデータを削除しました",
    agentEnded: (number, end) =>
      `サブエージェント ${number} が${end === "done" ? "終わりました" : end === "failed" ? "失敗しました" : "停止されました"}`,
  },
};
