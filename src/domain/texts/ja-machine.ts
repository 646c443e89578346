import type { MachinePromise, Remedy, SandboxPart } from "../jobs/machine-trouble.ts";
import type { machineTexts as englishMachineTexts } from "./machine.ts";
import { listPaths } from "./list-paths.ts";

const REMEDIES: Readonly<Record<Remedy, string>> = {
  "let-write":
    "このユーザーが書き込めるようにする（例: chown）か、別のフォルダを指定してください（--workspace DIR）。",
  "install-git": "git をインストールしてください（例: apt install git）。",
  "init-repository": "`git init` でリポジトリを作るか、auto_commit を無効にしてください。",
  "install-bubblewrap": "bubblewrap をインストールしてください（例: apt install bubblewrap）。",
  "install-util-linux": "util-linux（setpriv）をインストールしてください。",
  "other-file-system":
    "workspace を ext4、xfs、btrfs、tmpfs など（コンテナ自身の層の外）に置いてください。それまではコピーで実行します。",
  "allow-user-namespaces":
    "bwrap にユーザー名前空間を許可してください（`picoclaw doctor` が AppArmor プロファイルを表示します）。",
  "raise-copy-limit": "worker.copy_limit を大きくしてください。",
  "transaction-none": "worker.transaction: none にすると直接実行します（シェルの結果は取り消せません）。",
  "raise-undo-quota": "worker.undo_quota を大きくしてください。",
  "free-space": "空き容量を増やしてください。",
  "create-workspace": "フォルダを作るか、--workspace で別のフォルダを指定してください。",
  "writable-home": "書き込めるホームを PICOCLAW_HOME で指定してください。ジョブの記録はそこに置かれます。",
  "own-storage":
    "削除するか、自分だけのものにしてください（chown、chmod 700）。PICOCLAW_HOME で別のホームを指定することもできます。",
  "trust-workspace": "内容を確認して、そのフォルダで `picoclaw trust` を実行してください。",
  "set-git-identity": "`git config user.name` と `git config user.email` を設定してください。",
  "start-docker": "Docker を起動してください。",
  "start-ollama": "Ollama を起動してください（`ollama serve`）。",
};

const PARTS: Readonly<Record<SandboxPart, string>> = {
  bubblewrap: "bubblewrap (bwrap)",
  setpriv: "setpriv",
  "user-namespaces": "ユーザー名前空間",
  overlay: "workspace のファイルシステム上のオーバーレイ",
};

const PROMISES: Readonly<Record<MachinePromise, readonly [yes: string, no: string]>> = {
  undo: ["コマンドが workspace で行った変更は取り消せます。", "コマンドが行った変更は取り消せません。"],
  confined: [
    "コマンドは隔離されます。workspace 以外は変更できず、ホームのうち見えるのはツールに必要なものだけです（worker.home_allow）。",
    "コマンドは隔離されません。あなたが読み書きできるものすべてに触れられます。",
  ],
  "preview-offline": [
    "プレビューではネットワークを使えません（--allow-net を除く）。",
    "プレビューでもネットワークは遮断されません。",
  ],
  "loopback-reachable": [
    "ネットワークが有効なときは、127.0.0.1 と抽象ソケットにも到達できます。",
    "このマシンのポートには到達できません。",
  ],
};

/** What this machine lets jobs do, and what helps. */
export const machineTexts: typeof englishMachineTexts = {
  remedy: (remedy) => REMEDIES[remedy],
  sandboxPart: (part, works) => `${PARTS[part]}: ${works ? "利用できます" : "利用できません"}`,
  fileSystems: (type, storage, storageType) =>
    `ファイルシステム: workspace ${type}、ジョブと取り消し情報 ${storageType}（${storage}）`,
  mountsBelow: (list) =>
    `workspace の下に別のマウントがあるため、コピーで実行します:${listPaths(list, (rest) => `… ほか ${rest} 件`)}`,
  promise: (promised, kept) => PROMISES[promised][kept ? 0 : 1],
};
