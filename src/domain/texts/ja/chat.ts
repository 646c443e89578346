import type { OwnTrouble } from "../../chat/message-commands.ts";
import { type RewindJob, rewindJobs, rewindMessages } from "../../chat/rewind-plan.ts";
import { otherRoute, ROUTES } from "../../config/configured-kinds.ts";
import type { Doubt } from "../../drafts/check-edits.ts";
import type { RedReason } from "../../jobs/result.ts";
import type { ModelTrouble } from "../../models/model-facts.ts";
import { MOST_IMAGE_BYTES, MOST_IMAGES } from "../../platform/image.ts";
import type { StoreTrouble } from "../../store/store-trouble.ts";
import type * as en from "../en/chat.ts";
import {
  formatBytes,
  formatCost,
  formatTokens,
  thousands,
  type Wording,
  wordBy,
  wordFact,
} from "../format-text.ts";
import { pulls } from "./chat-pulls.ts";
import { schedules } from "./chat-schedules.ts";
import { coderAgent, coderProgress, wordCandidates } from "./coder.ts";

const files = (count: number) => `${count} ファイル`;
const to = (number: number) => (number === 0 ? "最初" : `メッセージ ${number}`);
const parts = (lines: readonly string[]) => lines.filter((line) => line !== "").join("\n");
const swapped = (jobs: readonly RewindJob[], again: readonly RewindJob[]) => [
  jobs.length > 0 ? "取り消しました" : again.length > 0 ? "" : "変更なし",
  rewindJobs(jobs),
  again.length > 0 ? "適用済み" : "",
  rewindJobs(again),
];

export const rewind: typeof en.rewind = {
  rewindList: (messages) =>
    `${rewindMessages(messages, files)}\n\n戻るには: /rewind 番号（0 は最初）。取り消す内容を先に一覧します。`,
  rewindPlan: ({ number, messages, jobs, again }) =>
    parts([
      `${to(number)}まで戻ります。${jobs.length > 0 ? "次をすべて取り消します（一部だけになることはありません）:" : (again ?? []).length > 0 ? "一部だけになることはありません。" : "ファイルの変更はありません。"}`,
      rewindJobs(jobs),
      (again ?? []).length === 0 ? "" : "次をやり直します:",
      rewindJobs(again ?? []),
      messages.length === 0 ? "" : "次の会話を履歴から外します:",
      rewindMessages(messages, files),
      `実行するには: /rewind ${number} --yes`,
    ]),
  rewindDone: ({ number, messages, jobs, again }) =>
    parts([
      ...swapped(jobs, again ?? []),
      `会話は${to(number)}に戻りました（外したメッセージ: ${messages.length} 件）。すべてやり直すには: /rewind redo`,
    ]),
  rewindRedone: (again, jobs) => parts([...swapped(jobs ?? [], again), "外した会話も元に戻しました。"]),
  rewindStopped: (left) =>
    left.length === 0
      ? "そのため何もしていません。ファイルも会話もそのままです。"
      : `途中で変更されたため、元に戻せなかったジョブがあります: ${left.join(", ")}`,
  rewindGone: (jobs) =>
    `取り消しデータがなくなったジョブがあるため、何も取り消していません: ${jobs.join(", ")}`,
  rewindEarlier:
    "一覧はこの会話のメッセージだけです。それより前に戻るには: /resume で前の会話に戻ると、/rewind がその分も一覧します。前の変更を 1 つだけ取り消すには: /jobs を見て /undo JOB",
  rewindNothing: "戻る対象がありません。",
  rewindNoneBack: "このセッションにはやり直せる巻き戻しがありません。",
  rewindUsage: (most) => `/rewind 番号: 0（最初）から ${most} まで。一覧は /rewind`,
  rewindStart: "最初",
  rewindLabel: "巻き戻す",
  rewindRedoLabel: "やり直す",
};

const STILL_RED: Readonly<Record<RedReason, string>> = {
  failing: "まだ失敗しています",
  worse: "チェックが悪化しました",
  unended: "チェックが終わりませんでした",
  conflict: "同じ行がほかで変更されました",
  hook: "フックが適用を止めました",
  "new-failing": "新しいテストが失敗しています",
  "still-red": "まだ失敗しています",
};

const DROPPED: Readonly<Record<RedReason, string>> = {
  failing: "停止、変更なし",
  worse: "未適用: チェックが悪化",
  unended: "未適用: チェック未完了",
  conflict: "未適用: 同じ行にほかの変更あり",
  hook: "未適用: フックが停止",
  "new-failing": "未適用: 新しいテストが失敗",
  "still-red": "停止、変更なし: まだ失敗",
};

const SEND_LATER = "しばらくしてから、もう一度送ってください。";
const SEND_AGAIN = "何も実行していません。もう一度送ってください。";
const setRightKey = ({ provider }: en.AskedModel) =>
  `providers.${provider || "<名前>"}.api_key が指す環境変数に正しいキーを設定してください（env:名前。設定がなければ追加してください）。`;

