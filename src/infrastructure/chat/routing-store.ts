import { type Kysely, sql } from "kysely";
import type { LearnedRule, RoutingStore, StoredDecision } from "../../application/ports/chat.ts";
import { type DecisionSource, readRoute } from "../../domain/config/configured-kinds.ts";
import {
  type Database,
  type DecisionRow,
  fromRow,
  insertRow,
  type LearnedRuleRow,
  storable,
} from "../store/schema.ts";

const SOURCES: readonly string[] = ["forced", "explicit", "rule", "classifier", "fallback"];

/** Decisions of one workspace's chats. A chat's lessons apply in every workspace. */
export function createRoutingStore({
  db,
  workspace,
}: {
  readonly db: Kysely<Database>;
  readonly workspace: string;
}): RoutingStore {
  return {
    async record(decision) {
      await insertRow("decisions", {
        decision_id: decision.id,
        workspace,
        chat_key: decision.chatKey,
        session_id: decision.sessionId,
        at: decision.at,
        message: storable(decision.message),
        route: decision.route,
        source: decision.source,
        confidence: decision.confidence,
        reason: storable(decision.reason),
        correction_route: null,
        correction_offered: null,
      }).execute(db);
    },
    async last(chatKey) {
      const { rows } = await sql<DecisionRow>`select * from decisions
        where workspace = ${workspace} and chat_key = ${chatKey}
        order by at desc, decision_id desc limit 1`.execute(db);
      return rows[0] === undefined ? null : readDecision(rows[0]);
    },
    async correct(chatKey, decisionId, { route, offered }) {
      await db
        .updateTable("decisions")
        .set({ correction_route: route, correction_offered: offered })
        .where(({ and }) => and({ chat_key: chatKey, decision_id: decisionId }))
        .execute();
    },
    async rules(chatKey) {
      const { rows } = await sql<LearnedRuleRow>`select * from learned_rules
        where chat_key = ${chatKey} order by learned_at desc, pattern`.execute(db);
      return rows.map(readRule).filter((rule) => rule !== null);
    },
    async addRule(rule) {
      const values = {
        route: rule.route,
        confidence: rule.confidence,
        example: storable(rule.example),
        learned_at: rule.learnedAt,
      };
      await db
        .insertInto("learned_rules")
        .values({ chat_key: rule.chatKey, pattern: rule.pattern, ...values })
        .onConflict((conflict) => conflict.columns(["chat_key", "pattern"]).doUpdateSet(values))
        .execute();
    },
    async removeRule(chatKey, pattern) {
      const removed = await db
        .deleteFrom("learned_rules")
        .where(({ and }) => and({ chat_key: chatKey, pattern }))
        .returning("pattern")
        .execute();
      return removed.length > 0;
    },
  };
}

function readDecision(row: DecisionRow): StoredDecision | null {
  const route = readRoute(String(row.route));
  const corrected = row.correction_route === null ? undefined : readRoute(String(row.correction_route));
  const confidence = Number(row.confidence);
  if (route === undefined || !SOURCES.includes(row.source) || !Number.isFinite(confidence)) return null;
  const { decision_id: id, workspace: _, correction_route: __, correction_offered: offered, ...rest } = row;
  return {
    ...fromRow(rest),
    id,
    message: String(row.message),
    route,
    source: row.source as DecisionSource,
    confidence,
    reason: String(row.reason),
    correction: corrected === undefined ? null : { route: corrected, offered },
  };
}

function readRule(row: LearnedRuleRow): LearnedRule | null {
  const route = readRoute(String(row.route));
  const confidence = Number(row.confidence);
  if (route === undefined || typeof row.pattern !== "string" || !Number.isFinite(confidence)) return null;
  return { ...fromRow(row), route, confidence, example: String(row.example) };
}
