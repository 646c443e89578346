import type { dockerTexts as englishDockerTexts } from "./docker.ts";

const LIMITS = { memory: "メモリ", swap: "スワップ", cpu: "CPU", pids: "プロセス数" } as const;

export const dockerTexts: typeof englishDockerTexts = {
  engine: ({ version, api, host }) => `Docker ${version} (API ${api}): ${host}`,
  notReachable: (detail, needed) =>
    `Docker: 接続できません${needed ? "" : "(タスク実行環境だけが必要とします)"}: ${detail}`,
  notPermitted: (host, needed) =>
    `Docker: このユーザーには ${host} を使う権限がありません${needed ? "" : "(タスク実行環境だけが必要とします)"}`,
  badHost: (host) => `Docker: ${host} はエンジンのアドレスではありません`,
  kernel: ({ cgroup, driver, filesystem, rootless }) =>
    `Docker: cgroup v${cgroup}、ストレージ ${driver}(${filesystem})${rootless ? "、rootless" : ""}`,
  limits: (missing) =>
    missing.length === 0
      ? "実行環境: CPU・メモリ・スワップ・プロセス数の制限はカーネルが強制します"
      : `実行環境: このエンジンが強制できない制限: ${missing.map((each) => LIMITS[each]).join("、")}`,
  disk: (kind, limit) =>
    kind === "quota"
      ? `実行環境: ディスク制限(${limit})はエンジンが強制します`
      : `実行環境: ディスク制限(${limit})は監視のみです。超過すると数秒後にコマンドを終了します。単一ファイルは制限を超えられません`,
  network(mode, domains, hosts) {
    const besides = hosts.length === 0 ? "" : `、および ${hosts.join("、")}`;
    switch (mode) {
      case "none":
        return "実行環境: ネットワークなし";
      case "open":
        return `実行環境: 公開ホストへはプロキシ経由${besides}。このマシンとプライベートネットワークには届きません`;
      case "allow-list":
        return `実行環境: プロキシ経由で ${domains.join("、") || "なし"} のみ${besides}`;
    }
  },
  hardening: (seccomp) =>
    seccomp
      ? "実行環境: 一般ユーザー、ケーパビリティなし、権限昇格なし、seccomp"
      : "実行環境: 一般ユーザー、ケーパビリティなし、権限昇格なし。このエンジンには seccomp がありません",
  socketMounted:
    "実行環境: エンジンのソケットがマウントされます。環境内のコードはこのマシンの root と同じ権限を持ちます",
  remedy(what) {
    switch (what) {
      case "start-docker":
        return "Docker を起動する(systemctl start docker)か、DOCKER_HOST に動作中のエンジンを設定してください";
      case "join-group":
        return "このユーザーを docker グループに追加してください(sudo usermod -aG docker $USER、その後ログインし直す)";
      case "set-host":
        return "command_executor.docker.host か DOCKER_HOST に unix:///… または tcp://host:port を設定してください";
      case "kernel-limits":
        return "不足している cgroup コントローラーを有効にしてください(スワップ: カーネルパラメーター swapaccount=1)";
      case "seccomp":
        return "seccomp の使えるエンジンとカーネルを使ってください";
    }
  },
};