/** Advice beside the model's own message. */
const HINTS: Readonly<Partial<Record<ModelTrouble, Wording<en.AskedModel>>>> = {
  unreachable: ({ provider }) => (provider === "ollama" ? "Ollama を起動してください: ollama serve" : ""),
  "unknown-model": ({ role, provider, model }) =>
    provider === "ollama"
      ? `取得するには: ollama pull ${model}`
      : `モデル名（roles.${role}.model）を確認してください。`,
  timeout: SEND_LATER,
  "rate-limited": SEND_LATER,
  "server-error": SEND_LATER,
  empty: SEND_LATER,
  "cut-off": SEND_AGAIN,
  "cut-by-length": SEND_AGAIN,
  filtered: SEND_AGAIN,
  unauthorized: setRightKey,
  "no-key": setRightKey,
  "context-too-long": "短くするか、/new で会話を始め直してください。",
  "not-configured": ({ role }) =>
    `roles.${role} と providers を設定してください（確認: picoclaw doctor、picoclaw config show）。`,
  "refused-remote": "コードの変更にはローカルのモデルは要りません: /code 依頼",
  "over-budget": "明日もう一度送るか、1 日の予算（budget.daily）を上げてください。",
  "no-images": ({ role }) =>
    `画像を見られるモデルを選ぶか（/model ${role} …。PICOCLAW_HOME の models.json で指定できます）、画像の内容を言葉で説明してください。`,
  "no-price":
    "料金を設定する（budget.prices、または PICOCLAW_HOME の models.json）か、予算（budget.daily）を外してください。",
  deadline: ({ role }) =>
    `依頼を小さく分けるか、制限時間（${role.startsWith("coder") ? "coder.max_minutes" : "loop.max_millis"}）を延ばしてください。`,
};

function reason(code: ModelTrouble, detail: string): string {
  if (code === "deadline") return "制限時間を超えたため打ち切りました";
  if (code === "cut-by-length") return "回答が長さの上限（max_tokens）に達し、途中で切れました";
  if (code === "filtered") return "提供元のフィルターが回答を止めました";
  if (code === "no-price") return `予算が設定されていますが、${detail} の料金が不明なため守れません`;
  return code === "over-budget" ? `今日の予算を使い切りました（${detail}）` : detail;
}

function trouble(code: ModelTrouble, asked: en.AskedModel, detail: string): string {
  if (code === "aborted") return "中断しました。";
  const why = reason(code, detail);
  // The model's own message often says what helps.
  const help = detail.includes("→") ? "" : wordFact(HINTS[code] ?? "", asked);
  return `${asked.agent} は答えられませんでした: ${why}${help === "" ? "" : `\n→ ${help}`}`;
}

function wordModel(model: en.StatusModel | null): string {
  if (model === null) return "未設定（picoclaw init）";
  return model.trouble === null ? model.name : `${model.name}（${BRIEF_TROUBLES[model.trouble]}）`;
}

const BRIEF_TROUBLES: Readonly<Record<string, string>> = {
  unreachable: "サーバーに接続できません",
  timeout: "時間内に応答がありません",
  "rate-limited": "利用回数の制限に達しました",
  "server-error": "サーバーのエラーです",
  unauthorized: "キーが拒否されました",
  "unknown-model": "モデルが存在しません",
  "context-too-long": "会話が長すぎます",
  "bad-request": "サーバーがリクエストを受け付けません",
  "cut-off": "回答が途中で切れました",
  "cut-by-length": "回答が長さの上限に達しました",
  filtered: "プロバイダーのフィルターで止められました",
  empty: "回答が空でした",
  malformed: "回答を読み取れません",
  endless: "回答が終わりませんでした",
  "no-key": "キーがありません",
  "not-configured": "設定されていません",
  "refused-remote": "ローカルのモデルしか使えません",
  "over-budget": "予算を使い切りました",
  "no-price": "価格が不明です",
  "no-images": "画像を読めません",
  deadline: "制限時間に達しました",
};

const doubt = wordBy<"kind", Doubt>("kind", {
  masked: ({ path }) => `${path} の **** は伏せられた秘密で、どのファイルのことか分かりません`,
  unseen: ({ path }) => `${path} を、コーダーが見ていないまま全体で置き換えようとしました`,
  elision: ({ path, line }) => `${path} に、コードの代わりに省略の行「${line}」が入ります`,
  shrinks: ({ path, from, to }) => `${path} が ${from} 行から ${to} 行に縮みます`,
  "not-whole": ({ path, names }) =>
    names.length === 0
      ? `${path} のブロックはファイル全体ではありません（途中で終わっているか、構文エラーです）`
      : `${path} のブロックはファイル全体ではありません（${names.slice(0, 5).join("、")} がありません）`,
  mark: ({ path, line }) => `${path} に、編集の印「${line}」がそのまま入ります`,
});

const ownTrouble = wordBy<"why", OwnTrouble>("why", {
  route: ({ route }) =>
    `route ${route} はないので、普通のメッセージとして振り分けます。使えるもの: ${ROUTES.join(", ")}`,
  unclosed: "先頭部分が --- で閉じていないので、本文として扱います。",
  line: ({ line }) => `先頭部分のこの項目は読めません: ${line}`,
});

