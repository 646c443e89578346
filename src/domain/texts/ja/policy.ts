import { allowCommand, type RefusedDestination } from "../../policy/network.ts";
import type { RuleId } from "../../policy/rules/command-rule.ts";
import type * as en from "../en/policy.ts";
import { formatBytes } from "../format-text.ts";

const rules: Readonly<Record<RuleId, readonly [reason: string, instead: string]>> = {
  syntax: [
    "シェルのコマンドとして解釈できません: {detail}",
    "引用符・括弧・ヒアドキュメントを確認して送り直してください。",
  ],
  "too-large": [
    "コマンドが長すぎます（上限 {detail}）",
    "長い内容はファイル編集ツールで書き込み、コマンドは短くしてください。",
  ],
  "too-complex": [
    "コマンドの入れ子や繰り返しが解析できる上限を超えています: {detail}",
    "短いコマンドに分けてください。",
  ],
  "bash-only": [
    "実行する `sh` はこの bash 構文を別の意味に解釈します",
    "`[ … ]`、`$(( … ))`、通常の引用符を使うか、`bash -c '…'` としてください。",
  ],
  "evaluates-data": ["変数の内容をコマンドとして実行します", "コマンドを直接書いてください。"],
  "unknown-name": [
    "`{name}` がどのプログラムかは実行時まで分かりません",
    "変数・パターン・置換を使わず、プログラム名をそのまま書いてください。",
  ],
  "unseen-script": [
    "`{name}` は事前に確認できないスクリプトを実行します",
    "コマンドを直接書くか、スクリプトを文字列で渡してください（`sh -c '…'`）。",
  ],
  "not-allowed": [
    "`{name}` は許可コマンドリストにありません",
    "リストにあるコマンドを使ってください（システムプロンプト参照）。ほかのコマンドは、人が command_executor.allowed_commands.additional で許可できます。",
  ],
  excluded: [
    "`{name}` は command_executor.allowed_commands.exclude で除外されています",
    "リストにある別のコマンドを使ってください。",
  ],
  "rm-rf": [
    "再帰的強制削除による誤削除の防止",
    "ファイルを指定する（`rm FILE`）か、プロジェクト内のフォルダを `rm -r FOLDER` で削除してください。",
  ],
  "rm-wide": [
    "プロジェクト全体、ホーム、またはシステムのフォルダを削除します",
    "削除するプロジェクト内のフォルダを指定してください。",
  ],
  "find-delete": [
    "名前の条件のない、またはプロジェクト外の `find -delete` は削除範囲が広すぎます",
    "`-delete` の前に `-name PATTERN` を付け、プロジェクト内から検索してください。",
  ],
  "chmod-777": [
    "過剰な権限付与の防止",
    "必要な権限だけを付与してください: `chmod +x FILE`、`chmod 644 FILE`。",
  ],
  "chmod-setuid": [
    "setuid と setgid は禁止されています",
    "現在のユーザーのままプログラムを実行してください。",
  ],
  "git-push": [
    "ここから他のリポジトリへの送信は禁止されています",
    "変更は作業ツリーに残してください。タスクの後でコミットとプッシュが行われます。",
  ],
  "git-runs-programs": [
    "このオプションは git に他のプログラムの実行やファイルの書き込みをさせます",
    "-c、--exec-path、--ext-diff、--textconv、--output なしで git を使ってください。",
  ],
  publish: [
    "レジストリへの公開とログインは禁止されています",
    "ビルドとテストだけを行ってください。公開は人が行います。",
  ],
  "download-and-run": [
    "ダウンロードした内容を確認せずに実行します",
    "ファイルに保存し（`curl -o FILE URL`）、内容を確認してから判断してください。",
  ],
  "curl-sends": [
    "HTTP通信は読み取り専用です",
    "データ・フォーム・アップロード・設定ファイル・ソケットなしの GET か HEAD を使ってください。",
  ],
  "tool-runs-programs": [
    "このオプションまたはスクリプトは `{name}` に他のプログラムを実行させます",
    "そのプログラムを独立したコマンドとして実行してください。",
  ],
  "redefines-name": ["コマンド名の意味を変えます", "コマンドを毎回直接書くか、関数を定義してください。"],
  "sets-variable": [
    "実行されるプログラムやライブラリを左右する変数を設定します",
    "プログラムをパスで呼び出すか、末尾に追加してください: `PATH=$PATH:FOLDER`。",
  ],
  "writes-device": [
    "デバイス・カーネルのファイル・ネットワークのパスへのリダイレクトは禁止されています",
    "プロジェクトのファイルか /dev/null を使ってください。",
  ],
  "calls-itself": [
    "自身を呼び出す関数は際限なくプロセスを起動する可能性があります",
    "ループを使ってください。",
  ],
  sudo: [
    "特権昇格の防止",
    "sudo なしで実行してください。root が必要なものは、実行環境のイメージに含めてください。",
  ],
  su: ["ユーザー切り替えの防止", "現在のユーザーのままコマンドを実行してください。"],
  chown: ["所有者変更の防止", "プロジェクトのファイルはすべて現在のユーザーのものです。"],
  mount: ["ファイルシステム操作の防止", "/workspace/project と /workspace/tmp で作業してください。"],
  iptables: [
    "ネットワーク設定変更の防止",
    "ネットワークは command_executor.docker.network で人が設定します。",
  ],
  systemctl: ["サービス制御の防止", "プログラム自体をバックグラウンドで起動してください（`PROGRAM &`）。"],
  kill: [
    "プロセス強制終了の防止（自身のプロセス以外）",
    "このコマンドが起動したものを終了してください: `kill $!` または `kill %1`。",
  ],
  reboot: ["システム制御の防止", "実行環境は自動的に管理されます。"],
  dd: ["低レベルディスク操作の防止", "`cp` または `head -c N FILE > OTHER` を使ってください。"],
  mkfs: ["ファイルシステム作成の防止", "/workspace/project と /workspace/tmp で作業してください。"],
  fdisk: ["パーティション操作の防止", "/workspace/project と /workspace/tmp で作業してください。"],
  nc: ["任意ネットワーク接続の防止", "HTTP の読み取りには `curl` か `wget` を使ってください。"],
  nmap: ["ネットワークスキャンの防止", "必要なアドレスを尋ねてください。"],
  ssh: ["リモート接続の防止", "この実行環境の中で作業してください。"],
  rsync: [
    "リモートファイル転送の防止（外部への）",
    "プロジェクト内では `cp`、ダウンロードには `curl` か `wget` を使ってください。",
  ],
};

