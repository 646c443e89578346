import { type ConfigProblem, type ConfigWarning, NOTHING } from "../config/config-problem.ts";
import type { configurationTexts as englishConfigurationTexts } from "./configuration.ts";
import { filePositionText } from "../config/place-in-file.ts";
import { machineTexts } from "./ja-machine.ts";

/** The configuration, and how a command is called. */
export const configurationTexts: typeof englishConfigurationTexts = {
  configInvalid: "設定に誤りがあるよ。何も実行していません。",
  cannotWork: (role, why) => `roles.${role} はこのままでは働きません: ${why}`,
  configValid: "設定に問題はないよ。",
  configProblem: problemText,
  configWarning: warningText,
  workspaceTrusted: (path, files) =>
    [
      `${path} を信頼しました。検証を実行でき、picoclaw.yaml、コマンド、スキルが有効になります。`,
      files.length === 0 ? "今はどれもありません。" : "今の内容に限ります:",
      ...files.map((file) => `  ${file}`),
      "変更や追加があったときは、もう一度信頼してください。",
    ].join("\n"),
  nothingToTrust: "そのフォルダはないよ。",
  usageError: (detail) => `使い方の誤り: ${detail}`,
  unknownCommand: (name, nearest) => `不明なコマンド: ${name}${perhaps(nearest)}`,
  unknownFlag: (name, nearest) => `不明なオプション: ${name}${perhaps(nearest)}`,
  missingValue: (flag) => `${flag} に値が必要だよ。`,
  emptyPatch: (name) => `patch が空だよ: ${name}`,
  optionsBehind: (flag) => `オプションはコマンドの後ろに書いてね: picoclaw COMMAND ${flag}`,
  noInput: "patch がないよ。ファイルを指定するか、標準入力で渡してね。",
  warningLabel: "警告:",
  unexpectedError: (detail) => `予期しないエラー: ${detail}`,
};

function perhaps(nearest: string | null | undefined): string {
  return (nearest ?? null) === null ? "" : `（もしかして: ${nearest}）`;
}

function problemText(problem: ConfigProblem): string {
  switch (problem.code) {
    case "unknown-key":
      return `${filePositionText(problem.at)}不明なキー ${problem.key}${perhaps(problem.nearest)}`;
    case "invalid-value": {
      const who = problem.variable === undefined ? problem.key : `${problem.variable} (${problem.key})`;
      if (problem.value === NOTHING)
        return `${filePositionText(problem.at)}${who} がありません。期待する値: ${problem.expected}`;
      return `${filePositionText(problem.at)}${who} の値 ${problem.value} は使えません。期待する値: ${problem.expected}`;
    }
    case "literal-secret":
      return `${filePositionText(problem.at)}${problem.key} に秘密の値を直接書けません。環境変数に入れて env:NAME と書いてください。`;
    case "unset-reference":
      return `${filePositionText(problem.at)}${problem.key} が参照する環境変数 ${problem.variable} は設定されていません。`;
    case "invalid-yaml":
      return `${filePositionText(problem.at)}YAML として読めません: ${problem.detail}`;
    case "unreadable-file":
      return `${filePositionText(problem.at)}設定ファイルを読めません: ${problem.detail}`;
  }
}

function warningText(warning: ConfigWarning): string {
  switch (warning.code) {
    case "unknown-variable":
      return `不明な環境変数 ${warning.variable} を無視しました${perhaps(warning.nearest)}`;
    case "unusable-variable":
      return `環境変数 ${warning.variable} は ${warning.key} に使えない値なので無視しました。`;
    case "untrusted-keys":
      return (
        `${warning.file} の次のキーは、信頼されていないフォルダの設定なので無視しました: ${warning.keys.join(", ")}。` +
        machineTexts.remedy("trust-workspace")
      );
    case "ignored-key":
      return `${filePositionText(warning.at)}${warning.key} は使われないため無視しました。`;
    case "docker-socket":
      return "mount_docker_socket が有効です。コンテナはホストの root と同じ権限を持ちます。";
    case "cloud-allowed":
      return "security.local_only が無効です。チャットの内容がクラウドのモデルに送られることがあります。";
  }
}
