import type { PatchCommand } from "../../domain/patch/command.ts";
import type { CommandResult } from "../../domain/jobs/result.ts";
import { affectedFiles } from "../../domain/coder/affected-files.ts";
import type { Doubt } from "../../domain/coder/check-edits.ts";
import { oneLine } from "../../domain/jobs/format-results.ts";
import { failingOutput } from "../../domain/checks/failing-output.ts";
import type { FileLines } from "./show-again.ts";

/** Characters of one command's output that go back. */
const OUTPUT = 6_000;

/** What failed, for the coder: each command with its exit code, and head and tail of what it printed. */
export function wordFailures(failed: readonly CommandResult[]): string {
  return failed.map(wordFailure).join("\n\n");
}

function wordFailure({ command, error, output, process }: CommandResult): string {
  const { type, action, target } = command;
  const what = type === "shell_command" ? oneLine(target) : `${type} ${action} ${oneLine(target)}`;
  if (type !== "shell_command") return `FAILED ${what}: ${[error, output].filter(Boolean).join("\n")}`;
  const code = process?.exitCode;
  const how = code === null || code === undefined ? error.split("\n")[0] : `exit code ${code}`;
  const printed = process === undefined ? output : `${process.stdout}${process.stderr}`;
  return `FAILED ${what}: ${how}\n<output>\n${failingOutput(printed.trimEnd(), OUTPUT)}\n</output>`;
}

/** Files that a coder needs to see again: those that its commands name, with the lines that a report speaks of. */
export function linesToShowAgain(commands: readonly PatchCommand[], report: string): FileLines[] {
  const paths = affectedFiles(commands).map((path) => path.replace(/^\.\//, ""));
  const named = new Map<string, number[]>(paths.map((path) => [path, []]));
  for (const [, path = "", line] of report.matchAll(/([\w@./[\]-]+\.\w+)(?::|\(|", line )(\d+)/g)) {
    const known = paths.find((one) => path === one || path.endsWith(`/${one}`));
    if (known !== undefined) named.get(known)?.push(Number(line));
  }
  return [...named].map(([path, lines]) => ({ path, lines }));
}

export function wordDoubts(doubts: readonly Doubt[]): string {
  return doubts.map(wordDoubt).join("\n");
}

function wordDoubt(doubt: Doubt): string {
  const { path } = doubt;
  switch (doubt.kind) {
    case "unseen":
      return `${path} exists and you have not seen it, yet your block would replace it whole. It is shown below: change what has to change.`;
    case "elision":
      return `${path}: the line "${doubt.line}" would become part of the file. Write all of the text, or change only the lines that differ.`;
    case "shrinks":
      return `${path} would shrink from ${doubt.from} to ${doubt.to} lines. Change only what has to change; if you mean it, send the same again.`;
  }
}

/**
 * What makes two failures the same: the words without what differs from run to run, such as durations, addresses, times
 * and temporary names.
 */
export function failureMark(report: string): string {
  return report
    .replace(/\d{4}-\d\d-\d\d[T ][\d:.]+Z?/g, "<time>")
    .replace(/\b\d+(?:\.\d+)? ?(?:ms|s|sec|seconds?|µs|ns)\b/g, "<duration>")
    .replace(/duration_ms:? [\d.]+/g, "<duration>")
    .replace(/\b0x[0-9a-f]+\b/gi, "<address>")
    .replace(/\/tmp\/[\w./-]+/g, "<temporary>")
    .replace(/\s+/g, " ")
    .trim();
}
