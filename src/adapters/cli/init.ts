import type { ChoiceTestResult, OpenedSetUp } from "../../application/ports/setup.ts";
import {
  describeFound,
  describeNothing,
  describeTest,
  foundJson,
} from "../../application/setup/setup-steps.ts";
import {
  type ChosenModel,
  type ModelChoice,
  type OfferedHead,
  offeredFor,
  offeredHeads,
  type SetupFindings,
  talkersToShow,
  usualChoice,
} from "../../domain/setup/first-config.ts";
import { listProblems, problemFacts } from "../../domain/texts/config-problem.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { type SetupMessages, setupMessagesFor } from "../../domain/texts/setup.ts";
import { type Flags, fail, printJson, type Subcommand, succeed } from "./command.ts";
import { openOptions } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { wrapOutput } from "./terminal-text.ts";

type InitTerminal = Pick<CliProgram, "out" | "askLine">;
type OpenSetUp = Extract<OpenedSetUp, { ok: true }>;

const LISTED = 12;

export interface ChosenSetUp {
  /** Without what did not answer. */
  readonly choice: ModelChoice;
  readonly tested: ChoiceTestResult;
}

/** Asks until what was chosen answers, or is left out. Null: the person left. */
export async function chooseByTalking(
  terminal: InitTerminal,
  opened: OpenSetUp,
  words: SetupMessages,
): Promise<ChosenSetUp | null> {
  const { found, test } = opened;
  const talkers = talkerQuestion(found, words);
  const coders = coderQuestion(found, words);
  let chat = await pick(terminal, words, talkers);
  if (chat === "left") return null;
  let coder = await pick(terminal, words, coders);
  if (coder === "left") return null;
  const head = await pickHead(terminal, words, found);
  if (head === "left") return null;
  for (;;) {
    // Naming a cloud model for questions is the person's word that they may go there.
    const wanted: ModelChoice = { chat, coder, head, cloudMayTalk: chat?.local === false };
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
    if (mute.chat) chat = await pick(terminal, words, talkers);
    if (chat === "left") return null;
    if (mute.coder) coder = await pick(terminal, words, coders);
    if (coder === "left") return null;
  }
}

/** An agent that is here already may write code, by the person's word. */
async function pickHead(
  terminal: InitTerminal,
  words: SetupMessages,
  found: SetupFindings,
): Promise<OfferedHead | null | "left"> {
  for (const head of offeredHeads(found)) {
    const answer = await terminal.askLine(words.askHead(head.name, head.by));
    if (answer === null) return "left";
    if (/^(y|yes|はい)$/i.test(answer.trim())) return head;
  }
  return null;
}

interface ModelQuestion {
  readonly title: string;
  /** Listed with a number each; the first is what Enter takes. */
  readonly shown: readonly ChosenModel[];
  /** All that may be named. */
  readonly offered: readonly ChosenModel[];
  /** Said of the first. */
  readonly mark: string;
  /** A last number that means "none". */
  readonly noneLabel?: string;
  /** A sentence below the list. */
  readonly consequence?: string;
}

/** A cloud is recommended for questions only where no local model can answer them. */
function talkerQuestion(found: SetupFindings, words: SetupMessages): ModelQuestion {
  const offered = offeredFor(found, "talk");
  const shown = talkersToShow(found).slice(0, LISTED);
  const hasLocal = offered.some(({ local }) => local);
  return {
    title: words.whoTalks,
    shown,
    offered,
    mark: hasLocal ? words.recommended : words.recommendedCloud,
    ...(!hasLocal && { noneLabel: words.localLater }),
    ...(offered.some(({ local }) => !local) && { consequence: words.cloudMeans }),
  };
}

function coderQuestion(found: SetupFindings, words: SetupMessages): ModelQuestion {
  const offered = offeredFor(found, "code");
  return { title: words.whoCodes, shown: offered.slice(0, LISTED), offered, mark: words.recommended };
}

/** A number, a name, or Enter for the first. Null: there is none, or none is wanted. */
async function pick(
  terminal: InitTerminal,
  words: SetupMessages,
  { title, shown, offered, mark, noneLabel, consequence }: ModelQuestion,
): Promise<ChosenModel | null | "left"> {
  const [best] = shown;
  if (best === undefined) return null;
  const number = (at: number) => String(at + 1).padStart(2);
  const lines = shown.map(({ provider, model, local }, at) => {
    const notes = [...(local ? [] : [words.inTheCloud]), ...(at === 0 ? [mark] : [])];
    return `  ${number(at)}  ${words.modelWith(`${provider}/${model}`, notes)}`;
  });
  const none = noneLabel === undefined ? [] : [`  ${number(shown.length)}  ${noneLabel}`];
  const more = offered.length > shown.length ? [`      ${words.more(offered.length - shown.length)}`] : [];
  const below = consequence === undefined ? [] : [consequence];
  terminal.out(`\n${[title, ...lines, ...none, ...more, ...below].join("\n")}\n`);
  for (;;) {
    const answer = (await terminal.askLine(words.askModel(`${best.provider}/${best.model}`)))?.trim();
    if (answer === undefined) return "left";
    if (answer === "") return best;
    if (/^(-|none|なし)$/i.test(answer)) return null;
    if (noneLabel !== undefined && answer === String(shown.length + 1)) return null;
    const chosen = /^\d+$/.test(answer)
      ? shown[Number(answer) - 1]
      : offered.find(({ provider, model }) => [model, `${provider}/${model}`].includes(answer));
    if (chosen !== undefined) return chosen;
    terminal.out(`${words.noSuchModel(answer)}\n`);
  }
}

