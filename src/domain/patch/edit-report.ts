import type { HunkReport } from "./patch-command.ts";

/** The report of an edit as text for a model or a person: what failed and why, what stands there, what not to resend. */
const MAX_LISTED = 20;

export function formatEditReport(reports: readonly HunkReport[]): string {
  const failed = reports.filter((report) => report.status !== "applied");
  if (failed.length === 0) return formatApplied(reports);
  const parts = failed.slice(0, MAX_LISTED).map(formatFailed);
  if (failed.length > MAX_LISTED) parts.push(`… and ${failed.length - MAX_LISTED} more that failed.`);
  const good = reports.length - failed.length;
  parts.push(
    good > 0
      ? `Nothing of this edit was written. ${countHunks(good)} would apply as sent; correct the others and send this edit again.`
      : "Nothing of this edit was written.",
  );
  if (failed.some((report) => report.status === "already-applied")) {
    parts.push("Leave out what is already applied. Do not send again other edits that succeeded.");
  }
  return parts.join("\n");
}

function formatApplied(reports: readonly HunkReport[]): string {
  const lines = reports.slice(0, MAX_LISTED).map((report) => {
    const where = report.line === undefined ? "" : ` at line ${report.line}`;
    const how =
      report.strategy === undefined || report.strategy === "exact" ? "" : ` (matched by ${report.strategy})`;
    return `${reportPath(report)}: applied${where}${how}`;
  });
  if (reports.length > MAX_LISTED) lines.push(`… and ${reports.length - MAX_LISTED} more`);
  return lines.join("\n");
}

function formatFailed(report: HunkReport): string {
  const head = `${reportPath(report)}: ${report.status}${report.message === undefined ? "" : `: ${report.message}`}`;
  const candidates = report.candidates ?? [];
  if (candidates.length === 0) return head;
  const title = report.status === "ambiguous" ? "It matches at:" : "Did you mean:";
  const shown = candidates.map((candidate) => {
    const likeness =
      report.status === "ambiguous" ? "" : ` (${Math.round(candidate.similarity * 100)} % alike)`;
    return `  line ${candidate.line}${likeness}\n${hunkNumbers(candidate.text, candidate.line)}`;
  });
  return [head, title, ...shown].join("\n");
}

function hunkNumbers(text: string, from: number): string {
  const lines = text.split("\n");
  const width = String(from + lines.length - 1).length;
  return lines.map((line, i) => `    ${String(from + i).padStart(width)}| ${line}`).join("\n");
}

function reportPath(report: HunkReport): string {
  return report.hunk === 0 ? report.path : `${report.path} hunk ${report.hunk}`;
}

function countHunks(hunks: number): string {
  return hunks === 1 ? "1 hunk" : `${hunks} hunks`;
}
