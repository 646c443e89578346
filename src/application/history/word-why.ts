import { localTime } from "../../domain/texts/format-text.ts";
import type { HistoryMessages } from "../../domain/texts/history.ts";
import type { JobReason, RemovedText, Why } from "./find-why.ts";

/** Lines of a plan, a request or a replaced stretch that are shown. */
const MOST_LINES = 12;

/** The origin of a line in words. */
export function wordWhy(texts: HistoryMessages, path: string, why: Why): string {
  if (!why.ok) {
    switch (why.reason) {
      case "no-file":
        return texts.noFile(path);
      case "not-text":
        return texts.notText(path);
      case "no-line":
        return texts.noLine(path, why.lines ?? 0);
    }
  }
  const { line, text, origin, renamedFrom } = why;
  const told = [`${path}:${line}: ${text.trim()}`, ""];
  switch (origin.kind) {
    case "job": {
      const { job, replaced } = origin;
      told.push(texts.writtenBy(job.jobId, localTime(job.at)), ...wordReason(texts, job));
      told.push(...(replaced.length === 0 ? [texts.replacedNothing] : [texts.replaced, ...indent(replaced)]));
      break;
    }
    case "by-hand":
      told.push(texts.byHand(origin.after, origin.before));
      break;
    case "gone":
      told.push(texts.gone(origin.jobId));
      break;
    case "commit": {
      const { commit, author, at, subject } = origin.commit;
      told.push(texts.commit(commit.slice(0, 12), author, localTime(at), subject));
      break;
    }
    case "older":
      told.push(texts.older);
  }
  if (renamedFrom.length > 0) told.push(texts.renamedFrom(renamedFrom));
  return told.join("\n");
}

/** Removed lines in words, newest first. */
export function wordRemoved(texts: HistoryMessages, text: string, found: readonly RemovedText[]): string {
  if (found.length === 0) return texts.neverRemoved(text);
  return found
    .map(({ path, line, text: removed, replacedBy, job }) =>
      [
        texts.removedBy(path, line, job.jobId, localTime(job.at)),
        `  ${removed.trim()}`,
        ...wordReason(texts, job),
        ...(replacedBy.length === 0 ? [] : [texts.replacedBy, ...indent(replacedBy)]),
      ].join("\n"),
    )
    .join("\n\n");
}

function wordReason(
  texts: HistoryMessages,
  { request, title, by, plan, checks, source }: JobReason,
): string[] {
  const about = (label: string, text: string) =>
    text.trim() === "" ? [] : [label, ...indent(text.trim().split("\n"))];
  const ran = checks.map(({ command, exitCode }) => `${command}: ${texts.exit(exitCode)}`);
  return [
    ...about(texts.request, request === "" ? title : request),
    `${texts.by} ${by === "" ? source : `${by}, ${source}`}`,
    ...about(texts.plan, plan),
    `${texts.checks} ${ran.length === 0 ? texts.notChecked : ran.join("; ")}`,
  ];
}

function indent(lines: readonly string[]): string[] {
  const shown = lines.slice(0, MOST_LINES).map((line) => `  ${line}`);
  return lines.length > MOST_LINES ? [...shown, `  … (+${lines.length - MOST_LINES})`] : shown;
}
