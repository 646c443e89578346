import type { memoryTexts as englishMemoryTexts } from "./memory.ts";

const SOURCES = {
  forced: "固定ルート",
  explicit: "明示コマンド",
  rule: "ルール辞書",
  classifier: "分類器",
  fallback: "フォールバック",
} as const;

export const memoryTexts: typeof englishMemoryTexts = {
  why: ({ route, source, confidence, reason, message, models, corrected }) =>
    [
      `ルート: ${route}（${SOURCES[source]}、確信度 ${confidence.toFixed(2)}）`,
      `理由: ${reason}`,
      `メッセージ: ${message}`,
      ...(models.length > 0 ? [`モデル: ${models.join(", ")}`] : []),
      ...(corrected === null ? [] : [`訂正: ${corrected}`]),
      "違っていたら /route CODE のように訂正できます。",
    ].join("\n"),
  noDecision: "まだルーティングの記録がありません。",
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
  noNotes: "メモはまだありません。",
  notesUsage:
    "/notes 1 で読む、/notes forget 1 で忘れる（all で全部）、/notes forget now でこのセッションが引き継いだことを忘れる。",
  summaryForgotten: "忘れました: このセッションが以前から引き継いでいたこと",
  noMemos:
    "このセッションで覚えていることはありません。/memo 名前 = 値 で覚え、/memo forget 名前 で忘れます。",
  noMemo: (name) => `この名前では何も覚えていません: ${name}`,
  memoKept: (name, value) => `このセッションの間、覚えておきます: ${name} = ${value}`,
  memoTooMuch: "多すぎます。名前は 50 件、各 60 文字まで、値は 1,000 文字までです。",
  forgotten: (pattern) => `忘れました: ${pattern}`,
  ruleProblem(problem) {
    switch (problem.kind) {
      case "not-a-pattern":
        return `ルール「${problem.pattern}」は正規表現として読めないため使いません: ${problem.detail}`;
      case "catastrophic":
        return `ルール「${problem.pattern}」は照合が終わらなくなる恐れがあるため使いません: ${problem.detail}`;
      case "example":
        return `ルール「${problem.pattern}」は例「${problem.example}」に一致${problem.expected ? "しない" : "する"}ため使いません`;
    }
  },

  newSession: (sessionId) => `新しいセッションを始めました: ${sessionId}（/resume で前の会話に戻れます）`,
  newFailed: "要約を保存できなかったため、セッションはそのままです。",
  resumed: (sessionId, turns) => `セッションを再開しました: ${sessionId}（${turns} 件のやり取り）`,
  nothingToResume: "再開できるセッションがありません。",

  usageHeader: {
    today: "今日",
    chat: "このチャットの今日",
    person: "あなたのチャットの今日",
    days: "直近 7 日",
  },
  usageLine: ({ name, calls, inputTokens, outputTokens, costUsd }) =>
    `${name}: ${calls} 回、入力 ${inputTokens}、出力 ${outputTokens} トークン、$${costUsd.toFixed(4)}`,
  noUsage: "今日はまだモデルを使っていません。",
  budgetLine: (spent, daily) =>
    `予算: $${daily} のうち $${spent.toFixed(4)} を使用（${daily === 0 ? 100 : Math.round((spent / daily) * 100)} %）`,
  backedUp: (folder, rows) => `${folder}: ${rows} 行と設定ファイル`,
  undoNotBackedUp: (folders) =>
    `次のジャーナルと取り消し用データは含まれません。ワークスペースと一緒に保管してください:\n${folders.map((one) => `  ${one}`).join("\n")}`,
  backupExists: (folder) => `${folder} は空ではありません。新しいフォルダを指定してください。`,
  filled: (rows) => `${rows} 行を書き込み、読み直して照合しました。`,
  storeInUse: (table) =>
    `何も書き込んでいません。ストアは使用中です（${table} に行があります）。新しい PICOCLAW_HOME か空のデータベースを使ってください。`,
  storeUnequal: (table) => `何も残していません。${table} を読み直した内容が書き込んだ内容と違います。`,
  backupDamaged: (file) => `何も書き込んでいません。${file} がないか、作成時の内容と違います。`,
  backupOfOther: (version) =>
    `何も書き込んでいません。このバックアップはテーブルの異なるバージョン ${version} のものです。そのバージョンで復元してから更新してください。`,
  personForgotten: (who, rows) =>
    `${who}: ${rows} 行を削除しました。ジョブと取り消し用データはワークスペースの保管場所に残ります。`,
  storeUnavailable: ({ kind, name, detail, damaged, newer, distrusted }) =>
    `ストアを開けません: ${name}（${detail}）\n${
      newer
        ? "新しいバージョンの PicoClaw がテーブルを変更しています。このマシンの PicoClaw を更新してください。"
        : kind === "sqlite"
          ? damaged
            ? "ファイルが壊れている場合は別の場所へ移してください。会話の記録は失われますが、ジョブの取り消しには影響しません。"
            : "アクセス権と空き容量を確認するか、書き込めるフォルダを PICOCLAW_HOME に設定してください。"
          : distrusted
            ? "サーバーの証明書が合いません。database_url のホストは証明書に載っている名前とし、sslrootcert=ファイル には署名した認証局の証明書を指定してください。"
            : "database_url の宛先と、サーバーが動いていることを確認してください。"
    }`,
};
