import { isDistinct } from "../../domain/history/statistics.ts";
import { nameJob } from "../../domain/jobs/result.ts";
import { csvText, formatCost, localTime } from "../../domain/texts/format-text.ts";
import type { HistoryMessages } from "../../domain/texts/history.ts";
import type { FigureRow } from "../ports/history-opened.ts";
import type { CompareResult, ContestantResult } from "./compare.ts";
import type { JobReason, RemovedText, Why } from "./find-why.ts";
import { NO_FIGURES } from "./work-figures.ts";

const MOST_LINES = 12;

export function wordWhy(texts: HistoryMessages, path: string, why: Why): string {
  if (!why.ok)
    return {
      "no-file": texts.noFile(path),
      "not-text": texts.notText(path),
      "not-standing": texts.notStandingHere,
      "no-line": texts.noLine(path, why.lines ?? 0),
    }[why.reason];
  const { line, text, origin, numbers, renamedFrom } = why;
  const name = (jobId: string) => nameJob({ jobId, number: numbers[jobId] });
  const out = [`${path}:${line}: ${text.trim()}`, ""];
  switch (origin.kind) {
    case "job": {
      const { job, replaced } = origin;
      out.push(texts.writtenBy(nameJob(job), localTime(job.at)), ...wordReason(texts, job));
      out.push(...(replaced.length === 0 ? [texts.replacedNothing] : [texts.replaced, ...indent(replaced)]));
      break;
    }
    case "by-hand":
      out.push(texts.byHand(origin.after && name(origin.after), origin.before && name(origin.before)));
      break;
    case "gone":
      out.push(texts.gone(name(origin.jobId)));
      break;
    case "commit": {
      const { commit, author, at, subject } = origin.commit;
      out.push(texts.commit(commit.slice(0, 12), author, localTime(at), subject));
      break;
    }
    case "older":
      out.push(texts.older);
  }
  if (renamedFrom.length > 0) out.push(texts.renamedFrom(renamedFrom));
  return out.join("\n");
}

/** A contestant's row in the table of a comparison. */
export const contestantCells = (
  texts: HistoryMessages,
  one: ContestantResult,
  wordInterval: (interval: ContestantResult["interval"]) => string,
): readonly string[] => [
  one.name,
  String(one.cases),
  `${one.solved}/${one.plays}`,
  wordInterval(one.interval),
  ...[one.verified, one.falseDone, one.requests, one.tokens].map(String),
  one.usd === null ? texts.costUnknown : `$${one.usd.toFixed(2)}`,
  `${Math.round(one.seconds)} s`,
];

export function wordPair(texts: HistoryMessages, pair: CompareResult["pairs"][number]): string {
  const { one, other, better, worse, cases, p } = pair;
  if (!isDistinct(pair)) return texts.pairUnknown(one, other, cases);
  return better > worse
    ? texts.pairKnown(one, other, better, worse, p)
    : texts.pairKnown(other, one, worse, better, p);
}

export function wordRemoved(texts: HistoryMessages, text: string, found: readonly RemovedText[]): string {
  if (found.length === 0) return texts.neverRemoved(text);
  return found
    .map(({ path, line, text: removed, replacedBy, job }) =>
      [
        texts.removedBy(path, line, nameJob(job), localTime(job.at)),
        `  ${removed.trim()}`,
        ...wordReason(texts, job),
        ...(replacedBy.length === 0 ? [] : [texts.replacedBy, ...indent(replacedBy)]),
      ].join("\n"),
    )
    .join("\n\n");
}

function wordReason(texts: HistoryMessages, job: JobReason): string[] {
  return [...wordAbout(texts.request, job.request === "" ? job.title : job.request), ...wordWork(texts, job)];
}

/** Who did it by which plan, what the checks said, how many attempts it took, and what it cost. */
export function wordWork(texts: HistoryMessages, job: JobReason): string[] {
  const { by, plan, checks } = job;
  return [
    `${texts.by} ${[by, texts.source(job.source)].filter((one) => one !== "").join(", ")}`,
    ...wordAbout(isGreenWork(job) ? texts.plan : texts.planUnchecked, plan),
    `${texts.checks} ${checks.length === 0 ? texts.notChecked : checks.map((one) => wordCheck(texts, one)).join("; ")}`,
    ...(job.attempts === 0
      ? []
      : [`${texts.attempts} ${job.attempts}${job.costUsd === null ? "" : `, ${wordUsed(texts, job)}`}`]),
  ];
}

/** Whether checks ran and all of them passed. */
export function isGreenWork({ checks }: Pick<JobReason, "checks">): boolean {
  return checks.length > 0 && checks.every(({ exitCode }) => exitCode === 0);
}

export function wordCheck(
  texts: HistoryMessages,
  { command, exitCode, counts }: JobReason["checks"][number],
): string {
  return `${command}: ${counts === null ? texts.exit(exitCode) : texts.tests(counts.passed, counts.failed)}`;
}

export function wordUsed(texts: HistoryMessages, { tokens, costUsd }: JobReason): string {
  return `${texts.tokens(texts.number(tokens))}, ${formatCost(costUsd ?? 0, false)}`;
}

function wordAbout(label: string, text: string): string[] {
  return text.trim() === "" ? [] : [label, ...indent(text.trim().split("\n"))];
}

function indent(lines: readonly string[]): string[] {
  const shown = lines.slice(0, MOST_LINES).map((line) => `  ${line}`);
  return lines.length > MOST_LINES ? [...shown, `  … (+${lines.length - MOST_LINES})`] : shown;
}

/** A line for each day and model; its names are the same in every language. */
export function csvOfFigures(rows: readonly FigureRow[]): string {
  return csvText([
    Object.keys(toFigureJson(NO_FIGURES)),
    ...rows.map((row) => Object.values(toFigureJson(row))),
  ]);
}

export function toFigureJson(row: FigureRow): Readonly<Record<string, string | number>> {
  const columns = Object.keys(NO_FIGURES) as (keyof FigureRow)[];
  const nameOf = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(columns.map((name) => [nameOf(name), row[name]]));
}

/** Requests, tokens, cost, jobs, the share of green at the first attempt, undone: in the order of `figureHeader`. */
export function figureCells(texts: HistoryMessages, row: FigureRow): string[] {
  const { requests, inputTokens, outputTokens, costUsd, unpriced, jobs, checked, firstTry, undone } = row;
  return [
    texts.number(requests),
    texts.number(inputTokens + outputTokens),
    formatCost(costUsd, unpriced > 0),
    texts.number(jobs),
    checked === 0 ? "–" : `${firstTry}/${checked}`,
    texts.number(undone),
  ];
}
