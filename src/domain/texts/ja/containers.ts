import { type InstallTrouble, networkSettingKey, type PrepareNotice } from "../../containers/preparation.ts";
import type * as en from "../en/containers.ts";
import { wordBy } from "../format-text.ts";

const LIMITS = { memory: "メモリ", swap: "スワップ", cpu: "CPU", pids: "プロセス数" } as const;

const ENGINE_FAILURES: Readonly<Record<string, string>> = {
  "engine-unreachable": "Docker に接続できません",
  "engine-forbidden": "このユーザーには Docker を使う権限がありません",
  "engine-timeout": "Docker が時間内に応答しませんでした",
  "engine-error": "Docker がエラーを返しました",
  "bad-host": "Docker のアドレスが正しくありません（command_executor.docker.host）",
  "image-missing": "イメージがありません",
  "name-taken": "同じ名前のコンテナがすでにあります",
  "container-missing": "コンテナがなくなっています",
  "container-stopped": "コンテナが動いていません",
  "no-resources": "Docker のメモリまたはディスクの空きが足りません",
  "no-proxy": "コンテナのネットワーク用プロキシを起動できませんでした",
  "not-allowed": "設定で許可されていません",
  "bad-spec": "Docker がコンテナの設定を受け付けませんでした",
  outside: "パスが実行環境の外にあります",
  "cwd-missing": "実行環境にそのフォルダがありません",
  "program-missing": "実行環境にそのプログラムがありません",
  disconnected: "コンテナとの接続が切れました",
};

export const dockerTexts: typeof en.dockerTexts = {
  engine: ({ version, api, host }) => `Docker ${version} (API ${api}): ${host}`,
  notReachable: (detail, needed) =>
    `Docker: 接続できません${needed ? "" : "（タスクの実行環境にだけ必要です）"}: ${detail}`,
  notPermitted: (host, needed) =>
    `Docker: このユーザーには ${host} を使う権限がありません${needed ? "" : "（タスクの実行環境にだけ必要です）"}`,
  badHost: (host) => `Docker: ${host} はエンジンのアドレスではありません`,
  kernel: ({ cgroup, driver, filesystem, rootless }) =>
    `Docker: cgroup v${cgroup}、ストレージ ${driver}（${filesystem}）${rootless ? "、rootless" : ""}`,
  limits: (missing) =>
    missing.length === 0
      ? "実行環境: CPU・メモリ・スワップ・プロセス数の制限はカーネルが強制します"
      : `実行環境: このエンジンが強制できない制限: ${missing.map((each) => LIMITS[each]).join("、")}`,
  disk: (kind, limit) =>
    kind === "quota"
      ? `実行環境: ディスク制限（${limit}）はエンジンが強制します`
      : `実行環境: ディスク制限（${limit}）は監視のみです。超えると数秒後にコマンドを終了します。1 つのファイルが制限を超えることはありません`,
  network(mode, domains, hosts) {
    const besides = hosts.length === 0 ? "" : `、および ${hosts.join("、")}`;
    return {
      none: "実行環境: ネットワークなし",
      open: `実行環境: 公開ホストへはプロキシ経由${besides}。このマシンとプライベートネットワークには接続できません`,
      "allow-list": `実行環境: プロキシ経由で ${domains.join("、") || "なし"} のみ${besides}`,
    }[mode];
  },
  hardening: (seccomp) =>
    seccomp
      ? "実行環境: 一般ユーザー、ケーパビリティなし、権限昇格なし、seccomp"
      : "実行環境: 一般ユーザー、ケーパビリティなし、権限昇格なし。このエンジンには seccomp がありません",
  socketMounted:
    "実行環境: エンジンのソケットがマウントされています。実行環境の中のプログラムは、このマシンの root と同じ権限を持ちます",
  remedy: (what) =>
    ({
      "start-docker":
        "Docker を起動する（systemctl start docker）か、DOCKER_HOST に動作中のエンジンを設定してください",
      "join-group":
        "このユーザーを docker グループに追加し（sudo usermod -aG docker $USER）、ログインし直してください",
      "set-host":
        "command_executor.docker.host か DOCKER_HOST に unix:///… または tcp://host:port を設定してください",
      "kernel-limits":
        "不足している cgroup コントローラーを有効にしてください（スワップにはカーネルパラメーター swapaccount=1）",
      seccomp: "seccomp の使えるエンジンとカーネルを使ってください",
    })[what],
};