export const commandsTexts: typeof en.commandsTexts = { refused: "コマンドを拒否しました", rules };

const REASONS: Readonly<Record<RefusedDestination, string>> = {
  "bad-host": "ホスト名ではありません",
  "not-allowed": "worker.network.allowed_domains にありません",
  port: "許可されていますが、このポートは対象外です。worker.network.allowed_domains に host:port を追加してください",
  denied: "worker.network.denied_domains にあります",
  address:
    "プライベートアドレスです。worker.network.allowed_domains に host:port を正確に書いた場合だけ許可されます",
};

const MODEL_REASONS: Readonly<Record<RefusedDestination, string>> = {
  "bad-host": "ホスト名ではありません",
  "not-allowed": "worker.model_network の一覧にありません",
  port: "一覧にありますが、このポートは対象外です",
  denied: "denied_domains にあります",
  address: "プライベートアドレスです。host:port を正確に書いた場合だけ許可されます",
};

const allowed = (command: string | null) => (command === null ? "" : `。許可するには: ${command}`);

const LIMITED =
  "コマンドは隔離されませんが、制限されます（Landlock）。書き込めるのは workspace のコピー、専用のホーム、専用の TMPDIR だけで、読めるのはシステムとツールだけです。防げないもの: 外のファイルの chmod と時刻の変更、Unix ソケット、UDP。";

const shown = (limit: string, value: number) =>
  limit === "open_files" || limit === "processes" ? String(value) : formatBytes(value);

