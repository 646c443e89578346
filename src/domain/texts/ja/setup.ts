import type { texts as en } from "../en/setup.ts";

export const texts: typeof en = {
  file: {
    head: [
      "PicoClaw の設定。# の行は例で、効力はありません。",
      "いま有効な値: picoclaw config show　検査: picoclaw config check",
    ],
    locale: ["表示言語（ja, en）。指定しなければ環境の言語"],
    roles: [
      "誰がどのモデルで答えるか。Mio (chat) と Shiro (worker) は必ずローカルのモデル、",
      "Aka・Ao・Gin (coder1〜3) はクラウドも使えます。/code は default_coder が担当します。",
    ],
    ollama: ["ローカルのモデルがいる場所"],
    keys: ["API キーはファイルに書けません。環境変数を env:名前 で参照します。"],
    worker: ["ジョブの前後に commit するか。コマンドが届くホスト"],
    budget: ["クラウドのモデルに 1 日に使ってよい額（US ドル）"],
  },
  written: (file) => `設定ファイルを作成しました: ${file}`,
  kept: (file) => `設定ファイルはすでにあります（変更していません）: ${file}`,
  ollama: (baseUrl, models) => `Ollama (${baseUrl}): ${models.join(", ")}`,
  noOllama: (baseUrl) =>
    `Ollama に接続できません (${baseUrl})。会話にはローカルのモデルが必要です: https://ollama.com/download`,
  noModels: (baseUrl) => `Ollama (${baseUrl}) にモデルがありません。例: ollama pull qwen3:8b`,
  key: (variable, there) => (there ? `${variable} があります` : `${variable} がありません`),
  docker: (version) => `Docker ${version}`,
  noDocker: "Docker に接続できません。env・run・solve に必要です。",
  bubblewrap: (there) =>
    there ? "bubblewrap" : "bubblewrap がありません。コマンドは隔離されません: sudo apt install bubblewrap",
  modelMissing: (model) => `設定されたモデルがありません: ${model} → ollama pull ${model}`,
  next: (command) => `次に試す: ${command}`,
  hello: "こんにちは",
  firstChange: "/code hello.txt にあいさつを書いて",
};
