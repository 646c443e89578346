import type * as en from "../en/cli.ts";

export const helpTexts: typeof en.helpTexts = {
  usage: "使い方: picoclaw コマンド [オプション]",
  version: "バージョンを表示する",
  exitCodes:
    "終了コード: 0 完了 · 1 実行したが失敗あり · 2 入力の誤り（何も実行していない） · 3 実行前に拒否",
  common: {
    "--workspace DIR": "対象フォルダ（既定: 現在のフォルダ）",
    "--config FILE": "設定ファイル",
    "--json": "JSON で出力する",
    "--help": "このヘルプを表示する",
  },
  groups: {
    begin: "はじめに",
    ask: "作業を依頼する",
    changes: "変更と、その取り消し",
    serve: "チャンネルとコンソール",
    tools: "ツールと実行環境",
    rest: "設定とその他",
  },
  man: {
    name: "名前",
    purpose: "すべてのジョブを取り消せるコーディングエージェント",
    synopsis: "書式",
    usage: "COMMAND [options]",
    common: "共通のオプション",
    exit: "終了コード",
    files: "ファイル",
    filesText:
      "~/.picoclaw/config.yaml: 設定（PICOCLAW_HOME で場所を変えられます）。workspace の picoclaw.yaml: その workspace の設定。",
  },
  commands: {
    chat: {
      does: "メッセージを 1 件送る。ターミナルでは、引数なしで会話を始める",
      flags: {
        "--route ROUTE": "担当を指定する（CHAT, PLAN, ANALYZE, OPS, RESEARCH, CODE, CODE1-3）",
        "--name NAME": "別のチャットにする。同じ名前なら続きから始める",
        "--fork NAME": "--name のチャットを、このチャットの写しとして始める（既定: 名前のないチャット）",
        "--list": "チャットの一覧を、最後の発言と workspace とともに表示する",
        "--forget NAME": "このフォルダのチャットを削除する（ジョブは残る）",
        "--plain": "行だけを表示する（スクリーンリーダー用。色とカーソル移動なし。PICOCLAW_PLAIN=1 も同じ）",
        "--events": "途中経過を NDJSON で出力する",
      },
    },
    apply: {
      does: "パッチを 1 つのジョブとして適用する",
      flags: {
        "--dry-run": "実行せず、コマンドの一覧だけを表示する",
        "--preview": "workspace を変えずに実行して変更を表示し、プレビューとして残す",
        "--job JOB": "そのプレビューをそのまま適用する",
        "--stop-on-error": "最初の失敗で中断する",
        "--atomic": "1 つでも失敗したら、すべてを取り消す",
        "--auto-commit": "実行前後に git commit する",
        "--group NAME": "まとめて取り消せるグループにジョブを入れる",
        "--allow-net": "プレビューでネットワークを許可する",
      },
    },
    undo: {
      does: "最後のジョブ（または指定したジョブ）を取り消す",
      flags: { "--list": "元に戻るパスだけを表示する", "--force": "その後の変更を上書きする" },
    },
    redo: {
      does: "取り消したジョブをやり直す",
      flags: { "--list": "変わるパスだけを表示する", "--force": "その後の変更を上書きする" },
    },
    jobs: {
      does: "ジョブの一覧を表示する",
      flags: {
        "--ids": "各ジョブの ID も表示する（JSON やほかのフォルダーで使う名前）",
        "--limit N": "表示する件数",
        "--all": "すべての workspace を対象にする",
        "--live": "実行中のジョブを表示する（ターミナルでは毎秒更新、q で終了）",
      },
    },
    discard: {
      does: "プレビューを破棄する（1 件だけならそのプレビュー、または指定したもの）",
      flags: {
        "--aside":
          "プレビューではなく、元の場所に戻せず保管してあるファイルを完全に削除する（一覧は picoclaw doctor）",
      },
    },
    stop: { does: "実行中のジョブを停止する（何も適用しない）", flags: {} },
    ps: {
      does: "このフォルダのバックグラウンドプロセス（開発サーバー、監視など）を表示する。start、log、restart、stop、clear も使える",
      flags: {
        "start -- COMMAND": "起動する（停止するまで動き続ける）",
        "log NAME": "出力の末尾を表示する",
        "restart NAME": "停止して、もう一度起動する",
        "stop NAME": "そこから起動したものも含めて停止する",
        clear: "終了したものを一覧から消す",
        "--name NAME": "start: 名前（既定: コマンドから決める）",
        "--port N": "start: 待ち受けるポート（環境変数 PORT で渡す）",
        "--over JOB": "start: プレビューの上で、空いたポートを使って動かす（フォルダは変わらない）",
        "--restart": "start: ジョブが適用されるたびに再起動する",
        "--lines N": "log: 行数（50）",
        "--all": "すべての workspace を対象にする（stop: このフォルダのすべて）",
      },
    },
    show: {
      does: "1 つのジョブとその変更を表示する。JOB:FILE: そのジョブの後のファイル",
      flags: { "--diff": "差分を表示する", "--all": ".git や git が無視するパスもすべて表示する" },
    },
    diff: {
      does: "最後のジョブ、または指定したジョブの変更を表示。A..B: 二つのジョブの間の変更",
      flags: {},
    },
    why: {
      does: "行（FILE:LINE）を書いたジョブ、その依頼、置き換えた内容を表示",
      flags: { "--removed TEXT": "代わりに、この文を含む行を削除したジョブ" },
    },
    stats: {
      does: "費用とトークンを日とモデルごとに表示し、1 回目で成功したジョブと取り消したジョブを数える",
      flags: { "--days N": "日数 (30)", "--csv": "日とモデルごとに 1 行の CSV で表示" },
    },
    export: {
      does: "会話を、ジョブ、差分、判定とともに 1 つの Markdown 文書として出力する（秘密情報は伏せる）",
      flags: { "--name NAME": "どのチャットか", "--html": "ほかのファイルを必要としないページとして" },
    },
    compare: {
      does: "このワークスペースのジョブとコミットから作った事例で、モデル、コーダー、エージェントを比べる。cases: 事例の一覧（cases add、drop、edit も）",
      flags: {
        "--cases N": "事例の数（12）",
        "--commits N": "調べるコミットの数（200）",
        "--see N": "cases: N 件の判定が確認できるまで事例のテストを実行",
        "--issues": "cases: コミットが挙げるイシューの本文を加える",
        "--repeat K": "事例ごとの回数（1）",
        "--budget USD": "この費用で止める（5）",
        "--at-once N": "同時に行う数（2）",
        "--set KEY=VALUE": "全員に共通の設定。何度でも指定できる",
        "--adopt": "結果が支持するコーダーの順番を設定に書く",
        "--csv": "表を CSV で表示",
      },
    },
    bisect: {
      does: "コマンドが失敗し始めた最初のジョブを探す。ワークスペースは変更しない",
      flags: {
        "--timeout SECONDS": "コマンド一回あたりの秒数（600）",
        "--at-once N": "同時に実行する数（3）",
      },
    },
    tool: { does: "エージェントのツールを 1 つ呼び出し、結果を JSON で表示する", flags: {} },
    tools: {
      does: "エージェントのツールの一覧と定義を表示する",
      flags: { "--format FORM": "openai, anthropic, mcp の形式で出力する" },
    },
    solve: {
      does: "GitHub/GitLab の Issue・PR・MR を 1 つ解決し、PR/MR を作成する",
      flags: {
        "--worker KIND": "PicoClaw のループの代わりに worker CLI を使う: codex-cli, claude-code, gemini-cli",
        "--candidates N": "N 人のコーダーが別々のコンテナで同時に作業し、チェックで選ぶ（1〜5）",
        "--fresh": "前回の続きからではなく、最初からやり直す",
      },
    },
    pair: {
      does: "チャットサービスから話しかけた人を承認する。list, add, remove も使える",
      flags: { "--role ROLE": "user（既定）または operator", "--name NAME": "表示名" },
    },
    mcp: {
      does: "MCP サーバーとして PicoClaw のツールをほかのエージェントに提供する。引数を付けると、PicoClaw が呼び出す MCP サーバーを管理する",
      flags: {
        "add NAME URL": "URL のサーバーを追加し、以後すべてのチャットでそのツールを使う",
        "add NAME -- COMMAND…": "このマシンのプログラムを追加する（必要になったときに起動する）",
        list: "追加済みのサーバーを表示する（信頼済みプロジェクトの .mcp.json を含む）",
        "test [NAME]": "1 つまたはすべてに接続し、ツールを表示する",
        "login NAME": "ログインが必要なサーバーにブラウザでログインする",
        "logout NAME": "そのログインを削除する",
        "remove NAME": "追加したサーバーを削除する",
        "--http PORT": "127.0.0.1 の HTTP で待ち受ける",
        "--header TEXT": `add: ヘッダー（例: "Authorization: Bearer \${TOKEN}"）。複数指定できる`,
        "--env NAME=TEXT": "add: プログラムの環境変数（例: TOKEN=env:TOKEN）。複数指定できる",
        "--coders WHICH": "add: コーダーに渡すツール: off, read-only（既定）, all",
        "--paste": "login: ブラウザが最後に開いたアドレスを貼り付ける（ブラウザが別のマシンにあるとき）",
      },
    },
    acp: {
      does: "エディタ（Zed、JetBrains、Neovim）のエージェントとして動く（Agent Client Protocol）",
      flags: {},
    },
    env: {
      does: "タスクの実行環境を管理する: prepare, exec, edit, list, info, cleanup, prune",
      flags: {
        "--task UUID": "対象のタスク（prepare, exec, edit, info, cleanup）",
        "--repo URL|PATH": "prepare: リポジトリ",
        "--env NAME": "prepare: 実行環境（既定: プロジェクトのファイルから判断）",
        "--branch B": "prepare: ブランチ、タグ、または refs/…",
        "--target B": "prepare: 比較するマージ先ブランチ",
        "--timeout S": "exec: 制限時間（秒）",
        "--cwd DIR": "exec: 作業ディレクトリ",
        "--session NAME": "exec: フォルダと環境変数を前のコマンドと共有するセッション",
        "-- COMMAND": "exec: コマンド",
        "--tool NAME": "edit: text_editor 以外のツール",
      },
    },
    images: {
      does: "実行環境のイメージを作る",
      flags: {
        "--from IMAGE": "ベースイメージ。debian-rootfs なら debootstrap で作る",
        "--again": "変更がなくても作り直す",
      },
    },
    serve: {
      does: "Web コンソール、HTTP API、Webhook、スケジュールを動かす",
      flags: {
        "--host ADDRESS": "待ち受けるアドレス",
        "--port N": "ポート（0 なら空いているポート）",
        "--demo": "デモ用の固定応答モデルと使い捨ての workspace で動かす",
        link: "新しいログイン用リンクを作る",
        "token create NAME": "API トークンを作る",
        "token list": "API トークンの一覧を表示する",
        "token remove ID": "API トークンを削除する",
        "--user NAME": "リンクやトークンの持ち主",
        "--role ROLE": "operator または user",
        "--scope LIST": "read,chat,jobs,mcp から 1 つ以上",
      },
    },
    join: {
      does: "このマシン（またはこのマシンの別のプロセス）を、共有データベースのワーカーにする",
      flags: {
        "--labels LIST":
          "このマシンのラベル。それを必要とするタスクを受け持つ（docker とアーキテクチャは自動で付く）",
        "--concurrency N": "同時に処理するメッセージ数、タスク数",
      },
    },
    fleet: {
      does: "データベースを共有するマシン、キュー、失敗した処理を表示する",
      flags: {
        "retry ID": "失敗した処理を、そのチャットの最後にもう一度入れる",
        "discard ID": "失敗した処理を破棄する",
      },
    },
    run: {
      does: "タスクファイルを実行する（計画 → コンテナ内の worker CLI → 評価、完了まで）",
      flags: {
        "--no-meta": "計画モデルを使わず、要件を、次からは失敗している内容を、そのまま worker に渡す",
        "--preview": "変更をプレビューとして残す（--no-meta のとき）",
        "--follow": "経過をすべて表示する",
        "--resume ID": "中断したタスクを再開する",
        "--print-schema": "エディタ用の JSON Schema を表示する",
      },
    },
    init: {
      does: "このマシンで使えるモデルから選んで試し、最初の設定ファイルを書く",
      flags: {
        "--yes": "質問せず、推奨の選択をする（質問はこのマシンの外に出ない）",
        "--force": "作り直す。以前のファイルは同じ場所に残す",
      },
    },
    login: {
      does: "API キーを尋ね、確認してから本人だけが読める場所に保存する（picoclaw login プロバイダー < ファイル も可）",
      flags: { "--forget": "そのプロバイダーのキーを削除する" },
    },
    config: { does: "有効な設定を表示する（秘密の値は伏せる）、または確認する", flags: {} },
    trust: { does: "このフォルダの picoclaw.yaml、コマンド、スキルを信頼する", flags: {} },
    doctor: {
      does: "このマシンを診断し、対処方法を示す",
      flags: { "--repair": "中断した適用や取り消しを完了する" },
    },
    db: {
      does: "データベースの状態を表示する。移行、Postgres へのコピー（URL か env:名前）、ある人のデータの削除（channel:user）もできる",
      flags: {},
    },
    backup: { does: "データベースと設定を新しいフォルダへ書き出す（serve の実行中でもよい）", flags: {} },
    restore: { does: "バックアップから空のデータベースに復元する", flags: {} },
    completion: { does: "bash・zsh・fish の補完を出力する: source <(picoclaw completion bash)", flags: {} },
    man: {
      does: "マニュアルページを表示言語で出力する",
      flags: { "| man -l -": "そのまま読む", "> picoclaw.1": "保存する（例: ~/.local/share/man/man1）" },
    },
    update: {
      does: "新しいバージョンに更新するコマンドを表示する。何も変更せず、サーバーにも接続しない",
      flags: { "--json": "バージョン、場所、インストール方法、コマンドを出力する" },
    },
    uninstall: {
      does: "PicoClaw を削除する方法と、データの場所を表示する。何も変更しない",
      flags: { "--json": "バージョン、場所、インストール方法、コマンド、データの場所を出力する" },
    },
    demo: { does: "ツアー: 落ちているテストを直し、rm -rf .git node_modules src を取り消す", flags: {} },
  },
};

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
