import type * as en from "../en/fleet.ts";

export const fleetTexts: typeof en.fleetTexts = {
  intro: "このデータベースを共有するマシン、キュー、失敗した処理です。",
  machines: "マシン",
  noMachines: "まだマシンがありません: picoclaw serve または picoclaw join",
  alive: "稼働中",
  thisMachine: "このマシン",
  away: (since) => (since === "" ? "応答なし:" : `${since} から応答なし`),
  draining: "新しい処理を受け付けません",
  busy: (busy, lanes) => `同時処理 ${busy}/${lanes}`,
  queues: "キュー",
  nothingWaits: "空です。",
  depth: (waiting, working, replies) =>
    `回答待ち ${waiting} 件、処理中 ${working} 件、送信待ち ${replies} 件`,
  dead: "失敗した処理",
  nothingDead: "ありません。",
  attempts: (count) => `${count} 回試行`,
  retry: "もう一度試す",
  retried: (id) => `もう一度キューに入れました: ${id}`,
  discarded: (id) => `破棄しました: ${id}`,
  unknownWork: (id) => `その ID の失敗した処理はありません: ${id}。一覧: picoclaw fleet`,
  usage: "使い方: picoclaw fleet [retry ID | discard ID]",
  joined: (machine, root, labels) =>
    `${machine} が参加しました。${root} の処理${labels === "" ? "" : `と、${labels} を必要とするタスク`}を受け持ちます`,
  needsDatabase:
    "join にはマシン間で共有するデータベースが必要です。各マシンの database_url に同じデータベース（postgres://…）を設定してください。",
  badConcurrency: "--concurrency N: 1 から 1000",
  badLabels: "--labels a,b: 英数字、'.'、'-'、'_'",
};