export const chatTexts: typeof en.chatTexts = {
  riskNote: (risk) => `リスク: ${risk}`,
  patchUnreadable: (_, line) =>
    `patch のフォーマットが不正だよ。JSON または Markdown で書いてね。${line === null ? "" : `\n問題のある行: ${line}`}\n何も変更していません。`,
  unreadableBrief: "patch のフォーマットが不正です",
  endlessBrief: "回答が終わらないため、打ち切りました",
  doubts: (of) => of.map(doubt).join("、"),
  proposalDoubted: (of) => chatTexts.proposalUnusable(`${chatTexts.doubts(of)}。`),
  answerSkipped: (parts) =>
    `コーダーの回答のうち実行していない部分: ${parts.slice(0, 5).join(" · ")}${parts.length > 5 ? ` …（${parts.length} 件）` : ""}`,
  proposalSkipped: (parts) => chatTexts.proposalUnusable(`${chatTexts.answerSkipped(parts)}。`),
  proposalUnusable: (detail) => `提案を実行できませんでした。何も変更していません。\n${detail}`,
  sentBack: (attempt, of, brief) => `試行 ${attempt}/${of}: ${brief}。修正しています…`,
  joins: "コーダーが作業中です。次の試行で取り入れます。",
  giveToCoder: "コーダーに渡す",
  contested: (paths, jobs) =>
    `${paths.join("、")} は作業中にほかで変更されました${jobs.length === 0 ? "" : `（${jobs.join("、")}）`}。コーダーに戻します。`,
  steered: "追加の内容は、コーダーが次の試行で取り入れます。",
  unexplained:
    "何も変更していません。コーダーの回答には、パッチも、変更が不要な理由を示す行もありませんでした。",
  nothingChanged: "何も変更していません。",
  unchangedBecause: (reason) => `何も変更していません。コーダーの言葉: ${reason}`,
  planHint: "まだ何も変更していません。この計画を実行するには: go",
  goLabel: "実行する",
  stillRed: (red, brief) => `${STILL_RED[red]}: ${brief}`,
  draftDropped: (red, attempts) =>
    `${DROPPED[red]}\n${attempts} 回試した下書きを破棄しました（coder.on_red: discard）。`,
  triedBefore: (tried) => `途中で試したもの: ${tried.join(" / ")}`,
  attemptsTaken: (attempts, tried) =>
    `試行: ${attempts} 回${tried.length === 0 ? "" : `。途中で試したもの: ${tried.join(" / ")}`}`,
  reading: (agent, tokens, seconds) =>
    `${agent} が ${thousands(tokens)} トークンを読んでいます${seconds === null ? "" : `（約 ${seconds} 秒）`}…`,
  keptBest: (attempt, of) => `${of} 回のうち、チェックの結果が最も良かった ${attempt} 回目を残しました。`,
  coderStopped: {
    attempts: (limit, isLocal) =>
      `上限の ${limit} 回試しましたが、まだ失敗しています（${isLocal ? "coder.local_attempts" : "coder.attempts"}）。`,
    same: "同じ失敗が二度続いたため、ここで止めました。",
    "gave-up": "コーダーから、これ以上の提案はありませんでした。",
    conflict: "その変更をコーダーに二度見せましたが、まとまりませんでした。",
  },
  heads: wordCandidates,
  headsAlone:
    "複数のコーダーが指定されましたが、ここで作業できるのは 1 人だけです。ほかのコーダーのキーがないか、/dry がオンか、下書きを作れません。",
  coderBudget: (usd) => `1 件のメッセージの予算 $${usd.toFixed(2)} を使い切りました（coder.budget_usd）。`,
  windowTooSmall: (model, tokens) =>
    `${model} のコンテキストは ${tokens} トークンで、ファイルと回答が入りません。サーバーを 8192 以上（--ctx-size、ollama.max_context）で起動するか、別のモデルを選んでください（/model）。`,
  coderCost: (usd) => `費用: $${usd.toFixed(4)}`,
  looks: {
    read: (paths) => `ファイルを追加で読みます: ${paths.join(", ")}`,
    search: (texts) => `検索中: ${texts.join(", ")}`,
    run: (commands) => `実行中: ${commands.join(", ")}`,
    call: (calls) => `ツールを呼び出し中: ${calls.join(", ")}`,
  },
  editorModes: {
    auto: { name: "自動", description: "変更をすぐに適用します。どの変更も取り消せます" },
    preview: {
      name: "プレビュー",
      description: "ファイルに触れずに変更を実行して表示します。/apply で適用します",
    },
    plan: { name: "計画", description: "計画だけを作り、何も変更しません" },
  },
  editorModel: { name: "コーダー", description: "このセッションでコードを書くモデル" },
  mcpCalled: (names) => `MCP ツールを呼び出しました: ${names.join("、")}。その結果は取り消せません。`,
  mcpLate: (seconds) =>
    `MCP サーバーが ${seconds} 秒以内に起動しませんでした。今回はコーダーは MCP なしで作業します。`,
  mcpToolsLeftOut: (names) =>
    `MCP ツールが多すぎるため、コーダーには次のツールを渡していません: ${names.join("、")}。`,
  rulesCut: (cut) =>
    `プロジェクトのルールがこのモデルには長すぎます: ${cut.map(({ path, shown, of }) => `${path}（${of} 文字中 ${shown} 文字を表示）`).join("、")}。残りは必要なときに読めます。`,
  mcpPartly: (status, { succeeded, total, error = "" }) =>
    `${status} (${succeeded}/${total} コマンド成功). 失敗: ${error}`,
  mcpCompleted: ({ succeeded, total }) => `実行完了 (${succeeded}/${total} コマンド成功)`,
  webRead: (hosts) => `Web から読み取りました: ${hosts.join("、")}。外部への問い合わせは取り消せません。`,
  processesTouched: (names) =>
    `バックグラウンドのプロセスを起動または終了しました: ${names.join("、")}（/ps）。プロセスがしたことは取り消せません。`,
  browserNotUndoable: "ブラウザ操作と外部サービスへの影響は取り消せません。",
  browserMissing:
    "この提案はブラウザを使いますが、mcp_servers.browser が設定されていません。設定してからもう一度送ってください。",
  mcpUnavailable: (server, detail) => `MCP サーバー ${server} は使えません: ${detail}`,
  noPreview: "適用できるプレビューはありません。",

  imageTrouble: wordBy("kind", {
    "not-an-image": ({ name }) => `${name} はモデルに見せられる画像（PNG・JPEG・GIF・WebP）ではありません。`,
    "too-large": ({ name, sizeBytes }) =>
      `${name} は大きすぎてモデルに見せられません: ${formatBytes(sizeBytes)}（最大 ${formatBytes(MOST_IMAGE_BYTES)}）。`,
    "too-many": ({ count }) =>
      `画像が ${count} 枚あります。1 つのメッセージに添付できるのは ${MOST_IMAGES} 枚までです。`,
  }),
  imageGone: (names) => `${names.join("、")}: もう保存されていません。もう一度送ってください。`,
  imageNotFetched: (name, detail) => `${name} を取得できませんでした: ${detail}。もう一度送ってください。`,
  modelTrouble: trouble,
  retrying: (attempt, seconds, why) => `再試行 ${attempt} 回目（${seconds} 秒後）: ${why}`,
  compacted: "モデルには長すぎたため、内容を減らしてもう一度試します。",
  budget: ({ kind, spentUsd, dailyUsd, model = "" }) => {
    const facts = `$${spentUsd.toFixed(2)} / $${dailyUsd.toFixed(2)}`;
    return {
      warn: `今日の予算${spentUsd < dailyUsd ? "の残りがわずかです" : "を使い切りました"}（${facts}）。`,
      local: `今日の予算を使い切ったため、ローカルのモデル（${model}）が答えました（${facts}）。`,
      unpriced: `${model} の料金が不明なため、予算に数えていません。budget.prices に設定してください。`,
    }[kind];
  },
  stoodIn: ({ asked, answered, model, code }) =>
    `※ ${asked} が答えられなかったため（${BRIEF_TROUBLES[code] ?? "理由不明"}）、代わりに ${answered}（${model}）が答えました（coder.fallback）。`,
  cutOver: (sessionId) =>
    `日付が変わったため、新しいセッション（${sessionId}）を始めました。前の会話の要約は引き継いでいます。戻るには: /resume`,
  answerGoesOn: "回答が長さの上限（max_tokens）に達したため、続きを書かせています。",
  cloudLabel: (provider) => `質問にも ${provider} を使う`,
  cloudUsage:
    "/cloud on: コードを書くクラウドのモデルが質問にも答えます。/cloud off: 質問はローカルのモデルだけが答えます。",
  cloudForOwner: "決められるのはこのマシンの所有者だけです。ターミナルで: picoclaw chat /cloud on",
  allowForOwner:
    "モデルのコマンドが接続できるホストを変えられるのは、このマシンの所有者だけです。ターミナルで: picoclaw chat /allow ホスト",
  allowNoHost: (entry) =>
    `${entry} はホストではありません。example.org、*.example.org、host:8443 のように書いてください`,
  allowList: (hosts) =>
    hosts.length === 0
      ? "モデルが起動するコマンドに追加で許可したホストは、ここにはありません。許可するには: /allow ホスト"
      : `この workspace で、モデルが起動するコマンドに追加で許可したホスト: ${hosts.join("、")}。取り消すには: /allow remove ホスト`,
  cloudNone: "コードを書くクラウドのモデルがありません。先にキーを追加してください: picoclaw login",
  cloudRefused: (why) => `設定は変更していません。${why}`,
  cloudOn: (provider) =>
    `質問にも ${provider} が答えます。質問と、答えるために読んだ内容が送られます。/cloud off で元に戻せます。`,
  cloudOff: "質問にはローカルのモデルだけが答えます。",
  noLocalModel: (provider) =>
    `質問に答えるモデルがこのマシンにありません。クラウドの ${provider} は、許可すれば質問にも答えます。\n→ /cloud on（シェルでは picoclaw chat /cloud on）。ファイルの変更は今でもできます: /code …`,
  noModelYet:
    "答えられるモデルがありません。API キーが設定されておらず、Ollama も動いていません。\n→ picoclaw login（キーを入力）、または picoclaw init（このマシンにあるものを探します）",
  coderWorks:
    "コーダーのクラウドのモデルに質問にも答えさせることもできます: /cloud on（シェルでは picoclaw chat /cloud on）。ファイルの変更は今でもできます: /code …",
  insteadOf: (wanted, model) =>
    `※ ${wanted} がないため、${model} が答えています。picoclaw init で決められます。`,
  codingWorks: "その間も、ファイルの変更はできます: /code …",
  messageCut: "※ メッセージがこのモデルには長すぎたため、先頭と末尾の計 8,000 文字だけを読ませました。",
  answerCut: "※ 回答が長さの上限（max_tokens）に達し、途中で切れました。",
  cloudAnswered: (model) => `※ この回答はクラウドのモデル（${model}）によるものです。`,
  askRoute: (route) => `${route} に頼む`,
  rerouted: (from, to) => `${from} から ${to} に引き継ぎました。`,
  loopLimit: (loops) =>
    `1 件のメッセージの上限（${loops} 回、loop.max_loops）に達しました。ここまでの結果です。`,
  timeLimit: (seconds) =>
    `1 件のメッセージの制限時間（${seconds} 秒、loop.max_millis）に達しました。ここまでの結果です。`,
  stuck: (tool) => `${tool} の同じ呼び出しが失敗し続けたため、停止しました。ここまでの結果です。`,

  noJobs: "ジョブはまだありません。",
  otherChatsJobs: (direction) =>
    `ほかのチャットやコマンドラインのジョブはあります。/jobs で一覧、/${direction} ジョブID で${direction === "undo" ? "取り消せます" : "やり直せます"}。`,
  dryState: (on) =>
    on
      ? "ドライモード: オン（実行せず、提案の内容だけ示します）"
      : "ドライモード: オフ（提案はすぐに実行されます）",
  dryUsage: "使い方: /dry on または /dry off",
  previewUsage: "使い方: /preview 依頼（実際に実行した変更を見せ、/apply で適用します）",
  stopped: "実行中の処理を止めました。",
  nothingRuns: "実行中の処理はありません。",
  asideUsage: "質問を書いてください: /btw 質問",
  workGoesOn: "作業は続いています。",
  waitedForNothing:
    "取り消すものはありません。/undo が待っていたメッセージは何も変更しませんでした。それより前のジョブはそのままです。取り消すには、もう一度 /undo を送ってください。",
  noDiff: "差分はありません。",
  diffCut: (lines) => `… 残り ${lines} 行`,
  unknownCommand: (name, nearest) =>
    `不明なコマンドです: /${name}${nearest === null ? "" : `（もしかして: /${nearest}）`}\n一覧: /help`,
  ...rewind,
  ...pulls,
  ...schedules,
  ownHidden: (file, name) =>
    `${file} は使われません: /${name} は PicoClaw のコマンドです。別の名前にしてください。`,
  ownTrouble: (file, trouble) => `${file}: ${ownTrouble(trouble)}`,
  commandUntrusted: (name) =>
    `/${name} はこのフォルダのコマンドですが、フォルダが信頼されていないか、信頼した後にコマンドやスキルが変わりました。.picoclaw/ の内容を確認してから、次を実行してください: picoclaw trust`,
  help: [
    ["/code 依頼", "コーダーが書き、すぐに実行します"],
    ["/undo [job]", "最後の変更（またはそのジョブ）を取り消します"],
    ["/redo [job]", "取り消した変更をやり直します"],
    ["/diff [job]", "最後の変更（またはそのジョブ）の差分"],
    ["/jobs", "最近のジョブ"],
    ["/preview 依頼", "変更を先に見せます。/apply で適用、/discard で破棄"],
    ["/rewind [N]", "そのメッセージまで戻ります（それより後の変更を取り消し、会話も戻します）"],
    ["/model", "誰がどのモデルで答えるか"],
    ["/status", "作業フォルダ、答える担当、待っているもの"],
    ["/new", "新しい会話を始めます"],
  ],
  helpAll: ["/help all", "すべてのコマンド"],
  helpMore: [
    ["/chat /plan", "Mio と話す、計画を立てる"],
    ["/analyze /ops /research", "Shiro が調べる、操作する"],
    ["/code1 /code2 /code3", "そのコーダーだけに頼む（Aka、Ao、Gin）"],
    ["/code plan 依頼", "コーダーが計画だけ立てます。go で実行"],
    ["/code all 依頼", "コーダー全員がそれぞれの下書きで試し、最良のものを適用"],
    ["/head 名前 依頼", "お使いのエージェント（Claude Code、Codex、Gemini、ACP）に任せます"],
    [
      "/review [ブランチ|A..B|#12]",
      "コーダーが変更を読み、問題点を答えます。#12 --post でプルリクエストに投稿します",
    ],
    [
      "/commit [メッセージ]",
      "ステージ済みの変更、または直前の変更をこのブランチにコミットする（プッシュはしない）",
    ],
    [
      "/pr [タイトル]",
      "作業をブランチにコミットしてプッシュし、プルリクエストを作成します（--draft、--base ブランチ）",
    ],
    [
      "/schedule 毎週月曜の9時に…",
      "決まった時刻にここへメッセージを送ります。/schedule list|run|pause|resume|remove|history 番号",
    ],
    ["/export [html]", "この会話を Markdown か HTML で出力します"],
    ["/ps [start|log|restart|stop]", "バックグラウンドのプロセス（開発サーバー、監視、データベース）"],
    ["/allow [ホスト]", "モデルのコマンドに、この workspace からの接続先を許可する"],
    ["/apply [job]", "プレビューを適用します"],
    ["/discard [job]", "プレビューを破棄します"],
    ["/dry on|off", "実行せず内容だけ示します"],
    [
      "/why [FILE:LINE|消えた文]",
      "その行を書いた（消した）ジョブ。引数なし: 前のメッセージがその担当に渡った理由",
    ],
    ["/route X", "正しい担当を教えます"],
    ["/remember", "/route で教えたことを覚えさせます"],
    ["/rules", "/route で教えたことの一覧"],
    ["/forget N", "覚えたルールを忘れさせます"],
    ["/effort", "モデルがどれだけ考えるか"],
    ["/cost /usage", "トークンと費用（今日、モデル別、日別）"],
    ["/stats [日数]", "日別・モデル別の費用とトークン、1 回目で成功したジョブ、取り消したジョブ"],
    ["/compact", "これまでの会話を要約にまとめる"],
    ["/clear", "/new と同じ"],
    ["/init", "コーダーが AGENTS.md（コーダーが最初に読むページ）を書く"],
    ["/config", "設定の場所"],
    ["/cloud on|off", "コーダーのクラウドのモデルが質問にも答えるかどうか"],
    ["/login", "API キーを追加"],
    ["/context", "この会話のうちモデルに渡すもの"],
    ["/resume", "前の会話に戻ります。/resume list で一覧"],
    ["/notes /memo", "覚えていることを読む・忘れさせる、名前を付けて覚えさせる"],
    ["/btw 質問", "作業中に質問します。作業には影響しません"],
    ["/stop", "実行中の処理を止めます"],
    ["/help", "よく使う 10 個のコマンド"],
  ],

  reviewing: (what) => (what === "" ? "変更をレビューします。" : `${what} をレビューします。`),
  reviewUnknown: (name) =>
    `${name} というブランチ、タグ、コミットはありません。モデルには問い合わせていません。/review だけなら、コミット前の変更またはこのブランチを調べます。`,
  reviewUsage:
    "/review: コミット前の変更、なければこのブランチ。/review ブランチ、/review コミット、/review A..B、/review #12（プルリクエスト。--post で投稿）も使えます。",
  configWhere:
    "有効な設定とその出どころ: picoclaw config show。変更するには picoclaw init（モデルとキー）、コンソール（picoclaw serve の「設定」）、または $PICOCLAW_HOME/config.yaml を使います。この会話では /model、/effort、/dry が使えます。",
  loginWhere:
    "API キーはメッセージに書かないでください。シェルで picoclaw login を実行すると、キーを尋ね、確認してから本人だけが読める場所に保存します。実行中の picoclaw serve は再起動後に使います。端末の会話（行だけの表示を除く）では、/login とだけ入力すると、キーを尋ねます。",
  writes: "回答中",
  writesPatch: (lines) => `変更を書いています（${lines} 行）`,
  step: {
    read: "読込",
    search: "検索",
    edit: "編集",
    check: "チェック",
    run: "実行",
    plan: "計画",
    retry: "再試行",
    tool: "ツール",
    agent: "分担",
  },
  agentEnd: (end, files) =>
    end === "done" ? (files === 0 ? "" : `${files} ファイル`) : end === "failed" ? "失敗" : "停止",
  exportUsage:
    "/export: この会話を、ジョブと差分を含めて Markdown のファイルに書き出します。/export html: ページとして書き出します。",
  exportedTo: (path: string) => `書き出しました: ${path}`,
  nothingToExport: "この会話にはまだ何もありません。",
  exported: { you: "あなた", title: (chat, folder) => `会話 ${chat}、${folder}` },
  emptyMessage: "メッセージが空です。",
  notText:
    "標準入力がテキスト（UTF-8）ではないため、何も送信していません。workspace にファイルとして保存し、その名前をメッセージに書いてください。",
  messageTooLong: (limit) =>
    `メッセージが長すぎます（上限 ${limit}）。ファイルに保存して、その名前を書いてください。`,
  aborted: "中断しました。",
  diskFull: "ディスクの空き容量がありません。空き容量を増やしてから、もう一度送ってください。",
  storeAway: (detail) =>
    `データベースに今は書き込めません（${detail}）。しばらくしてから、もう一度送ってください。`,
  unexpected: (detail) => `予期しないエラーが起きました: ${detail}`,

  progress: coderProgress,
  agentDoing: coderAgent,
  doing: (what, detail) =>
    ({
      waiting: `順番を待っています（前に ${detail} 件）`,
      deciding: "担当を決めています",
      thinking: `${detail} が考えています`,
      running: `実行しています ${detail}`,
      tool: `ツール ${detail}`,
    })[what],
  badChatName: (name) => `${name} はチャットの名前に使えません。英数字と - と _ で 40 字までです。`,
  noSuchChat: (name) => `このフォルダのチャット ${name} では、まだ何も話していません。`,
  chatTaken: (name) => `チャット ${name} はもう始まっています。--name で別の名前を付けてください。`,
  chatForgotten: (name) => `チャット ${name} を削除しました。ジョブは残ります: picoclaw jobs`,
  chatBusy: (name) => `チャット ${name} では今やり取りの途中です。終わってからもう一度試してください。`,
  noChats: "チャットはまだありません。始めるには: picoclaw chat --name 名前",
  chatsHeader: { name: "チャット", at: "最後", messages: "件数", said: "最後の発言", workspace: "workspace" },
  goodbye: "終了します。",
  stopHint: "中断しています… もう一度 Ctrl-C で終了",
  footer: ({ model, local, tokens, cachedTokens = 0, costUsd }) =>
    `${model}（${local ? "ローカル" : "クラウド"}）· ${tokens} トークン${cachedTokens > 0 ? `（うちキャッシュ ${cachedTokens}）` : ""}${costUsd === 0 ? "" : ` · ${formatCost(costUsd ?? 0, costUsd === null)}`}`,
  actions: {
    undo: "取り消す",
    redo: "やり直す",
    diff: "差分",
    apply: "適用する",
    discard: "破棄する",
    jobs: "ジョブ一覧",
  },
};

