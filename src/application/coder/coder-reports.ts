import { findingsByCode } from "../../domain/checks/findings.ts";
import { shortOutput, tellsOfMissingName } from "../../domain/checks/read-results.ts";
import { headOf, SHORT_FILE, showAround, showFile, splitBudget } from "../../domain/coder/file-excerpts.ts";
import {
  affectedFiles,
  changedRanges,
  type Doubt,
  indexLines,
  meantLines,
} from "../../domain/drafts/check-edits.ts";
import {
  type CommandResult,
  findHookRefusal,
  type JobResult,
  type RedReason,
} from "../../domain/jobs/result.ts";
import type { LineRange } from "../../domain/patch/compare-lines.ts";
import type { PatchCommand, PatchItem, SkippedPart } from "../../domain/patch/patch-command.ts";
import { lastPathName } from "../../domain/platform/ignore-rules.ts";
import { oneLine } from "../../domain/texts/format-text.ts";
import type { JudgedAttempt } from "../checks/project-checks.ts";
import type { RedAttempt } from "../ports/coder.ts";
import type { ProjectFiles } from "../ports/drafts.ts";

/** A file that a coder needs to see again, and the lines that matter in it. */
interface FileLines {
  readonly path: string;
  readonly lines: readonly number[];
}

const LONGEST = 2_000_000;

/** The current files; of those that do not fit, the relevant lines. */
export function showAgain(files: ProjectFiles, places: readonly FileLines[], limit: number): string {
  const found = places.flatMap(({ path, lines }) => {
    const file = files.read(path, LONGEST);
    return file === null ? [] : [{ path, lines, text: file.text }];
  });
  const shares = splitBudget(
    found.map(({ text }) => text.length),
    limit,
  );
  return found
    .map(({ path, lines, text }, at) =>
      showFile(path, text, { terms: [], limit: shares[at] ?? 0, focus: lines }),
    )
    .join("\n\n");
}

/** Characters of one command's output that the coder sees. */
const OUTPUT = 6_000;

