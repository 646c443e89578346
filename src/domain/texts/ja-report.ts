import type { JobStatus } from "../jobs/job-status.ts";
import type { reportTexts as englishReportTexts } from "./report.ts";
import { listPaths } from "./list-paths.ts";
import { namePaths } from "./name-paths.ts";
import { sealedOtherwise } from "./ja-sealed.ts";

function status(is: JobStatus, failed: number): string {
  switch (is) {
    case "applied":
      return "実行完了";
    case "partly":
      return `反映済み、${failed} 件のコマンドが失敗`;
    case "preview":
      return "プレビュー（まだ何も反映していません）";
    case "worse":
      return "反映していません: チェックの結果が悪くなりました";
    case "unended":
      return "反映していません: チェックが終わりませんでした";
    case "stopped":
      return "中断しました（何も変更していません）";
    case "no-change":
      return failed > 0 ? `変更なし、${failed} 件のコマンドが失敗` : "変更なし";
    case "taken-back":
      return "取り消しました";
    case "refused":
      return "実行できません";
    case "running":
      return "実行中";
    case "interrupted":
      return "途中で終了";
  }
}

export const reportTexts: typeof englishReportTexts = {
  status,
  sealedOtherwise,
  ignored: (count, places) =>
    `git が無視するもの ${count} 件: ${namePaths(places, places.length, (rest) => `ほか ${rest} 件`)}`,
  headline: (is, failed) => (is === "applied" ? "実行完了！" : status(is, failed)),
  counted: (succeeded, total) => `(${succeeded}/${total} コマンド成功)`,
  skipped: (paths) => `保護されているため変更していません: ${paths.join(", ")}`,
  plan: "【Plan】",
  result: "【実行結果】",
  outputOf: (command) => `出力（${command}）:`,
  undoHint: {
    terminal: (name) => `取り消すには: picoclaw undo ${name}`,
    chat: (name) => `取り消すには: /undo ${name}`,
  },
  redoHint: {
    terminal: (name) => `もう一度適用するには: picoclaw redo ${name}`,
    chat: (name) => `もう一度適用するには: /redo ${name}`,
  },
  onMachine: (hint, machine) => `${hint}(${machine} で実行)`,
  forceHint: {
    terminal: (action, name) => `上書きするには: picoclaw ${action} ${name} --force`,
    chat: (action, name) => `上書きするには: /${action} ${name} --force`,
  },
  verb: {
    undo: (jobId) => `${jobId} を取り消しました。`,
    redo: (jobId) => `${jobId} をもう一度適用しました。`,
    apply: (jobId) => `プレビュー ${jobId} を反映しました。`,
    stop: (jobId) => `${jobId} を停止しました。`,
    discard: (jobId) => `プレビュー ${jobId} を破棄しました。ほかに変更はありません。`,
  },
  inTheWay: (action, jobId, list) =>
    `${jobId} の後に変更されたファイルがあるため、何も${action === "redo" ? "やり直して" : "取り消して"}いません:${listPaths(list, (rest) => `… ほか ${rest} 件`)}`,
  previewHint: {
    terminal: (jobId, changes) =>
      `${changes} 件の変更。反映するには: picoclaw apply --job ${jobId}\n破棄するには: picoclaw discard ${jobId}`,
    chat: (jobId, changes) =>
      `${changes} 件の変更。反映するには: /apply ${jobId}　差分を見るには: /diff ${jobId}　破棄するには: /discard ${jobId}`,
  },
};
