import type {
  HookEnd,
  JobStatus,
  NotCovered,
  SealedOtherwise,
  TransactionKind,
  TransactionReason,
} from "../../jobs/result.ts";
import type { ForeignRepository } from "../../platform/git-index.ts";
import type { FileTrouble, MachinePromise, Remedy, SandboxPart } from "../../platform/machine-trouble.ts";
import { type ConfigProblem, type ConfigWarning, filePositionText, NOTHING } from "../config-problem.ts";
import type * as en from "../en/jobs.ts";
import {
  formatBytes,
  jobOrder,
  listPaths,
  nameFew,
  namePaths,
  type Wording,
  wordBy,
  wordFact,
} from "../format-text.ts";

const SWAPS = { commit: "適用", undo: "取り消し", redo: "やり直し" } as const;

const NOT_OWN: Readonly<Record<Exclude<ForeignRepository["why"], "elsewhere">, string>> = {
  home: "その最上位がホームフォルダーか、ホームを含むフォルダーだからです。",
  owner:
    "ほかのユーザーのものだからです。信頼する場合は自分の git 設定に加えてください（git config --global --add safe.directory フォルダー）。",
  untracked:
    "このフォルダーにも、その上のフォルダーにも、追跡しているファイルがないからです。使うにはここのファイルを git add してください。",
};

const more = (rest: number) => `… ほか ${rest} 件`;
const paths = (list: readonly string[]) => listPaths(list, more);
const hookEnded = (ended: HookEnd) =>
  ended === "timeout"
    ? "時間内に終わりませんでした"
    : ended === "not-run"
      ? "実行できませんでした"
      : `終了コード ${ended} で終わりました`;
const quoted = (output: string) => (output === "" ? "。" : `:\n${output}`);

const KINDS: Readonly<Record<TransactionKind, string>> = {
  direct: "direct（編集するファイルだけ）",
  overlay: "overlay（workspace に重ねた層で実行）",
  copy: "copy（workspace のコピーで実行）",
  none: "none（workspace で直接実行）",
};

const REASONS: Readonly<Record<TransactionReason, string>> = {
  "file-edits-only": "ファイル編集だけのパッチのため",
  configured: "worker.transaction の設定による",
  "overlay-available": "bubblewrap が使えるため",
  "no-bubblewrap": "bubblewrap が入っていないため",
  "no-user-namespaces": "ユーザー名前空間が許可されていないため",
  "mount-below-workspace": "workspace の中に別のマウントがあるため",
  "foreign-group": "ほかのグループや所有者のファイルはオーバーレイでは変更できないため",
  "folds-case": "このファイルシステムは大文字と小文字を区別しないため",
  "not-linux": "Linux ではないため",
  "overlay-failed": "オーバーレイを作れなかったため",
};

const NOT_COVERED: Readonly<Record<NotCovered, string>> = {
  network: "ネットワーク越しの操作",
  daemons: "起動したままの常駐プロセス",
  "other-folders": "workspace 以外のフォルダ",
  forge: "リモートにプッシュしたもの",
};

const TROUBLES: Readonly<Record<FileTrouble, string>> = {
  "no-space": "ディスクの空き容量がありません",
  "disk-error": "ディスクの読み書きに失敗しました（入出力エラー）",
  "read-only": "読み取り専用のファイルシステムです",
  "too-many-files": "開いているファイルが多すぎます（上限を上げてください。例: ulimit -n 1024）",
  "other-mount": "別のマウント上にあるため、ジョブの結果を反映できません",
  "permission-denied": "アクセス権がありません",
  "not-text": "UTF-8 のテキストファイルではありません",
  "is-directory": "対象はディレクトリです",
  "not-directory": "ディレクトリではありません",
  vanished: "処理中にファイルがなくなりました",
  exists: "すでに存在します",
  "not-found": "見つかりません",
  busy: "ほかのプロセスが使用中です",
  "name-too-long": "名前が長すぎます",
  "too-large": "ファイルが 64 MiB を超えているか、終わりがありません",
};

const JOB_STATES: Readonly<Record<string, string>> = {
  running: "まだ実行中のため、",
  discarded: "破棄されているため、",
  evicted: "取り消しデータが削除されているため、",
};

