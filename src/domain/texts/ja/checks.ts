import { countFailing, type TestCounts } from "../../checks/test-results.ts";
import {
  type CheckBeside,
  type CheckResult,
  type ChecksFacts,
  failingTests,
  helpfulInstall,
  type KnownCheck,
  leadingCommands,
  newlyRedCase,
  type WhyNotChecked,
} from "../../checks/verdict.ts";
import type { checksTexts as englishChecksTexts } from "../en/checks.ts";

const WHY: Readonly<Record<WhyNotChecked, string>> = {
  "no-checks": "プロジェクトのテストやリンターが見つかりません（checks.command で指定できます）",
  never: "チェックは無効です（checks.enabled: never）",
  slow: "チェックに時間がかかりすぎるため、自動では実行しません",
  "dependencies-missing": "依存パッケージがインストールされていません",
  "cannot-run": "ここではチェックを実行できません",
  documentation: "文書だけの変更です",
  "no-change": "変更がありません",
  "red-before": "変更前から失敗しており、どのテストによるものか出力から読み取れません",
  untrusted:
    "ここではコマンドを隔離できません。チェックを許可するには、そのフォルダで `picoclaw trust` を実行してください",
  unavailable: "workspace から切り離してチェックを実行できませんでした",
  blind: "変更した部分が壊れていても、テストでは検出できません",
  aborted: "チェックは中断されました",
};

const NAMES_SHOWN = 5;

function names(list: readonly string[]): string {
  const rest = list.length - NAMES_SHOWN;
  return `${list.slice(0, NAMES_SHOWN).join("、")}${rest > 0 ? ` ほか ${rest} 件` : ""}`;
}

function whyNot(facts: ChecksFacts): string {
  const { notChecked: why, absent = [], unnoticed = [], commands, install } = facts;
  if (why === null) return "";
  if (why === "blind")
    return `${names(unnoticed)} が壊れていても、テスト（${commands.join("、")}）では検出できません`;
  if (why === "dependencies-missing")
    return `${WHY[why]}${install === undefined ? "" : `（${install} でインストールできます）`}`;
  if (why !== "cannot-run") return `${WHY[why]}${HELPS[why] ?? ""}`;
  const help = helpfulInstall(facts);
  const helps =
    help === null
      ? "（picoclaw.yaml の checks.command で別のコマンドを指定できます）"
      : `（${help} で解決するかもしれません）`;
  if (absent.length === 0) return `ここでは ${commands.join("、") || "チェック"} を実行できません${helps}`;
  return `${absent.join("、")} がインストールされていないため、${commands.join("、")} を実行できません${helps}`;
}

const HELPS: Partial<Readonly<Record<WhyNotChecked, string>>> = {
  slow: "（上限 checks.auto_limit を上げるか、checks.command で速いものを指定できます）",
};

const WHY_LOWER = {
  "cannot-run": "はここでは実行できません",
  "timed-out": "は時間がかかりすぎるため、自動では実行しません（checks.auto_limit）",
  unread: "はどのテストが失敗したか示しません",
  home: "には、以前のジョブが専用ホームにインストールしたものが必要です",
} as const;

function rungs({ rungs: lower = [] }: ChecksFacts): string[] {
  return lower.map(({ insteadOf, why }) => `${insteadOf} ${WHY_LOWER[why]}`);
}

function rungRemarks({ rungs: lower = [] }: ChecksFacts): string[] {
  return lower.map(({ command, insteadOf, why }) =>
    why === "home"
      ? `${insteadOf} ${WHY_LOWER[why]}。`
      : `${insteadOf} ${WHY_LOWER[why]}。代わりに ${command} でチェックしました。`,
  );
}

function proposedRemark({ proposed, commands }: ChecksFacts): string[] {
  if (proposed === undefined) return [];
  const { command, why } = proposed;
  if (why === null)
    return [
      `チェックコマンドはコーダーが提案したものです: ${commands.join("、")}（プロジェクト自身のチェックはここでは使えません）`,
    ];
  return [`コーダーが提案したチェック ${command} でも確かめられません: ${PROPOSED_WHY[why] ?? WHY[why]}`];
}

const PROPOSED_WHY: Partial<Readonly<Record<WhyNotChecked, string>>> = {
  "cannot-run": "ここでは実行できません",
  blind: "変更した部分が壊れていても検出できません",
  "red-before": "変更前から失敗しています",
  slow: "時間がかかりすぎるため、自動では実行しません（checks.auto_limit）",
};

const RED_SHOWN = 10;

