import type { CandidateFacts } from "../tasks/rank-candidates.ts";
import type { solveTexts as englishSolveTexts } from "./tasks.en.ts";
import { figuresText } from "../tasks/figures-text.ts";
import { nameFew } from "./name-few.ts";
import { checksTexts as checks } from "./checks.ja.ts";

const more = (rest: number) => `… ほか ${rest} 件`;

const FAILURES: Readonly<Record<string, (detail: string) => string>> = {
  forge: (detail) => `GitHub/GitLab の操作に失敗しました: ${detail}`,
  "forge-token": (detail) =>
    `GitHub/GitLab がトークンを拒否しました（${detail}）。設定漏れ・期限切れ・失効がないか（GITHUB_PERSONAL_ACCESS_TOKEN、GITLAB_PERSONAL_ACCESS_TOKEN）、このリポジトリのコード・Issue・PR/MR を読み書きできるかを確認してください。`,
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
    return `何も変更されておらず、検証は失敗しています: ${commands}。${said}`;
  },
  "checks-red": (commands) =>
    `最後の修正後も検証が失敗しています: ${commands}。変更は確認のために公開していますが、Issue はクローズしません。`,
  "checks-not-run": (commands) =>
    `この環境では検証を実行できませんでした: ${commands}。変更は確認のために公開していますが、Issue はクローズしません。`,
  "protected-paths": (detail) =>
    `PicoClaw が変更してはいけないファイルが含まれています（${detail}）。ご自身で変更するか、\`tasks.allow_ci_files: true\` で許可してください。`,
  budget: (detail) =>
    `今日の予算を使い切りました (${detail})。\`budget.daily\` を上げるか、明日このアドレスで \`picoclaw solve\` を実行してください。続きから始めます。`,
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
  closed: () => "すでにクローズされています。",
  stopped: () => "ご指示により停止しました。以後は何もプッシュしていません。",
  "given-up": (detail) => `このタスクの途中で PicoClaw 自体が ${detail} 回終了したため、打ち切りました。`,
  lost: () => "別の PicoClaw がこのタスクを引き継ぎました。",
};

function candidateWords({ failure, checks: ran, patchBytes }: CandidateFacts): string {
  if (failure !== null) return `未完了（${failure}）`;
  if (patchBytes === 0) return "変更なし";
  const red = ran.filter((exitCode) => exitCode !== 0).length;
  if (ran.length === 0) return "未検証";
  return red === 0 ? "検証はすべて成功" : `検証 ${ran.length} 件中 ${red} 件が失敗`;
}

export const solveTexts: typeof englishSolveTexts = {
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
    verify: "検証",
    publish: "公開",
  },
  steps: (done, max) => `${done} / 最大 ${max} ステップ`,
  figures: (figures) => figuresText(figures, "トークン"),
  editedSoFar: (paths) => `編集: ${nameFew(paths, more)}`,
  saidLast: (words) => `> ${words}`,
  lastAction: (command, exitCode) => `最後のコマンド: ${command}（終了コード ${exitCode}）`,
  howToStop: "`stop` または `pause` とコメントすると止まります。ほかのコメントは作業に反映します。",
  howToResume: (url) =>
    `再開するには \`picoclaw solve ${url}\` を実行します。\`picoclaw serve\` がこのリポジトリを見ている場合は、\`resume\` とコメントしても再開します。`,
  pullOpened: (url) => `結果: ${url}`,
  takenIntoAccount: (count) => `新しいコメント ${count} 件を反映しました`,
  pullTitle: (title) => title,
  summaryHeading: "概要",
  planHeading: "計画",
  commandsHeading: "実行したコマンド",
  whyHeading: "理由",
  why: (number, title) => `#${number}: ${title} への対応`,
  checksHeading: "検証",
  costHeading: "コスト",
  howToAsk:
    "修正を依頼するには、行へのコメントか、この下へのコメントを書いてください。`picoclaw serve` の動作中は同じブランチで対応します。動作していないときは、この URL を `picoclaw solve` に渡してください。",
  verdicts: {
    red: "検証が失敗しています。ドラフトであり、Issue はクローズしません。",
    "not-run": "検証を実行できませんでした。ドラフトであり、Issue はクローズしません。",
    unchecked: "未検証: このプロジェクトには、PicoClaw が認識できるテストやリンターがありません。",
  },
  since: (verdict, worse) => {
    if (worse.length > 0) return `この変更の前は失敗していませんでした: ${nameFew(worse, more)}。`;
    const asBefore = verdict === "red-before" || verdict === "better" || verdict === "unknown";
    if (!asBefore) return "この変更の前は失敗していませんでした。";
    return verdict === "unknown"
      ? "この変更の前から失敗していました（どのテストかは不明です）。"
      : "この変更の前から、同じテストで失敗していました。";
  },
  notesHeading: "注意",
  noChecks: "このプロジェクトには、PicoClaw が認識できるテストやリンターがありません。",
  checkLine: (command, exitCode, seconds, tests) =>
    `${exitCode === 0 ? "✅" : "❌"} ${command}（終了コード ${exitCode}、${tests === null ? "" : `${checks.counts(tests)}、`}${seconds} 秒）`,
  tableHead: ["コマンド", "結果", "時間"],
  more: (count) => `… ほか ${count} 件`,
  footer: "PicoClaw が作成しました。コマンドと検証の記述は、すべて実行記録によるものです。",
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
  installWarning: (text) => `依存関係: ${text}`,
  failure: (kind, detail) => (FAILURES[kind] ?? ((text: string) => text))(detail),
  patchInstead:
    "PicoClaw にはこの PR/MR のソースへのプッシュ権限がありません。変更を patch として示します（`git apply` で適用できます）。",
  patchTooLarge:
    "PicoClaw にはこの PR/MR のソースへのプッシュ権限がなく、patch は大きすぎるか表示できないため、コメントに載せられません。",
  candidates: (kept, all) =>
    `候補 ${all.length} 件のうち ${kept} 番を採用しました。${all
      .map((one, i) => `${i + 1}: ${candidateWords(one)}`)
      .join("、")}。`,
  badCandidates: "--candidates は 1 から 5 の整数です",
  alreadyRunning: (url) => `すでに作業中です: ${url}`,
  notAnItem: (url) => `Issue / PR / MR の URL ではありません: ${url}`,
  noToken: (forge, variable) => `${forge} のトークンがありません。${variable} を設定してください。`,
  unknownWorker: (kind, known) => `不明な worker です: ${kind}（使えるもの: ${known.join(", ")}）`,
  started: (url) => `${url} に取り組みます`,
  resumed: (url) => `${url} を再開します`,
};
