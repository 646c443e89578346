import type * as en from "../en/jobs-running.ts";

export const runningTexts: typeof en.runningTexts = {
  none: "実行中のものはありません。",
  running: (count) => `実行中: ${count} 件`,
  header: {
    id: "ID",
    time: "経過",
    from: "依頼元",
    title: "件名",
    step: "段階",
    latest: "最新",
  },
  seconds: (count) => `${count} 秒`,
  attempt: (attempt) => `試行 ${attempt}`,
  command: (command, commands) => `コマンド ${command}${commands === null ? "" : `/${commands}`}`,
  more: (rest) => `… ほか ${rest} 件`,
  agent: (number, writes) => `サブエージェント ${number}${writes ? "" : "（読み取りのみ）"}`,
  process: (name) => `プロセス ${name}`,
  agentUsed: (tokens) => `${tokens} トークン`,
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
    merged: (path, by) => `${by ?? "外部の変更"} と統合しました: ${path}`,
    staged: "プレビューとして残しました",
    committed: "適用しました",
    conflict: (paths) => `競合: ${paths}`,
    rolledBack: (reason) => (reason === "" ? "元に戻しました" : `元に戻しました: ${reason}`),
    undone: "取り消しました",
    redone: "やり直しました",
    evicted: "取り消しデータを削除しました",
    agentEnded: (number, end) =>
      `サブエージェント ${number} が${end === "done" ? "終わりました" : end === "failed" ? "失敗しました" : "停止されました"}`,
  },
};