function knownCheck({ command, result, seconds }: KnownCheck): string {
  if (result === null) return command;
  const found = result.results === null ? WORD_STATE[result.state] : counts(result.results.counts);
  const red = failingTests(result);
  const more = red.length > RED_SHOWN ? ` ほか ${red.length - RED_SHOWN} 件` : "";
  const failing = red.length === 0 ? "" : `: ${red.slice(0, RED_SHOWN).join("、")}${more}`;
  const parts = [
    `現在: ${found}${failing}`,
    ...(seconds === undefined ? [] : [`${seconds} 秒`]),
    ...(result.rung === undefined ? [] : [`${result.rung.insteadOf} ${WHY_LOWER[result.rung.why]}`]),
  ];
  return `${command}（${parts.join("、")}）`;
}

const WORD_STATE: Readonly<Record<CheckResult["state"], string>> = {
  green: "成功",
  red: "失敗",
  "timed-out": "終わりませんでした",
  "cannot-run": "実行できません",
};

function listed(title: string, list: readonly string[] = []): string[] {
  return list.length === 0 ? [] : [`${title}: ${names(list)}`];
}

function counts({ passed, failed, skipped, unable = 0, xfailed = 0, xpassed = 0 }: TestCounts): string {
  const left = skipped - xfailed - xpassed;
  return [
    `${passed} 件成功`,
    ...(failed > unable ? [`${failed - unable} 件失敗`] : []),
    ...(unable > 0 ? [`${unable} 件実行不可`] : []),
    ...(left > 0 ? [`${left} 件スキップ`] : []),
    ...(xfailed > 0 ? [`${xfailed} 件は想定どおり失敗`] : []),
    ...(xpassed > 0 ? [`${xpassed} 件は想定に反して成功`] : []),
  ].join("、");
}

function unended({ commands, seconds }: NonNullable<ChecksFacts["unended"]>): string {
  return `${commands.join("、")} は ${seconds} 秒以内に終わりませんでした`;
}

function stillRed({ stillRed: red = [], mended }: Pick<ChecksFacts, "stillRed" | "mended">): string {
  if (red.length === 0) return "まだ失敗";
  return mended.length === 0
    ? `${red.length} 件がまだ失敗`
    : `${red.length + mended.length} 件中 ${red.length} 件がまだ失敗`;
}

function newlyRed(facts: Pick<ChecksFacts, "newlyRed" | "commands" | "counts">): string {
  return {
    "no-test": "テストが 1 件も検出されなくなりました",
    fewer: "テスト、または成功するテストが変更前より減りました",
    all: "変更前は成功、変更後は失敗",
    some: `${facts.newlyRed?.join("、")} は変更前は成功、変更後は失敗`,
  }[newlyRedCase(facts)];
}

function expectingElse({ expectsElse = [], rewritten = [] }: ChecksFacts): string[] {
  const count = expectsElse.length + rewritten.length;
  return count === 0 ? [] : [`期待値の変更 ${count} 件`];
}

function stillAsBefore({ redBefore = [], notMine = [] }: ChecksFacts): string {
  const count = redBefore.length + notMine.length;
  if (count === 0) return "";
  const reasons = [...new Set(notMine.map(({ reason }) => reason))];
  return `、${count} 件は変更前から失敗しており今も失敗${reasons.length === 0 ? "" : `（コーダー: ${names(reasons)}）`}`;
}

function figures({ counts: all }: ChecksFacts): string {
  return all === null ? "" : `${all.passed} 件成功、`;
}

function meant({ meantToFail = [] }: ChecksFacts): string {
  if (meantToFail.length === 0) return "";
  const reasons = names([...new Set(meantToFail.map(({ reason }) => reason))]);
  return `、新しいテスト ${meantToFail.length} 件は意図どおり失敗（コーダー: ${reasons}）`;
}

function notWhole({ affectedOnly: part }: ChecksFacts): string {
  if (part === undefined) return "";
  const { wholeSeconds: seconds, isAtLeast, isUnread = false } = part;
  if (isUnread) return "（全テストは変更前から失敗しており、失敗したテスト名が出力されません）";
  const time = seconds < 120 ? `${seconds} 秒` : `${Math.round(seconds / 60)} 分`;
  return `（全テスト（${time}${isAtLeast ? "以上" : ""}）は実行していません）`;
}