function firstFailureLine(failed: readonly CommandResult[]): string {
  const [first] = failed;
  if (first === undefined) return "";
  const { command, error } = first;
  const what = command.target.split("\n")[0] ?? "";
  const why = error.split("\n")[0]?.replace(/ \(output: .*$/, "") ?? "";
  return why.startsWith(`${what}: `) || why.startsWith(`${what}, `) ? why : `${what}: ${why}`;
}

/** The failures, for the coder: each command with its exit code, and the head and tail of its output. */
export function wordFailures(failed: readonly CommandResult[]): string {
  return wordFirst(failed, wordFailure).join("\n\n");
}

function wordFailure({ command, error, output, process, checked }: CommandResult): string {
  const { type, action, target } = command;
  const what = type === "shell_command" ? oneLine(target) : `${type} ${action} ${oneLine(target)}`;
  // The report of an edit that did not match contains its error.
  if (isUnmatchedEdit(command, output)) return `FAILED ${what}:\n${output}`;
  if (type !== "shell_command" || process === undefined)
    return `FAILED ${what}: ${[error, output].filter(Boolean).join("\n")}`;
  const code = process.exitCode;
  const why = code === 0 ? [error] : refusals(error);
  const how = code === null ? error.split("\n")[0] : [`exit code ${code}`, ...why].join("\n");
  const printed = `${process.stdout}${process.stderr}`.trimEnd();
  const script = `${target}\n${command.content}`.trim();
  return `FAILED ${what}: ${how}\n<output>\n${shortOutput(printed, OUTPUT, script, checked)}\n</output>`;
}

/** Lines about protected files that a command wrote, and that were restored. */
function refusals(error: string): string[] {
  return error.split("\n").filter((line) => line.endsWith("(restored)"));
}

/** An edit that failed with a report on its hunks. */
function isUnmatchedEdit({ type }: PatchCommand, output: string): boolean {
  return type === "file_edit" && output.includes("Nothing of this edit was written.");
}

const MOST_LISTED = 40;

/** The first ones in words, and how many more there are: an answer may have thousands of edits that do not match. */
function wordFirst<Item>(all: readonly Item[], word: (item: Item, at: number) => string): string[] {
  const words = all.slice(0, MOST_LISTED).map(word);
  return all.length > MOST_LISTED ? [...words, `… and ${all.length - MOST_LISTED} more`] : words;
}

/** Lines that an edit gave as unchanged, and that differ in the file, are not written. */
const DRIFTED = " (unchanged lines of your edit differ from the file, which keeps its own: read them)";

/** How each command of an attempt ended, in order, so that a coder sends only the failed ones again. */
export function wordStatuses(results: readonly CommandResult[]): string {
  if (results.length < 2) return "";
  const lines = wordFirst(results, ({ command, success, output }, at) => {
    const { type, action, target } = command;
    const what = type === "file_edit" ? `${action} ${oneLine(target)}` : oneLine(target).slice(0, 80);
    const kept = success && output.includes("(matched by drift)") ? DRIFTED : "";
    return `${at + 1}. ${success ? "done" : "FAILED"}: ${what}${kept}`;
  });
  return lines.join("\n");
}

/** The lines that failed edits were meant for; null if something other than edits failed. */
export function showFailedEdits(
  files: ProjectFiles,
  failed: readonly CommandResult[],
  commands: readonly PatchCommand[],
  limit: number,
): string | null {
  if (failed.length === 0 || !failed.every(({ command, output }) => isUnmatchedEdit(command, output)))
    return null;
  const places = new Map<string, ReturnType<typeof openPlace>>();
  const openPlace = (text: string) => ({ text, lines: [] as number[], index: indexLines(text) });
  for (const { command, output } of failed.slice(0, MOST_LISTED)) {
    // A result names its command without the edit itself.
    const sent = commands.filter(({ edit, target }) => edit !== undefined && target === command.target);
    for (const path of affectedFiles(sent.length > 0 ? sent : [command])) {
      const text = places.get(path)?.text ?? files.read(path, LONGEST)?.text;
      if (text === undefined) continue;
      const place = places.get(path) ?? openPlace(text);
      for (const line of meantLines(sent, path, place.index, output)) place.lines.push(line);
      places.set(path, place);
    }
  }
  const shares = splitBudget(
    [...places.values()].map(({ text }) => text.length),
    limit,
  );
  return [...places]
    .map(([path, { text, lines }], at) => showAround(path, text, lines, shares[at] ?? 0))
    .join("\n\n");
}

/** Lines on either side of a change, and of a line that a report names. */
const AROUND = 4;

/** Characters of a file that the report does not name, beside one that it names: its changed lines. */
const UNNAMED = 1_500;

/**
 * Of the files of commands that ran: the lines that the report names, the changed ones, and the imports if a name is missing.
 * Nothing if the report names none of them: the coder knows what it wrote, and no file caused the failure.
 */
export function showAfterRun(
  files: ProjectFiles,
  commands: readonly PatchCommand[],
  report: string,
  limit: number,
): string {
  const isMissing = tellsOfMissingName(report);
  const places = linesToShowAgain(commands, report);
  const isNamed = ({ path, lines }: FileLines) => lines.length > 0 || report.includes(lastPathName(path));
  if (!places.some(isNamed)) return "";
  const found = places.flatMap((place) => {
    const { path, lines } = place;
    const text = files.read(path, LONGEST)?.text;
    if (text === undefined) return [];
    const all = text.split("\n");
    const widen = ({ from, to }: LineRange) => ({
      from: Math.max(1, from - AROUND),
      to: Math.min(all.length, to + AROUND),
    });
    const named = lines.filter((line) => line <= all.length);
    const also = [
      ...(isMissing && named.length > 0 ? [headOf(all)] : []),
      ...named.map((line) => widen({ from: line, to: line })),
      ...changedRanges(commands, path, text).map(widen),
    ];
    return [{ path, text, named, also, most: isNamed(place) ? text.length : UNNAMED }];
  });
  const shares = splitBudget(
    found.map(({ text, most }) => Math.min(text.length, most)),
    limit,
  );
  return found
    .map(({ path, text, named, also }, at) => {
      const share = shares[at] ?? 0;
      const isPart = also.length > 0 && text.length > SHORT_FILE;
      const most = isPart ? Math.min(share, text.length - 1) : share;
      return showFile(path, text, { terms: [], limit: most, focus: named, also });
    })
    .join("\n\n");
}

export function linesToShowAgain(commands: readonly PatchCommand[], report: string): FileLines[] {
  return linesNamedIn(
    report,
    affectedFiles(commands).map((path) => path.replace(/^\.\//, "")),
  );
}

/** These files, each with the lines of it that a report names. */
export function linesNamedIn(report: string, paths: readonly string[]): FileLines[] {
  const named = new Map<string, number[]>(paths.map((path) => [path, []]));
  for (const [, path = "", line] of report.matchAll(/([\w@./[\]-]+\.\w+)(?::|\(|", line )(\d+)/g)) {
    const known = paths.find((one) => path === one || path.endsWith(`/${one}`));
    if (known !== undefined && !named.get(known)?.includes(Number(line)))
      named.get(known)?.push(Number(line));
  }
  return [...named].map(([path, lines]) => ({ path, lines }));
}

/** The parts of an answer that nothing carried out, for the coder. */
export function wordSkipped(parts: readonly SkippedPart[]): string {
  const lines = wordFirst(parts, ({ line, text, why }) => `- line ${line}: ${text} (${why})`);
  return `These parts of your answer were not carried out:\n${lines.join("\n")}\nFor each that should change something: write a whole file as \`\`\`LANGUAGE:PATH, other changes as edits in the patch format, commands as \`\`\`bash. Leave out the rest.`;
}

/** The blocks of a patch that could not be read, by their number in it. */
export function wordUnread(items: readonly PatchItem[]): string {
  const unread = items.flatMap((item, at) => ("unread" in item ? [{ ...item, number: at + 1 }] : []));
  const lines = wordFirst(unread, ({ number, path, line, unread: why, wrong }) => {
    const about =
      wrong === undefined || wrong.text === "" ? "" : `; line ${wrong.line} is wrong: \`${wrong.text}\``;
    return `Block ${number} (line ${line} of the patch${path === undefined ? "" : `, ${path}`}): ${why}${about}`;
  });
  return `Of ${items.length} blocks of your patch, ${unread.length} could not be read:\n${lines.join("\n")}`;
}

export function wordDoubts(doubts: readonly Doubt[]): string {
  return doubts.map(wordDoubt).join("\n");
}

function wordDoubt(doubt: Doubt): string {
  const { path } = doubt;
  switch (doubt.kind) {
    case "masked":
      return `${path}: **** hides a secret in a name, so it is unknown which file you mean. Leave this file out, and say that the user has to change it.`;
    case "unseen":
      return `${path} exists and you have not seen it, yet your block would replace all of it. It is shown below: change only what must change.`;
    case "elision":
      return `${path}: the line "${doubt.line}" would become part of the file. Write the text in full, or change only the lines that differ.`;
    case "shrinks":
      return `${path} would shrink from ${doubt.from} to ${doubt.to} lines. Change only what must change. If this is what you want, send the same block again.`;
    case "not-whole": {
      const isMarkdown = /\.(?:md|mdx|markdown)$/i.test(path);
      const why =
        doubt.names.length > 0
          ? `it lacks ${doubt.names.slice(0, 8).join(", ")}`
          : isMarkdown
            ? "a fence in it may end it early"
            : "it ends in the middle, or does not parse";
      const fence = isMarkdown ? "````" : "```";
      return `${path}: is your block the whole file, or a part of it? ${why}. Write the whole file as ${fence}LANGUAGE:${path}, or change only what differs with SEARCH/REPLACE. If a name has to go, say so in the plan.`;
    }
    case "mark":
      return `${path}: the line "${doubt.line}" is a mark of an edit and would become part of the file. Write SEARCH/REPLACE as in the patch format, with the path on the line above, or the whole file without marks.`;
  }
}

/** Identifies a failure: its words without durations, addresses, times and temporary names, which differ from run to run. */
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

/** The user's hook that kept the draft from landing, even if there were other problems. */
export function findHookRed(result: JobResult | null): RedAttempt | null {
  if (result?.about !== "job" || result.outcome !== "staged") return null;
  const refusal = findHookRefusal(result.notes);
  return refusal === undefined ? null : { kind: "hook", failed: [], brief: refusal.command };
}

/** Why an attempt is red: its own commands failed, or the checks are red; null if it is not. */
export function findRedAttempt(
  failed: readonly CommandResult[],
  judged: JudgedAttempt | null,
): RedAttempt | null {
  if (failed.length > 0) return { kind: "failing", failed, brief: firstFailureLine(failed) };
  if (judged?.verdict !== "red") return null;
  return { kind: redReasonOf(judged.facts), failed: [], brief: judged.brief, lands: judged.landsAnyway };
}

function redReasonOf(facts: JudgedAttempt["facts"]): RedReason {
  if (findingsByCode(facts).unended !== undefined) return "unended";
  const { verdict } = facts;
  return verdict === "still-red" || verdict === "new-failing" ? verdict : "worse";
}
