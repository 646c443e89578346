import type { CandidateFacts } from "../../tasks/solve-decisions.ts";
import type { TaskState } from "../../tasks/task-record.ts";
import { figuresText } from "../../tasks/task-steps.ts";
import { checksMessagesFor } from "../checks.ts";
import type * as en from "../en/tasks.ts";
import { formatBytes, jobOrder, listPaths, nameFew, tokenVariables } from "../format-text.ts";

const checks = checksMessagesFor("ja");

const more = (rest: number) => `… ほか ${rest} 件`;

const FAILURES: Readonly<Record<string, (detail: string) => string>> = {
  forge: (detail) => `GitHub/GitLab の操作に失敗しました: ${detail}`,
  "forge-token": (detail) =>
    `GitHub/GitLab がトークンを拒否しました（${detail}）。設定漏れ・期限切れ・失効がないか（GITHUB_PERSONAL_ACCESS_TOKEN / GITHUB_TOKEN、GITLAB_PERSONAL_ACCESS_TOKEN）、このリポジトリのコード・Issue・PR/MR を読み書きできるかを確認してください。`,
  "forge-missing": (detail) =>
    `リポジトリまたは Issue / PR / MR が見つからないか、このトークンには見えません（${detail}）。URL と、トークンがリポジトリを参照できるかを確認してください。非公開のものは「見つからない」と返されます。`,
  container: (detail) => `実行環境を作成できませんでした: ${detail}`,
  clone: (detail) => `リポジトリをクローンできませんでした: ${detail}`,
  "wrong-base": (detail) =>
    `実行環境の申告したコミットがブランチのものと一致しません（${detail}）。何もプッシュしていません。プロジェクトのインストール処理が書き換えた可能性があるため、その内容を確認してください。`,
  model: (detail) => `モデルが応答しませんでした: ${detail}`,
  "too-many-steps": (detail) =>
    `${detail} ステップ以内に終わりませんでした。タスクを分けるか、\`tasks.max_steps\` を増やしてください。`,
  "gave-up": (detail) => `モデルが完了せずに終了しました: ${detail}`,
  "nothing-changed": (reason) =>
    `変更の必要がなかったため、PR/MR は作成していません。${reason === "" ? "" : `モデルの説明: ${reason}`}`,
  "nothing-changed-red": (detail) => {
    const [commands = "", ...reason] = detail.split("\n");
    const said = reason.length === 0 ? "モデルの説明はありません。" : `モデルの説明: ${reason.join("\n")}`;
    return `何も変更されておらず、チェックは失敗しています: ${commands}。${said}`;
  },
  "checks-red": (commands) =>
    `最後の修正後もチェックが失敗しています: ${commands}。変更は確認のために公開していますが、Issue はクローズしません。`,
  "checks-not-run": (commands) =>
    `この環境ではチェックを実行できませんでした: ${commands}。変更は確認のために公開していますが、Issue はクローズしません。`,
  "protected-paths": (detail) =>
    `PicoClaw が変更してはいけないファイルが含まれています（${detail}）。ご自身で変更するか、\`tasks.allow_ci_files: true\` で許可してください。`,
  budget: (detail) =>
    `今日の予算を使い切りました（${detail}）。\`budget.daily\` を上げるか、明日このアドレスで \`picoclaw solve\` を実行してください。続きから始めます。`,
  stuck: (detail) => `モデルが失敗する同じ呼び出しを繰り返しました: ${detail}`,
  cut: () =>
    "モデルの回答が長さの上限で何度も途切れました。コーダーのモデルの `max_tokens` を上げるか、作業を小さく分けて依頼してください。",
  "secret-in-change": (detail) =>
    `変更に、設定済みの秘密の値が含まれています（${detail}）。何もプッシュしていません。取り除いて、もう一度お試しください。`,
  "protected-branch": (detail) => `ブランチが保護されているためプッシュできません: ${detail}`,
  "no-permission": (detail) =>
    `トークンにこのリポジトリへのプッシュ権限がありません。書き込み権限を付けてください。${detail}`,
  declined: (detail) => `プッシュが拒否されました: ${detail}`,
  "push-failed": (detail) => `変更をプッシュできませんでした: ${detail}`,
  archived: () => "このリポジトリはアーカイブ済みのため、変更できません。",
  empty: (repository) =>
    `リポジトリ ${repository} は空です。最初のコミットを push してから、もう一度依頼してください。`,
  "has-pull": (detail) =>
    `この Issue をクローズするプルリクエストがすでにあります: ${detail}。そちらで依頼するか、クローズしてからここでもう一度依頼してください。`,
  closed: () => "すでにクローズされています。",
  stopped: () => "ご指示により停止しました。以後は何もプッシュしていません。",
  "given-up": (detail) => `このタスクの途中で PicoClaw 自体が ${detail} 回終了したため、打ち切りました。`,
  lost: () => "別の PicoClaw がこのタスクを引き継ぎました。",
};

