import type * as en from "../en/chat-pulls.ts";
import { tokenVariables, wordBy } from "../format-text.ts";

const nameKeptBranch = (branch: string | null) =>
  branch === null
    ? "何も変更していません。"
    : `プッシュはしていません。コミットはブランチ ${branch} に残っています。`;

function forgeTrouble(forge: string, code: string, message: string): string {
  if (code === "unauthorized")
    return `${forge} がトークンを受け付けません。誤っているか、期限が切れています。`;
  const noPermission = `このトークンには ${forge} での権限がありません`;
  const silent = `${forge} から応答がありません`;
  const known: Readonly<Record<string, string>> = {
    forbidden: noPermission,
    "missing-scope": noPermission,
    unreachable: silent,
    timeout: silent,
    "server-error": silent,
    "rate-limited": `${forge} は今これ以上のリクエストを受け付けません`,
  };
  return `${known[code] ?? `${forge} に拒否されました`}: ${message}`;
}

function pushTrouble(reason: string, forge: string, branch: string, message: string): string {
  const known: Readonly<Record<string, string>> = {
    "protected-branch": `${forge} でブランチ ${branch} は保護されていて、プッシュできません。`,
    unauthorized: `${forge} にプッシュできません。トークンや鍵がないか、受け付けられませんでした。`,
    "no-permission": `${forge} のこのリポジトリにプッシュする権限がありません。`,
    "not-found": `${forge} にリポジトリが見つからないか、閲覧の権限がありません。`,
    unreachable: `${forge} に接続できません。`,
    aborted: "中断しました。",
  };
  return (
    known[reason] ??
    `${forge} がブランチ ${branch} を受け付けませんでした。${message === "" ? "" : `\n${message}`}`
  );
}

const STAYS = "手元のコミットは取り消せます。リモートにあるものはそのまま残ります。";

const tokenName = (variable: string) => tokenVariables(variable, " か ");

export const pulls: typeof en.pulls = {
  committed: ({ title, files: paths, left }) =>
    `${paths.length} 個のファイルをコミットしました: ${title}${left === 0 ? "" : `\n含めていない変更: ${left} 個のファイル`}\nプッシュはしていません。/undo でコミットを取り消し、/pr でプルリクエストを作成できます。`,
  commitDry: ({ title, files: paths }) =>
    `次の内容でコミットすることになります: ${title}\n${paths.map((path) => `  ${path}`).join("\n")}`,
  commitStop: wordBy("why", {
    unavailable: "ここからはコミットできません。",
    "no-git": "コミットできません: git がインストールされていません。",
    "no-repository": "コミットできません: このフォルダーは git リポジトリではありません。",
    unborn:
      "コミットできません: リポジトリに最初のコミットがありません。git add と git commit で作成してください。",
    failed: ({ message }) => `コミットできません: ${message}`,
    conflicted: ({ paths }) => `コミットできません: 競合しているファイルがあります。${paths.join(", ")}`,
    nothing: ({ changed }) =>
      changed === 0
        ? "コミットする変更はありません。"
        : `コミットする変更がありません: ステージされたファイルがなく、変更のある ${changed} 個のファイルはこのチャットのものではありません。git add でステージしてから /commit を実行してください。`,
  }),
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
  pullStop: wordBy("why", {
    unavailable: "ここからはプルリクエストを作成できません。",
    "no-git": "プルリクエストを作成できません: git が入っていません。",
    "no-repository": "プルリクエストを作成できません: このフォルダは git リポジトリではありません。",
    unborn: "プルリクエストを作成できません: リポジトリにまだコミットがありません。",
    "no-remote":
      "プルリクエストを作成できません: リモートがありません。追加するには: git remote add origin URL",
    "foreign-remote": ({ remote, url }) =>
      `プルリクエストを作成できません: リモート ${remote}（${url}）は GitHub でも GitLab でもありません。自前のサーバーなら forges.github.base_url か forges.gitlab.base_url を設定してください。`,
    "no-token": ({ forge, variable }) =>
      `${forge} のトークンがありません。${tokenName(variable)} を設定してください。`,
    "other-repository": ({ repository }) =>
      `このフォルダのリポジトリ ${repository} のプルリクエストではありません。`,
    "not-a-pull": ({ number }) => `#${number} はプルリクエストではありません。`,
    "git-failed": ({ message }) => `プルリクエストを作成できません: git の状態を読めませんでした。${message}`,
    conflicted: ({ paths }) =>
      `プルリクエストを作成できません: 競合しているファイルがあります。${paths.join("、")}`,
    archived: ({ repository }) => `プルリクエストを作成できません: ${repository} はアーカイブされています。`,
    "no-base": ({ repository, base }) =>
      `プルリクエストを作成できません: ${repository} にブランチ ${base} がありません。`,
    nothing: ({ base, kept }) =>
      `提案する変更がありません。ここにあるものはすべて ${base} に入っています。${kept.length === 0 ? "" : `保護されたファイルはコミットしません: ${kept.join("、")}`}`,
    "names-taken": ({ branch }) =>
      `プルリクエストを作成できません: ${branch} という名前のブランチが多すぎます。`,
    forge: ({ code, forge, repository, message }) =>
      code === "not-found"
        ? `プルリクエストを作成できません: ${forge} に ${repository} が見つからないか、トークンに閲覧の権限がありません。`
        : `プルリクエストを作成できません。${forgeTrouble(forge, code, message)}`,
    "not-committed": ({ message }) =>
      `プルリクエストを作成できません: 変更をコミットできませんでした。\n${message}`,
    "not-opened": ({ branch, forge, code, message }) =>
      `ブランチ ${branch} はプッシュしましたが、プルリクエストは作成できませんでした。${forgeTrouble(forge, code, message)}\nもう一度試すには: /pr\n\n${STAYS}`,
    secret: ({ kept }) =>
      `プルリクエストを作成できません: 変更に秘密の値が含まれています。${nameKeptBranch(kept)}`,
    "branch-taken": ({ branch, kept }) =>
      `プルリクエストを作成できません: リモートのブランチ ${branch} に、手元にないコミットがあります。先に取り込んでください。${nameKeptBranch(kept)}`,
    "not-pushed": ({ reason, forge, branch, message, variable, kept }) =>
      `プルリクエストを作成できません。${pushTrouble(reason, forge, branch, message)}${variable === null ? "" : `${forge} のトークンがありません。${tokenName(variable)} を設定してください。`}${nameKeptBranch(kept)}`,
  }),
};