const wordMeasured = ({ agent, solved, of, share }: en.MeasuredCoder) =>
  `最初は ${agent}: あなたの事例 ${of} 件中 ${solved} 件を解決${share === null ? "" : `、費用は ${Math.round(share * 100)} %`}（picoclaw compare）`;

const SOURCES = {
  forced: "固定ルート",
  explicit: "明示コマンド",
  rule: "ルール辞書",
  classifier: "分類器",
  fallback: "フォールバック",
} as const;

/** Reasons are stored in English; the model's own are in the language of the message. */
const reasonWords = (reason: string) =>
  reason
    .replace(/^shipped rule: /, "付属のルール: ")
    .replace(/^config rule /, "設定のルール ")
    .replace(/^learned rule /, "覚えたルール ")
    .replace(/^forced: /, "固定: ");

const modelFacts: typeof en.memoryTexts.models.facts = ({ local, context, price, images, effort }) => {
  const cost = price == null ? "料金 –" : `100 万トークンあたり入力 $${price.input}、出力 $${price.output}`;
  return [
    local ? "ローカル" : "クラウド",
    ...(context == null ? [] : [`コンテキスト ${formatTokens(context)}`]),
    ...(local ? [] : [cost]),
    ...(images === true ? ["画像可"] : []),
    ...(effort == null ? [] : [`effort ${effort}`]),
  ].join(" · ");
};

