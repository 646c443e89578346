import { findRemoved, findWhy, readFileLine } from "../../application/history/find-why.ts";
import { wordRemoved, wordWhy } from "../../application/history/word-why.ts";
import { snakeCased } from "../../domain/tasks/task-note.ts";
import { historyMessagesFor } from "../../domain/texts/history.ts";
import { type Flags, maskedJson, printable, refuseInput, refuseUsage, type Subcommand } from "./command.ts";
import { belowRoot } from "./diff.ts";
import { openOrStop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** `why FILE:LINE` and `why --removed TEXT`: the job that wrote a line, or removed it, and what for. */
export const command: Subcommand = {
  name: "why",
  usage: "why [FILE:LINE]",
  flags: "--removed=",
  words: 1,
  run: why,
};

async function why(program: CliProgram, { values, words }: Flags): Promise<number> {
  const { history, messages, workspace } = await openOrStop(program, values, program.openHistory);
  const texts = historyMessagesFor(messages.locale);
  const { removed } = values;
  const tell = (document: unknown, text: string) => {
    const { json, out } = program;
    const { mask } = workspace;
    out(`${json ? maskedJson(snakeCased(document), mask) : printable(mask(text))}\n`);
    return EXIT.done;
  };
  if (typeof removed === "string" && removed !== "") {
    const found = await findRemoved(history.why(), removed);
    return tell({ removed: found }, wordRemoved(texts, removed, found));
  }
  const named = readFileLine(words[0] ?? "");
  if (named === null) return refuseUsage(program, texts.whyUsage);
  const path = belowRoot(workspace.root, program.cwd, named.path);
  const found = await findWhy(history.why(), path, named.line);
  const text = wordWhy(texts, path, found);
  return found.ok ? tell(found, text) : refuseInput(program, found.reason, text);
}