export const workTexts: typeof en.workTexts = {
  locale: "ja",

  parseError: "patch のフォーマットが不正だよ。JSON または Markdown で書いてね。",
  parseErrorDetail: (detail, line) => (line === null ? `詳細: ${detail}` : `詳細（${line} 行目）: ${detail}`),
  commandFailed: (detail) => `コマンド実行に失敗したよ: ${detail}`,
  timeout: (seconds) => `コマンドがタイムアウトしたよ（制限時間: ${seconds} 秒）`,
  securityViolation: "セキュリティエラー: workspace 外への書き込みは許可されていないよ。",
  patchFailed: (detail) => `patch の実行に失敗したよ: ${detail}`,
  details: "詳細:",
  errorLabel: "エラー:",
  errorWords: {
    "command failed: (?!timed out)": "コマンドが失敗しました: ",
    "(^|: )exit status (?=\\d)": "$1終了コード ",
    "(^|: )signal: (?=SIG)": "$1シグナル ",
    "(?:command failed: )?timed out after (\\d+) seconds": "コマンドが $1 秒以内に終わりませんでした",
    "failed to (?:write|append to) file ": "ファイルを変更できません: ",
    "failed to delete file ": "ファイルを削除できません: ",
    "failed to create directory ": "フォルダを作成できません: ",
    "failed to (?:rename|copy) ": "移動・コピーできません: ",
    "protected file cannot be modified: ": "保護されたファイルは変更できません: ",
    " \\(restored\\)$": "（元に戻しました）",
    "file path outside workspace: ": "workspace の外のパスです: ",
    ": No such file$": ": ファイルがありません",
    "no such file or directory: ": "ファイルまたはフォルダがありません: ",
    "is a directory: ": "フォルダです: ",
    "already exists: ": "すでに存在します: ",
    "cannot move a folder into itself: ": "フォルダをそのフォルダ自身の中には移動できません: ",
    "[a-z ]+ cannot be [a-z ]+ by (?:a job|a link|file_edit): ":
      "git のフック・設定・内部はジョブでは変更できません: ",
    " hunk (\\d+): ": " 変更箇所 $1: ",
    ", edit (\\d+) of (\\d+)(?=[,:])": "（変更 $2 か所中 $1 か所目）",
    ", near line (\\d+)(?=:)": "（$1 行目付近）",
    "the expected lines are not in the file$": "書き換える行がファイルにありません",
    "the file has the result of this edit already, at line (\\d+): .*$": "$1 行目はすでに変更後の内容です",
    "matches (\\d+) places \\(lines ([^)]*)\\); .*$": "同じ行が $1 か所（$2 行目）にあり、場所が決まりません",
    "^The nearest lines:$": "近い行:",
    "^  line (\\d+) \\((\\d+) % alike\\)$": "  $1 行目（一致率 $2 %）",
    "^Nothing of this edit was written\\..*$": "この編集は何も書き込んでいません。",
  },
  summary: ({ total, succeeded, failed }) => `実行: ${total} 件, 成功: ${succeeded} 件, 失敗: ${failed} 件`,
  gitCommit: (hash) => `Git コミット: ${hash}`,
  executionSummary: ({ total, fileEdits, shellCommands, gitOperations }) =>
    `実行予定: ${total} 件（file_edit: ${fileEdits}, shell_command: ${shellCommands}, git_operation: ${gitOperations}）`,
  changeKinds: { added: "追加", modified: "変更", deleted: "削除" },
  changesHeader: (count) => `変更されたファイル: ${count} 件`,
  checksNeedTrust:
    "チェックは実行していません: このマシンではコマンドを隔離できず、チェックはプロジェクト自身のコードを実行します。このフォルダで `picoclaw trust` を実行すると許可されます（bubblewrap があれば隔離して実行します）。",
  rolledBack: (error) => `実行失敗: ${error}. 変更はすべて取り消し、実行前の状態に戻しました。`,
  cannotRollBack: (error) =>
    `実行失敗: ${error}. Git auto-commit がOFFのため、ロールバックできません。手動で復旧してください。`,
  jobLine: (jobId) => `ジョブ: ${jobId}`,

  workerFailed: (error) => `Worker実行失敗: ${error}`,

  commitConflict: (jobId, list, at) =>
    `実行中にほかで変更されたファイルがあるため、何も適用していません:${paths(list)}\n` +
    `結果はプレビューとして残っています。確認: ${jobOrder(at, "diff", jobId)}\n` +
    `そのまま適用するには: ${jobOrder(at, "apply", jobId)}（同じファイルがまだ食い違う場合は再び止まります）`,
  dryRunHeader: (count) => `ドライラン: ${count} 件のコマンド（何も実行していません）`,
  dryRunLine: (index, command) => `[${index}] ${command}`,
  trialJobFailed: (complaint) => `ここではコマンドを含むジョブを実行できません: ${complaint.split("\n")[0]}`,
  transactionKind: (kind, reason) => `トランザクション: ${KINDS[kind]}: ${REASONS[reason]}`,
  copyLimitExceeded: ({ bytes, limitBytes }) =>
    `workspace が大きすぎてコピーできません（${formatBytes(bytes)}、上限 ${formatBytes(limitBytes)}）。` +
    "シェルコマンドと Git 操作は実行していません。次のいずれかで解決できます:",
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
    "オーバーレイではほかのユーザーが所有するファイルをそのまま変更できません。所有者を変更する（sudo chown）か、worker.transaction: copy を設定してください。",
  foreignOwnerMet:
    "オーバーレイではほかの所有者やグループのファイルを変更できないため、何も適用していません。次のジョブはコピーで実行するので、もう一度送ってください。",
  installationIncomplete: (path) =>
    `PicoClaw 自身のファイルがありません: ${path}\n実行中に PicoClaw が入れ替えられたか移動された場合は、再起動してください。そうでなければ、インストール全体をコピーするか、そのフォルダで npm ci を実行してください。`,
  executorEnded: "サンドボックス内でこのジョブを実行していたプロセスが終了したため、ジョブは失敗しました。",
  notRun: (count) => `未実行: ${count} 件（最初の失敗で中断したため）`,
  confinementUnavailable:
    "worker.confine が on ですが、ここではコマンドを隔離できないため、何も実行していません。worker.confine: auto にすると隔離なしで実行します。",
  headRefused: (reason) =>
    reason === "unconfined"
      ? "お使いのエージェントは隔離された中でだけ動きますが、worker.confine が off です。何も実行していません。worker.confine: auto にしてください。"
      : `お使いのエージェントはオーバーレイの中でだけ動きますが、ここでは使えません（${REASONS[reason]}）。何も実行していません。対処は \`picoclaw doctor\` で分かります。`,
  previewUnavailable:
    "worker.transaction: none ではコマンドのプレビューはできないため、何も実行していません。worker.transaction: auto にしてください。",
  nothingApplied: (jobId) => `${jobId} の変更は何も適用していません。`,
  changedOutside: (list) =>
    `ジョブの実行中に workspace 側で変更されたもの（ジョブに含まれず、取り消しの対象外）:${paths(list)}`,
  endedWithJob: (list) =>
    `ジョブの終了時に動いていたプロセスも終了しました:${paths(list)}\nサーバーを動かし続ける場合は、ご自分のターミナルで起動してください。`,
  protectedRestored: (list) => `シェルコマンドが変更した保護ファイルを元に戻しました:${paths(list)}`,
  filterUnknown: (list) => `設定にない git フィルターを求めているため、コミットしていません:${paths(list)}`,
  protectedCreated: (list) => `保護パターンに一致するファイルが新しく作られました:${paths(list)}`,
  protectedLogged: (list) => `保護ファイルが変更されました（action_on_protected_file: log）:${paths(list)}`,

  mergedBy: (action, jobId, by) =>
    `${jobId} のファイルは後から変更されていたため、マージで${action === "undo" ? "取り除きました" : "取り込みました"}（ジョブ ${by}、これも取り消せます）。`,
  mergeNotChecked: "プロジェクトのチェックは実行していません。",
  mergeTitle: (action, jobId, title) => `${jobId} の${SWAPS[action]}: ${title}`,
  undonePartly: ({ jobId, refs }) =>
    `${jobId} のファイルは取り消しましたが、次の Git 参照は後から動いたため元に戻していません:${paths(refs)}`,
  nothingToUndo: "取り消せるジョブはありません。",
  nothingToRedo: "やり直せるジョブはありません。",
  changedNothing: (jobId) => `${jobId} は何も変更していないため、取り消しもやり直しも不要です。`,
  nothingToDiscard: "破棄できるプレビューはありません。",
  previewsWait: (jobIds) => `プレビューが複数あります。対象を指定してください:${paths(jobIds)}`,
  previewsHint: (count, isElsewhere) =>
    `プレビュー ${count} 件が未適用です。適用するには: picoclaw apply --job JOB　破棄するには: picoclaw discard JOB${isElsewhere ? "（ほかのフォルダのものは --workspace FOLDER を付けて指定）" : ""}`,
  undoList: (jobId, list) => `${jobId} を取り消すと元に戻るパス:${paths(list)}`,
  parentNoFolder: (path) => `${path}（上のフォルダがないか、リンクやファイルになっています）`,
  recordDamaged: (jobId, file) =>
    `${jobId} の記録が壊れているため、取り消しも再適用もできません: ${file}\nほかのジョブには影響ありません。復元できるものを復元するには: picoclaw doctor --repair`,
  recordClosed: (jobId, path) =>
    `${jobId} を読み取れません。次のフォルダで権限がありません: ${path}\n取り消しとやり直しには、このジョブの読み取りが必要です。そのジョブを実行したユーザーで picoclaw を実行するか、所有者を変更してください: sudo chown -R "$(id -u)" '${path.replaceAll("'", "'\\''")}'`,
  recordLost: (jobId, file) =>
    `${jobId} の記録が壊れていて、復元できません: ${file}\nこのジョブは取り消せません。保存されたものはそのフォルダに残っています。ほかのジョブには影響ありません。`,
  recordRepaired: (jobId, file) =>
    `${jobId} の壊れた記録を復元しました。壊れたファイルは残してあります: ${file}.damaged`,
  undoDamaged: (jobId, file, lost) =>
    `ジョブ ${jobId} の取り消しデータの記録${lost === "newer" ? "は、新しいバージョンの PicoClaw が書いたものです" : lost === "closed" ? "は、権限がないため読み取れません" : "が壊れているか、なくなっています"}: ${file}\n${
      lost === null || lost === "closed"
        ? "このジョブは取り消しも再適用もできません。"
        : lost === "newer"
          ? "このバージョンは記録を変更しません。このジョブには新しいバージョンを使ってください。"
          : lost.length === 0
            ? "ジョブ全体をまだ取り消せます。次に取り消すとき、記録を作り直します。"
            : `次に取り消すとき記録を作り直し、次のもの以外を元に戻します:${paths(lost)}`
    }`,
  undoRebuilt: (lost) =>
    lost.length === 0
      ? "壊れた取り消しデータの記録を作り直しました。失われたものはありません。"
      : `壊れた取り消しデータの記録を作り直しました。次のパスは、もう取り消しも再適用もできません:${paths(lost)}`,
  undoDamagedRemedy: (slots) =>
    `この記録は復元できません。ジョブが保存したファイルは ${slots} にあります。必要なものをコピーしてください。ほかのジョブには影響ありません。`,
  undoDataGone: (action, jobId, list) =>
    `${jobId} の次のファイルの${action === "undo" ? "取り消しデータ" : "データ"}がもうないため、何も変更しませんでした:${paths(list)}`,
  repairImpossible: (jobId, file, isNewer) =>
    `${jobId} は途中で中断していて、${isNewer ? "記録を新しいバージョンの PicoClaw が書いた" : "記録が壊れている"}ため完了できません: ${file}\nファイルは今のまま残り、移動したものはその記録の隣の \`slots\` フォルダにあります。必要なものをコピーしてください。${isNewer ? "完了するには、新しいバージョンで picoclaw doctor --repair を実行してください。" : ""}ほかのジョブは再び適用や取り消しができます。`,
  undoUnavailable: (jobId) => `${jobId} の取り消しデータはありません。`,
  alreadyApplied: (jobId) => `${jobId} はすでに適用されています。今回は何も変更していません。`,
  notAPreview: (jobId) => `${jobId} はプレビューではないため、適用や破棄はできません。`,
  stillAPreview: (jobId, at) =>
    `${jobId} はプレビューです。まだ何も適用していないため、取り消すものはありません。` +
    `適用するには: ${jobOrder(at, "apply", jobId)}、破棄するには: ${jobOrder(at, "discard", jobId)}`,
  wrongState: (jobId, state) =>
    state === "undone"
      ? `${jobId} はすでに取り消し済みです。`
      : state === "committed"
        ? `${jobId} は適用済みのため、やり直すものはありません。`
        : `${jobId} は、${JOB_STATES[state] ?? "今の状態では"}取り消しもやり直しもできません。一覧: picoclaw jobs`,
  changedByJob: (path, jobId, at) =>
    `${path}（後の ${jobId} が変更。先に取り消してください: ${jobOrder(at, "undo", jobId)}）`,
  redoFirst: (path, jobId, at) =>
    `${path}（取り消し済みの ${jobId} が作ったものです。先にそちらをやり直してください: ${jobOrder(at, "redo", jobId)}）`,
  deletedSince: (path) => `${path}（その後削除されています）`,
  foldersKept: (list) => `ジョブの後に作られたファイルがあるため、次のフォルダは残しました:${paths(list)}`,
  quotaEvicted: (jobIds, bytes, quotaBytes) =>
    `取り消しデータが上限 ${formatBytes(quotaBytes)} を超えたため、古いもの（${formatBytes(bytes)}）を削除しました。` +
    `次のジョブはもう取り消せません:${paths(jobIds)}`,
  noJobs: "ジョブはまだありません。",
  moreLines: (count) => `… 残り ${count} 行（show --all）`,
  jobsHeader: { job: "ジョブ", time: "日時", result: "結果", changes: "変更", undo: "取り消し" },
  noteOfNewer: (code) =>
    `新しいバージョンの PicoClaw が書いた注記（${code}）は、このバージョンでは表示できません。`,
  undoStates: { available: "可能", unavailable: "不可", none: "不要", undone: "取り消し済み" },
  waitsFor: {
    checks: "このマシンを調べています",
    image: (name) => `イメージ ${name}`,
    prepare: "実行環境を準備しています",
    store: "データベースを処理しています",
  },
  unknownJob: (jobId, at) =>
    `ジョブが見つかりません: ${jobId}${at === "chat" ? "\n最近のジョブ: /jobs" : "\nこのフォルダのジョブ: picoclaw jobs　すべてのフォルダのジョブ: picoclaw jobs --all"}`,
  jobRunning: (jobId, pid, at) =>
    `${jobId} はまだ実行中です${pid === null ? "" : `（pid ${pid}）`}。終了を待つか、停止してください: ${at === "chat" ? "/stop" : jobOrder(at, "stop", jobId)}`,
  machineAway: (machine) =>
    `このジョブを持つマシン ${machine} が応答していません。何も行っていません。後から行われることもありません。そのマシンで picoclaw serve または picoclaw join を起動してから、もう一度お試しください。`,
  orderUnsettled: (machine) =>
    `${machine} は処理を始めましたが、結果がまだ届いていません。少し後でジョブを確認してください。`,
  machineGone: (machine) =>
    `このジョブを持つマシン ${machine} が処理の途中で応答しなくなりました。復帰すると、ジョブの画面で結果を確認できます。`,
  jobNotRunning: (jobId) => `${jobId} は実行中ではありません。確認: picoclaw jobs`,
  jobDied: (jobId) =>
    `${jobId} は実行の途中で終了しました。何も適用していないため、取り消すものはありません。`,
  homeAside: (path) =>
    `ジョブがジョブ用ホームを使えない状態にしたため、別の場所に移しました。以後のジョブは新しいホームを使っています: ${path}`,
  homeRepaired: (path) => `別の場所に移したジョブ用ホームを修復し、再び使えるようにしました: ${path}`,
  homeBusy: (path) => `ジョブの実行中は、別の場所に移したジョブ用ホームを戻せません: ${path}`,
  jobInterrupted: (jobId, direction) =>
    `ジョブ ${jobId} は${SWAPS[direction]}の途中で中断しています。次に変更を行うコマンドが修復します。すぐに修復するには: picoclaw doctor --repair`,
  interruptedFiles: {
    head: "ファイルの現在の状態:",
    before: (count) => `ジョブの前のまま（${count} 件）:`,
    after: (count) => `ジョブの結果になっている（${count} 件）:`,
    moved: (count) => `元の場所になく、元のファイルは別の場所にある（${count} 件）:`,
    edited: (count) => `その後ほかから変更された（${count} 件）:`,
  },
  keptAside: (jobId, { folder, paths: list, removed }) =>
    `ジョブ ${jobId} を元に戻しましたが、フォルダがなくなったか別のものが${removed ? "あった" : "ある"}ため、次のものは元の場所に戻せませんでした:${paths(list)}\n` +
    (removed
      ? `戻せなかったものは ${folder} に保管していましたが、その後、削除されたか移動されています。`
      : `戻せなかったものは次の場所に保管してあり、指示がない限り PicoClaw が削除することはありません: ${folder}\nフォルダを移動した場合、移動先にはジョブが書き込んだ内容が残っています。`),
  asideKept: ({ jobId, folder, files, bytes }) =>
    `ジョブ ${jobId} を元に戻したときに元の場所に戻せなかったファイルを保管しています（${files} 件、${formatBytes(bytes)}）: ${folder}`,
  asideRemedy: (jobId) =>
    `必要なものをコピーして戻してから、残りを完全に削除する: ${jobOrder("terminal", "discard", jobId)} --aside`,
  asideRemoved: ({ jobId, files, bytes }) =>
    `ジョブ ${jobId} の保管していたファイルを完全に削除しました（${files} 件、${formatBytes(bytes)}）`,
  asideNone: (jobId) =>
    `この名前のジョブについて保管しているファイルはありません: ${jobId}。保管しているものの一覧は picoclaw doctor で確認できます。`,
  asideNeedsJob: "ジョブを指定してください: picoclaw discard JOB --aside（一覧は picoclaw doctor）",
  asideUnfinished: (jobId) =>
    `ジョブ ${jobId} を元に戻す処理が終わっていないため、何も削除しませんでした。先に実行してください: picoclaw doctor --repair`,
  jobRepaired: ({ jobId, direction, outcome, paths: left, aside }) =>
    `ジョブ ${jobId} は${SWAPS[direction]}の途中で中断し、その後${outcome === "finished" ? "完了しました" : "元の状態に戻しました"}。` +
    (left.length === 0 ? "" : `中断の後に変更されたため、次のファイルはそのまま残しました:${paths(left)}`) +
    (aside === undefined ? "" : `\n${workTexts.keptAside(jobId, aside)}`),
  repairStuck: (jobId, list) =>
    `ジョブ ${jobId} は途中で中断していて、次のパスに書き込めないか変更中のため完了できません:${paths(list)}\nそれまでほかのジョブは適用も取り消しもできません。書き込めるようにしてから: picoclaw doctor --repair`,
  interruption: ({ direction, outcome, aside }) => {
    if (outcome === "open") return `${SWAPS[direction]}の途中`;
    if (aside?.removed) return `${aside.paths.length} 件を除いて元に戻しました。残りは保管後に削除済み`;
    if (aside !== undefined)
      return `${aside.paths.length} 件を除いて元に戻しました。残りの保管場所: ${aside.folder}`;
    return outcome === "finished" ? "中断の後に完了" : "中断の後に元に戻しました";
  },

  gitMissing: "git が見つかりません。",
  notARepository: (path) => `Git リポジトリではありません: ${path}`,
  autoCommitAborted: (error) => `実行前の auto-commit に失敗したため、何も実行していません: ${error}`,
  replacedChange: (paths) =>
    `${paths.join("、")} は作業中に変更されました。コーダーはその変更を見たうえで置き換えました。`,
  answerSkipped: (parts) =>
    `コーダーの回答のうち、次の ${parts.length} か所は実行していません:\n${parts.map((part) => `  ${part}`).join("\n")}`,
  mergedWith: (path, by) =>
    by === null
      ? `${path} は PicoClaw の外での変更とマージしました`
      : `${path} はジョブ ${by} の変更とマージしました`,
  hookRefused: ({ command, ended, output }) =>
    `適用していません: フック \`${command}\`（before_landing）が${hookEnded(ended)}${quoted(output)}`,
  hookFailed: ({ moment, command, ended, output }) =>
    `フック \`${command}\`（${moment}）が${hookEnded(ended)}${quoted(output)}`,
  autoCommitFailed: (error) => `実行後の auto-commit に失敗しました（変更は適用済み）: ${error}`,
  identityFallback: "Git の user.name / user.email が未設定のため、PicoClaw の名前でコミットしました。",
  signingSkipped: "署名に入力が必要なため、署名なしでコミットしました。",

  workspaceMissing: (path) => `workspace が見つかりません: ${path}`,
  workspaceGone: (path, kind) =>
    `ジョブの実行中に workspace が削除または移動されました: ${path}\n${kind === "none" ? "このジョブのコマンドはフォルダを直接変更したので、変更はフォルダと一緒に失われたか移動しました。" : "何も適用していません。フォルダを元の場所に戻すか、移動先に移ってから、もう一度実行してください。"}`,
  workspaceNotADirectory: (path) => `workspace がフォルダではありません: ${path}`,
  workspaceReadOnly: (root) => `${root} に書き込めないので、ジョブは何も変更できません。`,
  diskScarce: (path, freeBytes) =>
    `${path} のディスクの空き容量は ${formatBytes(freeBytes)} しかありません。ジョブ、取り消し、やり直しが失敗することがあります。`,
  startFolderAway: (path) =>
    `今いるフォルダを開けません: ${path}\n削除または移動されたか、名前が正しい UTF-8 ではありません。別のフォルダに移るか、名前を変えてください。`,
  storageForeign: (path) =>
    `この workspace のジョブを置くフォルダがほかのユーザーのものか、ほかのユーザーが書き込める状態です: ${path}`,
  storageForeignOutside: (folder, places) =>
    `${workTexts.storageForeign(folder)}\n` +
    `PICOCLAW_HOME の外にあり、ほかのユーザーが何かを置いた可能性があるため、PicoClaw は使用も修復もしません。中を確認してください: ls -laR '${folder}'\nすべて自分のものであれば閉じてください: chmod go-rwx ${places.map((place) => `'${place}'`).join(" ")}\n` +
    "取り消しデータが入っているので、削除しないでください。PICOCLAW_HOME に別のフォルダを設定すると、これらのジョブのない状態で始まります。",
  workspaceBusy: (path) => `別のジョブを適用中です: ${path}`,
  fileTrouble: (trouble, path) => `${TROUBLES[trouble]}: ${path}`,
};

