import type { rewind as englishRewind } from "./rewind.ts";
import { type RewindJob, rewindJobs, rewindMessages } from "../jobs/rewind-plan.ts";

const files = (count: number) => `${count} ファイル`;
const to = (number: number) => (number === 0 ? "最初" : `メッセージ ${number}`);
const parts = (lines: readonly string[]) => lines.filter((line) => line !== "").join("\n");
const swapped = (jobs: readonly RewindJob[], again: readonly RewindJob[]) => [
  jobs.length > 0 ? "取り消しました" : again.length > 0 ? "" : "変更なし",
  rewindJobs(jobs),
  again.length > 0 ? "実行完了" : "",
  rewindJobs(again),
];

export const rewind: typeof englishRewind = {
  rewindList: (messages) =>
    `${rewindMessages(messages, files)}\n\n戻るには: /rewind 番号（0 は最初）。取り消す内容を先に一覧します。`,
  rewindPlan: ({ number, messages, jobs, again }) =>
    parts([
      `${to(number)}まで戻ります。${jobs.length > 0 ? "次をすべて取り消します（一部だけになることはありません）:" : (again ?? []).length > 0 ? "一部だけになることはありません。" : "ファイルの変更はありません。"}`,
      rewindJobs(jobs),
      (again ?? []).length === 0 ? "" : "次をやり直します:",
      rewindJobs(again ?? []),
      messages.length === 0 ? "" : "次の会話を忘れます:",
      rewindMessages(messages, files),
      `実行するには: /rewind ${number} --yes`,
    ]),
  rewindDone: ({ number, messages, jobs, again }) =>
    parts([
      ...swapped(jobs, again ?? []),
      `会話は${to(number)}に戻りました（忘れたメッセージ: ${messages.length} 件）。すべてやり直すには: /rewind redo`,
    ]),
  rewindRedone: (again, jobs) => parts([...swapped(jobs ?? [], again), "忘れた会話も元に戻しました。"]),
  rewindStopped: (left) =>
    left.length === 0
      ? "そのため何もしていません。ファイルも会話もそのままです。"
      : `途中で変更されたため、元に戻せなかったジョブがあります: ${left.join(", ")}`,
  rewindGone: (jobs) => `取り消し用の記録がないジョブがあるため、何も取り消していません: ${jobs.join(", ")}`,
  rewindEarlier:
    "一覧はこの会話のメッセージだけです。それより前に戻るには: /resume で前の会話に戻ると、/rewind がその分も一覧します。前の変更を 1 つだけ取り消すには: /jobs を見て /undo JOB",
  rewindNothing: "戻る対象がありません。",
  rewindNoneBack: "このセッションにはやり直せる巻き戻しがありません。",
  rewindUsage: (most) => `/rewind 番号: 0（最初）から ${most} まで。一覧は /rewind`,
  rewindLabel: "巻き戻す",
  rewindRedoLabel: "やり直す",
};
