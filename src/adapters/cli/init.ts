import type { OpenedSetUp } from "../../application/ports/setup.ts";
import { describeFound, describeTest, foundJson } from "../../application/setup/describe-found.ts";
import { type ModelChoice, usualChoice } from "../../domain/setup/choice.ts";
import { messagesFor } from "../../domain/texts/messages.ts";
import { type SetupMessages, setupMessagesFor } from "../../domain/texts/texts.ts";
import type { Subcommand } from "./command.ts";
import { fail } from "./fail.ts";
import { readFlags } from "./flags.ts";
import { type ChosenSetUp, chooseByTalking } from "./init-talk.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { wrapWords } from "./terminal-text.ts";

type OpenSetUp = Extract<OpenedSetUp, { ok: true }>;

/**
 * `init`: what this machine has, a chat and a coder model, one test message to each, and a file that holds only what
 * works. At a terminal it asks; with `--yes`, `--json` or without a terminal it takes the usual choice.
 */
export const command: Subcommand = {
  name: "init",
  usage: "init",
  flags: { yes: "boolean", force: "boolean" },
  words: 0,
  run: init,
};

async function init(whole: CliProgram, args: readonly string[]): Promise<number> {
  const { values } = await readFlags(whole, command, args);
  const program: CliProgram = values.json === true ? whole : wrapping(whole);
  const json = values.json === true;
  const opened = await program.openSetUp({
    cwd: program.cwd,
    anew: values.force === true,
    ...(typeof values.workspace === "string" && { workspace: values.workspace }),
    ...(typeof values.config === "string" && { configFile: values.config }),
  });
  if (!opened.ok) {
    const messages = messagesFor(opened.locale);
    const text = [messages.configInvalid, ...opened.problems.map(messages.configProblem)].join("\n  ");
    const facts = { problems: opened.problems };
    return fail(program, json, { exitCode: EXIT.usage, code: "configuration", text, facts });
  }
  const words = setupMessagesFor(opened.locale);
  const talks = program.inIsTerminal && program.outIsTerminal && values.yes !== true && !json;
  if (!json) program.out(`${describeFound(opened.found, words).join("\n")}\n\n`);
  let replace = values.force === true;
  if (!replace && opened.exists()) {
    if (talks) {
      const answer = await program.askLine(words.askReplace(opened.file));
      replace = /^(y|yes|はい)$/i.test(answer?.trim() ?? "");
    }
    if (!replace) return reportKept(program, opened, words, json);
  }
  const chosen = talks
    ? await chooseByTalking(program, opened, words)
    : await chooseUsual(program, opened, words, json);
  if (chosen === null) return EXIT.usage;
  const { choice } = chosen;
  if (choice.chat === null && choice.coder === null)
    return reportNothingChosen(program, opened, words, chosen, json);
  const done = opened.write(choice, { replace });
  if (!done.written) return reportKept(program, opened, words, json);
  const next = nextCommand(choice, words);
  if (json)
    program.out(`${JSON.stringify(initJson(opened, { written: true, kept: done.kept }, chosen, next))}\n`);
  else {
    const old = done.kept === null ? [] : [words.oldKept(done.kept)];
    const silent = choice.chat === null ? ["", words.nobodyTalks] : [];
    program.out(`${[words.written(opened.file), ...old, ...silent, "", words.next(next)].join("\n")}\n`);
  }
  return EXIT.done;
}

/** Sentences break between words. */
function wrapping(program: CliProgram): CliProgram {
  const wrap = (text: string) => wrapWords(text, program.columns(), "  ");
  return {
    ...program,
    out: (text) => program.out(wrap(text)),
    askLine: (question) => program.askLine(`${wrap(question.trimEnd())} `),
  };
}

/** The usual choice, as far as it answers. */
async function chooseUsual(
  program: CliProgram,
  opened: OpenSetUp,
  words: SetupMessages,
  json: boolean,
): Promise<ChosenSetUp> {
  const wanted = usualChoice(opened.found);
  const tested = await opened.test(wanted, new AbortController().signal);
  if (!json) for (const line of describeTest(wanted, tested, words)) program.out(`${line}\n`);
  const choice = {
    ...wanted,
    chat: tested.chat?.ok ? wanted.chat : null,
    coder: tested.coder?.ok ? wanted.coder : null,
  };
  return { choice, tested };
}

function reportKept(program: CliProgram, opened: OpenSetUp, words: SetupMessages, json: boolean): number {
  if (json) program.out(`${JSON.stringify(initJson(opened, { written: false, kept: null }, null, FORCE))}\n`);
  else program.out(`${words.kept(opened.file)}\n${words.next(FORCE)}\n`);
  return EXIT.done;
}

const FORCE = "picoclaw init --force";
const DEMO = "picoclaw serve --demo";

/** No file is better than one that sets nothing and ends the demo. */
function reportNothingChosen(
  program: CliProgram,
  opened: OpenSetUp,
  words: SetupMessages,
  chosen: ChosenSetUp,
  json: boolean,
): number {
  if (json)
    program.out(
      `${JSON.stringify({ ...initJson(opened, { written: false, kept: null }, chosen, DEMO), success: false, error: { code: "no-model", message: words.nothing.join(" ") } })}\n`,
    );
  else program.out(`${[...words.nothing, "", words.next(DEMO)].join("\n")}\n`);
  return EXIT.refused;
}

function nextCommand({ chat }: ModelChoice, words: SetupMessages): string {
  return `picoclaw chat ${JSON.stringify(chat === null ? words.firstChange : words.hello)}`;
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
        local_only: !chosen.choice.cloudMayTalk,
      },
      tested: chosen.tested,
    }),
    next,
  };
}