function newTests({ newTests: proof }: ChecksFacts): string[] {
  if (proof === undefined) return [];
  const { count, passWithout, cannotRun = 0, isEndless = false } = proof;
  const all = `新しいテスト ${count} 件は、`;
  const every = count === 1 ? "" : "すべて";
  if (passWithout === count) return [`${all}変更がなくても${every}成功します（変更を確かめていません）。`];
  if (passWithout === 0 && isEndless) return [`${all}変更がなければ終わりません`];
  if (cannotRun === count) return [`${all}変更がなければ実行できません`];
  if (passWithout + cannotRun === 0) return [`${all}変更がなければすべて失敗します`];
  const failing = count - passWithout - cannotRun;
  const parts = [
    ...(failing === 0 ? [] : [`${failing} 件${isEndless ? "終わらず" : "失敗"}`]),
    ...(cannotRun === 0 ? [] : [`${cannotRun} 件実行不可`]),
    ...(passWithout === 0 ? [] : [`${passWithout} 件成功`]),
  ];
  const guards = passWithout === 0 ? "となります" : "します（成功する分は元の動作を守るテストです）";
  return [`${all}変更がなければ ${parts.join("、")}${guards}。`];
}

const WORD_BESIDE: Readonly<Record<CheckBeside["state"], string>> = {
  green: "成功",
  red: "変更前と同じ失敗",
  "timed-out": "終わらず",
  "cannot-run": "実行不可",
  "not-run": "未実行",
};

function beside({ beside: others = [] }: ChecksFacts): string {
  return others
    .map(({ command, state, counts: own }) =>
      own === undefined ? `、${command} ${WORD_BESIDE[state]}` : `、${command} ${counts(own)}`,
    )
    .join("");
}