const CANDIDATE_ENDS: Readonly<Record<string, string>> = {
  model: "モデルの応答なし",
  "too-many-steps": "ステップ数の上限",
  "gave-up": "モデルが途中で終了",
  stuck: "同じ失敗の繰り返し",
  cut: "回答が長すぎる",
  budget: "予算切れ",
  container: "実行環境なし",
  clone: "クローン失敗",
  "checks-red": "チェック失敗",
  "checks-not-run": "チェックを実行できず",
  stopped: "停止",
  "nothing-changed": "変更の必要なし",
  "protected-paths": "変更できないファイルあり",
};

export const TASK_STATES: Readonly<Record<TaskState, string>> = {
  PENDING: "待機中",
  PLANNING: "計画中",
  RUNNING: "実行中",
  VALIDATING: "確認中",
  COMPLETE: "完了",
  FAILED: "失敗",
};

function candidateWords({ failure, checks: ran, patchBytes }: CandidateFacts): string {
  if (failure !== null) return `未完了（${CANDIDATE_ENDS[failure] ?? "失敗"}）`;
  if (patchBytes === 0) return "変更なし";
  const red = ran.filter((exitCode) => exitCode !== 0).length;
  if (ran.length === 0) return "チェックなし";
  return red === 0 ? "チェックはすべて成功" : `チェック ${ran.length} 件中 ${red} 件が失敗`;
}

