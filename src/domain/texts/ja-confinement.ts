import type { RefusedDestination } from "../policy/network.ts";
import { formatBytes } from "./bytes.ts";
import type { confinementTexts as englishConfinementTexts } from "./confinement.ts";

const REASONS: Readonly<Record<RefusedDestination, string>> = {
  "bad-host": "ホスト名ではありません",
  "not-allowed": "worker.network.allowed_domains にありません",
  port: "許可されていますが、このポートは対象外です。worker.network.allowed_domains に host:port を追加してください",
  denied: "worker.network.denied_domains にあります",
  address: "プライベートアドレスです。worker.network.allowed_domains の正確な host:port だけが許可します",
};

const LIMITED =
  "コマンドは隔離ではなく制限されます（Landlock）。書き込めるのは workspace のコピー、専用のホーム、専用の TMPDIR だけで、読めるのはシステムとツールだけです。防げないもの: 外のファイルの chmod と時刻の変更、パスを持つソケット、UDP。";

const shown = (limit: string, value: number) =>
  limit === "open_files" || limit === "processes" ? String(value) : formatBytes(value);

export const confinementTexts: typeof englishConfinementTexts = {
  refusedHost: ({ host, reason, count }) =>
    `ネットワーク: ${host} への要求 ${count} 件を拒否しました（${REASONS[reason]}）`,
  limited: `${LIMITED}隔離するには: picoclaw doctor`,
  limitedPromise: LIMITED,
  homeHidden: (paths) =>
    `ホーム: ${paths.join("、")} はジョブから隠されています。worker.home_allow に書いたものは見えるようになります`,
  networkLimited: (network) =>
    network === "off"
      ? "ネットワーク: このジョブでは使えません（--allow-net のないプレビュー、または worker.network.mode: off）"
      : "ネットワーク: worker.network.allowed_domains のホストにだけ、HTTP_PROXY のプロキシ経由でのみ到達できます。プロキシを使わないプログラムはどこにも到達できません",
  limitMet: (limit, value) =>
    `${limit}: コマンドは worker.limits.${limit}（${shown(limit, value)}）に達したようです`,
  diskReached: (what, bytes, limitBytes) =>
    `${what === "changes" ? "ジョブの変更" : "ジョブの専用ホーム"}が ${formatBytes(bytes)} に達し、worker.limits.disk（${formatBytes(limitBytes)}）を超えたため、ジョブを終了しました。${what === "home" ? "専用ホームは空にしました。" : ""}`,
  limitsPromise: (limits, holds) => {
    if (!holds)
      return "ここではコマンドのメモリー、ディスク、プロセス数を制限できません（worker.limits にはサンドボックスが必要です）。";
    const set = Object.entries(limits).filter(([, value]) => value > 0);
    const named = set.map(([limit, value]) => `${limit} ${shown(limit, value)}`).join("、");
    return `ジョブの上限: ${named}。memory、file_size、open_files はプロセスごとです。メモリーが尽きるとジョブが先に終了します。`;
  },
  macos:
    "macOS ではコマンドはまだ隔離されません。あなたの権限のまま、コピーの中で実行します。workspace は取り消せます。worker.confine: on にすると実行を拒否します。",
  networkUnavailable: (mode) =>
    `worker.network.mode は ${mode} ですが、ここではコマンドのネットワークを制限できないため、何も実行しませんでした。picoclaw doctor を参照してください。worker.network.mode: on なら制限なしで実行します。`,
  networkPromise: (mode, holds, domains) => {
    if (mode === "on")
      return "コマンドはあなたと同じようにネットワークを使えます（worker.network.mode: on）。";
    if (!holds)
      return `worker.network.mode は ${mode} ですが、ここでは強制できません。コマンドを含むジョブは拒否されます。`;
    return mode === "off"
      ? "コマンドはネットワークを使えません（worker.network.mode: off）。"
      : `コマンドはプロキシ経由でのみ、次のホストにだけ到達できます: ${domains.length === 0 ? "なし" : domains.join("、")}`;
  },
};
