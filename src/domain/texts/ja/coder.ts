import type { ChosenBy, CoderCandidateFacts } from "../../coder/proposal.ts";
import { checksMessagesFor } from "../checks.ts";
import type * as en from "../en/coder.ts";

const checks = checksMessagesFor("ja");

export const coderProgress: typeof en.coderProgress = ({ attempt, of, doing, detail, tokens, costUsd }) => {
  const what = {
    asking: `コーダーに依頼中${detail === "" ? "" : ` · ${detail}`}`,
    running: "実行中",
    checking: `チェック中: ${detail}`,
  }[doing];
  const cost = costUsd > 0 ? ` · $${costUsd.toFixed(4)}` : "";
  return `試行 ${attempt}/${of} · ${what} · ${tokens} トークン${cost}`;
};

const BY: Readonly<Record<ChosenBy, string>> = {
  only: "下書きを出したのはこのコーダーだけ",
  checks: "チェックの結果が最良",
  test: "新しいテストが元のコードで失敗する",
  size: "変更が最小",
  first: "差がないため最初のもの",
};

const OUTCOMES: Readonly<Record<CoderCandidateFacts["outcome"], string>> = {
  green: "失敗なし",
  failing: "まだ失敗",
  worse: "チェックが悪化",
  unended: "チェック未完了",
  conflict: "同じ行にほかの変更あり",
  hook: "フックが停止",
  "new-failing": "新しいテストが失敗",
  "still-red": "まだ失敗",
  said: "文章で回答",
  none: "使える提案なし",
};

function wordUnchosen({ agent, outcome, words, ...draft }: CoderCandidateFacts): string {
  const size = `${draft.files} ファイル、${draft.size} 行`;
  const judged = draft.checks === null ? [] : [checks.line(draft.checks)];
  const hasDraft = outcome !== "said" && outcome !== "none";
  const facts = hasDraft ? [size, `試行 ${draft.attempts} 回`, ...judged] : [];
  return `* ${agent}: ${[OUTCOMES[outcome], ...facts].join(" · ")}${words === "" ? "" : `: ${words}`}`;
}

export const wordCandidates: typeof en.wordCandidates = ({ chosen, by, others }) =>
  [
    `コーダー: ${[chosen, ...others].map(({ agent }) => agent).join("、")}。採用: ${chosen.agent}（${BY[by]}）。`,
    ...(others.length === 0 ? [] : ["採用せず破棄したもの:", ...others.map(wordUnchosen)]),
  ].join("\n");

export const coderAgent: typeof en.coderAgent = ({ number, task, writes, state, doing, files }) => {
  const who = `サブエージェント ${number}`;
  return {
    working: `${who}: ${task}${doing === "" ? "" : ` · ${doing}`}`,
    done: `${who} が終わりました${writes ? `（${files} ファイル）` : ""}: ${task}`,
    failed: `${who} が失敗しました: ${task}`,
    stopped: `${who} は停止されました: ${task}`,
  }[state];
};