const aboutTokens = (tokens: number) =>
  `約 ${tokens < 1000 ? tokens : `${(tokens / 1000).toFixed(1)}k`} トークン`;

const storeAdvice = wordBy<"why", StoreTrouble>("why", {
  newer: "新しいバージョンの PicoClaw がテーブルを変更しています。このマシンの PicoClaw を更新してください。",
  older: ({ kind, name }) =>
    `古いバージョンの PicoClaw が作成したもので、引き継げません。${kind === "sqlite" ? `${name} を ${name}-wal、${name}-shm とともに別の場所へ移してから、もう一度実行してください` : "空のデータベースを database_url に指定し、`picoclaw db migrate` を実行してください"}。会話の記録は失われますが、ジョブの取り消しには影響しません。`,
  damaged:
    "ファイルが壊れている場合は別の場所へ移してください。会話の記録は失われますが、ジョブの取り消しには影響しません。",
  distrusted:
    "サーバーの証明書が一致しません。database_url のホストは証明書に載っている名前とし、sslrootcert=ファイル には署名した認証局の証明書を指定してください。",
  "read-only":
    "データベースが読み取り専用になっています（スタンバイであるか、書き込みが止められています）。database_url にプライマリを指定するか、書き込める状態に戻してください。",
  unreachable: ({ kind }) =>
    kind === "sqlite"
      ? "アクセス権と空き容量を確認するか、書き込めるフォルダを PICOCLAW_HOME に設定してください。"
      : "database_url の宛先と、サーバーが動いていることを確認してください。",
});