export const checksTexts: typeof englishChecksTexts = {
  counts,
  line: (facts) => {
    if (facts.notChecked !== null) return `チェックなし: ${whyNot(facts)}`;
    const said = {
      same: [],
      better: facts.mended.length > 0 ? [] : ["成功に戻りました"],
      worse:
        facts.unended !== undefined
          ? [
              facts.unended.commands.length < facts.commands.length
                ? unended(facts.unended)
                : `${facts.unended.seconds} 秒以内に終わりませんでした`,
            ]
          : [facts.worse.length > 0 ? `${facts.worse.length} 件悪化` : newlyRed(facts)],
      "new-failing": [`新しいテスト ${facts.newFailing.length} 件が失敗`],
      "red-before": ["変更前と同じ失敗のまま、悪化なし"],
      "still-red": [stillRed(facts)],
      doubtful: [],
      unknown: ["失敗"],
      "not-checked": [],
    }[facts.verdict];
    const fixed = facts.mended.length > 0 ? `（${facts.mended.length} 件修復）` : "";
    const counted = facts.counts === null ? [] : [`${counts(facts.counts)}${fixed}`];
    const green = facts.counts === null && facts.verdict === "same" ? ["成功"] : [];
    const part = facts.affectedOnly;
    const affected = part === undefined ? [] : [`関係するテストのみ（${part.of} ファイル中 ${part.files}）`];
    return `${leadingCommands(facts).join("、")}: ${[...counted, ...green, ...said, ...affected, ...rungs(facts)].join("、")}${notWhole(facts)}${beside(facts)}`;
  },
  headline: (facts) => {
    if (facts.notChecked === "documentation" || facts.notChecked === "no-change") return "";
    if (facts.notChecked !== null) return `チェックなし: ${whyNot(facts)}`;
    const by = `${leadingCommands(facts).join("、")}${facts.proposed === undefined ? "" : "（コーダーが提案したチェック）"}`;
    const { newPassing = [], mended } = facts;
    switch (facts.verdict) {
      case "same":
      case "better": {
        const more = [
          ...(newPassing.length > 0 ? [`新規 ${newPassing.length} 件`] : []),
          ...(mended.length > 0 ? [`修復 ${mended.length} 件`] : []),
          ...expectingElse(facts),
        ];
        const passed =
          facts.counts === null
            ? "成功"
            : `${facts.affectedOnly === undefined ? "" : "関係するテスト "}${facts.counts.passed} 件成功`;
        const unable = facts.counts?.unable ?? 0;
        const apart = unable > 0 ? `、${unable} 件はここでは実行不可` : "";
        const red = `${apart}${stillAsBefore(facts)}${meant(facts)}`;
        return `${by} ${passed}${more.length > 0 ? `（${more.join("、")}）` : ""}${red}${notWhole(facts)}${beside(facts)}`;
      }
      case "red-before":
        return `${by} ${facts.counts === null ? "" : `${facts.counts.passed} 件成功`}${stillAsBefore(facts).slice(facts.counts === null ? 1 : 0)}、悪化なし${meant(facts)}${beside(facts)}`;
      case "still-red":
        return `${by} ${figures(facts)}${stillRed(facts)}${beside(facts)}`;
      case "new-failing":
        return `${by} ${figures(facts)}新しいテスト ${facts.newFailing.length} 件が失敗${beside(facts)}`;
      case "doubtful":
        return (facts.testRunLines ?? []).length === 0
          ? `${by} 要確認: 期待する内容が変わったテスト ${facts.rewritten?.length ?? 0} 件: ${names(facts.rewritten ?? [])}`
          : `${by} 要確認: 新しいコードがテストの実行を参照しています`;
      case "worse":
      case "unknown":
      case "not-checked":
        return "";
    }
  },
  brief: ({ counts: all, verdict, unended: endless, ...facts }) =>
    endless !== undefined
      ? unended(endless)
      : verdict === "still-red" && (facts.stillRed ?? []).length > 0
        ? `${stillRed(facts)}: ${names(facts.stillRed ?? [])}`
        : all !== null && countFailing(all) > 0
          ? `${all.passed + countFailing(all)} 件中 ${countFailing(all)} 件失敗`
          : verdict === "worse"
            ? facts.newlyRed === undefined
              ? facts.worse.length > 0
                ? `${facts.worse.length} 件悪化: ${names(facts.worse)}`
                : `${facts.commands.join("、")}: ${newlyRed({ ...facts, counts: all })}`
              : newlyRed({ ...facts, counts: all })
            : verdict === "still-red"
              ? "まだ失敗しています"
              : "",
  progress: ({ command, done, of, seconds, latest }) => {
    const counted = done === 0 ? [] : [of === null || done > of ? `${done} 件` : `${of} 件中 ${done} 件`];
    return `${command}: ${[...counted, `${seconds} 秒`, ...(latest === "" ? [] : [latest])].join("、")}`;
  },
  state: ({ checks, none }) =>
    none === null ? checks.map(knownCheck).join("、") : `チェックなし: ${whyNot(none)}`,
  beside: (facts) => rungRemarks(facts),
  remarks: (facts) => [
    ...proposedRemark(facts),
    ...(facts.worse.length > 0 ? [`新たに失敗した、または消えたテスト: ${names(facts.worse)}`] : []),
    ...(facts.newFailing.length > 0 ? [`失敗している新しいテスト: ${names(facts.newFailing)}`] : []),
    ...listed("変更前から失敗し、まだ失敗しているテスト", facts.stillRed),
    ...listed("変更前と同じく失敗しているテスト", facts.redBefore),
    ...listed("失敗していて、書き換えた形でだけ成功するテスト（元の形ではまだ失敗）", facts.rewritten),
    ...listed(`期待する内容が変わったテスト ${facts.expectsElse?.length ?? 0} 件`, facts.expectsElse),
    ...(facts.moved !== undefined && facts.moved.length > 0
      ? [`移動したテスト ${facts.moved.length} 件`]
      : []),
    ...listed("削除したテスト（コーダーの申告、または対象コードの削除による）", facts.removed),
    ...listed("変更前も今も準備できないテスト", facts.unable),
    ...listed("変更の有無にかかわらず終わらないため除外したテスト", facts.hung),
    ...(facts.weakensTests
      ? [
          facts.weakened.length > 0
            ? `この変更はテスト ${facts.weakened.length} 件を弱めます（削除またはスキップ）: ${names(facts.weakened)}`
            : "この変更はテストを弱めます: テストが 1 件も検出されなくなりました。",
        ]
      : []),
    ...listed("変更後の次のファイルがあるときだけ成功します", facts.onlyWith),
    ...listed("ジョブが専用ホームにインストールした次のものがあるときだけ成功します", facts.installed),
    ...listed(
      "テストの実行を参照する新しいコード",
      facts.testRunLines?.map(({ path, line }) => `${path}: ${line}`),
    ),
    ...newTests(facts),
    ...(facts.notChecked === "blind"
      ? []
      : listed("壊れていてもテストで検出できないファイル", facts.unnoticed)),
    ...listed(
      "不安定なテスト（単独では成功するか、変更前のコードでも失敗します。悪化ではありません）",
      facts.flaky,
    ),
    ...(facts.isFlaky && facts.flaky === undefined
      ? ["不安定なチェックがあります: 一度失敗し、再実行では成功しました。"]
      : []),
  ],
};
