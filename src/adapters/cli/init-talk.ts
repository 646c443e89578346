import type { ChoiceTestResult, OpenedSetUp } from "../../application/ports/setup.ts";
import { describeTest } from "../../application/setup/describe-found.ts";
import { type ChosenModel, type ModelChoice, offeredFor } from "../../domain/setup/choice.ts";
import type { SetupMessages } from "../../domain/texts/texts.ts";
import type { CliProgram } from "./program.ts";

type InitTerminal = Pick<CliProgram, "out" | "askLine">;
type OpenSetUpTalk = Extract<OpenedSetUp, { ok: true }>;

const LISTED = 12;

export interface ChosenSetUp {
  /** Without what did not answer. */
  readonly choice: ModelChoice;
  readonly tested: ChoiceTestResult;
}

/** Asks until what was chosen answers, or is left out. Null: the person left. */
export async function chooseByTalking(
  terminal: InitTerminal,
  opened: OpenSetUpTalk,
  words: SetupMessages,
): Promise<ChosenSetUp | null> {
  const { found, test } = opened;
  const [talkers, coders] = [offeredFor(found, "talk"), offeredFor(found, "code")];
  let cloudMayTalk = false;
  if (talkers.some(({ local }) => !local)) {
    const answer = await terminal.askLine(words.askCloud);
    if (answer === null) return null;
    cloudMayTalk = /^(c|cloud|クラウド)$/i.test(answer.trim());
  }
  const may = talkers.filter(({ local }) => local || cloudMayTalk);
  let chat = await pick(terminal, words, words.whoTalks, may);
  if (chat === "left") return null;
  let coder = await pick(terminal, words, words.whoCodes, coders);
  if (coder === "left") return null;
  for (;;) {
    const wanted: ModelChoice = { chat, coder, cloudMayTalk };
    if (chat !== null || coder !== null) terminal.out(`${words.testing}\n`);
    const tested = await test(wanted, new AbortController().signal);
    for (const line of describeTest(wanted, tested, words)) terminal.out(`${line}\n`);
    const mute = { chat: tested.chat?.ok === false, coder: tested.coder?.ok === false };
    if (!mute.chat && !mute.coder) return { choice: wanted, tested };
    const again = await terminal.askLine(words.askAgain);
    if (again === null) return null;
    if (/^(n|no|いいえ)$/i.test(again.trim())) {
      const choice = { ...wanted, chat: mute.chat ? null : chat, coder: mute.coder ? null : coder };
      return { choice, tested };
    }
    if (mute.chat) chat = await pick(terminal, words, words.whoTalks, may);
    if (chat === "left") return null;
    if (mute.coder) coder = await pick(terminal, words, words.whoCodes, coders);
    if (coder === "left") return null;
  }
}

/** A number, a name, or Enter for the first. Null: there is nobody, or nobody is wanted. */
async function pick(
  terminal: InitTerminal,
  words: SetupMessages,
  title: string,
  offered: readonly ChosenModel[],
): Promise<ChosenModel | null | "left"> {
  const [best] = offered;
  if (best === undefined) return null;
  const shown = offered.slice(0, LISTED);
  const lines = shown.map(
    ({ provider, model, local }, at) =>
      `  ${String(at + 1).padStart(2)}  ${provider}/${model}${local ? "" : ` ${words.inTheCloud}`}`,
  );
  const more = offered.length > LISTED ? [`      ${words.more(offered.length - LISTED)}`] : [];
  terminal.out(`\n${[title, ...lines, ...more].join("\n")}\n`);
  for (;;) {
    const answer = (await terminal.askLine(words.askModel(`${best.provider}/${best.model}`)))?.trim();
    if (answer === undefined) return "left";
    if (answer === "") return best;
    if (/^(-|none|なし)$/i.test(answer)) return null;
    const chosen = /^\d+$/.test(answer)
      ? shown[Number(answer) - 1]
      : offered.find(({ provider, model }) => [model, `${provider}/${model}`].includes(answer));
    if (chosen !== undefined) return chosen;
    terminal.out(`${words.noSuchModel(answer)}\n`);
  }
}