export const solveTexts: typeof en.solveTexts = {
  locale: "ja",
  working: (title) => `PicoClaw が「${title}」に取り組んでいます`,
  ended: {
    done: "PicoClaw が完了しました",
    failed: "PicoClaw は完了できませんでした",
    stopped: "PicoClaw は停止しました",
    paused: "PicoClaw は一時停止しました",
  },
  phases: {
    gather: "内容を読む",
    plan: "計画",
    prepare: "実行環境の準備",
    work: "作業",
    verify: "チェック",
    publish: "公開",
  },
  steps: (done, max) => `${done} / 最大 ${max} ステップ`,
  figures: (figures) => figuresText(figures, "トークン"),
  editedSoFar: (paths) => `編集: ${nameFew(paths, more)}`,
  saidLast: (words) => `> ${words}`,
  lastAction: (command, exitCode) => `最後のコマンド: ${command}（終了コード ${exitCode}）`,
  howToStop: "`stop` または `pause` とコメントすると止まります。ほかのコメントは作業に取り入れます。",
  howToResume: (url) =>
    `再開するには \`picoclaw solve ${url}\` を実行します。\`picoclaw serve\` がこのリポジトリを見ている場合は、\`resume\` とコメントしても再開します。`,
  pullOpened: (url) => `結果: ${url}`,
  takenIntoAccount: (count) => `新しいコメント ${count} 件を取り入れました`,
  pullTitle: (title) => title,
  summaryHeading: "概要",
  commandsHeading: "実行したコマンド",
  whyHeading: "理由",
  why: (number, title) => `#${number}: ${title} への対応`,
  checksHeading: "チェック",
  costHeading: "費用",
  howToAsk:
    "修正を依頼するには、行へのコメントか、この下へのコメントを書いてください。`picoclaw serve` の動作中は同じブランチで対応します。動作していないときは、この URL を `picoclaw solve` に渡してください。",
  verdicts: {
    red: "チェックが失敗しています。ドラフトであり、Issue はクローズしません。",
    "not-run": "チェックを実行できませんでした。ドラフトであり、Issue はクローズしません。",
    unchecked: "チェックなし: このプロジェクトには、PicoClaw が認識できるテストやリンターがありません。",
  },
  since: (verdict, worse) => {
    if (worse.length > 0) return `この変更の前は失敗していませんでした: ${nameFew(worse, more)}。`;
    if (verdict === "still-red") return "この変更の前から失敗しており、今も失敗しています。";
    if (verdict === "unknown") return "この変更の前から失敗していました（どのテストかは不明です）。";
    return verdict === "red-before" || verdict === "better"
      ? "この変更の前から、同じテストで失敗していました。"
      : "この変更の前は失敗していませんでした。";
  },
  notesHeading: "注意",
  noChecks: "このプロジェクトには、PicoClaw が認識できるテストやリンターがありません。",
  asCloned: (paths) =>
    `チェックの実行方法を決める ${nameFew(paths, more)} は、この変更の前のもので実行しました。`,
  checkCannotRun: (command, cause) =>
    `⚠️ ${command} はこの環境では、変更の前も後も実行できません: ${cause}。何も判定していないので、必要なものがある環境で実行してください。`,
  checkLine: (command, { isRed, exitCode, seconds, tests }) =>
    `${!isRed ? "✅" : "❌"} ${command}（終了コード ${exitCode}、${tests === null ? "" : `${checks.counts(tests)}、`}${seconds} 秒）`,
  tableHead: ["コマンド", "結果", "時間"],
  more,
  byHead: (kind) => `\`roles.coder.head\` に従い、${kind} が作業しました。`,
  headElsewhere: (head) =>
    `${head}（\`roles.coder.head\`）はコンテナでは動かないため、PicoClaw 自身のツールで作業しました。`,
  footer: "PicoClaw が作成しました。コマンドとチェックの記述は、すべて実行記録によるものです。",
  followUpMessage: "レビューへの対応",
  reviewChangedHere: (commit) => `この箇所を ${commit} で変更しました。`,
  reviewChangedElsewhere: (commit) =>
    `このファイルは ${commit} で変更しましたが、この行の近くは変更していません。`,
  reviewChanged: (commit) => `このファイルは ${commit} で変更しました。`,
  reviewUnchanged: "このファイルは変更していません。",
  baseMoved: "作業中にベースブランチが進んだため、変更をその先頭に載せ替えました。",
  baseConflicts: "作業中にベースブランチが進み、変更と競合しています。解消してください。",
  ciLeftOut: (paths) =>
    `CI が実行するファイルのため、この変更に含めていません: ${nameFew(paths, more)}。許可するには \`tasks.allow_ci_files: true\` を設定してください。`,
  toolsLeftOut: (paths) => `ツールが生成したため、含めていません: ${nameFew(paths, more)}`,
  unbornLeftOut: (paths) =>
    `コミットのない独立した git リポジトリのため、含めていません: ${nameFew(paths, more)}。含めるには、その \`.git\` を削除してください。`,
  installWarning: (text) => `依存関係: ${text}`,
  failure: (kind, detail) => (FAILURES[kind] ?? ((text: string) => text))(detail),
  patchInstead:
    "PicoClaw にはこの PR/MR のソースへのプッシュ権限がありません。変更をパッチとして示します（`git apply` で適用できます）。",
  patchTooLarge:
    "PicoClaw にはこの PR/MR のソースへのプッシュ権限がなく、パッチは大きすぎるか表示できないため、コメントに載せられません。",
  candidates: (kept, all) =>
    `候補 ${all.length} 件のうち ${kept} 番を採用しました。${all
      .map((one, i) => `${i + 1}: ${candidateWords(one)}`)
      .join("、")}。`,
  badCandidates: "--candidates は 1 から 5 の整数です",
  alreadyRunning: (url) => `すでに作業中です: ${url}`,
  notAnItem: (url) => `Issue / PR / MR の URL ではありません: ${url}`,
  noToken: (forge, variable) =>
    `${forge} のトークンがありません。${tokenVariables(variable, " か ")} を設定してください。`,
  unknownWorker: (kind, known) => `不明な worker です: ${kind}（使えるもの: ${known.join(", ")}）`,
  started: (url) => `${url} に取り組みます`,
  resumed: (url) => `${url} を再開します`,
};

