import type * as en from "../en/setup.ts";

export const setupTexts: typeof en.setupTexts = {
  file: {
    head: [
      "PicoClaw の設定。# で始まる行は例で、設定されません。",
      "有効な設定を見る: picoclaw config show　このファイルを確認する: picoclaw config check",
    ],
    locale: ["表示言語（ja か en）。指定しなければ環境（LANG）の言語"],
    roles: [
      "誰がどのモデルで答えるか。Mio (chat) と Shiro (worker) は、security.local_only が false でない限り",
      "ローカルのモデルです。Aka・Ao・Gin (coder1〜3) はクラウドも使えます。/code は default_coder が担当します。",
    ],
    login: [
      "上のエージェントは個人のログインを使います。ほかのプログラムがそのログインを使えるかどうかは、提供元の規約で決まります。",
    ],
    security: ["会話をこのマシンの中に留めるか"],
    ollama: ["ローカルのモデルのアドレス"],
    keys: ["API キーはファイルに書けません。環境変数を env:名前 で参照します。"],
    github: ["GitHub のトークンを持つ環境変数"],
    worker: ["ジョブの前後にコミットするか。コマンドが接続できるホスト"],
    budget: ["クラウドのモデルに 1 日に使ってよい額（US ドル）"],
  },
  keysOpenToOthers: (file) =>
    `${file} は使いません。本人のもので、本人だけが読める必要があります。chmod 600 ${file} を実行するか、picoclaw login をやり直してください。`,
  login: {
    which: (providers) =>
      `どのプロバイダーの API キーですか。名前（${providers.join("、")}）かキーそのものを入力してください（画面には表示しません。Enter で中止）: `,
    offer: (providers) =>
      `モデルが見つかりません。API キーを追加しますか。キーかプロバイダー名（${providers.join("、")}）を入力してください（画面には表示しません。Enter で入力しない）: `,
    whose: (providers) =>
      `この形のキーは複数のプロバイダーで使われるため、どこにも送っていません。どのプロバイダーのキーですか（${providers.join("、")}。Enter で中止）: `,
    unknown: (name, providers) =>
      `${name === "" ? "プロバイダーが指定されていません" : `不明なプロバイダーです: ${name}`}。指定できるもの: ${providers.join("、")}。ほかは設定ファイルで指定します（docs/models.md）。`,
    ask: (provider) => `${provider} の API キー（画面には表示しません）: `,
    notAKey: "API キーではありません（8〜400 文字の 1 語）。何も保存していません。",
    nothingKept: "何も保存していません。",
    ofAnother: ({ owner, provider, variable }) =>
      `${owner} のキーの形なので、${provider} には送っていません。何も保存していません。${provider} のキーなら export ${variable}=… を使ってください。`,
    refused: (provider, address) => `${provider}: ${address} はこのキーを拒否しました。`,
    notKept: (why) => `キーを保存していません。${why}`,
    kept: ({ provider, file, models, newest }) =>
      `${provider} がキーを受け付けました（モデル ${models} 個${newest === null ? "" : `。適した最新のモデルは ${newest}`}）。${file} に保存し、本人だけが読めるようにしました。環境変数があればそちらを優先します。`,
    next: "次に: picoclaw init でモデルを選び（最新のものを提案します）、picoclaw chat で始めます。",
    forgotten: (provider, file) => `${provider} のキーを ${file} から削除しました。`,
  },
  foundTitle: "このマシンにあるもの:",
  written: (file) => `設定ファイルを作成しました: ${file}`,
  oldKept: (file) => `以前のファイルは残してあります: ${file}`,
  kept: (file) => `設定ファイルはすでにあります（変更していません）: ${file}`,
  ollama: (baseUrl, models) => `Ollama (${baseUrl}): ${models.join(", ")}`,
  noOllama: (baseUrl) =>
    `このマシンでモデルを動かす Ollama が応答しません（${baseUrl}）。入手: https://ollama.com/download`,
  noModels: (baseUrl) => `Ollama (${baseUrl}) にまだモデルがありません。例: ollama pull qwen3:8b`,
  source: (provider, models, window) =>
    `${provider}: モデル ${models} 個${window === undefined ? "" : `、コンテキスト ${window} トークン`}${window !== undefined && window < 8192 ? "（8192 未満では多くの作業に足りません。サーバーを --ctx-size 16384 で起動し、picoclaw init --force を実行してください）" : ""}`,
  sourceUnreachable: (provider, address) =>
    `${provider}: ${address} に接続できません（ネットワークがないか、アドレスが違います）。キーは試していません。`,
  sourceRefused: (provider, address, variable) =>
    variable === null
      ? `${provider}: ${address} にはキーが必要です。モデルのサーバーなら export OPENAI_BASE_URL=${address} OPENAI_API_KEY=… のあとで picoclaw init を実行してください`
      : `${provider}: ${address} は ${variable} のキーを拒否しました。`,
  sourceUnlisted: (provider, address, status) =>
    `${provider}: ${address} はモデルの一覧の代わりに ${status} を返しました。`,
  head: (name, by) => `${name}: インストール済み${by === "key" ? "（キーあり）" : "、ログイン済み"}`,
  noKeys: (variables) => `未設定: ${variables.join(", ")}`,
  github: (variable) => `GitHub: ${variable}`,
  noGithub: "GitHub: GITHUB_PERSONAL_ACCESS_TOKEN も GITHUB_TOKEN もありません（solve に必要です）",
  noGit: "git がありません（自動コミット、タスク、solve に必要です）",
  docker: (version) => `Docker ${version}`,
  noDocker: "Docker が応答しません（env・run・solve に必要です）",
  bubblewrap: (there) =>
    there ? "bubblewrap" : "bubblewrap がありません。コマンドは隔離されません: sudo apt install bubblewrap",
  askHead: (name, by) =>
    by === "key"
      ? `このマシンにある ${name} にコードを書かせますか? [y/N] `
      : `このマシンでログイン済みの ${name} に、そのログインでコードを書かせますか? 使えるかどうかは提供元の規約で決まります。[y/N] `,
  askReplace: (file) => `${file} はすでにあります。作り直しますか（以前のものは残します）? [y/N] `,
  whoTalks: "質問にはどのモデルが答えますか?",
  whoCodes: "コードはどのモデルが書きますか?",
  modelWith: (name, notes) => (notes.length === 0 ? name : `${name}（${notes.join("、")}）`),
  recommended: "推奨",
  recommendedCloud: "推奨: ローカルのモデルが見つかりません",
  localLater: "ローカルのモデルだけ（見つかるまで質問には答えません）",
  cloudMeans:
    "クラウドのモデルを選ぶと、質問と、答えるために読んだ内容が送られ、料金がかかります。ローカルのモデルなら、このマシンの外に出ません。コードは、どちらの場合も次に選ぶモデルに送られます。",
  inTheCloud: "クラウド",
  more: (count) => `ほか ${count} 個（名前を入力）`,
  askModel: (best) => `番号か名前（Enter: ${best}、-: なし）: `,
  noSuchModel: (name) => `モデル ${name} はありません。`,
  testing: "\nそれぞれにテストメッセージを 1 件送ります …",
  answered: (name, answer, ms) => `${name} の答え: ${JSON.stringify(answer)}（${(ms / 1000).toFixed(1)} 秒）`,
  silent: (name, why) => `${name} は答えません: ${why}`,
  askAgain: "別のモデルを選びますか? n なら使いません。[Y/n] ",
  nobodyTalks:
    "ローカルのモデルがなく、クラウドは許可があるまで質問に答えません。コードは書けます（/code）。コーダーのモデルに質問にも答えさせるには: picoclaw chat /cloud on",
  nothing: [
    "答えるモデルがないため、何も書いていません。方法は 2 つ:",
    "  1. ローカルのモデル: Ollama を入れ（https://ollama.com/download）、ollama pull qwen3:8b、picoclaw init",
    "  2. クラウドのモデル: picoclaw login（または export ANTHROPIC_API_KEY=…、OPENAI_、GEMINI_、DEEPSEEK_、OPENROUTER_API_KEY）、picoclaw init",
  ],
  nothingFor: "答えるモデルがないため、何も書いていません。原因:",
  nothingTested: "選んだモデルがどれも答えないため、何も書いていません。",
  thenAgain: "解決したら: picoclaw init",
  page: {
    title: "モデルをつなぐ",
    lead: "手順は 4 つです: このマシンにあるものの確認、質問に答えるモデルの選択、コードを書くモデルの選択、テストメッセージの送信。",
    lookAgain: "もう一度調べる",
    choose: "選ぶ",
    noModel: "なし",
    askCloud:
      "クラウドのモデルが質問に答えてもよいですか? 質問と、答えるために読んだ内容が送られます。コードは、どちらの場合も選んだモデルに送られます。",
    keep: "いいえ、ローカルのモデルだけ",
    allow: "はい、クラウドも許可する",
    tryAndSave: "テストして保存",
    nothingWritten: "何も書き込んでいません。別のモデルか「なし」を選んでください。",
    begin: "はじめる",
    more: "その他の設定",
    skip: "あとで",
  },
  demo: {
    project: (folder) => `テストが 1 つ落ちている小さなプロジェクト: ${folder}`,
    fix: "落ちているテストを直して",
    rash: "次は、実行してほしくないコマンドです:",
    lost: (files) => `適用済み: リポジトリの履歴を含む ${files} 個のファイルが消えました`,
    back: (files) => `取り消しました: ${files} 個のファイルがすべて 1 バイトも違わず戻りました`,
    notBack: "ファイルは元どおりではありません。",
    connect: "ここまではデモ用の固定応答モデルです。あなたのモデルをつなぐには: picoclaw init",
  },
  update: {
    current: (version, folder) => `PicoClaw ${version}（${folder}）です。新しいバージョンを入れるには:`,
    commands: {
      checkout: ["git pull && npm ci"],
      npm: ["npm install --global picoclaw-VERSION.tgz    （新しいリリースのパッケージ）"],
      npx: ["npx picoclaw@latest    （npx は何もインストールしません）"],
      "one-file": [
        "新しいリリースのファイルを SHA256SUMS と照合してから、置き換えてください。",
        "Homebrew の場合: brew upgrade picoclaw",
      ],
      image: ["docker compose pull && docker compose up --detach    （またはイメージを作り直す）"],
    },
    after:
      "そのあと picoclaw serve を再起動してください。ジョブ・チャット・設定は残ります。変更点は CHANGELOG.md にあります。",
  },
  uninstall: {
    current: (version, folder) => `PicoClaw ${version}（${folder}）です。削除するには:`,
    commands: {
      checkout: (folder) => [`${folder} フォルダを削除してください。`],
      npm: () => ["npm uninstall --global picoclaw"],
      npx: () => ["npm cache clean --force    （npx は npm のキャッシュにコピーを置きます）"],
      "one-file": (folder) => [
        `${folder} フォルダと、picoclaw として起動しているファイルを削除してください。`,
        "Homebrew の場合: brew uninstall picoclaw",
      ],
      image: () => ["docker compose down    （--volumes を付けるとデータも削除します）"],
    },
    data: (home) =>
      `設定、チャット、ジョブの取り消しデータは ${home} に残ります。\nこのフォルダを削除すると、どのジョブも取り消せなくなります。`,
  },
  next: (command) => `次に試す: ${command}`,
  hello: "こんにちは",
  firstChange: "/code hello.txt にあいさつを書いて",
};
