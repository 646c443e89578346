import type { coderProgress as englishCoderProgress } from "./coder-progress.ts";

export const coderProgress: typeof englishCoderProgress = ({ attempt, of, doing, detail, tokens, costUsd }) => {
  const what = { asking: "コーダーに依頼中", running: "実行中", checking: `チェック中: ${detail}` }[doing];
  const cost = costUsd > 0 ? ` · $${costUsd.toFixed(4)}` : "";
  return `試行 ${attempt}/${of} · ${what} · ${tokens} トークン${cost}`;
};