const REMEDIES: Readonly<Record<Remedy, string>> = {
  "let-write":
    "このユーザーが書き込めるようにする（chmod u+w または chown）か、別のフォルダを指定してください（--workspace DIR）。",
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
  "temporary-folder": "書き込めるフォルダを TMPDIR に設定してください。一時ファイルはそこに置かれます。",
  "create-workspace": "フォルダを作るか、--workspace で別のフォルダを指定してください。",
  "writable-workspace":
    "ファイルとその上のフォルダの所有者とモードを確認してください（`ls -ld`）。そこに書き込む権限が必要です。",
  "writable-home": "書き込めるフォルダを PICOCLAW_HOME に設定してください。ジョブの記録はそこに置かれます。",
  "own-storage":
    "自分のものであれば `picoclaw doctor --repair` を実行するか、ほかのユーザーの権限を自分で外してください（chmod 700）。取り消しデータが入っているので、削除しないでください。PICOCLAW_HOME に別のフォルダを設定することもできます。",
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

/** Texts about what this machine lets jobs do, and the remedies. */
export const machineTexts: typeof en.machineTexts = {
  remedy: (remedy) => REMEDIES[remedy],
  sandboxPart: (part, works) => `${PARTS[part]}: ${works ? "利用できます" : "利用できません"}`,
  fileSystems: (type, storage, storageType) =>
    `ファイルシステム: workspace ${type}、ジョブと取り消しデータ ${storageType}（${storage}）`,
  foreignRepository: ({ topLevel, why }) =>
    why === "elsewhere"
      ? `コマンドはこのフォルダーの中だけで動きます。${topLevel} の .git が別の場所の git フォルダーを指していますが、そこにはここのファイルの記録がありません。自分のものなら、ここで一度 git status を実行してください。`
      : `コマンドはこのフォルダーの中だけで動き、上にある git リポジトリ（${topLevel}）には届きません:${NOT_OWN[why]}`,
  mountsBelow: (list) => `workspace の下に別のマウントがあるため、コピーで実行します:${paths(list)}`,
  promise: (promised, kept) => PROMISES[promised][kept ? 0 : 1],
};

const problemText = wordBy<"code", ConfigProblem>("code", {
  "unknown-key": ({ key, nearest }) => `不明なキー ${key}${perhaps(nearest)}`,
  "invalid-value": ({ variable, key, value, expected }) => {
    const who = variable === undefined ? key : `${variable} (${key})`;
    return value === NOTHING
      ? `${who} がありません。期待する値: ${expected}`
      : `${who} の値 ${value} は使えません。期待する値: ${expected}`;
  },
  "literal-secret": ({ key }) =>
    `${key} に秘密の値を直接書けません。環境変数に入れて env:NAME と書いてください（モデルのキーなら picoclaw login）。`,
  "unset-reference": ({ key, variable }) => `${key} が参照する環境変数 ${variable} は設定されていません。`,
  "invalid-yaml": ({ detail }) => `YAML として読めません: ${detail}`,
  "unreadable-file": ({ detail }) => `設定ファイルを読めません: ${detail}`,
  "unreadable-table": ({ detail }) =>
    `モデルの表を読めないため（${detail}）、同梱の表が使われています。ファイルを直すか、削除してください`,
});

const warningText = wordBy<"code", ConfigWarning>("code", {
  "unknown-variable": ({ variable, nearest }) =>
    `不明な環境変数 ${variable} を無視しました${perhaps(nearest)}`,
  "unusable-variable": ({ variable, key }) =>
    `環境変数 ${variable} は ${key} に使えない値なので無視しました。`,
  "untrusted-keys": ({ file, keys }) =>
    `${file} の次のキーは、信頼されていないフォルダの設定なので無視しました: ${nameFew(keys, more)}。` +
    machineTexts.remedy("trust-workspace"),
  "ignored-key": ({ at, key }) => `${filePositionText(at)}${key} は使われないため無視しました。`,
  "docker-socket": "mount_docker_socket が有効です。コンテナはホストの root と同じ権限を持ちます。",
  "cloud-allowed":
    "security.local_only が無効です。チャットの内容がクラウドのモデルに送られることがあります。",
});

/** The configuration, and how a command is called. */
export const configurationTexts: typeof en.configurationTexts = {
  configInvalid: "設定に誤りがあるため、何も実行していません。",
  cannotWork: (role, why) => `roles.${role} はこのままでは使えません: ${why}`,
  configValid: "設定に問題はありません。",
  configProblem: (problem) => `${filePositionText(problem.at)}${problemText(problem)}`,
  moreProblems: more,
  configWarning: warningText,
  workspaceTrusted: (path, files) =>
    [
      `${path} を信頼しました。チェックを実行でき、picoclaw.yaml、コマンド、スキルが有効になります。`,
      files.length === 0 ? "今はどれもありません。" : "今の内容に限ります:",
      ...files.map((file) => `  ${file}`),
      "変更や追加があったときは、もう一度信頼してください。",
    ].join("\n"),
  nothingToTrust: "そのフォルダはありません。",
  notTogether: (options) => `同時には指定できません: ${options.join("、")}`,
  unknownCommand: (name, nearest) => `不明なコマンドです: ${name}${perhaps(nearest)}`,
  unknownFlag: (name, nearest) => `不明なオプションです: ${name}${perhaps(nearest)}`,
  missingValue: (flag) => `${flag} には値が必要です。`,
  needlessValue: (flag) => `${flag} は値を取りません。`,
  unexpectedWords: (words) => `余分な引数です: ${words}`,
  badCount: (flag, value) => `${flag} には 1 以上の整数を指定してください（指定された値: ${value}）。`,
  badChoice: (flag, value, choices) =>
    `${flag} に指定できるのは ${choices.join(", ")} のいずれかです（指定された値: ${value}）。`,
  allCommands: "コマンドの一覧: picoclaw --help",
  usageLines: (usage, name) => `使い方: picoclaw ${usage}\n詳細: picoclaw ${name} --help`,
  optionsBehind: (flag) => `オプションはコマンドの後ろに書いてください: picoclaw COMMAND ${flag}`,
  standardInput: "標準入力",
  noInput: "パッチがありません。ファイルを指定するか、標準入力で渡してください。",
  warningLabel: "警告:",
  storeDenied: (detail) =>
    `データベースに書き込めません（${detail}）。database_url のアカウントに PicoClaw の表を読み書きする権限を与えるか、別のアカウントを指定してください。`,
  storeAway: (detail) =>
    `データベースに今は書き込めません（${detail}）。しばらくしてから、もう一度実行してください。`,
  unexpectedError: (detail, log) =>
    `予期しないエラーが起きました: ${detail}（${log === null ? "ログには書き込めませんでした" : `詳細: ${log}`}）`,
};

function perhaps(nearest: string | null | undefined): string {
  return (nearest ?? null) === null ? "" : `（もしかして: ${nearest}）`;
}

const WORDS: Readonly<Record<SealedOtherwise, (names: string) => string>> = {
  special: (names) => `適用していません（ファイル・フォルダ・リンクではないため）: ${names}`,
  device: (names) => `適用していません（デバイスのため）: ${names}`,
  unreadable: (names) => `適用していません（読み取れないため）: ${names}`,
  hidden: (names) => `ジョブからは見えません: ${names}`,
  apart: (names) => `適用していません（別のマウント上か、ジョブから見えない場所にあるため）: ${names}`,
  "holds-hidden": (names) => `ジョブから見えないものを含むため残しました: ${names}`,
  "stale-lock": (names) => `ジョブの git が残したロックを取り除きました: ${names}`,
  "home-unusable": (names) =>
    `ジョブがジョブ用ホームを使えない状態にしたため、別の場所に移しました（${names}）。以後のジョブは新しいホームを使います。修復するには: picoclaw doctor --repair`,
  owner: (names) => `${names}: 所有者があなたになりました`,
  group: (names) => `${names}: グループがあなたのものになりました`,
  "other-names": (names) => `${names}: 別名（ハードリンク）は以前の内容のままです`,
  "folder-owner": (names) => `${names}: ジョブが変えたフォルダの所有者・グループは元のままです`,
  "folder-attributes": (names) => `${names}: ジョブが変えたフォルダの属性・アクセスリストは元のままです`,
  power: (names) =>
    `${names}: set-user-id、set-group-id、スティッキービットを外しました。ジョブは誰の権限も広げません`,
  "root-mode": () => "workspace のフォルダ自体の権限は、ジョブが変えましたが、元のままです。",
  times: (names) => `${names}: 変わったのは更新時刻だけなので、適用されません`,
};

export const sealedOtherwise: typeof en.sealedOtherwise = ({ what, paths, count }) =>
  WORDS[what](namePaths(paths, count, (rest) => `ほか ${rest} 件`));

const numberList = (numbers: readonly number[]) => numbers.map((one) => `#${one}`).join(" と ");

const APPLIED = "適用済み";

const STATUSES: Readonly<Record<JobStatus, Wording<number>>> = {
  applied: APPLIED,
  partly: (failed) => `適用済み、${failed} 件のコマンドが失敗`,
  preview: "プレビュー（まだ何も適用していません）",
  worse: "適用していません: チェックの結果が悪くなりました",
  unended: "適用していません: チェックが終わりませんでした",
  stopped: "中断しました（何も変更していません）",
  discarded: "破棄しました",
  "no-change": (failed) => (failed > 0 ? `変更なし、${failed} 件のコマンドが失敗` : "変更なし"),
  "taken-back": "取り消しました",
  refused: "実行できません",
  running: "実行中",
  interrupted: "途中で終了",
  unreadable: "記録を読み取れません",
};

const status = (is: JobStatus, failed: number): string => wordFact(STATUSES[is], failed);

export const reportTexts: typeof en.reportTexts = {
  status,
  sealedOtherwise,
  ignored: (count, places) =>
    `git が無視するもの ${count} 件: ${namePaths(places, places.length, (rest) => `ほか ${rest} 件`)}`,
  headline: (is, failed) => (is === "applied" ? "実行完了！" : status(is, failed)),
  refusedByHook: (said) => `${said}: フックが適用を止めました`,
  appliedWithout: (paths) =>
    `適用済み、${paths.length} 件の編集は未適用 (${namePaths(paths.slice(0, 3), paths.length, (rest) => `ほか ${rest} 件`)})`,
  sentence: ({ status: said, succeeded, total, files, checks }) => {
    // The specification of the reply fixes this word.
    const first = `${said === APPLIED ? "実行完了" : said} (${succeeded}/${total} コマンド成功)`;
    return checks === "" ? first : `${first}: ${files} ファイル、${checks}`;
  },
  skipped: (paths) => `保護されているため変更していません: ${paths.join(", ")}`,
  plan: (isJudged) => (isJudged ? "【Plan】" : "【Plan】コーダー自身の言葉です（結果ではありません）"),
  ownWords: "コーダー自身の言葉（結果ではありません）:",
  result: "【実行結果】",
  countsCommands: true,
  outputOf: (command) => `出力（${command}）:`,
  swapHint: (at, action, name) =>
    `${action === "undo" ? "取り消す" : "やり直す"}には: ${jobOrder(at, action, name)}`,
  onMachine: (hint, machine) => `${hint}（${machine} で実行）`,
  forceHint: (at, action, name) => `上書きするには: ${jobOrder(at, action, name)} --force`,
  verb: {
    undo: (jobId) => `${jobId} を取り消しました。`,
    redo: (jobId) => `${jobId} をやり直しました。`,
    apply: (jobId) => `プレビュー ${jobId} を適用しました。`,
    stop: (jobId) => `${jobId} を停止しました。`,
    discard: (jobId) => `プレビュー ${jobId} を破棄しました。ほかに変更はありません。`,
  },
  outOfReach: (action, jobId, list) =>
    `システムが許可しないため、${jobId} は何も${action === "redo" ? "やり直して" : "取り消して"}いません:${paths(list)}\nこれらのファイルとフォルダ、またはディスクを使えるようにしてから、もう一度実行してください。`,
  inTheWay: (action, jobId, list) =>
    `${jobId} の後に変更されたファイルがあるため、何も${action === "redo" ? "やり直して" : "取り消して"}いません:${paths(list)}`,
  together: (numbers) => `${numberList(numbers)} を取り消す`,
  togetherHint: (at, numbers) =>
    `${numberList(numbers)} をまとめて取り消すには: ${jobOrder(at, "undo", numbers.map((one) => `#${one}`).join(" "))}`,
  previewHint: (at, jobId, files) =>
    [
      `${files} 件のファイルを変更。適用するには: ${jobOrder(at, "apply", jobId)}`,
      `差分を見るには: ${jobOrder(at, "diff", jobId)}`,
      `破棄するには: ${jobOrder(at, "discard", jobId)}`,
    ].join(at === "chat" ? "　" : "\n"),
};

export const messages = { ...workTexts, ...machineTexts, ...configurationTexts };