const paths = (list: readonly string[]) => listPaths(list, more);

const LOGIN = {
  "host-changed": "その間にこのマシンでも変更されました",
  unlike: "同じログインを更新したものではありません",
  unwritable: "このマシンのファイルに書き込めません",
} as const;

export const tasksTexts: typeof en.tasksTexts = {
  totalTime: (seconds) => `合計の制限時間 ${seconds} 秒に達しました（runner.max_total_time_sec）`,
  overBudget: (figures) =>
    `今日の予算を使い切りました（${figures}）。budget.daily を上げるか、明日 --resume で続けてください`,
  maxLoops: (loops) => `上限の ${loops} 回のループで完了しませんでした（runner.max_loops）`,
  metaFailed: (reason) => `計画モデルに問い合わせできません: ${reason}`,
  metaMalformed: (problem) => `計画モデルの回答を 2 回とも利用できませんでした: ${problem}`,
  conflict: (jobId, list) =>
    `worker の実行中にホスト側でファイルが変更されたため、何も適用していません: ${paths(list)}。変更は ${jobId} に残っています（${jobOrder("terminal", "diff", jobId)}）`,
  testFailed: (exitCode) => `テストが終了コード ${exitCode} で終わりました`,
  testsRed: "テストが失敗しています",
  notChecked:
    "チェックなし: タスクファイルにテスト（task.test）がないため、適用前に作業をチェックするものがありません",
  keptRed: (jobId) =>
    `何も適用していません。変更はプレビューとして残っています（${jobOrder("terminal", "diff", jobId)}、適用するには ${jobOrder("terminal", "apply", jobId)}）`,
  hookRefused: (command) => `フックが変更の適用を許可しませんでした: ${command}`,
  cannotRun: (program, image) =>
    `ここでは実行できません: ${image} に ${program} がありません。それを含む実行環境（runner.worker.environment）かイメージ（runner.worker.docker_image）を指定してください`,
  allCriteria: "すべての受け入れ基準を満たしました",
  workerDone: "worker は正常に終了しました",

  engineDown: (host) =>
    `Docker が ${host} で応答しません。起動してから（systemctl start docker または Docker Desktop）、もう一度実行してください。`,
  engineForbidden: (host) =>
    `このユーザーは ${host} の Docker を使えません。docker グループに追加し（sudo usermod -aG docker $USER）、ログインし直してください。`,
  imageMissing: (image, detail, worker) =>
    `イメージ ${image} がなく、取得もビルドもできません（${detail}）。次を試してください: picoclaw images build ${worker}`,
  containerFailed: (detail) => `コンテナを起動できません: ${detail}`,
  remoteEngine: (host) =>
    `${host} の Docker エンジンからはこのマシンのファイルが見えません。このマシンのエンジンが必要です`,
  setup: (step, what) =>
    `${what} ${{ pulling: "を取得中", building: "をビルド中", starting: "のコンテナを起動中", copying: "をコピー中" }[step]}`,
  workerTimedOut: (seconds) => `${seconds} 秒で強制終了しました（runner.worker.max_run_time_sec）`,
  workerEnded: (exitCode) => `終了コード ${exitCode}`,
  workerKilled: (signal) => `${signal} で終了しました`,
  workerLost: (detail) => `コンテナとの接続が切れました: ${detail}`,
  keysOutside: (detail) => `worker にキーを渡す経路を用意できません: ${detail}`,
  workerAborted: "中断しました",
  keyQuota: (kind, reached, { requests, bytes }) =>
    `${kind} を終了しました。このタスクで API キーを使った${reached === "requests" ? `リクエストが ${requests} 件` : `通信量が ${formatBytes(bytes)} `}を超えました（\`tasks.${reached === "requests" ? "key_requests" : "key_traffic"}\`）。プロジェクトのコードもリクエストを送れます。`,
  unauthorized: (kind, variables) =>
    `${kind} はモデルのサーバーに拒否されました。キーまたはログインが正しくありません。このマシンでログインするか、${variables.join(" または ")} を設定してください。`,
  unreachable: (kind, detail) => `${kind} がモデルのサーバーに接続できません: ${detail}`,
  loginReadable: (kind, list) =>
    `${kind} のログイン（${paths(list)}）は、タスクの実行中、コンテナのメモリ上にあり、プロジェクトのコードから読み取れます。キーであれば外に置いたままにできます。`,
  loginKept: (path, why) =>
    `ログイン ~/${path} はコンテナ内で変更されましたが、戻していません: ${LOGIN[why]}。このマシンでログアウトされた場合は、もう一度ログインしてください。`,
  noCredentials: (kind, variables) =>
    `${kind} の認証情報がありません。このマシンでログインするか、${variables.join(" または ")}、またはタスクファイルの runner.worker.env を設定してください。`,

  workerByHead: (kind) => `roles.coder.head に従い、${kind} が作業します`,
  noWorker: (head) =>
    head === null
      ? "worker がありません。runner.worker.kind で指定するか、roles.coder.head を設定してください"
      : `worker がありません。${head}（roles.coder.head）はコンテナでは動きません。runner.worker.kind で指定してください`,
  typeTask: "タスクファイルを標準入力から読み込みます。入力の終わりは Ctrl-D です。",
  noTaskFile: "タスクファイルがありません: picoclaw run TASK.yaml（標準入力は -）",
  unknownTask: (id) => `この workspace にタスク ${id} はありません`,
  taskBusy: (id) => `タスク ${id} は別のプロセスが実行中です`,
  taskDone: (id) => `タスク ${id} は完了しています。再開するものはありません`,
  prdUnreadable: (path) => `task.prd.path を読めません: ${path}`,
  unknownEnvironment: ({ asked, available }) =>
    `runner.worker.environment: 実行環境 ${asked} はありません。指定できるもの: ${available.join(", ")}`,
  taskInvalid: (file) => `タスクファイル ${file} に誤りがあります:`,
  previewNeedsNoMeta: "--preview には --no-meta が必要です。プレビューにできるのは 1 回の実行だけです",
  noModel: ({ code, detail }) => {
    const known: Readonly<Record<string, string>> = {
      "over-budget": `今日の予算を使い切りました（${detail}）。budget.daily を上げるか、明日もう一度実行してください`,
      "no-price": `予算が設定されていますが、計画モデル ${detail} の料金が不明です。budget.prices に設定してください`,
    };
    return `${known[code] ?? `計画モデルがありません: ${detail}`}\n計画モデルなしで実行するには: --no-meta`;
  },
  progress: ({ state, loop, maxLoops, figures, last }) =>
    `${TASK_STATES[state]} · ループ ${loop}/${maxLoops} · ${figuresText(figures, "トークン")} · ${last}`,
  ended: ({ state, id, summary, note, jobs }) =>
    [
      `${state === "COMPLETE" ? "完了" : "失敗"}: タスク ${id}`,
      `  ${summary}`,
      ...(jobs.length > 0 ? [`  ジョブ: ${jobs.join(", ")}（すべて取り消す: picoclaw undo ${id}）`] : []),
      `  記録: ${note}`,
    ].join("\n"),
  failingTest: (command, exitCode, output) => `  テスト: ${command} → ${exitCode ?? "-"}\n${output}`,
  interrupted: (id) => `中断しました: タスク ${id}。再開するには: picoclaw run --resume ${id}`,

  note: {
    state: "状態",
    asked: "依頼内容",
    worker: "Worker",
    criteria: "受け入れ基準",
    noCriteria: "なし（計画モデルを使わずに実行）",
    turn: "ループ",
    decision: "判断",
    prompt: "プロンプト",
    run: "Worker 実行",
    output: "出力",
    changes: "変更",
    noChanges: "変更されたファイルはありません。",
    test: "テスト",
    verdicts: "評価",
    cost: "費用",
    result: "結果",
    passed: "合格",
    failed: "不合格",
    refused: "却下: テストが失敗しているか、変更がプレビューのままのため、完了になりません。",
    undo: "すべて取り消す",
  },
};
