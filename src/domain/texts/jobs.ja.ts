import type { FileTrouble } from "../jobs/file-trouble.ts";
import type { NotCovered, TransactionKind, TransactionReason } from "../jobs/transaction-kind.ts";
import { formatBytes } from "./bytes.ts";
import type { workTexts as englishWorkTexts } from "./jobs.en.ts";
import { listPaths } from "./list-paths.ts";

const SWAPS = { commit: "反映", undo: "取り消し", redo: "やり直し" } as const;

const paths = (list: readonly string[]) => listPaths(list, (rest) => `… ほか ${rest} 件`);

const KINDS: Readonly<Record<TransactionKind, string>> = {
  direct: "direct（編集するファイルだけ）",
  overlay: "overlay（workspace に重ねた層で実行）",
  copy: "copy（workspace のコピーで実行）",
  none: "none（workspace で直接実行）",
};

const REASONS: Readonly<Record<TransactionReason, string>> = {
  "file-edits-only": "ファイル編集だけの patch のため",
  configured: "worker.transaction の設定による",
  "overlay-available": "bubblewrap が使えるため",
  "no-bubblewrap": "bubblewrap が入っていないため",
  "no-user-namespaces": "ユーザー名前空間が許可されていないため",
  "mount-below-workspace": "workspace の中に別のマウントがあるため",
  "foreign-group": "別のグループや所有者のファイルはオーバーレイでは変更できないため",
  "not-linux": "Linux ではないため",
  "overlay-failed": "overlay を作れなかったため",
};

const NOT_COVERED: Readonly<Record<NotCovered, string>> = {
  network: "ネットワーク越しの操作",
  daemons: "起動したままの常駐プロセス",
  "other-folders": "workspace 以外のフォルダ",
};

const TROUBLES: Readonly<Record<FileTrouble, string>> = {
  "no-space": "ディスクの空き容量がないよ",
  "read-only": "読み取り専用のファイルシステムだよ",
  "permission-denied": "アクセス権がないよ",
  "not-text": "UTF-8 のテキストファイルではないよ",
  "is-directory": "対象はディレクトリだよ",
  "not-directory": "ディレクトリではないよ",
  vanished: "途中でファイルが消えたよ",
  exists: "すでに存在するよ",
  "not-found": "見つからないよ",
  busy: "ほかのプロセスが使用中だよ",
  "name-too-long": "名前が長すぎるよ",
};

