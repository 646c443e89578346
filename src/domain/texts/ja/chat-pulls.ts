import type * as en from "../en/chat-pulls.ts";
import { tokenVariables } from "../format-text.ts";

const standing = (branch: string | null) =>
  branch === null
    ? "何も変更していません。"
    : `プッシュはしていません。コミットはブランチ ${branch} に残っています。`;

function forgeTrouble(forge: string, code: string, message: string): string {
  switch (code) {
    case "unauthorized":
      return `${forge} がトークンを受け付けません。誤っているか、期限が切れています。`;
    case "forbidden":
    case "missing-scope":
      return `このトークンには ${forge} での権限がありません: ${message}`;
    case "unreachable":
    case "timeout":
    case "server-error":
      return `${forge} から応答がありません: ${message}`;
    case "rate-limited":
      return `${forge} は今これ以上のリクエストを受け付けません: ${message}`;
    default:
      return `${forge} に拒否されました: ${message}`;
  }
}

function pushTrouble(reason: string, forge: string, branch: string, message: string): string {
  switch (reason) {
    case "protected-branch":
      return `${forge} でブランチ ${branch} は保護されていて、プッシュできません。`;
    case "unauthorized":
      return `${forge} にプッシュできません。トークンや鍵がないか、受け付けられませんでした。`;
    case "no-permission":
      return `${forge} のこのリポジトリにプッシュする権限がありません。`;
    case "not-found":
      return `${forge} にリポジトリが見つからないか、閲覧の権限がありません。`;
    case "unreachable":
      return `${forge} に接続できません。`;
    case "aborted":
      return "中断しました。";
    default:
      return `${forge} がブランチ ${branch} を受け付けませんでした。${message === "" ? "" : `\n${message}`}`;
  }
}

const STAYS = "手元のコミットは取り消せます。リモートにあるものはそのまま残ります。";

const tokenName = (variable: string) => tokenVariables(variable, " か ");

