import type { NotACase } from "../../history/case.ts";
import type * as en from "../en/history.ts";
import { jobOrder, type WordTable, wordBy } from "../format-text.ts";
import { runningTexts } from "./jobs-running.ts";

const causes: WordTable<"code", NotACase> = {
  "no-tests": "テストがない",
  "no-sources": "ソースの変更がない",
  "no-request": "何を求めているか分かる依頼がない",
  "too-large": ({ files }) => `${files} ファイルの変更`,
  "unknown-names": ({ names }) => `テストに必要な名前が依頼にない: ${names.slice(0, 5).join("、")}`,
  gone: "前のファイルが保存されていない",
  "changed-by-hand": "ジョブの間に手作業の変更がある",
  "no-runner": "テストのコマンドが分からない",
  "green-before": "変更がなくてもテストが通る",
  "red-after": ({ output }) =>
    `変更があってもここではテストが失敗する（${output}）。直したら: picoclaw compare cases add ID`,
  "no-service": ({ output }) =>
    `テストにネットワーク、データベースなどのサービスが必要（事例では使えない）: ${output}`,
  endless: ({ seconds }) =>
    `テストが ${seconds} 秒以内に終わらない（checks.timeout）。制限を延ばしたら: picoclaw compare cases add ID`,
  flaky: "テストの結果が安定しない",
  "cannot-run": ({ output }) => `テストを実行できない: ${output.split("\n").at(-1) ?? ""}`,
  dropped: "外した事例",
  same: ({ id }) => `${id} と同じ変更`,
};
const notACase = wordBy("code", causes, ({ code }) => `理由は新しいバージョンの PicoClaw が記録（${code}）`);