export const workTexts: typeof englishWorkTexts = {
  locale: "ja",

  parseError: "patch のフォーマットが不正だよ。JSON または Markdown で書いてね。",
  parseErrorDetail: (detail, line) => (line === null ? `詳細: ${detail}` : `詳細（${line} 行目）: ${detail}`),
  commandFailed: (detail) => `コマンド実行に失敗したよ: ${detail}`,
  timeout: (seconds) => `コマンドがタイムアウトしたよ（制限時間: ${seconds} 秒）`,
  securityViolation: "セキュリティエラー: workspace 外への書き込みは許可されていないよ。",
  patchFailed: (detail) => `patch の実行に失敗したよ: ${detail}`,
  details: "詳細:",
  errorLabel: "エラー:",
  summary: ({ total, succeeded, failed }) => `実行: ${total} 件, 成功: ${succeeded} 件, 失敗: ${failed} 件`,
  gitCommit: (hash) => `Git コミット: ${hash}`,
  executionSummary: ({ total, fileEdits, shellCommands, gitOperations }) =>
    `実行予定: ${total} 件（file_edit: ${fileEdits}, shell_command: ${shellCommands}, git_operation: ${gitOperations}）`,
  changesHeader: (count) => `変更されたファイル: ${count} 件`,
  checksNeedTrust:
    "チェックは実行していません: このマシンではコマンドを隔離できず、チェックはプロジェクト自身のコードを実行します。このフォルダーで `picoclaw trust` を実行すると許可されます (bubblewrap があれば隔離されます)。",
  rolledBack: (error) => `実行失敗: ${error}. 変更はすべて取り消し、実行前の状態に戻しました。`,
  cannotRollBack: (error) =>
    `実行失敗: ${error}. Git auto-commit がOFFのため、ロールバックできません。手動で復旧してください。`,
  jobLine: (jobId) => `ジョブ: ${jobId}`,

  workerFailed: (error) => `Worker実行失敗: ${error}`,

  commitConflict: ({ jobId, paths: list, at }) =>
    `実行中にほかで変更されたファイルがあるため、何も反映していません:${paths(list)}\n` +
    `結果はプレビューとして残っています。確認: ${at === "chat" ? `/diff ${jobId}` : `picoclaw show ${jobId} --diff`}\n` +
    `そのまま反映するには: ${at === "chat" ? `/apply ${jobId}` : `picoclaw apply --job ${jobId}`}（同じファイルがまだ食い違う場合は再び止まります）`,
  dryRunHeader: (count) => `ドライラン: ${count} 件のコマンド（何も実行していません）`,
  dryRunLine: (index, command) => `[${index}] ${command}`,
  transactionKind: (kind, reason) => `トランザクション: ${KINDS[kind]} — ${REASONS[reason]}`,
  copyLimitExceeded: ({ bytes, limitBytes }) =>
    `workspace が大きすぎてコピーできません（${formatBytes(bytes)}、上限 ${formatBytes(limitBytes)}）。` +
    "シェルコマンドと Git 操作は実行していません。次のどれかで解決できます:",
  notCovered: (what) => `取り消しの対象外: ${what.map((one) => NOT_COVERED[one]).join("、")}`,
  shellNotUndoable: "worker.transaction: none のため、シェルコマンドの結果は取り消せません。",
  undoIsTheTasks:
    "実行環境では取り消しの単位はタスクです（クローン内の git diff、git reset）。個々の編集は undo_edit で取り消せます",
  aborted: "中断されました",
  renameAcrossLayers:
    "オーバーレイではフォルダの名前を 1 回の操作で変更できません。`mv 旧 新`（git では `mv 旧 新 && git add -A`）を使うか、worker.transaction: copy を設定してください。",
  notConfined:
    "ここではコマンドを隔離できません。コマンドはあなたが読み書きできるものすべてに触れられます。対処方法: picoclaw doctor",
  linkAcrossLayers:
    "オーバーレイではローカルの clone がハードリンクを使えません。`git clone --no-hardlinks` を使うか、worker.transaction: copy を設定してください。",
  foreignOwner:
    "オーバーレイでは他のユーザーが所有するファイルをそのまま変更できません。所有者を変更する（sudo chown）か、worker.transaction: copy を設定してください。",
  foreignOwnerMet:
    "オーバーレイでは別の所有者やグループのファイルを変更できないため、何も適用していません。次のジョブはコピーで実行するので、もう一度送ってください。",
  installationIncomplete: (path) =>
    `PicoClaw 自身のファイルがありません: ${path}\n実行中に PicoClaw が入れ替えられたか移動された場合は、再起動してください。そうでなければ、インストール全体をコピーするか、そのフォルダで npm ci を実行してください。`,
  executorEnded: "サンドボックス内でこのジョブを実行していたプロセスが終了したため、ジョブは失敗しました。",
  notRun: (count) => `未実行: ${count} 件（最初の失敗で中断したため）`,
  confinementUnavailable:
    "worker.confine が on ですが、ここではコマンドを隔離できないため、何も実行していません。worker.confine: auto にすると隔離なしで実行します。",
  previewUnavailable:
    "worker.transaction: none ではコマンドのプレビューはできないため、何も実行していません。worker.transaction: auto にしてください。",
  nothingApplied: (jobId) => `${jobId} の変更は何も反映していません。`,
  changedOutside: (list) =>
    `ジョブの実行中に workspace 側で変更されたもの（ジョブに含まれず、取り消しの対象外）:${paths(list)}`,
  endedWithJob: (list) =>
    `ジョブの終了時に動いていたプロセスは一緒に終了したよ:${paths(list)}\nサーバーを動かし続けるには、端末で自分で起動してね。`,
  protectedRestored: (list) => `シェルコマンドが変更した保護ファイルを元に戻しました:${paths(list)}`,
  filterUnknown: (list) => `設定にない git フィルターを求めているため、コミットしていません:${paths(list)}`,
  protectedCreated: (list) => `保護パターンに一致するファイルが新しく作られました:${paths(list)}`,
  protectedLogged: (list) => `保護ファイルが変更されました（action_on_protected_file: log）:${paths(list)}`,

  undonePartly: ({ jobId, refs }) =>
    `${jobId} のファイルは取り消しましたが、次の Git 参照は後から動いたため元に戻していません:${paths(refs)}`,
  nothingToUndo: "取り消せるジョブはないよ。",
  nothingToRedo: "やり直せるジョブはないよ。",
  nothingToDiscard: "破棄できるプレビューはないよ。",
  previewsWait: (jobIds) => `プレビューがいくつかあるので、名前を指定してね:${paths(jobIds)}`,
  previewsHint: (count) =>
    `プレビュー ${count} 件が未反映です。反映するには: picoclaw apply --job JOB　破棄するには: picoclaw discard JOB`,
  undoList: (jobId, list) => `${jobId} を取り消すと戻るパス:${paths(list)}`,
  undoUnavailable: (jobId) => `${jobId} の取り消しデータはありません。`,
  notAPreview: (jobId) => `${jobId} はプレビューではないので、適用・破棄するものがないよ。`,
  stillAPreview: (jobId, at) =>
    `${jobId} はプレビューで、まだ何も反映していないので、取り消すものはないよ。` +
    `反映するには: ${at === "chat" ? `/apply ${jobId}` : `picoclaw apply --job ${jobId}`}、破棄するには: ${at === "chat" ? `/discard ${jobId}` : `picoclaw discard ${jobId}`}`,
  wrongState: (jobId, state) =>
    state === "undone"
      ? `${jobId} はもう取り消し済みだよ。一覧: picoclaw jobs`
      : `${jobId} は今の状態（${state}）では取り消しもやり直しもできないよ。一覧: picoclaw jobs`,
  changedByJob: (path, jobId, at) =>
    `${path}（後の ${jobId} が変更。先に取り消してね: ${at === "chat" ? "/undo" : "picoclaw undo"} ${jobId}）`,
  foldersKept: (list) => `ジョブの後に作られたファイルがあるので、次のフォルダは残したよ:${paths(list)}`,
  quotaEvicted: ({ jobIds, bytes, quotaBytes }) =>
    `取り消しデータが上限 ${formatBytes(quotaBytes)} を超えたため、古いもの（${formatBytes(bytes)}）を削除しました。` +
    `次のジョブはもう取り消せません:${paths(jobIds)}`,
  noJobs: "ジョブはまだないよ。",
  moreLines: (count) => `… 残り ${count} 行（show --all）`,
  jobsHeader: { job: "ジョブ", time: "日時", result: "結果", changes: "変更", undo: "取り消し" },
  undoStates: { available: "可能", unavailable: "不可", none: "対象なし", undone: "取り消し済み" },
  unknownJob: (jobId) => `ジョブが見つからないよ: ${jobId}`,
  jobRunning: (jobId, pid) =>
    `${jobId} はまだ実行中だよ${pid === null ? "" : `（pid ${pid}）`}。終わってから、または止めてから取り消してね。`,
  machineAway: (machine) =>
    `このジョブを持つマシン ${machine} が応答していません。何も行っていません。後から行われることもありません。そのマシンで picoclaw serve または picoclaw join を起動してから、もう一度お試しください。`,
  orderUnsettled: (machine) =>
    `${machine} は処理を始めましたが、結果がまだ届いていません。少し後でジョブを確認してください。`,
  machineGone: (machine) =>
    `このジョブを持つマシン ${machine} が処理の途中で応答しなくなりました。復帰すると、ジョブの画面で結果を確認できます。`,
  jobNotRunning: (jobId) => `${jobId} は実行中ではありません。確認: picoclaw jobs`,
  jobDied: (jobId) => `${jobId} は実行の途中で終了し、何も反映していないので、取り消すものはないよ。`,
  jobInterrupted: (jobId, direction) =>
    `ジョブ ${jobId} は${SWAPS[direction]}の途中で中断しています。次に変更を行うコマンドが修復します。すぐに修復するには: picoclaw doctor --repair`,
  jobRepaired: ({ jobId, direction, outcome, paths: left }) =>
    `ジョブ ${jobId} は${SWAPS[direction]}の途中で中断し、その後${outcome === "finished" ? "完了しました" : "元の状態に戻しました"}。` +
    (left.length === 0 ? "" : `中断の後に変更されたため、次のファイルはそのまま残しました:${paths(left)}`),
  repairStuck: (jobId, list) =>
    `ジョブ ${jobId} は途中で中断していて、次のパスに書き込めないか変更中のため完了できません:${paths(list)}\nそれまでほかのジョブは反映も取り消しもできません。書き込めるようにしてから: picoclaw doctor --repair`,
  interruption: ({ direction, outcome }) =>
    outcome === "open"
      ? `${SWAPS[direction]}の途中`
      : outcome === "finished"
        ? "中断の後に完了"
        : "中断の後に元へ戻した",

  gitMissing: "git が見つからないよ。",
  notARepository: (path) => `Git リポジトリではないよ: ${path}`,
  autoCommitAborted: (error) => `実行前の auto-commit に失敗したため、何も実行していません: ${error}`,
  autoCommitFailed: (error) => `実行後の auto-commit に失敗しました（変更は反映済み）: ${error}`,
  identityFallback: "Git の user.name / user.email が未設定のため、PicoClaw の名前でコミットしました。",
  signingSkipped: "署名に入力が必要なため、署名なしでコミットしました。",

  workspaceMissing: (path) => `workspace が見つからないよ: ${path}`,
  workspaceNotADirectory: (path) => `workspace がフォルダではないよ: ${path}`,
  workspaceReadOnly: (root) => `${root} に書き込めないので、ジョブは何も変更できません。`,
  storageForeign: (path) =>
    `この workspace のジョブを置くフォルダが他人のものか、他人が書き込めるようになっているよ: ${path}`,
  workspaceBusy: (path) => `別のジョブが反映中だよ: ${path}`,
  fileTrouble: (trouble, path) => `${TROUBLES[trouble]}: ${path}`,
};
