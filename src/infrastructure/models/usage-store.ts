import { type Kysely, sql } from "kysely";
import type { UsageFilter, UsageStore } from "../../application/ports/models.ts";
import { createTurnFence, type TurnFenceDeps } from "../store/liveness.ts";
import type { Database } from "../store/schema.ts";

/** Of all workspaces; `held` are the turns in which this process writes. */
export function createUsageStore(db: Kysely<Database>, held?: TurnFenceDeps["held"]): UsageStore {
  const inTurn = createTurnFence({ db, held });
  return {
    async record(entry) {
      const { chatKey } = entry;
      const values = {
        at: entry.at,
        chat_key: chatKey,
        session_id: entry.sessionId,
        group_id: entry.groupId,
        role: entry.role,
        provider: entry.provider,
        model: entry.model,
        local: entry.local ? 1 : 0,
        input_tokens: entry.inputTokens,
        output_tokens: entry.outputTokens,
        cached_tokens: entry.cachedTokens,
        cost_usd: entry.costUsd,
      };
      if (held?.has(chatKey) !== true) await db.insertInto("usage_entries").values(values).execute();
      else
        await inTurn(
          chatKey,
          async (within) => void (await within.insertInto("usage_entries").values(values).execute()),
        );
    },
    async spent(since) {
      const row = await db
        .selectFrom("usage_entries")
        .select(({ fn }) => fn.sum("cost_usd").as("cost"))
        .where("at", ">=", since.toISOString())
        .executeTakeFirst();
      return Number(row?.cost ?? 0);
    },
    async totals({ by, since, until, chatKey, withChatsBelow = false, groupId }) {
      let query = db
        .selectFrom("usage_entries")
        .select(({ fn }) => [
          groupColumn(by).as("name"),
          fn.countAll().as("calls"),
          fn.sum("input_tokens").as("input_tokens"),
          fn.sum("output_tokens").as("output_tokens"),
          fn.sum("cached_tokens").as("cached_tokens"),
          fn.sum("cost_usd").as("cost_usd"),
          fn.count("cost_usd").as("priced"),
        ])
        .where("at", ">=", since.toISOString())
        .groupBy("name")
        .orderBy("cost_usd", "desc")
        .orderBy("name");
      if (until !== undefined) query = query.where("at", "<", until.toISOString());
      if (chatKey !== undefined)
        query = query.where((is) =>
          is.or([
            is("chat_key", "=", chatKey),
            ...(withChatsBelow ? [startsWith("chat_key", `${chatKey}.`)] : []),
          ]),
        );
      if (groupId !== undefined) query = query.where("group_id", "=", groupId);
      return (await query.execute()).map((row) => ({
        name: row.name,
        calls: Number(row.calls),
        inputTokens: Number(row.input_tokens),
        outputTokens: Number(row.output_tokens),
        cachedTokens: Number(row.cached_tokens),
        costUsd: Number(row.cost_usd ?? 0),
        unpriced: Number(row.calls) - Number(row.priced),
      }));
    },
  };
}

/** `like` would read marks in the text as its own. */
function startsWith(column: string, text: string) {
  return sql<boolean>`substr(${sql.ref(column)}, 1, ${sql.lit(text.length)}) = ${text}`;
}

function groupColumn(by: UsageFilter["by"]) {
  switch (by) {
    case "model":
      return sql<string>`provider || '/' || model`;
    case "group":
      return sql<string>`group_id`;
    case "chat":
      return sql<string>`chat_key`;
  }
}
