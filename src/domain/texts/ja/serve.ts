import type * as en from "../en/serve.ts";

export const serveTexts: typeof en.serveTexts = {
  interrupted: (jobIds, undo) =>
    `このメッセージの処理中に PicoClaw が終了しました。それまでに行った変更は残っています: ${jobIds.join(", ")}。二重には実行しません。${undo === null ? "" : `${undo} で取り消すか、`}もう一度送信してください。`,
  senderRemoved:
    "このメッセージは実行しませんでした。待っている間に、送信者の登録、または送信に使われたトークンが削除されました。",
  gaveUp: (attempts) =>
    `このメッセージの処理中に PicoClaw が ${attempts} 回終了したため、処理を中止しました。もう一度送信すると、再び試します。`,
  tooLong: (limitChars) => `メッセージが長すぎます（最大 ${limitChars} 文字）。`,
  tooMany: "短い時間にメッセージが多すぎます。1 分ほど待ってから送信してください。",
  attachment: (name, sizeBytes) =>
    `［添付: ${name}、${sizeBytes} バイト、内容は読み込んでいません（テキストではないか、長すぎます）］`,
  machineAway: (name: string) =>
    `この workspace のあるマシン ${name} が応答していません。メッセージは保管され、復帰後に回答します。`,
  machineBack: (name: string) => `${name} が復帰しました。待っていたメッセージの処理を続けます。`,
  machineTaken: (name: string, home: string) =>
    `同じマシン ID で別のマシン（${name}）が動作しています。PicoClaw のホームをコピーしませんでしたか。マシンごとに別のホームを用意するか、ここで ${home}/machine-id を削除してください。`,
  handEnded: (why, pid) =>
    `メッセージに回答するプロセス（pid ${pid}）が${
      {
        silent: " 15 秒間応答しなかったため、終了させました",
        busy: "応答しないまま 10 秒間計算を続けたため、終了させました",
        memory: " serve.hand_memory を超えるメモリを使ったため、終了させました",
        ended: "終了しました",
      }[why]
    }。処理中だったメッセージは最初からやり直します。`,
  machineReplaced: "別のマシンがこのマシン ID を引き継ぎました。ここでは終了します。",
  schemaAdded: (names) =>
    `新しいバージョンの PicoClaw がデータベースに項目を追加しました（${names}）。このプロセスはそのまま動作を続けます。都合のよいときに、ここでも新しいバージョンに切り替えてください。`,
  schemaBroken: (names) =>
    `新しいバージョンの PicoClaw がデータベースを変更したため（${names}）、このバージョンでは続行できません。実行中の処理を終えてから終了します。ここでも新しいバージョンを起動してください。`,
  listening: (url) => `PicoClaw は ${url} で待ち受けています`,
  loginLink: (url) => `コンソールを開く: ${url}`,
  loginLinkNote: "このリンクは 1 回だけ、10 分以内に使えます。新しいリンク: picoclaw serve link",
  nothingListens: (address) =>
    `${address} ではまだ何も待ち受けていません。10 分以内にサーバーを起動してください: picoclaw serve`,
  storeGone: (file) =>
    `動作中のサーバーのデータベースが失われています。${file} が削除されたか、置き換えられたか、空にされたか、途中で切り詰められています。今保存したものはサーバーに届かないため、PicoClaw は何も保存しません。\nサーバーを停止し、バックアップを復元してから（picoclaw restore FOLDER。バックアップがなければ空のデータベースで始まります）、起動し直してください: picoclaw serve`,
  demoLinkNote:
    "このリンクは 1 回だけ、10 分以内に使えます。新しいリンクが必要なときは、デモを起動し直してください。",
  demo: [
    "これはデモです。数種類の文にだけ答える固定応答モデルと、使い捨ての workspace で動いています。",
    "試す: 「落ちているテストを直して」、そのあと「おっと: rm -rf .git node_modules src を実行して」と「取り消す」。",
    "モデルをつなぐには: picoclaw init のあと picoclaw serve",
  ],
  stopping:
    "停止します。新しい受付を止め、実行中のものを終えます（最大 25 秒。もう一度押すとすぐに終了します）。",
  stoppingHard: "終了しました。終わっていないものは次回の起動時に続けます。",
  reloaded: "設定を読み直しました。",
  workspaceMoved: (root) =>
    `workspace が ${root} に変わります。サーバーを停止して、そこで起動し直してください。`,
  reloadRefused: (why) => `新しい設定に誤りがあるため、元の設定のまま続けます:\n${why}`,
  portTaken: (address, why) => `${address} で待ち受けできません: ${why}`,
  exposed: (host) =>
    `${host} にはほかのマシンからも接続できます。手前に TLS プロキシを置き、serve.public_url を設定してください。`,
  usage: "使い方: picoclaw serve [link | token create NAME | token list | token remove ID]",
  tokenCreated: (token) => `${token}\n表示はこの 1 回だけです。保存されるのはハッシュのみです。`,
  pairing: (code) =>
    `まだ登録されていません。管理者に次のコマンドの実行を依頼し、登録されたらもう一度送ってください（1 時間有効）: picoclaw pair ${code}`,
  pairUsage: (channels) =>
    `使い方: picoclaw pair [CODE | list | add ${channels.join("|")}:USER | remove ${channels.join("|")}:USER] [--role operator|user]`,
  pairWaiting: "承認待ち",
  nobodyPaired: "登録された人はまだいません。チャットサービスから話しかけた人にコードが届きます。",
  personAdded: (who, role) => `登録しました: ${who}（${role}）`,
  personRemoved: (who) => `登録を削除しました: ${who}`,
  personUnknown: (who) => `登録されていません: ${who}`,
  codeUnknown: (code) => `そのコードは存在しないか、期限が切れています: ${code}`,
  tokenRemoved: (id) => `削除しました: ${id}`,
  tokenUnknown: (id) => `そのトークンはありません: ${id}`,
  noTokens: "トークンはまだありません: picoclaw serve token create NAME",
  badScope: (scope, known) => `不明なスコープです: ${scope}（使えるもの: ${known}）`,
  badUser: (user) => `--user ${user}: a-z、0-9、_、- が使えます（"operator" は管理者です）`,
  badRole: (role) => `不明な役割です: ${role}（operator または user）`,
  scheduleUnknownChannel: (name, channel) =>
    `schedule ${name}: チャンネル "${channel}" はありません（chat は channel:chat と書きます）`,
};