const installTrouble = wordBy<"kind", InstallTrouble>("kind", {
  exit: ({ exitCode }) => `終了コード ${exitCode}`,
  timeout: ({ seconds }) => `制限時間 ${seconds} 秒`,
  refused: ({ hosts }) =>
    `この実行環境からは ${hosts.map((one) => `${one.host}（${networkSettingKey(one)} で許可）`).join("、")} に接続できません`,
  other: ({ detail }) => detail,
});

const noticeText = wordBy<"code", PrepareNotice>("code", {
  "unknown-environment": ({ asked, used }) =>
    `実行環境 "${asked}" はありません。代わりに "${used}" を使用します。`,
  nearest: ({ language, used, wanted }) =>
    `${language} 用のイメージはありません。代わりに最も近い "${used}" を使用します。command_executor.environments.${wanted} で追加できます。`,
  detected: ({ because, environment }) => `${because} により実行環境 "${environment}" を選択しました。`,
  uncommitted: ({ count }) => `未コミットの変更 ${count} 件はクローンに含まれません。`,
  "no-common-commit": ({ target }) =>
    `${target} との共通のコミットがありません。\`git diff origin/${target} HEAD\` で比較してください。`,
  "insecure-host": ({ host }) =>
    `${host} の証明書を検証していません（command_executor.clone.insecure_hosts）。`,
  "program-missing": ({ file, program }) =>
    `${file} をインストールしませんでした: イメージに ${program} がありません。`,
  "install-failed": ({ why, command, output, leftOut }) => {
    const rest =
      leftOut?.length === 0
        ? "。1 つずつインストールしました"
        : `。${leftOut?.join("、")} を除いてインストールしました`;
    return `依存関係のインストールに失敗しました（${installTrouble(why)}）: ${command}${leftOut === null ? "" : rest}${output === "" ? "" : `\n${indent(output)}`}`;
  },
});

