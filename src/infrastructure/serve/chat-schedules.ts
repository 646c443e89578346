import { type Kysely, sql } from "kysely";
import type { ChatSchedule, ChatSchedules, ScheduleRun } from "../../application/ports/chat.ts";
import type { Schedule } from "../../application/ports/serve.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import {
  type ChatScheduleRow,
  type Database,
  deleteRows,
  fromRow,
  insertRows,
  selectRows,
  updateRows,
  upsertRow,
} from "../store/schema.ts";
import { chatScheduleName, nextTimeOf, noteScheduleRun } from "./schedules.ts";

export interface ChatSchedulesDeps {
  readonly db: Kysely<Database>;
  readonly workspace: string;
  readonly now: () => Date;
  readonly timezone: string;
  readonly configured: readonly Schedule[];
  readonly isServed: () => boolean;
}

const MOST_SCHEDULES = 100;

export function createChatSchedules(deps: ChatSchedulesDeps): ChatSchedules {
  const { db, workspace, now, timezone } = deps;
  const nextOf = async (cron: string, zone: string) =>
    (await nextTimeOf(cron, zone, now()))?.toISOString() ?? null;
  const toSchedule = async (row: ChatScheduleRow): Promise<ChatSchedule> => {
    const { workspace: _, token: __, created_at: ___, enabled, ...rest } = row;
    const isEnabled = enabled === 1;
    const nextAt = isEnabled ? await nextOf(row.cron, row.timezone) : null;
    return { name: chatScheduleName(row.number), ...fromRow(rest), isEnabled, nextAt };
  };
  return {
    timezone,
    isServed: deps.isServed,
    async list() {
      const rows = await selectRows(db, "chat_schedules", { workspace }, sql`order by number`);
      return Promise.all([
        ...rows.map(toSchedule),
        ...deps.configured.map((one) => fromConfiguration(one, nextOf)),
      ]);
    },
    async add({ channel, chatId, userId, token = null, cron, message }) {
      const next = await nextTimeOf(cron, timezone, now());
      if (next === null) return "never";
      const row = await db.transaction().execute(async (within) => {
        const all = await selectRows(within, "chat_schedules", { workspace });
        if (all.length >= MOST_SCHEDULES) return null;
        const made: ChatScheduleRow = {
          workspace,
          number: Math.max(0, ...all.map(({ number }) => number)) + 1,
          channel,
          chat_id: chatId,
          user_id: userId,
          token,
          cron,
          timezone,
          message,
          enabled: 1,
          created_at: now().toISOString(),
        };
        await insertRows(within, "chat_schedules", [made]);
        // A server that looks a little later still finds its first time.
        const name = chatScheduleName(made.number);
        const first = { workspace, name, rule: `${cron} ${timezone}`, next_at: next.getTime() };
        await upsertRow(within, "schedules", first, ["workspace", "name"], []);
        return made;
      });
      return row === null ? "too-many" : toSchedule(row);
    },
    async enable(number, enabled) {
      await updateRows(db, "chat_schedules", { workspace, number }, { enabled: Number(enabled) });
    },
    async remove(number) {
      const name = chatScheduleName(number);
      await db.transaction().execute(async (within) => {
        await deleteRows(within, "chat_schedules", { workspace, number });
        for (const table of ["schedules", "schedule_runs"] as const)
          await deleteRows(within, table, { workspace, name });
      });
    },
    noteRun: (name, messageId) => noteScheduleRun(db, { workspace, name, at: now(), messageId, asked: true }),
    async runs(name, limit) {
      const rows = await db
        .selectFrom("schedule_runs")
        .leftJoin("messages", "messages.id", "schedule_runs.message_id")
        .leftJoin("replies", "replies.message_id", "schedule_runs.message_id")
        .select(["schedule_runs.at", "schedule_runs.asked", "messages.state", "replies.content"])
        .where(({ and }) => and({ "schedule_runs.workspace": workspace, "schedule_runs.name": name }))
        .orderBy("schedule_runs.at", "desc")
        .limit(limit)
        .execute();
      return rows.map(
        ({ at, asked, state, content }): ScheduleRun => ({
          at: new Date(Number(at)).toISOString(),
          isAsked: asked === 1,
          outcome: outcomeOf(state, content),
        }),
      );
    },
  };
}

function outcomeOf(state: string | null, content: string | null): ScheduleRun["outcome"] {
  if (content === null) return state === null || state === "done" ? "unknown" : "waits";
  return attemptOr("unknown", () => (JSON.parse(content).ok === false ? "failed" : "answered"));
}

async function fromConfiguration(
  { name, cron, timezone, chat, user, message }: Schedule,
  nextOf: (cron: string, zone: string) => Promise<string | null>,
): Promise<ChatSchedule> {
  const at = chat.indexOf(":");
  const chatId = chat.slice(at + 1);
  return {
    name,
    number: null,
    channel: chat.slice(0, at),
    chatId,
    userId: user ?? chatId,
    cron,
    timezone,
    message,
    isEnabled: true,
    nextAt: await nextOf(cron, timezone),
  };
}
