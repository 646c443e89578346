import { findRemoved, findWhy, readFileLine } from "../../application/history/find-why.ts";
import { wordRemoved, wordWhy } from "../../application/history/word-why.ts";
import { snakeCased } from "../../domain/tasks/task-note.ts";
import { historyMessagesFor } from "../../domain/texts/history.ts";
import { type Flags, maskedJson, printable, refuseInput, refuseUsage, type Subcommand } from "./command.ts";
import { openOrStop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** `why FILE:LINE` and `why --removed TEXT`: the job that wrote a line, or removed it, and what for. */
export const command: Subcommand = {
  name: "why",
  usage: "why [FILE:LINE]",
  flags: { removed: "string" },
  words: 1,
  run: why,
};

async function why(program: CliProgram, { values, words, json }: Flags): Promise<number> {
  const { history, messages, workspace } = await openOrStop(program, values, program.openHistory);
  const texts = historyMessagesFor(messages.locale);
  const { removed } = values;
  const tell = (document: unknown, text: string) => {
    const said = json ? maskedJson(snakeCased(document), workspace.mask) : printable(workspace.mask(text));
    program.out(`${said}\n`);
    return EXIT.done;
  };
  if (typeof removed === "string" && removed !== "") {
    const found = await findRemoved(history.why(), removed);
    return tell({ removed: found }, wordRemoved(texts, removed, found));
  }
  const named = readFileLine(words[0] ?? "");
  if (named === null) return refuseUsage(program, json, texts.whyUsage);
  const path = belowRoot(workspace.root, program.cwd, named.path);
  const found = await findWhy(history.why(), path, named.line);
  const text = wordWhy(texts, path, found);
  return found.ok ? tell(found, text) : refuseInput(program, json, found.reason, text);
}

/** A path as a person types it, relative to the workspace: from the current folder, if that is below the root. */
export function belowRoot(root: string, cwd: string, path: string): string {
  const from = cwd.startsWith(`${root}/`) ? `${cwd.slice(root.length + 1)}/` : "";
  const absolute = path.startsWith(`${root}/`)
    ? path.slice(root.length + 1)
    : `${path.startsWith("/") ? "" : from}${path}`;
  const parts: string[] = [];
  for (const part of absolute.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return parts.join("/");
}
