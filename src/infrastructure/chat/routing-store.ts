import { type Kysely, sql } from "kysely";
import type { LearnedRule, RoutingStore, StoredDecision } from "../../application/ports/chat.ts";
import { type DecisionSource, readRoute } from "../../domain/config/configured-kinds.ts";
import {
  type Database,
  type DecisionRow,
  deleteRows,
  fromRow,
  insertRows,
  type LearnedRuleRow,
  selectRows,
  storable,
  updateRows,
  upsertRow,
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
    async record({ id, chatKey, sessionId, at, message, route, source, confidence, reason }) {
      const row = {
        ...{ decision_id: id, workspace, chat_key: chatKey, session_id: sessionId, at },
        ...{ message: storable(message), route, source, confidence, reason: storable(reason) },
        ...{ correction_route: null, correction_offered: null },
      };
      await insertRows(db, "decisions", [row]);
    },
    async last(chatKey) {
      const order = sql`order by at desc, decision_id desc limit 1`;
      const [row] = await selectRows(db, "decisions", { workspace, chat_key: chatKey }, order);
      return row === undefined ? null : readDecision(row);
    },
    async correct(chatKey, decisionId, { route, offered }) {
      const set = { correction_route: route, correction_offered: offered };
      await updateRows(db, "decisions", { chat_key: chatKey, decision_id: decisionId }, set);
    },
    async rules(chatKey) {
      const order = sql`order by learned_at desc, pattern`;
      const rows = await selectRows(db, "learned_rules", { chat_key: chatKey }, order);
      return rows.map(readRule).filter((rule) => rule !== null);
    },
    async addRule({ chatKey, pattern, route, confidence, example, learnedAt }) {
      const values = { route, confidence, example: storable(example), learned_at: learnedAt };
      const row = { chat_key: chatKey, pattern, ...values };
      await upsertRow(db, "learned_rules", row, ["chat_key", "pattern"]);
    },
    removeRule: async (chatKey, pattern) =>
      (await deleteRows(db, "learned_rules", { chat_key: chatKey, pattern })) > 0,
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
