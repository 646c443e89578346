import { csvOfFigures, figureCells } from "../../application/history/word-why.ts";
import type { FigureRow, WorkFigures } from "../../application/ports/history-opened.ts";
import { snakeCased } from "../../domain/tasks/task-note.ts";
import { historyMessagesFor } from "../../domain/texts/history.ts";
import { type Flags, refuseUsage, type Subcommand, succeed } from "./command.ts";
import { closing, openOrStop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { columnsOf } from "./terminal-text.ts";

/** `stats`: the cost and the results of the last days, as on the console's usage page. */
export const command: Subcommand = { name: "stats", usage: "stats", flags: "--days= --csv", run: stats };

export const MOST_DAYS = 366;
const BAR_COLUMNS = 12;

async function stats(program: CliProgram, { values }: Flags): Promise<number> {
  const days = readDays(values.days);
  const opened = await openOrStop(program, values, program.openFigures, "store");
  await using _ = closing(opened.figures);
  const texts = historyMessagesFor(opened.messages.locale);
  if (days === null) return refuseUsage(program, texts.statsDays(MOST_DAYS));
  const figures = await opened.figures.readFigures(days);
  if (program.json || values.csv !== true)
    return succeed(program, snakeCased(figures) as object, wordFigures(texts, figures));
  program.out(csvOfFigures(figures.rows));
  return EXIT.done;
}

/** Null if the word is not a number of days. */
export function readDays(text: Flags["values"][string]): number | null {
  const days = Number(text || 30);
  return Number.isInteger(days) && days >= 1 && days <= MOST_DAYS ? days : null;
}

export function wordFigures(
  texts: ReturnType<typeof historyMessagesFor>,
  { days, models, total, rows }: WorkFigures,
): string {
  if (rows.length === 0) return texts.statsNone(days.length);
  const tokens = ({ inputTokens, outputTokens }: FigureRow) => inputTokens + outputTokens;
  const most = Math.max(1, ...days.map(tokens));
  const bar = (row: FigureRow) => "█".repeat(Math.ceil((tokens(row) / most) * BAR_COLUMNS));
  const busy = days.filter(({ requests, jobs }) => requests + jobs > 0);
  const header = texts.figureHeader.slice(1);
  return [
    texts.statsTotal(days.length, figureCells(texts, total)),
    "",
    columnsOf([
      [texts.statsDay, ...header, ""],
      ...busy.map((row) => [row.day, ...figureCells(texts, row), bar(row)]),
    ]),
    "",
    columnsOf([
      [texts.statsModel, ...header],
      ...models.map((row) => [row.model === "" ? texts.noModel : row.model, ...figureCells(texts, row)]),
    ]),
  ].join("\n");
}