export const historyTexts: typeof en.historyTexts = {
  whyUsage:
    "行または削除された文を指定してください: picoclaw why src/app.ts:12、または picoclaw why --removed '文'",
  noFile: (path) => `ワークスペースに ${path} というファイルはありません。`,
  notText: (path) => `${path} はテキストファイルではありません。`,
  noLine: (path, lines) => `${path} は ${lines} 行です。`,
  writtenBy: (job, time) => `${job} が書きました（${time}）`,
  removedBy: (path, line, job, time) => `${path}:${line} は ${job} が削除しました（${time}）`,
  neverRemoved: (text) => `この文を含む行を削除したジョブの記録はありません: ${text}`,
  request: "依頼:",
  by: "担当:",
  source: runningTexts.source,
  plan: "計画:",
  planUnchecked: "計画（コーダー自身の言葉で、結果ではありません）:",
  checks: "チェック:",
  notChecked: "実行されていません",
  exit: (code) => (code === 0 ? "成功" : code === null ? "終わりませんでした" : `終了コード ${code}`),
  tests: (passed, failed) => (failed > 0 ? `${failed} 件失敗、${passed} 件成功` : `${passed} 件成功`),
  attempts: "試行回数:",
  number: (count) => count.toLocaleString("ja-JP"),
  tokens: (count) => `${count} トークン`,
  statsDays: (most) => `日数は 1 から ${most} までの数です。`,
  statsNone: (days) => `直近 ${days} 日間、モデルへの問い合わせもジョブもありません。`,
  statsTotal: (days, [requests, tokens, cost, jobs, firstTry, undone]) =>
    `直近 ${days} 日間: リクエスト ${requests} 件、${tokens} トークン、${cost}。ジョブ ${jobs} 件、1 回目で成功 ${firstTry}、取り消し ${undone} 件。`,
  statsDay: "日付",
  statsModel: "モデル",
  noModel: "(モデルなし)",
  figureHeader: ["日付", "リクエスト", "トークン", "費用", "ジョブ", "初回成功", "取消"],
  replaced: "置き換えた行:",
  replacedNothing: "置き換えた行はありません。",
  replacedBy: "置き換え後:",
  renamedFrom: (names) => `以前のファイル名: ${names.join("、その前は ")}`,
  byHand: (after, before) =>
    `${after === null ? "" : `${after} の後`}${before === null ? "" : `、${before} の前`}${after === null && before === null ? "" : "に "}PicoClaw の外で変更されました。誰がなぜ変えたかは分かりません。`,
  gone: (job) =>
    `${job} がこのファイルを変更しましたが、元のファイルはもう保存されていないため（取り消し用の容量）、これより前はたどれません。`,
  commit: (commit, author, time, subject) => `コミット ${commit}（${author}、${time}）: ${subject}`,
  older: "この行は記録にあるどのジョブより古く、どのコミットにも含まれていません。",
  stateGone: (path) =>
    `${path} の当時の内容は表示できません。後のジョブの元のファイルがもう保存されていません。`,
  notInState: (path, job) => `${job} の後、${path} というファイルはありませんでした。`,
  notStandingHere:
    "このジョブは現在の workspace に含まれていない（取り消し済み、プレビュー、または未適用）ため、行をたどれません。",
  notStanding: (job) => `${job} はワークスペースに入っていません（取り消し済み、プレビュー、または未適用）。`,
  noJobs: "このワークスペースを変更したジョブはまだありません。",
  badRange: (jobId) => `${jobId} は適用中ではないため、比べられる状態がありません。`,
  backwards: ([from = "", to = ""]) =>
    `${from} は ${to} より後のジョブです。${from} から ${to} に戻る変更を表示します。逆向き: picoclaw diff ${`${to}..${from}`.replaceAll("#", "")}`,
  handEdits: (paths, more) =>
    `この間に PicoClaw の外でも変更されています: ${paths.join("、")}${more > 0 ? ` ほか ${more} 件` : ""}`,
  bisectUsage: "失敗するコマンドを指定してください: picoclaw bisect -- npm test",
  bisectStart: (jobs) => `${jobs} 件のジョブを調べます。ワークスペースは変更しません。`,
  probe: (after, verdict) =>
    `  ${{ passes: "✓", fails: "✗", skipped: "?" }[verdict]} ${after === null ? "最も古いジョブの前" : `${after} の後`}`,
  found: (job, probes) => `コマンドは ${job} から失敗します（${probes} 回実行）。`,
  foundByHand: (paths, after) =>
    `コマンドは ${after} の後の、PicoClaw の外での変更から失敗します: ${paths.join("、")}`,
  skipped: (jobs) => `判定できず（終了コード 125）、こちらが最初の可能性もあります: ${jobs.join("、")}`,
  undoHint: (job) => `後の変更を残して取り消すには: ${jobOrder("terminal", "undo", job)}`,
  passesNow: "今のワークスペースではコマンドは成功します。探すものはありません。",
  failsBefore: (jobs) =>
    `元のファイルが残っている ${jobs} 件のジョブのうち、最も古いものより前からコマンドは失敗しています。`,
  cannotRun: (message) => `コマンドを実行できませんでした: ${message}`,
  compareUsage:
    "比べる相手を指定してください: picoclaw compare coder1 coder3、モデル（claude/claude-sonnet-5-5）、エージェント（claude-code）。ほかに picoclaw compare cases",
  sameContestant: (word) =>
    `${word} が 2 回指定されています。同じ相手どうしは比べられません。繰り返すには --repeat 3 を使ってください`,
  badContestant: (word) =>
    `比べられません: ${word}。coder1〜coder3、設定済みプロバイダの PROVIDER/MODEL、または claude-code、codex-cli、gemini-cli（acp は事例にないネットワークが必要）を使います。設定はコンマの後に: coder1,coder.attempts=2`,
  noPlays: {
    "not-confined":
      "ここでは比べられません。サンドボックスがないと、答えを読めてしまいます。picoclaw doctor が足りないものを示します。",
    "own-checkout":
      "ここでは比べられません。PicoClaw 自身がこのフォルダから動いているため、サンドボックスから見えてしまいます。インストールした PicoClaw か、プロジェクトの複製を使ってください。",
  },
  compareBusy: "同じ比較が別のプロセスで実行中です。",
  noCases: "使える事例がまだありません。理由: picoclaw compare cases",
  caseCount: (cases, others) =>
    `事例 ${cases} 件。${others === 0 ? "" : `ほかの変更 ${others} 件は使えません:`}`,
  issuesRead: (issues) =>
    issues === null
      ? "Issue は読んでいません。プロジェクトのフォージに問い合わせられません（リモート、forges.*.token）。"
      : `新しい Issue を ${issues} 件読みました。`,
  caseUnseen: "未確認",
  caseSeen: (seconds) => `赤と緑を確認済み、${seconds.toFixed(1)} 秒`,
  caseUnknown: (id) => `${id} という事例や変更はありません。一覧: picoclaw compare cases`,
  caseChanged: { add: "追加しました", drop: "外しました", edit: "依頼を変更しました" },
  notACase,
  seeing: (title, why, found) => (why === null ? `  ✓ ${title}（${found}）` : `  – ${title}: ${why}`),
  estimate: (plays, usd, seconds, budget) =>
    `${plays} 回。${usd === null ? "費用はまだ不明" : `約 $${usd.toFixed(2)}`}、${seconds === null ? "時間はまだ不明" : `約 ${Math.ceil(seconds / 60)} 分`}。$${budget.toFixed(2)} で止まります（--budget）。`,
  played: (contestant, title, solved, left, usd) =>
    `  ${solved ? "✓" : "✗"} ${contestant}: ${title}（残り ${left}、$${usd.toFixed(2)}）`,
  notPlayed: (contestant, id, failure) => `  ! ${contestant}: ${id} は実行できず: ${failure}`,
  playFailure: {
    "no-judge": "隠したテストを実行できませんでした",
    budget: "終わる前に予算の割り当てを使い切りました（--budget）",
  },
  cutOff: (failure) => `作業の途中でモデルのサーバーが失敗しました（${failure}）`,
  givenUp: (contestant, failures) =>
    `  ! ${contestant} は ${failures} 回続けて失敗したため、これ以上は依頼しません。`,
  compareHeader: "相手|事例|解決|95 %|チェック済み|誤った完了|リクエスト|トークン|費用|時間".split("|"),
  costUnknown: "?",
  compareEnd: {
    finished: "",
    missing: "実行できなかったものがあります。同じコマンドでもう一度試せます。",
    budget: "予算に達したので止めました。同じコマンドで続きから始まります。",
    stopped: "止めました。同じコマンドで続きから始まります。",
    "no-cases": "",
  },
  pairUnknown: (one, other, cases) => `${cases} 件の事例では ${one} と ${other} の差は分かりません。`,
  pairKnown: (better, worse, more, less, p) =>
    `${better} は ${worse} より優れています: ${better} だけが解決 ${more} 件、${worse} だけが解決 ${less} 件（p = ${p.toFixed(3)}）。`,
  drift: (run, shares) => `以前（${run}）: ${shares}`,
  adopted: (name, solved, plays, share, file) =>
    `最初は ${name}: あなたの事例 ${plays} 件中 ${solved} 件${share}。${file} に書きました（roles.default_coder、roles.measured、coder.escalate）。`,
  adoptedShare: (part) => `、費用は ${Math.round(part * 100)} %`,
  notAdopted: "何も書いていません。この測定では順番を決められません。事例か --repeat を増やしてください。",
  notAdoptable: "何も書いていません。順番を決められるのは coder1、coder2、coder3 だけです。",
  compareTitle: "自分の事例での比較",
  compareEmptyTitle: "まだ比較がありません",
  compareEmpty: "例: picoclaw compare coder1 coder3",
  solvedShare: "解決した割合と 95 % 区間",
  driftTitle: "解決した割合の推移",
  differingTitle: "全員は解決しなかった事例",
};