export const confinementTexts: typeof en.confinementTexts = {
  refusedHost: ({ host, port, reason, count, list }) =>
    list === undefined
      ? `ネットワーク: ${host} への要求 ${count} 件を拒否しました（${REASONS[reason]}）`
      : `ネットワーク: ${host} への要求 ${count} 件を拒否しました（${MODEL_REASONS[reason]}）${allowed(allowCommand({ host, port, reason }))}`,
  hostsReached: (hosts) =>
    `ネットワーク: モデルのコマンドが接続したホスト: ${hosts.map(({ host, count }) => `${host}（${count} 回）`).join("、")}`,
  modelNetworkTold:
    "変更点: モデルが起動するコマンドは、パッケージのレジストリ、あなたの設定にあるホスト、あなたが許可したホストにだけ接続できます（worker.model_network。mode: on にすると以前と同じです）。あなた自身のコマンドは以前のままです。",
  modelNetworkOpen:
    "worker.model_network は allow_list ですが、ここではコマンドが隔離されないため、モデルのコマンドはどのホストにも接続できます。対処法: picoclaw doctor",
  limited: `${LIMITED}隔離するには: picoclaw doctor`,
  limitedPromise: LIMITED,
  homeLeftOut: (paths) =>
    `ホーム: プログラムの設定や状態は変更せず、元のまま残しました: ${paths.join("、")}。ジョブに変更を許すには、worker.home_writes に追加してください`,
  homeHidden: (paths) =>
    `ホーム: ${paths.join("、")} はジョブから隠されています。見えるようにするには、worker.home_allow に追加してください`,
  networkLimited: (network, list) =>
    list === "model"
      ? network === "off"
        ? "ネットワーク: このジョブでは使えません（プレビュー、または worker.model_network.mode: off）"
        : "ネットワーク: モデルのコマンドは、一覧にあるホストに、HTTP_PROXY のプロキシ経由でのみ接続できます。プロキシを使わないプログラムは、どこにも接続できません（worker.model_network）"
      : network === "off"
        ? "ネットワーク: このジョブでは使えません（--allow-net のないプレビュー、または worker.network.mode: off）"
        : "ネットワーク: worker.network.allowed_domains のホストに、HTTP_PROXY のプロキシ経由でのみ接続できます。プロキシを使わないプログラムは、どこにも接続できません",
  secretHidden: (paths) =>
    `${paths.join("、")} は、git が追跡していない保護対象のファイルなので、モデルのコマンドには見えません。読ませるには worker.env_files に追加してください`,
  limitMet: (limit, value) =>
    `${limit}: コマンドは worker.limits.${limit}（${shown(limit, value)}）に達したようです`,
  diskReached: (what, bytes, limitBytes) =>
    `${what === "changes" ? "ジョブの変更" : "ジョブの専用ホーム"}が ${formatBytes(bytes)} に達し、worker.limits.disk（${formatBytes(limitBytes)}）を超えたため、ジョブを終了しました。${what === "home" ? "専用ホームは空にしました。" : ""}`,
  processesReached: (most, configured) =>
    most < configured
      ? `ジョブが起動したプロセスが、ここでジョブに割り当てられる ${most} 個を超えたため、ジョブを終了しました。PicoClaw の外側の上限（コンテナの pids 制限、systemd の TasksMax、ulimit -u）が原因なので、そちらを引き上げてください。worker.limits.processes は ${configured} まで許可しています（小さくすると上限はさらに下がります）。`
      : `ジョブが起動したプロセスが worker.limits.processes（${configured}）を超えたため、ジョブを終了しました。必要な場合は worker.limits.processes を引き上げてください。`,
  noProcessesLeft: (left) =>
    `ここで新しく起動できるプロセスは残り ${left} 個で、コマンドを実行するには足りません。ほかのプログラムを終了するか、PicoClaw の外側の上限（コンテナの pids 制限、systemd の TasksMax、ulimit -u）を引き上げてください。`,
  memoryRanOut:
    "ジョブの実行中にメモリが不足し、システムがジョブを終了しました。使用量を減らすか（並列プロセスを減らす、メモリ上に置かれる /tmp や /dev/shm のファイルを小さくする、worker.limits.memory でプロセスごとに制限する）、PicoClaw が使えるメモリを増やしてください。上限は、このマシン、または PicoClaw を囲むコンテナやサービスのものです。",
  memoryRanOutIn:
    "memory: コマンドの実行中にメモリが不足し、システムがプロセスを終了しました。使用量を減らすか（並列プロセスを減らす、/tmp や /dev/shm のファイルを小さくする）、マシン、または PicoClaw を囲むコンテナやサービスのメモリの上限を引き上げてください",
  limitsPromise: (limits, holds) => {
    if (!holds)
      return "ここではコマンドのメモリとディスクを制限できません（worker.limits は、processes を除き、サンドボックスが必要です）。";
    const set = Object.entries(limits).filter(([, value]) => value > 0);
    const named = set.map(([limit, value]) => `${limit} ${shown(limit, value)}`).join("、");
    return `ジョブの上限: ${named}。memory、file_size、open_files はプロセスごとです。メモリが足りなくなると、ジョブが先に終了します。`;
  },
  macos:
    "macOS ではコマンドはまだ隔離されません。あなたの権限のまま、コピーの中で実行します。取り消しの対象は workspace です。worker.confine: on にすると、実行を拒否します。",
  networkUnavailable: (mode, setting = "worker.network") =>
    `${setting}.mode は ${mode} ですが、ここではコマンドのネットワークを制限できないため、何も実行しませんでした。picoclaw doctor を参照してください。${setting}.mode: on なら制限なしで実行します。`,
  networkPromise: (mode, holds, domains) => {
    if (mode === "on")
      return "コマンドはあなたと同じようにネットワークを使えます（worker.network.mode: on）。";
    if (!holds)
      return `worker.network.mode は ${mode} ですが、ここでは制限できません。コマンドを含むジョブは拒否されます。`;
    return mode === "off"
      ? "コマンドはネットワークを使えません（worker.network.mode: off）。"
      : `コマンドはプロキシ経由でのみ、次のホストにだけ接続できます: ${domains.length === 0 ? "なし" : domains.join("、")}`;
  },
  modelNetworkPromise: (mode, holds, further) => {
    if (mode === "on")
      return "モデルが起動するコマンドは、あなたと同じようにネットワークを使えます（worker.model_network.mode: on）。";
    if (!holds)
      return mode === "off"
        ? "worker.model_network.mode は off ですが、ここでは制限できません。モデルのコマンドは拒否されます。"
        : "worker.model_network は allow_list ですが、ここではコマンドが隔離されないため、一覧は効きません。モデルのコマンドはどのホストにも接続できます。";
    return mode === "off"
      ? "モデルが起動するコマンドはネットワークを使えません（worker.model_network.mode: off）。"
      : `モデルが起動するコマンドが接続できるのは、パッケージのレジストリ、あなたの設定にあるホスト、リポジトリの既知のフォージ${further.length === 0 ? "" : `、${further.join("、")}`} だけです（worker.model_network）。`;
  },
};
