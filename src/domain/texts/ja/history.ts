export const historyTexts = {
  whyUsage:
    "行または削除された文を指定してください: picoclaw why src/app.ts:12、または picoclaw why --removed '文'",
  noFile: (path: string) => `ワークスペースに ${path} というファイルはありません。`,
  notText: (path: string) => `${path} はテキストファイルではありません。`,
  noLine: (path: string, lines: number) => `${path} は ${lines} 行です。`,
  writtenBy: (job: string, time: string) => `${job} が書きました（${time}）`,
  removedBy: (path: string, line: number, job: string, time: string) =>
    `${path}:${line} は ${job} が削除しました（${time}）`,
  neverRemoved: (text: string) => `この文を含む行を削除したジョブの記録はありません: ${text}`,
  request: "依頼:",
  by: "担当:",
  plan: "計画:",
  checks: "検査:",
  notChecked: "実行されていません",
  exit: (code: number | null) =>
    code === 0 ? "成功" : code === null ? "終わりませんでした" : `終了コード ${code}`,
  replaced: "置き換えた行:",
  replacedNothing: "置き換えた行はありません。",
  replacedBy: "置き換え後:",
  renamedFrom: (names: readonly string[]) => `以前のファイル名: ${names.join("、その前は ")}`,
  byHand: (after: string | null, before: string | null): string =>
    `${after === null ? "" : `${after} の後`}${before === null ? "" : `、${before} の前`}${after === null && before === null ? "" : "に "}PicoClaw の外で変更されました。誰がなぜ変えたかは分かりません。`,
  gone: (job: string) =>
    `${job} がこのファイルを変更しましたが、元のファイルはもう保存されていないため（取り消し用の容量）、これより前はたどれません。`,
  commit: (commit: string, author: string, time: string, subject: string) =>
    `コミット ${commit}（${author}、${time}）: ${subject}`,
  older: "この行は記録にあるどのジョブより古く、どのコミットにも含まれていません。",
  stateGone: (path: string) =>
    `${path} の当時の内容は表示できません。後のジョブの元のファイルがもう保存されていません。`,
  notInState: (path: string, job: string) => `${job} の後、${path} というファイルはありませんでした。`,
  notStanding: (job: string) =>
    `${job} はワークスペースに反映されていません（取り消し済み、プレビュー、または未適用）。`,
  noJobs: "このワークスペースを変更したジョブはまだありません。",
  badRange: (text: string) => `ジョブの範囲ではありません: ${text}。例: picoclaw diff job_A..job_B`,
  handEdits: (paths: readonly string[], more: number) =>
    `この間に PicoClaw の外でも変更されています: ${paths.join("、")}${more > 0 ? ` ほか ${more} 件` : ""}`,
  bisectUsage: "失敗するコマンドを指定してください: picoclaw bisect -- npm test",
  bisectStart: (jobs: number) => `${jobs} 件のジョブを調べます。ワークスペースは変更しません。`,
  probe: (after: string | null, verdict: "passes" | "fails" | "skipped"): string =>
    `  ${{ passes: "✓", fails: "✗", skipped: "?" }[verdict]} ${after === null ? "最も古いジョブの前" : `${after} の後`}`,
  found: (job: string, probes: number) => `コマンドは ${job} から失敗します（${probes} 回実行）。`,
  foundByHand: (paths: readonly string[], after: string) =>
    `コマンドは ${after} の後の、PicoClaw の外での変更から失敗します: ${paths.join("、")}`,
  skipped: (jobs: readonly string[]) =>
    `判定できず（終了コード 125）、こちらが最初の可能性もあります: ${jobs.join("、")}`,
  undoHint: (job: string) => `後の変更を残して取り消すには: picoclaw undo ${job}`,
  passesNow: "今のワークスペースではコマンドは成功します。探すものはありません。",
  failsBefore: (jobs: number) =>
    `元のファイルが残っている ${jobs} 件のジョブのうち、最も古いものより前からコマンドは失敗しています。`,
  cannotRun: (message: string) => `コマンドを実行できませんでした: ${message}`,
};
