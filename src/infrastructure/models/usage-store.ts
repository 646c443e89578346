import { type Kysely, PostgresAdapter, type RawBuilder, sql } from "kysely";
import type { UsageEntry, UsageFilter, UsageStore } from "../../application/ports/models.ts";
import { SLICE_MS, sliceOf, sumUsage, type UsageTotal } from "../../domain/models/model-facts.ts";
import { createTurnFence, type TurnFenceDeps } from "../store/liveness.ts";
import type { Database, StoreTransaction } from "../store/schema.ts";

/** The key of the sums. */
type SummedBy = "model" | "moment";

/** Of all workspaces; `held`: the turns in which this process writes. Sums by model and quarter of an hour keep a day's cost cheap. */
export function createUsageStore(db: Kysely<Database>, held?: TurnFenceDeps["held"]): UsageStore {
  const inTurn = createTurnFence({ db, held });
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;

  async function totalsOf(from: Summed, filter: UsageFilter): Promise<UsageTotal[]> {
    const { by, since, until, chatKey, withChatsBelow = false, groupId } = filter;
    const { table, at, calls, priced } = from;
    const where = [sql`${at} >= ${since.toISOString()}`];
    if (until !== undefined) where.push(sql`${at} < ${until.toISOString()}`);
    if (chatKey !== undefined) {
      const key = isPostgres ? sql`chat_key collate "C"` : sql`chat_key`;
      // In the order of bytes, `/` follows the dot.
      const below = sql`or (${key} >= ${`${chatKey}.`} and ${key} < ${`${chatKey}/`})`;
      where.push(sql`(${key} = ${chatKey} ${withChatsBelow ? below : sql``})`);
    }
    if (groupId !== undefined) where.push(sql`group_id = ${groupId}`);
    const { rows } = await sql<SumRow>`
      select ${groupColumn(by, at)} as name, ${calls} as calls, sum(input_tokens) as input_tokens,
        sum(output_tokens) as output_tokens, sum(cached_tokens) as cached_tokens, sum(cost_usd) as cost_usd,
        ${priced} as priced
      from ${table} where ${sql.join(where, sql` and `)} group by name`.execute(db);
    return rows.map(toTotal);
  }
  const totalsOfEntries = (filter: UsageFilter) => totalsOf(ENTRIES, filter);

  /** From the sums, and from the entries where the time asked for begins or ends within a quarter of an hour. */
  async function totalsOfModels(by: SummedBy, since: Date, until: Date | undefined): Promise<UsageTotal[]> {
    const first = sliceOf(new Date(since.getTime() + SLICE_MS - 1));
    const end = until === undefined ? undefined : sliceOf(until);
    if (end !== undefined && end < first) return totalsOfEntries({ by, since, ...(until && { until }) });
    const found = await totalsOf(SUMS, { by, since: first, ...(end && { until: end }) });
    if (since < first) found.push(...(await totalsOfEntries({ by, since, until: first })));
    if (end !== undefined && until !== undefined && end < until)
      found.push(...(await totalsOfEntries({ by, since: end, until })));
    return addUp(found);
  }

  return {
    async record(entry) {
      const { chatKey } = entry;
      if (held?.has(chatKey) === true) await inTurn(chatKey, (within) => addEntry(within, entry));
      else await db.transaction().execute((within) => addEntry(within, entry));
    },
    async spent(since) {
      const totals = await totalsOfModels("model", since, undefined);
      return totals.reduce((cost, { costUsd }) => cost + costUsd, 0);
    },
    async totals(filter) {
      const { by, since, until, chatKey, groupId } = filter;
      const isOfAll = chatKey === undefined && groupId === undefined;
      const isSummed = by === "model" || by === "moment";
      const totals =
        isOfAll && isSummed ? await totalsOfModels(by, since, until) : await totalsOfEntries(filter);
      return totals.sort((one, other) => other.costUsd - one.costUsd || (one.name < other.name ? -1 : 1));
    },
  };
}

/** The sum is written last: other writers of the same model wait for it until the transaction ends. */
async function addEntry(within: StoreTransaction, entry: UsageEntry): Promise<void> {
  const { at, provider, model, inputTokens, outputTokens, cachedTokens, costUsd } = entry;
  await sql`insert into usage_entries
      (at, chat_key, session_id, group_id, role, provider, model, local,
        input_tokens, output_tokens, cached_tokens, cost_usd)
    values (${at}, ${entry.chatKey}, ${entry.sessionId}, ${entry.groupId}, ${entry.role}, ${provider},
      ${model}, ${entry.local ? 1 : 0}, ${inputTokens}, ${outputTokens}, ${cachedTokens},
      ${costUsd})`.execute(within);
  const slice = sliceOf(new Date(at)).toISOString();
  // As text: on the way of every message, building the statement would cost more than running it.
  await sql`insert into usage_sums
      (slice, provider, model, calls, input_tokens, output_tokens, cached_tokens, cost_usd, priced)
    values (${slice}, ${provider}, ${model}, 1, ${inputTokens}, ${outputTokens}, ${cachedTokens},
      ${costUsd ?? 0}, ${costUsd === null ? 0 : 1})
    on conflict (slice, provider, model) do update set
      calls = usage_sums.calls + 1,
      input_tokens = usage_sums.input_tokens + excluded.input_tokens,
      output_tokens = usage_sums.output_tokens + excluded.output_tokens,
      cached_tokens = usage_sums.cached_tokens + excluded.cached_tokens,
      cost_usd = usage_sums.cost_usd + excluded.cost_usd,
      priced = usage_sums.priced + excluded.priced`.execute(within);
}

/** The rows that totals add up: single calls, or sums of whole quarters of an hour. */
interface Summed {
  readonly table: RawBuilder<unknown>;
  readonly at: RawBuilder<unknown>;
  readonly calls: RawBuilder<unknown>;
  readonly priced: RawBuilder<unknown>;
}

const ENTRIES: Summed = {
  table: sql`usage_entries`,
  at: sql`at`,
  calls: sql`count(*)`,
  priced: sql`count(cost_usd)`,
};
const SUMS: Summed = {
  table: sql`usage_sums`,
  at: sql`slice`,
  calls: sql`sum(calls)`,
  priced: sql`sum(priced)`,
};

type SumColumn = "calls" | "input_tokens" | "output_tokens" | "cached_tokens" | "cost_usd" | "priced";
type SumRow = Readonly<Record<SumColumn, string | number | bigint | null>> & { readonly name: string };

function toTotal(row: SumRow): UsageTotal {
  return {
    name: row.name,
    calls: Number(row.calls),
    inputTokens: Number(row.input_tokens),
    outputTokens: Number(row.output_tokens),
    cachedTokens: Number(row.cached_tokens),
    costUsd: Number(row.cost_usd ?? 0),
    unpriced: Number(row.calls) - Number(row.priced),
  };
}

function addUp(totals: readonly UsageTotal[]): UsageTotal[] {
  return [...Map.groupBy(totals, ({ name }) => name)].map(([name, own]) => sumUsage(name, own));
}

function groupColumn(by: UsageFilter["by"], at: RawBuilder<unknown>) {
  switch (by) {
    case "model":
      return sql`provider || '/' || model`;
    case "moment":
      return sql`substr(${at}, 1, 16) || ' ' || provider || '/' || model`;
    case "group":
      return sql`group_id`;
    case "chat":
      return sql`chat_key`;
  }
}