/**
 * `init`: what this machine has, a chat and a coder model, one test message to each, and a file that holds only what
 * works. At a terminal it asks; with `--yes`, `--json` or without a terminal it takes the usual choice.
 */
export const command: Subcommand = { name: "init", usage: "init", flags: "--yes --force", run: init };

export async function init(whole: CliProgram, { values }: Flags): Promise<number> {
  const { json } = whole;
  const program: CliProgram = json ? whole : wrapOutput(whole);
  const wish = { ...openOptions(program, values), startOver: values.force === true };
  let opened = await program.openSetUp(wish);
  if (!opened.ok) {
    const messages = messagesFor(opened.locale);
    const text = [messages.configInvalid, ...listProblems(messages, opened.problems)].join("\n  ");
    const facts = problemFacts(opened.problems);
    return fail(program, { exitCode: EXIT.usage, code: "configuration", text, facts });
  }
  const words = setupMessagesFor(opened.locale);
  if (!json && opened.foreign !== null)
    program.out(`${messagesFor(opened.locale).foreignRepository(opened.foreign)}\n\n`);
  const talks = program.inIsTerminal && program.outIsTerminal && values.yes !== true && !json;
  if (!json) program.out(`${describeFound(opened.found, words).join("\n")}\n\n`);
  if (talks && offeredFor(opened.found, "code").length === 0) {
    const { askForKey, KEY_PROVIDERS } = await import("./login.ts");
    const question = words.login.offer(KEY_PROVIDERS);
    const again = (await askForKey(program, words, { question })) ? await program.openSetUp(wish) : opened;
    if (again.ok) opened = again;
  }
  let replace = values.force === true;
  if (!replace && opened.exists()) {
    if (talks) {
      const answer = await program.askLine(words.askReplace(opened.file));
      replace = /^(y|yes|はい)$/i.test(answer?.trim() ?? "");
    }
    if (!replace) return reportKept(program, opened, words);
  }
  const chosen = talks
    ? await chooseByTalking(program, opened, words)
    : await chooseUsual(program, opened, words);
  if (chosen === null) return EXIT.usage;
  const { choice } = chosen;
  if (choice.chat === null && choice.coder === null && choice.head == null)
    return reportNothingChosen(program, opened, words, chosen);
  const done = opened.write(choice, { replace });
  if (!done.written) return reportKept(program, opened, words);
  const next = `picoclaw chat ${JSON.stringify(choice.chat === null ? words.firstChange : words.hello)}`;
  if (json) printJson(program, initJson(opened, { written: true, kept: done.kept }, chosen, next));
  else {
    const old = done.kept === null ? [] : [words.oldKept(done.kept)];
    const silent = choice.chat === null ? ["", words.nobodyTalks] : [];
    program.out(`${[words.written(opened.file), ...old, ...silent, "", words.next(next)].join("\n")}\n`);
  }
  return EXIT.done;
}

/** The usual choice, as far as it answers. */
async function chooseUsual(
  program: CliProgram,
  opened: OpenSetUp,
  words: SetupMessages,
): Promise<ChosenSetUp> {
  const wanted = usualChoice(opened.found);
  const tested = await opened.test(wanted, new AbortController().signal);
  if (!program.json) for (const line of describeTest(wanted, tested, words)) program.out(`${line}\n`);
  const choice = {
    ...wanted,
    chat: tested.chat?.ok ? wanted.chat : null,
    coder: tested.coder?.ok ? wanted.coder : null,
  };
  return { choice, tested };
}

function reportKept(program: CliProgram, opened: OpenSetUp, words: SetupMessages): number {
  const document = initJson(opened, { written: false, kept: null }, null, FORCE);
  return succeed(program, document, `${words.kept(opened.file)}\n${words.next(FORCE)}`);
}

const FORCE = "picoclaw init --force";
const DEMO = "picoclaw serve --demo";

/** No file is better than one that sets nothing and ends the demo. */
function reportNothingChosen(
  program: CliProgram,
  opened: OpenSetUp,
  words: SetupMessages,
  chosen: ChosenSetUp,
): number {
  const nothing = describeNothing(opened.found, chosen.tested, words);
  const document = initJson(opened, { written: false, kept: null }, chosen, DEMO);
  const error = { code: "no-model", message: nothing.join(" ") };
  succeed(program, { ...document, success: false, error }, [...nothing, "", words.next(DEMO)].join("\n"));
  return EXIT.refused;
}

function initJson(
  { file, found }: OpenSetUp,
  { written, kept: old }: { readonly written: boolean; readonly kept: string | null },
  chosen: ChosenSetUp | null,
  next: string,
): object {
  const named = (one: ModelChoice["chat"]) => one && { provider: one.provider, model: one.model };
  return {
    success: true,
    file,
    written,
    ...(old !== null && { kept: old }),
    found: foundJson(found),
    ...(chosen !== null && {
      chosen: {
        chat: named(chosen.choice.chat),
        coder: named(chosen.choice.coder),
        ...(chosen.choice.head != null && { head: chosen.choice.head.name }),
        local_only: !chosen.choice.cloudMayTalk,
      },
      tested: chosen.tested,
    }),
    next,
  };
}
