import type * as en from "../en/sandbox.ts";

export const processTexts: typeof en.processTexts = {
  none: "バックグラウンドのプロセスはありません。",
  title: (count) => `バックグラウンドのプロセス: ${count} 個`,
  header: { name: "プロセス", state: "状態", time: "時間", ports: "接続先", command: "コマンド" },
  seconds: (count) => `${count} 秒`,
  minutes: (count) => `${count} 分`,
  hours: (count) => `${count} 時間`,
  states: { starting: "起動中", running: "実行中", elsewhere: "別のマシン" },
  exited: (code) => `終了コード ${code}`,
  signaled: (signal) => `${signal} で終了`,
  ends: {
    exited: "終了",
    stopped: "停止済み",
    "program-ended": "プログラムとともに終了",
    "workspace-gone": "終了: フォルダがなくなりました",
    "preview-over": "プレビューとともに終了",
    lost: "終了: 監視していた PicoClaw のプロセスが強制終了されました",
    "not-started": "起動できませんでした",
  },
  keeps: "停止するまで動き続けます",
  endsWithProgram: "このプログラムとともに終了します",
  restartsOnLanding: "ジョブが適用されるたびに再起動します",
  confinement: {
    confined: "隔離あり",
    limited: "書き込みはこのフォルダだけ（bubblewrap なし）",
    none: "隔離なし",
  },
  started: (name) => `起動しました: ${name}`,
  startedAgain: (name) => `再起動しました: ${name}`,
  ranToEnd: (name) => `${name} は最後まで実行されました。`,
  notListening: (port) => `ポート ${port} ではまだ待ち受けていません。`,
  hint: (ps, name) => `出力: ${ps} log ${name} · 停止: ${ps} stop ${name}`,
  plantedGit: (name, paths, more) =>
    `注意: ${name} の起動後にできた git ディレクトリに、フックや設定があります: ${paths.join("、")}${more > 0 ? `（ほか ${more} 件）` : ""}。そこで次に git を使うと実行されます。心当たりがなければ、先に削除してください。`,
  plantedHome: (name, paths, more) =>
    `注意: ${name} の起動後に、ホームに起動ファイル、設定、またはプログラムができています: ${paths.join("、")}${more > 0 ? `（ほか ${more} 件）` : ""}。次のログインやシェル、コマンドで使われます。心当たりがなければ、先に削除してください。`,
  hostsReached: (name, hosts, more) =>
    `${name}: ネットワーク: ${hosts.map(({ host, count }) => `${host} (${count})`).join("、")}${more > 0 ? `、ほか ${more} 件` : ""} に接続しました`,
  liveWrites: "このプロセスがフォルダに書いたものは取り消せません。",
  endedAtOnce: (name, how) => `${name} はすぐに終了しました: ${how}`,
  lastLines: "最後の出力:",
  noOutput: "出力はありませんでした。",
  stopped: (name) => `停止しました: ${name}`,
  notRunning: (name) => `${name} は動いていません。`,
  survived: (name) => `${name} の一部を終了できませんでした。`,
  unknown: (name) => `${name} というプロセスはありません。一覧: picoclaw ps`,
  nameTaken: (name) =>
    `${name} はすでに動いています。別の名前にするか、再起動してください: picoclaw ps restart ${name}`,
  badName: (name) => `名前に使えません: ${name}（文字か数字で始まり、文字・数字・. - _ で 40 字まで）`,
  noPreview: (job) =>
    `${/^\d+$/.test(job) ? "#" : ""}${job} は適用待ちのプレビューではありません。一覧: picoclaw jobs`,
  over: "プレビューの上で動きます。フォルダは変わりません",
  emptyCommand: "コマンドがありません。",
  limit: (most) =>
    `プロセスが上限の ${most} 個動いています（processes.limit）。先にどれかを停止してください。`,
  portTaken: (port, holder) =>
    holder === null
      ? `ポート ${port} はほかのプログラムが使っています。`
      : `ポート ${port} は ${holder} が使っています。`,
  badPort: (port) => `ポートではありません: ${port}（1 から 65535）`,
  notConfined: "起動していません: 設定が求める隔離がこのマシンではできません。確認: picoclaw doctor",
  busy: "別のプログラムがここでプロセスを起動しています。もう一度お試しください。",
  cut: "（先頭は省略しました）",
  forgotten: (count) => `${count} 個を一覧から消しました。`,
  usage:
    "使い方: picoclaw ps · ps start [--name NAME] [--port N] [--restart] [--over PREVIEW] -- COMMAND · ps log NAME · ps restart NAME · ps stop NAME · ps clear",
  chatUsage:
    "使い方: /ps · /ps start [--name NAME] [--port N] [--restart] [--over PREVIEW] COMMAND · /ps log NAME · /ps restart NAME · /ps stop NAME · /ps clear",
  stopLabel: (name) => `${name} を停止`,
  logLabel: (name) => `${name} の出力`,
};
