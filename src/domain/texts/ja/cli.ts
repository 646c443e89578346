import type * as en from "../en/cli.ts";
import help from "./help.json" with { type: "json" };

/** Texts of `--help` and of the manual page. */
export const helpTexts: typeof en.helpTexts = help;

export const mcpTexts: typeof en.mcpTexts = {
  usage:
    "使い方: picoclaw mcp add 名前 URL [--header '名前: 値'] · mcp add 名前 [--env 名前=値] -- コマンド 引数… · mcp list · mcp test [名前] · mcp login 名前 [--paste] · mcp logout 名前 · mcp remove 名前",
  none: "MCP サーバーはありません。picoclaw mcp add 名前 URL で追加するか、信頼したプロジェクトの .mcp.json を使ってください。",
  unknown: (name) => `MCP サーバー ${name} はありません: picoclaw mcp list`,
  unusable: (server, detail) => `✗ ${server}: ${detail}`,
  works: (server, tools, readOnly) =>
    `✓ ${server}: ツール ${tools.length} 個（読み取り専用 ${readOnly} 個）: ${tools.join("、")}`,
  notWeb: (address) =>
    `${address} は MCP サーバーのアドレスではありません。http:// か https:// で始まるアドレスを指定してください。`,
  added: (name, file) => `${name} を ${file} に追加しました。確認するには: picoclaw mcp test ${name}`,
  removed: (name) => `削除しました: ${name}`,
  loginState: {
    none: "",
    kept: "ログイン済み",
    needed: "ログインが必要です: picoclaw mcp login",
    unreachable: "応答がありません",
  },
  loginNeeded: (name) => `✗ ${name}: ログインが必要です。ログインするには: picoclaw mcp login ${name}`,
  loginAddress: (name, address) =>
    `${name} にログインするには、次のアドレスをブラウザで開いてください:\n\n  ${address}\n`,
  loginWaits:
    "ブラウザからの応答を最長 5 分間待ちます。ブラウザが別のマシンにある場合は、Ctrl-C で止めて --paste を付けてください。",
  loginPaste: "ブラウザが最後に開いたアドレスを貼り付けてください（ページはエラーでも構いません）: ",
  loginPage: {
    done: "ログインしました。このウィンドウは閉じて構いません。",
    failed: "ログインできませんでした。理由はターミナルに表示されています。",
  },
  loginEnd: {
    done: (name) => `${name} にログインしました。確認するには: picoclaw mcp test ${name}`,
    "not-needed": (name) => `${name} にログインは必要ありません。`,
    "no-address": (name) => `${name} はプログラムです。ログインできるのはアドレスのあるサーバーだけです。`,
    "has-header": (name) =>
      `${name} には Authorization ヘッダーが設定されています。ログインするにはヘッダーを外してください。`,
    "no-registration": (name) =>
      `${name} はクライアントの自動登録に対応していません。相手側で OAuth アプリケーションを作成し、mcp_servers.${name}.oauth.client_id に設定してください。`,
    "too-late": () => "5 分以内にログインがありませんでした。何も保存していません。",
    stopped: () => "中断しました。何も保存していません。",
    "bad-server": (name) =>
      `${name} にログインできませんでした: 認可サーバーの応答が正しくありません。何も保存していません。`,
    silent: (name, seconds) =>
      `${name} にログインできませんでした: ${seconds} 秒以内に応答がありませんでした。何も保存していません。`,
    denied: (name, reason) =>
      `サーバーが ${name} へのログインを拒否しました: ${reason}。何も保存していません。`,
    "bad-paste": (name, address) =>
      `${name} の今回のログインのアドレスではありません。ブラウザが最後に開いたアドレスをすべて貼り付けてください。${address} で始まり、code= と state= を含みます。何も保存していません。やり直すには: picoclaw mcp login ${name} --paste`,
    failed: (name, detail) => `${name} にログインできませんでした: ${detail}`,
  },
  loggedOut: (name) => `${name} からログアウトしました。`,
  notLoggedIn: (name) => `${name} のログインは保存されていません。`,
};