export const memoryTexts: typeof en.memoryTexts = {
  context: (facts) => {
    const { exchangeTokens, limitTokens, memoryTokens, window, model } = facts;
    const fills =
      window === null || window === 0
        ? ""
        : `（${formatTokens(window)} のうち ${Math.round((100 * (exchangeTokens + memoryTokens)) / window)} %）`;
    const given = `直近 ${facts.exchanges} 往復、${aboutTokens(exchangeTokens)}（上限 ${limitTokens}、session.history_tokens）`;
    return [
      ["会話", `${facts.begunAt} から ${facts.messages} 件（${facts.sessionId}）`, "/rewind"],
      ["そのまま渡す分", given, "/rewind"],
      ["以前の要約", memoryTokens === 0 ? "なし" : aboutTokens(memoryTokens), "/notes"],
      ["名前付きの記憶", `${facts.memos} 件`, "/memo"],
      [facts.agent, `${model ?? "使えません"}${fills}`, "/model"],
      ["始め直す", "この会話の内容を渡さなくなります", "/new"],
    ];
  },
  status: ({ dry, lastJobs, spentUsd, dailyUsd, ...facts }) => [
    ["フォルダ", facts.folder, "/jobs"],
    ["会話", wordModel(facts.talks), "/model mio"],
    ["コード", wordModel(facts.codes), "/model"],
    ["提案", dry ? "実行せず内容だけ示します（/dry on）" : "すぐに実行します", dry ? "/dry off" : "/dry on"],
    ...(facts.isAtWork ? [["いま", "コーダーが作業中です", "/stop"] as const] : []),
    ...facts.previews.map(
      ({ name, title }) => ["待っているプレビュー", `${name} ${title}`, `/diff ${name}`] as const,
    ),
    ...lastJobs.map(({ name, words }) => ["最後のジョブ", `${name} ${words}`, `/diff ${name}`] as const),
    ["今日", `${formatCost(spentUsd, false)}${dailyUsd === null ? "" : `（予算 $${dailyUsd}）`}`, "/cost"],
  ],
  sessionLine: ({ id, at, messages, text }) =>
    `${id}  ${at}  ${messages} 件${text === "" ? "" : `  「${text}」`}`,
  sessionFacts: (messages, text) => `${messages} 件${text === "" ? "" : ` · 「${text}」`}`,
  resumeUsage: "戻るには: /resume 名前",
  costOfDay: (day) => `${day} の使用量`,
  costUsage: "/cost 日付 でその日のモデル別、/cost モデル でそのモデルの日別を表示します。",
  noSuchCost: (name) => `直近 7 日間に、この名前での使用はありません: ${name}`,
  why: ({ route, source, confidence, reason, message, models, corrected, measured }) =>
    [
      `ルート: ${route}（${SOURCES[source]}、確信度 ${confidence.toFixed(2)}）`,
      `理由: ${reasonWords(reason)}`,
      `メッセージ: ${message}`,
      ...(models.length > 0 ? [`モデル: ${models.join(", ")}`] : []),
      ...(measured === null ? [] : [wordMeasured(measured)]),
      ...(corrected === null ? [] : [`訂正: ${corrected}`]),
      `違っていたら /route ${otherRoute(route, corrected)} のように訂正できます。`,
    ].join("\n"),
  noDecision: "このチャットでは、まだメッセージを振り分けていません。",
  routeUsage: (routes) => `/route に続けてルートを指定してください: ${routes.join(" ")}`,
  corrected: (from, to) => `ルートを訂正しました: ${from} → ${to}`,
  offered: (pattern) => `次からも同じように判断しますか？ /remember で記憶します（パターン: ${pattern}）`,
  notOffered: "このメッセージからはルールを作れません（短すぎるか、設定のルールが優先されます）。",
  remembered: (pattern, route) => `記憶しました: ${pattern} → ${route}（/rules で一覧、/forget で取り消し）`,
  nothingToRemember: "記憶するルールがありません。先に /route で訂正してください。",
  rule: (place, pattern, route) => `${place}. ${pattern} → ${route}`,
  noRules: "このチャットで記憶したルールはありません。",
  forgetUsage: "/forget に続けて /rules の番号を指定してください。",
  note: (place, session, text) => `${place}. ${session}: ${text}`,
  notesNow: "このセッションが以前から引き継いでいること:",
  noNotes: "ノートはまだありません。",
  notesUsage:
    "/notes 1 で読む、/notes forget 1 で忘れる（all ですべて）、/notes forget now でこのセッションが引き継いだことを忘れる。",
  summaryForgotten: "忘れました: このセッションが以前から引き継いでいたこと",
  noMemos:
    "このセッションで覚えていることはありません。/memo 名前 = 値 で覚え、/memo forget 名前 で忘れます。",
  noMemo: (name) => `この名前では何も覚えていません: ${name}`,
  memoKept: (name, value) => `このセッションの間、覚えておきます: ${name} = ${value}`,
  memoTooMuch: "多すぎます。名前は 50 件、各 60 文字まで、値は 1,000 文字までです。",
  forgotten: (pattern) => `忘れました: ${pattern}`,
  ruleProblem: wordBy("kind", {
    "not-a-pattern": ({ pattern, detail }) =>
      `ルール「${pattern}」は正規表現として読めないため使いません: ${detail}`,
    catastrophic: ({ pattern, detail }) =>
      `ルール「${pattern}」は照合が終わらなくなる恐れがあるため使いません: ${detail}`,
    example: ({ pattern, example, expected }) =>
      `ルール「${pattern}」は例「${example}」に一致${expected ? "しない" : "する"}ため使いません`,
  }),

  compacted: (messages) =>
    messages === 0
      ? "まとめる会話がまだありません。直前の質問と回答はそのまま残します。"
      : `${messages} 件のメッセージを要約にまとめました。直前の質問と回答はそのまま残っています。`,
  newSession: "新しい会話を始めました。/resume で前の会話に戻れます。",
  newFailed: "要約を保存できなかったため、セッションはそのままです。",
  resumed: (sessionId, turns) => `セッションを再開しました: ${sessionId}（${turns} 件のやり取り）`,
  nothingToResume: "再開できるセッションがありません。",

  usageHeader: {
    all: "今日",
    chat: "このチャットの今日",
    person: "あなたのチャットの今日",
    days: "直近 7 日",
  },
  usageLine: ({ name, calls, inputTokens, outputTokens, cachedTokens, costUsd, unpriced }) => {
    const cached = cachedTokens > 0 ? `（うちキャッシュ ${cachedTokens}）` : "";
    return `${name}: リクエスト ${calls} 件、入力 ${inputTokens}${cached}、出力 ${outputTokens} トークン、${formatCost(costUsd, unpriced > 0)}`;
  },
  models: {
    line: ({ agent, role, name, isChosen, isDefault, ...facts }) => {
      const who = `${agent}（${role}${isDefault ? "、既定のコーダー" : ""}）`;
      if (name === null) return `${who}: 使えません（確認: picoclaw doctor）`;
      return `${who}: ${name} · ${[modelFacts(facts), ...(isChosen ? ["このチャットで選択"] : [])].join(" · ")}`;
    },
    facts: modelFacts,
    forAgent: (agent) => `${agent} 用`,
    isNow: "現在",
    asConfigured: "設定どおり",
    forOthers: (agent, role, name) => `${agent}（${role}）: ${name ?? "使えません"}`,
    effortWords: {
      off: "すぐに答えます",
      low: "少し考えます",
      medium: "考えてから答えます",
      high: "長く考えます（遅く、費用も増えます）",
    },
    measured: wordMeasured,
    table: (dated) => `料金は ${dated} 時点です。PICOCLAW_HOME の models.json で置き換えられます。`,
    offered: (names) => `選べるモデル: ${names.length === 0 ? "–" : names.join(", ")}`,
    usage: "/model 名前（既定のコーダー）、/model gin 名前、/model default",
    unknown: (name) => `${name} を使えるプロバイダーは設定にありません。`,
    changed: (agent, name, local) =>
      `このチャットでは、次のメッセージから ${agent} が ${name}（${local ? "ローカル" : "クラウド"}）を使います。元に戻す: /model ${agent.toLowerCase()} default`,
    reset: (agent) => `${agent} を設定どおりに戻しました。`,
    effortNow: (agent, name, effort) =>
      `${agent}${name === null ? "" : `（${name}）`}: effort は${effort === null ? "モデルに任せています" : ` ${effort} です`}`,
    effortUsage: "/effort off|low|medium|high（既定のコーダー）、/effort mio low、/effort default",
    effortSet: (agent, effort) =>
      `このチャットでは、次のメッセージから ${agent} の effort を ${effort} にします。`,
    effortIgnored: (name) => `${name} にはこの設定がないため、変わりません。`,
  },
  noUsage: "今日はまだモデルを使っていません。",
  budgetLine: (spent, daily) =>
    `予算: $${daily} のうち ${formatCost(spent, false)} を使用（${daily === 0 ? 100 : Math.round((spent / daily) * 100)} %）`,
  storeKind: (kind) => `データベース: ${kind}`,
  backedUp: (folder, rows) => `${folder}: ${rows} 行と設定ファイル`,
  undoNotBackedUp: (folders) =>
    `次のフォルダにあるジョブの記録と取り消しデータは含まれません。workspace と一緒に保管してください:\n${folders.map((one) => `  ${one}`).join("\n")}`,
  backupExists: (folder) => `${folder} は空ではありません。新しいフォルダを指定してください。`,
  filled: (rows) => `${rows} 行を書き込み、読み直して照合しました。`,
  storeInUse: (table) =>
    `何も書き込んでいません。データベースは使用中です（${table} に行があります）。新しい PICOCLAW_HOME か空のデータベースを使ってください。`,
  storeUnequal: (table) => `何も残していません。${table} を読み直した内容が書き込んだ内容と違います。`,
  backupDamaged: (file) => `何も書き込んでいません。${file} がないか、作成時の内容と違います。`,
  backupOfOther: (version) =>
    `何も書き込んでいません。このバックアップはテーブルの異なるバージョン ${version} のものです。そのバージョンで復元してから更新してください。`,
  personForgotten: (who, rows) =>
    `${who}: ${rows} 行を削除しました。ジョブと取り消しデータは workspace の保管場所に残ります。`,
  storeUnavailable: (trouble) =>
    `データベースを開けません: ${trouble.name}（${trouble.detail}）\n${storeAdvice(trouble)}`,
};