export const environmentsTexts: typeof en.environmentsTexts = {
  step: (step, subject) =>
    ({
      choosing: "実行環境を選択しています",
      "pulling-image": `イメージ ${subject} を取得しています`,
      "building-image": `イメージ ${subject} をビルドしています（初回のみ、時間がかかります）`,
      "deriving-image": `イメージ ${subject} に git とユーザーを追加しています（初回のみ）`,
      "removing-existing": `既存のコンテナ ${subject} を削除しています`,
      creating: `イメージ ${subject} からコンテナを作成しています`,
      cloning: `${subject} をクローンしています`,
      "checking-out": "ファイルを展開しています",
      fetching: `パッケージ ${subject} 件を取得しています（初回のみ）`,
      installing: `依存関係をインストールしています: ${subject}`,
      ready: `準備完了: ${subject}`,
    })[step],
  notice: noticeText,
  failure: (code, subject, detail) => {
    const rest = detail === "" ? "" : `:\n${detail}`;
    return {
      aborted: "中断しました。実行環境は残っていません。",
      engine: `${ENGINE_FAILURES[subject] ?? "Docker でエラーが発生しました"}${rest}`,
      "image-missing": `イメージ ${subject} がありません${rest}`,
      "image-failed": `イメージ ${subject} を作成できませんでした${rest}`,
      "repository-missing": `リポジトリが存在しません: ${subject}${rest}`,
      "repository-denied": `${subject} へのアクセスが拒否されました（認証エラー）${rest}`,
      "ref-missing": `${subject} にそのブランチまたはタグはありません${rest}`,
      "not-a-repository": `git リポジトリではありません: ${subject}${rest}`,
      "host-unreachable": `実行環境から ${subject} のホストに接続できません${rest}`,
      "clone-timeout": `${subject} のクローンが制限時間（${detail}）を超えました`,
      "clone-failed": `${subject} のクローンに失敗しました${rest}`,
      "disk-full": `${subject} のクローン中に、実行環境のディスクの空き容量がなくなりました${rest}`,
      "credential-kept": `${subject} のクローンに認証情報が見つかったため、実行環境を削除しました`,
      "bad-input": `${subject}: ${detail}`,
    }[code];
  },
  remedy: (remedy, subject) =>
    ({
      "images-build": `次のコマンドでビルドできます: picoclaw images build ${subject.replace(/:latest$/, "")}`,
      "check-image":
        "command_executor.environments を確認してください。イメージ名は `docker pull` に渡せる形で書き、非公開のレジストリなら `docker login` を済ませるか、手元にあるイメージ（`docker images`）を指定してください。",
      "start-docker":
        "Docker を起動するか、DOCKER_HOST で場所を指定してください。詳細は `picoclaw doctor` を参照してください。",
      "check-token":
        "トークン（GITHUB_PERSONAL_ACCESS_TOKEN、GITLAB_PERSONAL_ACCESS_TOKEN）とその読み取り権限を確認してください。",
      "allow-host":
        "command_executor.docker.network でホストを許可してください（allowed_domains、プライベートアドレスは allowed_hosts）。",
      "check-name": "名前のつづりと、存在することを確認してください。",
      "use-https": "リポジトリの URL を https で指定してください。",
      "raise-limit":
        "command_executor.clone.timeout または command_executor.docker.resources.disk_limit を大きくするか、クローンを浅くしてください（clone.shallow）。",
    })[remedy],
  prepared: ({ name, environment, image, path }) =>
    `実行環境の準備が完了しました: ${name}\n  実行環境 ${environment}、イメージ ${image}\n  プロジェクト: ${path}`,
  nextSteps: (task) => `  picoclaw env exec --task ${task} -- COMMAND\n  picoclaw env cleanup --task ${task}`,
  installed: ({ done, total }) => `  依存関係: ${total} 件中 ${done} 件をインストールしました`,
  noEnvironments: "実行環境はありません。",
  listHeader: ["タスク", "実行環境", "状態", "イメージ", "作成日時"],
  unknownTask: (task) => `タスク ${task} の実行環境はありません。一覧: picoclaw env list`,
  notReady: (task) =>
    `タスク ${task} の実行環境はまだ準備できていません。状態: picoclaw env info --task ${task}`,
  removed: (name) => `削除しました: ${name}`,
  nothingToRemove: (name) => `削除するものはありません: ${name}`,
  leftOver: (kind, name, reason) => `削除できずに残ったもの: ${kind} ${name}（${reason}）`,
  pruned: (count) => `残っていたコンテナを ${count} 件削除しました。`,
  image: (name, what) =>
    `${name}: ${{ unchanged: "変更なし", building: "ビルド中", built: "ビルド完了", kept: "ベースの Debian イメージを取得できないため、そのまま使用します（別のイメージを使うには --from IMAGE）" }[what]}`,
  images: (there, missing) =>
    [
      `実行環境のイメージ: ${there.length === 0 ? "まだありません" : there.join(", ")}`,
      ...(missing.length === 0 ? [] : [`未作成（初回使用時に作成）: ${missing.join(", ")}`]),
    ].join("。"),
  unknownImage: (name, known) => `不明なイメージです: ${name}。指定できるもの: ${known.join(", ")}`,
  missingOption: (flag) => `${flag} を指定してください`,
  badTask: (given) => `タスクの ID ではありません: ${JSON.stringify(given)}（英数字と "."、"_"、"-"）`,
  badTimeout: (given) => `--timeout には 0 より大きい秒数を指定してください: ${given}`,
  noCommand: "コマンドがありません。`--` の後に指定してください。",
  unknownEnvironment: (name, known) => `不明な実行環境です: ${name}。指定できるもの: ${known.join(", ")}`,
  unknownSubcommand: (given, known) => `不明なコマンドです: ${given}。指定できるもの: ${known.join(", ")}`,
  buildFrom:
    "ベースの Debian イメージを取得できませんでした。手元にあるイメージを指定するか（images build --from IMAGE）、Debian のパッケージから作成してください（sudo picoclaw images build --from debian-rootfs）。",
  rootNeedsRoot:
    "Debian のルートファイルシステムの作成には debootstrap と root 権限が必要です。debootstrap をインストールし、sudo で実行してください。",
};

function indent(text: string): string {
  return text.replace(/^/gm, "    ");
}