export const pulls: typeof en.pulls = {
  committed: ({ title, files: paths, left }) =>
    `${paths.length} 個のファイルをコミットしました: ${title}${left === 0 ? "" : `\n含めていない変更: ${left} 個のファイル`}\nプッシュはしていません。/undo でコミットを取り消し、/pr でプルリクエストを作成できます。`,
  commitDry: ({ title, files: paths }) =>
    `次の内容でコミットすることになります: ${title}\n${paths.map((path) => `  ${path}`).join("\n")}`,
  commitStop: (stop) => {
    switch (stop.why) {
      case "unavailable":
        return "ここからはコミットできません。";
      case "no-git":
        return "コミットできません: git がインストールされていません。";
      case "no-repository":
        return "コミットできません: このフォルダーは git リポジトリではありません。";
      case "unborn":
        return "コミットできません: リポジトリに最初のコミットがありません。git add と git commit で作成してください。";
      case "failed":
        return `コミットできません: ${stop.message}`;
      case "conflicted":
        return `コミットできません: 競合しているファイルがあります。${stop.paths.join(", ")}`;
      case "nothing":
        return stop.changed === 0
          ? "コミットする変更はありません。"
          : `コミットする変更がありません: ステージされたファイルがなく、変更のある ${stop.changed} 個のファイルはこのチャットのものではありません。git add でステージしてから /commit を実行してください。`;
    }
  },
  pullUsage:
    '使い方: /pr [--draft] [--base ブランチ] [タイトル]。-- で始まる語を含むタイトルは引用符で囲んでください: /pr "Add --verbose"',
  reviewPosted: (url) => `レビューを投稿しました: ${url}`,
  reviewNotPosted: (url, why) =>
    `レビューは ${url} に投稿していません${why === "" ? "（内容がありません）。" : `: ${why}`}`,
  reviewPostWhere: "投稿できるのはプルリクエストのレビューだけです: /review #12 --post",
  pullCommits: (branch, count) =>
    count === 0
      ? `ブランチ ${branch} を作ります。`
      : `${count} 個のファイルをブランチ ${branch} にコミットします。`,
  pullPushes: (branch, forge) => `${branch} を ${forge} にプッシュします。`,
  forgeWaits: (forge, seconds, why) => `${forge} の制限により ${seconds} 秒待ちます: ${why}`,
  pullDry: ({ branch, base, files: paths, title }) =>
    `${branch} から ${base} へのプルリクエストを作ることになります: ${title}\n${paths.map((path) => `  ${path}`).join("\n")}`,
  pullOpened: ({ branch, base, title, files: count, url, isNew, isDraft }) =>
    [
      isNew
        ? `${isDraft ? "下書きのプルリクエスト" : "プルリクエスト"}を作成しました: ${url}`
        : `プルリクエスト${count === 0 ? "は最新です" : "を更新しました"}: ${url}`,
      `${title}\n${branch} → ${base}${count === 0 ? "" : `、${count} 個のファイルをコミット`}`,
      STAYS,
    ].join("\n\n"),
  pullByHand: ({ branch, title, url, variable, forge }) =>
    [
      `ブランチ ${branch} はプッシュしましたが、${forge} のトークンがないため、プルリクエストは作成していません。`,
      `こちらから作成できます: ${url}\n${title}`,
      `次回から作成まで任せるには、${tokenName(variable)} を設定してください。`,
      STAYS,
    ].join("\n\n"),
  pullStop: (stop) => {
    switch (stop.why) {
      case "unavailable":
        return "ここからはプルリクエストを作成できません。";
      case "no-git":
        return "プルリクエストを作成できません: git が入っていません。";
      case "no-repository":
        return "プルリクエストを作成できません: このフォルダは git リポジトリではありません。";
      case "unborn":
        return "プルリクエストを作成できません: リポジトリにまだコミットがありません。";
      case "no-remote":
        return "プルリクエストを作成できません: リモートがありません。追加するには: git remote add origin URL";
      case "foreign-remote":
        return `プルリクエストを作成できません: リモート ${stop.remote}（${stop.url}）は GitHub でも GitLab でもありません。自前のサーバーなら forges.github.base_url か forges.gitlab.base_url を設定してください。`;
      case "no-token":
        return `${stop.forge} のトークンがありません。${tokenName(stop.variable)} を設定してください。`;
      case "other-repository":
        return `このフォルダのリポジトリ ${stop.repository} のプルリクエストではありません。`;
      case "not-a-pull":
        return `#${stop.number} はプルリクエストではありません。`;
      case "git-failed":
        return `プルリクエストを作成できません: git の状態を読めませんでした。${stop.message}`;
      case "conflicted":
        return `プルリクエストを作成できません: 競合しているファイルがあります。${stop.paths.join("、")}`;
      case "archived":
        return `プルリクエストを作成できません: ${stop.repository} はアーカイブされています。`;
      case "no-base":
        return `プルリクエストを作成できません: ${stop.repository} にブランチ ${stop.base} がありません。`;
      case "nothing":
        return `提案する変更がありません。ここにあるものはすべて ${stop.base} に入っています。${stop.kept.length === 0 ? "" : `保護されたファイルはコミットしません: ${stop.kept.join("、")}`}`;
      case "names-taken":
        return `プルリクエストを作成できません: ${stop.branch} という名前のブランチが多すぎます。`;
      case "forge":
        return stop.code === "not-found"
          ? `プルリクエストを作成できません: ${stop.forge} に ${stop.repository} が見つからないか、トークンに閲覧の権限がありません。`
          : `プルリクエストを作成できません。${forgeTrouble(stop.forge, stop.code, stop.message)}`;
      case "not-committed":
        return `プルリクエストを作成できません: 変更をコミットできませんでした。\n${stop.message}`;
      case "not-opened":
        return `ブランチ ${stop.branch} はプッシュしましたが、プルリクエストは作成できませんでした。${forgeTrouble(stop.forge, stop.code, stop.message)}\nもう一度試すには: /pr\n\n${STAYS}`;
      case "secret":
        return `プルリクエストを作成できません: 変更に秘密の値が含まれています。${standing(stop.stands)}`;
      case "branch-taken":
        return `プルリクエストを作成できません: リモートのブランチ ${stop.branch} に、手元にないコミットがあります。先に取り込んでください。${standing(stop.stands)}`;
      case "not-pushed": {
        const token =
          stop.variable === null
            ? ""
            : `${stop.forge} のトークンがありません。${tokenName(stop.variable)} を設定してください。`;
        return `プルリクエストを作成できません。${pushTrouble(stop.reason, stop.forge, stop.branch, stop.message)}${token}${standing(stop.stands)}`;
      }
    }
  },
};
