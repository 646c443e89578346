import { giveWay } from "../platform/give-way.ts";
import type { FigureRow, FigureScope, WorkFigures } from "../ports/history-opened.ts";
import type { JournalLine } from "../ports/jobs.ts";
import type { UsageStore } from "../ports/models.ts";
import { modelOf, toReason } from "./find-why.ts";

export interface FigureSources extends FigureScope {
  readonly usage: Pick<UsageStore, "totals">;
  readonly journalOf: (jobId: string) => readonly JournalLine[] | Promise<readonly JournalLine[]>;
  readonly dayOf: (at: Date) => string;
  readonly now: Date;
}

const DAY_MS = 24 * 3_600_000;
/** Journals that are read before others get a turn. */
const JOURNALS_AT_ONCE = 20;

/** Usage and results of the last days, by day and model: the usage from the store, the jobs from their journals. */
export async function readFigures(sources: FigureSources, dayCount: number): Promise<WorkFigures> {
  const { usage, jobs, journalOf, dayOf, now, ...only } = sources;
  const days = [
    ...new Set(
      Array.from({ length: dayCount }, (_, n) =>
        dayOf(new Date(now.getTime() - (dayCount - 1 - n) * DAY_MS)),
      ),
    ),
  ];
  const since = new Date(now.getTime() - dayCount * DAY_MS);
  const rows = new Map<string, FigureRow>();
  const add = (day: string, model: string, more: Partial<FigureRow>) => {
    const key = JSON.stringify([day, model]);
    if (days.includes(day)) rows.set(key, addFigures({ ...NO_FIGURES, day, model, ...more }, rows.get(key)));
  };
  const totals = await usage.totals({ by: "moment", since, ...only });
  for (const { name, calls, ...used } of totals) {
    const [moment = "", ...model] = name.split(" ");
    add(dayOf(new Date(`${moment}Z`)), model.join(" "), { requests: calls, ...used });
  }
  const recent = jobs.filter(
    ({ createdAt, state }) => state !== "running" && Date.parse(createdAt) >= since.getTime(),
  );
  for (const [n, job] of recent.entries()) {
    if (n % JOURNALS_AT_ONCE === JOURNALS_AT_ONCE - 1) await giveWay();
    const work = toReason(job, job.jobId, await journalOf(job.jobId));
    // A project that was red before may stay red: what its checks let land is green.
    const isLanded = (job.state === "committed" || job.state === "undone") && job.red === undefined;
    add(dayOf(new Date(job.createdAt)), modelOf(work) ?? "", {
      jobs: 1,
      checked: work.checks.length > 0 ? 1 : 0,
      firstTry: work.checks.length > 0 && work.attempts === 1 && isLanded ? 1 : 0,
      undone: job.state === "undone" && job.changes.length > 0 ? 1 : 0,
    });
  }
  const all = [...rows.values()].sort((one, other) =>
    one.day === other.day ? (one.model < other.model ? -1 : 1) : one.day < other.day ? -1 : 1,
  );
  const models = [...new Set(all.map(({ model }) => model))].map((model) =>
    sumFigures(
      all.filter((row) => row.model === model),
      { model },
    ),
  );
  return {
    rows: all,
    days: days.map((day) =>
      sumFigures(
        all.filter((row) => row.day === day),
        { day },
      ),
    ),
    models: models.sort((one, other) => other.costUsd - one.costUsd || tokensOf(other) - tokensOf(one)),
    total: sumFigures(all, {}),
  };
}

const tokensOf = ({ inputTokens, outputTokens }: FigureRow) => inputTokens + outputTokens;

function sumFigures(rows: readonly FigureRow[], about: Partial<Pick<FigureRow, "day" | "model">>): FigureRow {
  return { ...rows.reduce((sum, row) => addFigures(row, sum), NO_FIGURES), day: "", model: "", ...about };
}

function addFigures(one: FigureRow, other: FigureRow = NO_FIGURES): FigureRow {
  const sums = Object.entries(one).map(([name, value]) => [
    name,
    typeof value === "number" ? value + Number(other[name as keyof FigureRow]) : value,
  ]);
  return Object.fromEntries(sums) as FigureRow;
}

/** In the order of the columns of a table. */
export const NO_FIGURES: FigureRow = {
  day: "",
  model: "",
  requests: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  costUsd: 0,
  unpriced: 0,
  jobs: 0,
  checked: 0,
  firstTry: 0,
  undone: 0,
};
