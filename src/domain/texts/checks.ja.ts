import type { TestCounts } from "../checks/test-results.ts";
import type { ChecksFacts, WhyNotChecked } from "../checks/verdict.ts";
import type { checksTexts as englishChecksTexts } from "./checks.en.ts";

const WHY: Readonly<Record<WhyNotChecked, string>> = {
  "no-checks": "プロジェクトのテストやリンターが見つかりません（checks.command で指定できます）",
  never: "checks.enabled が never です",
  slow: "検証に checks.auto_limit より長い時間がかかります",
  "dependencies-missing": "依存パッケージがインストールされていません",
  "cannot-run": "この環境では検証を実行できません",
  documentation: "文書だけの変更です",
  "no-change": "変更がありません",
  "red-before": "変更前から失敗しており、どのテストによるものか出力から読み取れません",
  untrusted:
    "ここではコマンドを隔離できません。検証を許可するには、そのフォルダーで `picoclaw trust` を実行してください",
  unavailable: "ワークスペースから切り離して検証を実行できませんでした",
  aborted: "検証は中断されました",
};

const NAMES_SHOWN = 5;

function names(list: readonly string[]): string {
  const rest = list.length - NAMES_SHOWN;
  return `${list.slice(0, NAMES_SHOWN).join("、")}${rest > 0 ? ` ほか ${rest} 件` : ""}`;
}

function counts({ passed, failed, skipped }: TestCounts): string {
  return [
    `${passed} 件成功`,
    ...(failed > 0 ? [`${failed} 件失敗`] : []),
    ...(skipped > 0 ? [`${skipped} 件スキップ`] : []),
  ].join("、");
}

function unended({ commands, seconds }: NonNullable<ChecksFacts["unended"]>): string {
  return `${commands.join("、")} は ${seconds} 秒以内に終わりませんでした`;
}

export const checksTexts: typeof englishChecksTexts = {
  counts,
  line: (facts) => {
    if (facts.notChecked !== null) return `検証なし: ${WHY[facts.notChecked]}`;
    const said = {
      same: [],
      better: facts.mended.length > 0 ? [`${facts.mended.length} 件修復`] : ["成功に戻りました"],
      worse:
        facts.unended !== undefined
          ? [
              facts.unended.commands.length < facts.commands.length
                ? unended(facts.unended)
                : `${facts.unended.seconds} 秒以内に終わりませんでした`,
            ]
          : [facts.worse.length > 0 ? `${facts.worse.length} 件悪化` : "変更前は成功、変更後は失敗"],
      "new-failing": [`新しいテスト ${facts.newFailing.length} 件が失敗`],
      "red-before": ["変更前と同じ失敗、悪化なし"],
      unknown: ["失敗"],
      "not-checked": [],
    }[facts.verdict];
    const counted = facts.counts === null ? [] : [counts(facts.counts)];
    const green = facts.counts === null && facts.verdict === "same" ? ["成功"] : [];
    return `検証: ${[facts.commands.join("、"), ...counted, ...green, ...said].join("、")}`;
  },
  brief: ({ counts: all, verdict, unended: endless }) =>
    endless !== undefined
      ? unended(endless)
      : all !== null && all.failed > 0
        ? `${all.passed + all.failed} 件中 ${all.failed} 件失敗`
        : verdict === "worse"
          ? "検証が悪化しました"
          : "",
  remarks: (facts) => [
    ...(facts.worse.length > 0 ? [`変更前は成功し、今は失敗または消えたテスト: ${names(facts.worse)}`] : []),
    ...(facts.newFailing.length > 0 ? [`失敗している新しいテスト: ${names(facts.newFailing)}`] : []),
    ...(facts.weakensTests
      ? [
          facts.weakened.length > 0
            ? `この変更はテスト ${facts.weakened.length} 件を弱めます: ${names(facts.weakened)}`
            : "この変更はテストを弱めます: 変更前のテストは成功しません。",
        ]
      : []),
    ...(facts.isFlaky ? ["不安定な検証があります: 一度失敗し、再実行では結果が変わりました。"] : []),
  ],
};
