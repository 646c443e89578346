import { formatBytes } from "./bytes.ts";
import type { tasksTexts as englishTasksTexts } from "./tasks.ts";
import { figuresText } from "../tasks/figures-text.ts";
import { listPaths } from "./list-paths.ts";

const paths = (list: readonly string[]) => listPaths(list, (rest) => `… 他 ${rest} 件`);

const LOGIN = {
  "host-changed": "その間にこのマシンでも変更されました",
  unlike: "同じログインを更新したものではありません",
  unwritable: "このマシンのファイルに書き込めません",
} as const;

export const tasksTexts: typeof englishTasksTexts = {
  totalTime: (seconds) => `合計時間 ${seconds} 秒を使い切りました (runner.max_total_time_sec)`,
  overBudget: (figures) =>
    `今日の予算を使い切りました (${figures})。budget.daily を上げるか、明日 --resume で続けてください`,
  maxLoops: (loops) => `${loops} 回のループで完了しませんでした (runner.max_loops)`,
  metaFailed: (reason) => `計画モデルに問い合わせできません: ${reason}`,
  metaMalformed: (problem) => `計画モデルの回答を 2 回とも利用できませんでした: ${problem}`,
  conflict: (jobId, list) =>
    `Worker の実行中にホスト側でファイルが変更されたため、何も反映していません: ${paths(list)}。変更は ${jobId} に残っています (picoclaw show ${jobId} --diff)`,
  testFailed: (exitCode) => `テストが終了コード ${exitCode} で終わりました`,
  cannotRun: (program, image) =>
    `ここでは実行できません: ${image} に ${program} がありません。それを含む環境 (runner.worker.environment) かイメージ (runner.worker.docker_image) を指定してください`,
  allCriteria: "すべての受け入れ基準を満たしました",
  workerDone: "Worker は正常に終了しました",

  engineDown: (host) =>
    `Docker が ${host} で応答しません。起動してから (systemctl start docker または Docker Desktop) もう一度実行してください。`,
  engineForbidden: (host) =>
    `このユーザーは ${host} の Docker を使えません。docker グループに追加し (usermod -aG docker USER)、ログインし直してください。`,
  imageMissing: (image, detail, worker) =>
    `イメージ ${image} がなく、取得もビルドもできません (${detail})。次を試してください: picoclaw images build ${worker}`,
  containerFailed: (detail) => `コンテナを起動できません: ${detail}`,
  remoteEngine: (host) =>
    `${host} の Docker エンジンからはこのマシンのファイルが見えません。このマシンのエンジンが必要です`,
  setup: (step, what) =>
    `${what} ${{ pulling: "を取得中", building: "をビルド中", starting: "のコンテナを起動中", copying: "をコピー中" }[step]}`,
  workerTimedOut: (seconds) => `${seconds} 秒で強制終了しました (runner.worker.max_run_time_sec)`,
  workerEnded: (exitCode) => `終了コード ${exitCode}`,
  workerKilled: (signal) => `${signal} で終了しました`,
  workerLost: (detail) => `コンテナとの接続が切れました: ${detail}`,
  keysOutside: (detail) => `Worker にキーを渡す経路を用意できません: ${detail}`,
  workerAborted: "中断しました",
  keyQuota: (kind, reached, limits) =>
    reached === "requests"
      ? `${kind} を終了しました。このタスクで API キーを使ったリクエストが ${limits.requests} 件を超えました（\`tasks.key_requests\`）。プロジェクトのコードもリクエストを送れます。`
      : `${kind} を終了しました。このタスクで API キーを使った通信量が ${formatBytes(limits.bytes)} を超えました（\`tasks.key_traffic\`）。プロジェクトのコードもリクエストを送れます。`,
  unauthorized: (kind, variables) =>
    `${kind} はモデルのサーバーに拒否されました。キーまたはログインが正しくありません。このマシンでログインするか、${variables.join(" または ")} を設定してください。`,
  unreachable: (kind, detail) => `${kind} がモデルのサーバーに接続できません: ${detail}`,
  loginReadable: (kind, list) =>
    `${kind} のログイン (${paths(list)}) はタスクの実行中コンテナのメモリ上にあり、プロジェクトのコードから読み取れます。キーであれば外に置いたままにできます。`,
  loginKept: (path, why) =>
    `ログイン ~/${path} はコンテナ内で変更されましたが、戻していません: ${LOGIN[why]}。このマシンでログアウトされた場合は、もう一度ログインしてください。`,
  noCredentials: (kind, variables) =>
    `${kind} の認証情報がありません。このマシンでログインするか、${variables.join(" または ")}、またはタスクファイルの runner.worker.env を設定してください。`,

  noTaskFile: "タスクファイルがありません: picoclaw run TASK.yaml (標準入力は -)",
  unknownTask: (id) => `この workspace にタスク ${id} はありません`,
  taskBusy: (id) => `タスク ${id} は別のプロセスが実行中です`,
  taskDone: (id) => `タスク ${id} は完了しています。再開するものはありません`,
  prdUnreadable: (path) => `task.prd.path を読めません: ${path}`,
  unknownEnvironment: ({ asked, available }) =>
    `runner.worker.environment: 環境 ${asked} はありません。あるのは ${available.join(", ")} です`,
  taskInvalid: (file) => `タスクファイル ${file} に誤りがあります:`,
  previewNeedsNoMeta: "--preview には --no-meta が必要です。プレビューにできるのは 1 回の実行だけです",
  noModel: (reason) => `計画モデルがありません: ${reason}\n計画モデルなしで実行する: --no-meta`,
  progress: ({ state, loop, maxLoops, figures, last }) =>
    `${state} · ループ ${loop}/${maxLoops} · ${figuresText(figures, "トークン")} · ${last}`,
  ended: ({ state, id, summary, note, jobs }) =>
    [
      `${state === "COMPLETE" ? "完了" : "失敗"}: タスク ${id}`,
      `  ${summary}`,
      ...(jobs.length > 0 ? [`  ジョブ: ${jobs.join(", ")} (すべて取り消す: picoclaw undo ${id})`] : []),
      `  ノート: ${note}`,
    ].join("\n"),
  failingTest: (command, exitCode, output) => `  テスト: ${command} → ${exitCode ?? "-"}\n${output}`,
  interrupted: (id) => `中断しました: タスク ${id}。再開: picoclaw run --resume ${id}`,

  note: {
    state: "状態",
    asked: "依頼内容",
    worker: "Worker",
    criteria: "受け入れ基準",
    noCriteria: "なし (計画モデルを使わずに実行)",
    turn: "ループ",
    decision: "判断",
    prompt: "プロンプト",
    run: "Worker 実行",
    output: "出力",
    changes: "変更",
    noChanges: "変更されたファイルはありません。",
    test: "テスト",
    verdicts: "評価",
    cost: "コスト",
    result: "結果",
    passed: "合格",
    failed: "不合格",
    refused: "却下: テストが失敗しているため完了になりません。",
    undo: "すべて取り消す",
  },
};
