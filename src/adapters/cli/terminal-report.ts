import type { ListedJob } from "../../application/jobs/job-facts.ts";
import type { JobStatus } from "../../domain/jobs/result.ts";
import { localTime } from "../../domain/texts/format-text.ts";
import type { Messages } from "../../domain/texts/jobs.ts";
import { wordStatus } from "../../domain/texts/jobs-report.ts";
import type { CliProgram } from "./program.ts";
import { type Style, styleFor, verdictSign } from "./terminal-style.ts";
import { cutText, padColumns, textWidth, wrapWords } from "./terminal-text.ts";

/** The look of a card for what commands print. Only a person at a terminal gets it: elsewhere every byte stays as it is. */
export function hasReportLook({ outIsTerminal, env }: Pick<CliProgram, "outIsTerminal" | "env">): boolean {
  return outIsTerminal && env.TERM !== "dumb" && (env.PICOCLAW_PLAIN ?? "") === "";
}

type LookProgram = Pick<CliProgram, "env" | "outIsTerminal" | "columns">;

const INDENT = "      ";

/** A report whose first line is its status: the sign before it, the files' changes in colour, broken between words. */
export function lookOfReport(program: LookProgram, text: string, status: JobStatus | null): string {
  const style = styleFor(program);
  const [first = "", ...rest] = text.split("\n");
  const head = status === null ? style.bold(first) : `${verdictSign(status, style)} ${style.bold(first)}`;
  return [wrapLook(program, head), ...rest.map((line) => wrapLook(program, colourLine(line, style)))].join(
    "\n",
  );
}

function wrapLook({ columns }: LookProgram, line: string): string {
  const indent = /^\s*/.exec(line)?.[0] ?? "";
  return wrapWords(line, columns(), `${indent}  `);
}

/** `  M src/cart.js +5 −1`, `[1] ✓ …`, and commands for the next step. */
function colourLine(line: string, style: Style): string {
  const change = /^(\s+)([AMDTR])( .*?)( \+\d+)?( −\d+)?$/u.exec(line);
  if (change !== null) {
    const [, indent = "", kind = "", path = "", added = "", removed = ""] = change;
    const colour = kind === "A" ? style.green : kind === "D" ? style.red : style.yellow;
    return `${indent}${colour(kind)}${path}${style.green(added)}${style.red(removed)}`;
  }
  return line
    .replace(
      /^(\s*(?:\[\d+\] )?)(✓|✗)/u,
      (_, before: string, sign: string) => `${before}${sign === "✓" ? style.green(sign) : style.red(sign)}`,
    )
    .replace(/^(\s*→ .*)$/u, (all) => style.dim(all));
}

/** One check of `doctor`. */
export function lookOfCheck(
  program: LookProgram,
  mark: "✓" | "!" | "✗",
  text: string,
  remedy: string,
): string {
  const style = styleFor(program);
  const colour = { "✓": style.green, "!": style.yellow, "✗": style.red }[mark];
  const said = wrapWords(`${mark} ${text}`, program.columns(), INDENT);
  const help = remedy === "" ? "" : `\n${style.dim(wrapWords(`    → ${remedy}`, program.columns(), INDENT))}`;
  return `${colour(mark)}${said.slice(mark.length)}${help}`;
}

interface JobRow {
  readonly job: ListedJob;
  /** `#12`; the id of a job of another workspace. */
  readonly name: string;
  readonly status: JobStatus;
  readonly remark: string;
}

/** Jobs below each other: sign, number, time, status, files, title; never wider than the window. */
export function lookOfJobs(
  program: LookProgram,
  messages: Messages,
  rows: readonly JobRow[],
  { withWorkspace }: { readonly withWorkspace: boolean },
): string {
  const style = styleFor(program);
  const columns = program.columns();
  const cells = rows.map(({ job, name, status, remark }) => [
    name,
    localTime(job.createdAt).slice(5, 16),
    `${wordStatus(messages, { status, failedCmds: job.failedCmds })}${remark}`,
    job.changeCount === 0 ? "" : `±${job.changeCount}`,
  ]);
  return padColumns(cells)
    .map(([name = "", at = "", said = "", files = ""], row) => {
      const { job, status } = rows[row] as JobRow;
      const line = `${verdictSign(status, style)} ${style.bold(name)}  ${style.dim(at)}  ${said}  ${style.dim(files)}`;
      const title = withWorkspace ? `${job.workspace}  ${job.title}` : job.title;
      const room = columns - textWidth(line) - 2;
      // Too narrow for one line: the title is on the next one.
      return room >= 20
        ? `${line}  ${cutText(title, room)}`.trimEnd()
        : `${wrapWords(line.trimEnd(), columns, INDENT)}\n${wrapWords(`    ${title}`, columns, INDENT)}`;
    })
    .join("\n");
}
