import type * as en from "../en/heads.ts";
import { wordBy } from "../format-text.ts";

export const headTexts: typeof en.headTexts = {
  trouble: wordBy("code", {
    "not-installed": ({ name, program }) =>
      `${name} はこのマシンにありません（PATH に \`${program}\` が見つかりません）。使うには、先にインストールしてください。`,
    "no-command":
      "エージェントが設定されていません。`head.command` が空です。例: `head: {command: [opencode, acp]}`。",
    "no-login": ({ name, variables, file }) =>
      [
        `${name} のキーがありません。${variables.join(" または ")} を設定してください${name === "claude-code" ? "（`claude setup-token` で無人実行用のトークンを作れます）" : ""}。`,
        ...(file === null
          ? []
          : [
              `${file} にログインがありますが、\`head.login: file\` のときだけ使います。その使い方が許されるかどうかは提供元の規約で決まります。`,
            ]),
      ].join(""),
    "login-expired": ({ name, program }) =>
      `${name} のログインの期限が切れています。PicoClaw は更新を行いません。\`${program}\` を一度起動してから、もう一度送ってください。`,
    "login-refused": ({ name, variables }) =>
      `${name} は Google でログインしています。Google の規約は、ほかのプログラムがそのログインを使うことを認めていません。${variables.join(" または ")} を設定してください。`,
    "not-confined":
      "お使いのエージェントを起動できるのは、隔離できるときだけです。bubblewrap とオーバーレイが使え、`worker.confine` が off ではなく、workspace がホームを含まないことが必要です。足りないものは `picoclaw doctor` で分かります。",
    busy: ({ name }) =>
      `${name} はこのチャットのために別のプロセスで作業中です。終わってから、もう一度送ってください。`,
    unauthorized: ({ name, variables }) =>
      `${name} はモデルのサーバーに拒否されました。キーまたはログインが正しくありません。${variables.length === 0 ? "" : `${variables.join(" または ")} を確認してください。`}`,
    unreachable: ({ name, detail }) => `${name} はモデルのサーバーに接続できません: ${detail}`,
    quota: ({ name, reached }) =>
      `${name} を終了しました。このメッセージの \`${reached === "requests" ? "tasks.key_requests" : "tasks.key_traffic"}\` を使い切りました。`,
    "timed-out": ({ name, seconds }) =>
      `${name} を ${seconds} 秒で終了しました（\`head.timeout\`）。セッションは残してあります。`,
    silent: ({ name, seconds }) =>
      `${name} を終了しました。${seconds} 秒間何も出力しませんでした（\`head.silence\`）。セッションは残してあります。`,
    flooded: ({ name }) => `${name} を終了しました。出力が止まりませんでした。`,
    asking: ({ name, times }) => `${name} を終了しました。許可を ${times} 回求めました。`,
    "session-lost": ({ name }) => `${name} は以前のセッションを失いました。新しいセッションを始めます。`,
    failed: ({ name, detail }) => `${name} がエラーで終了しました: ${detail}`,
  }),
  dryRun: (name) =>
    `ドライモードです。${name} はすぐに作業を始めるため起動しません。\`/preview\` なら適用せずに結果を確認できます。`,
  usage: (names) =>
    `/head 名前 依頼 で、そのメッセージをお使いのエージェントに任せます: ${names.join("、")}。`,
  ready: "使えます",
  unknown: (name) => `${name} というエージェントはありません。一覧: /head`,
  always: (name) => `コーダーへのメッセージは ${name} に渡します（roles.coder.head）。`,
};
