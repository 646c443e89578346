import type { Kysely } from "kysely";
import type { NamedChats, SessionStore } from "../../application/ports/chat.ts";
import type { SolveReader, TaskReader } from "../../application/ports/tasks.ts";
import type { SessionReader } from "../../application/ports/web.ts";
import { itemUrl } from "../../domain/forges/forge-items.ts";
import { figuresOf } from "../../domain/tasks/task-steps.ts";
import type { Database } from "../store/schema.ts";

interface SessionReaderDeps {
  readonly db: Kysely<Database>;
  readonly workspace: string;
  readonly store: Pick<SessionStore, "list" | "notes" | "lastTurns">;
  readonly chatsOf: (channel: string) => Pick<NamedChats, "list">;
}

export function createSessionReader({ db, workspace, store, chatsOf }: SessionReaderDeps): SessionReader {
  return {
    async list(keys, limit) {
      const lists = await Promise.all(keys.map((key) => store.list(key, limit)));
      const newest = lists.flat().sort((x, y) => (x.openedAt < y.openedAt ? 1 : -1));
      return newest.slice(0, limit);
    },
    async notes(keys, limit) {
      const lists = await Promise.all(keys.map((key) => store.notes(key, limit)));
      const newest = lists.flat().sort((x, y) => (x.savedAt < y.savedAt ? 1 : -1));
      return newest.slice(0, limit);
    },
    async terminalChats(limit) {
      const all = await chatsOf(TERMINAL).list();
      return Promise.all(
        all
          .filter(({ here }) => here)
          .slice(0, limit)
          .map(async ({ name, messages, lastAt }) => {
            const first = await db
              .selectFrom("turns")
              .select("text")
              .where(({ and }) => and({ workspace, chat_key: `${TERMINAL}:${name}`, role: "user" }))
              .orderBy("at")
              .orderBy("position")
              .limit(1)
              .executeTakeFirst();
            const firstText = first?.text ?? "";
            return { channel: TERMINAL, chatId: name, userId: "operator", messages, lastAt, firstText };
          }),
      );
    },
    async lastTurns(key, limit) {
      const [last] = await store.list(key, 1);
      return last === undefined ? [] : (await store.lastTurns(key, last.id, limit, 0)).turns;
    },
  };
}

const TERMINAL = "cli";

const TASK_TONES = {
  waiting: "waiting",
  running: "running",
  paused: "waiting",
  done: "good",
  failed: "bad",
  stopped: "waiting",
} as const;

export function createTaskReader(openStore: () => Promise<SolveReader>, maxSteps: number): TaskReader {
  return {
    async list(limit) {
      const store = await openStore();
      const tasks = await store.list(limit);
      const known = await Promise.all(tasks.map(({ id }) => store.steps(id)));
      return tasks.map(({ id, item, state, phase, askedBy, updatedAt, steps, stepsBefore = 0 }, index) => ({
        id,
        title: `${item.repository} #${item.number}`,
        state: state === "running" ? `${state}: ${phase}` : state,
        tone: TASK_TONES[state],
        source: `${item.forge} · ${askedBy}`,
        url: itemUrl(item),
        updatedAt,
        step: `${steps - stepsBefore}/${maxSteps}`,
        figures: figuresOf(known[index] ?? []),
      }));
    },
  };
}
