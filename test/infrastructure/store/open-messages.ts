import type { Kysely } from "kysely";
import type { Timers } from "../../../src/application/ports/platform.ts";
import type { InboundMessage, NewMessage } from "../../../src/application/ports/serve.ts";
import { createMessageStore } from "../../../src/infrastructure/serve/message-store.ts";
import { openWorkQueue } from "../../../src/infrastructure/serve/work-queue.ts";
import { type Database, migrate } from "../../../src/infrastructure/store/schema.ts";

export interface OpenMessages {
  readonly db: Kysely<Database>;
  readonly databaseUrl?: string | undefined;
  readonly now: () => Date;
  readonly workspace?: string;
  readonly owner?: string;
  readonly isGone?: (owner: string) => boolean;
}

/** Inbox and outbox of one process, over a queue whose clock does not move. */
export async function openMessages({ db, now, workspace = "/ws", ...more }: OpenMessages) {
  await migrate(db, now);
  const timers: Timers = { now, after: () => () => {} };
  const { queue, newWorkId } = await openWorkQueue({
    db,
    databaseUrl: more.databaseUrl,
    owner: more.owner ?? "host:1",
    isGone: more.isGone ?? (() => false),
    timers,
    onTrouble: () => {},
  });
  return { queue, store: await createMessageStore({ db, now, workspace, queue, newWorkId }) };
}

/** A message that waits for its turn. */
export function newMessage(message: InboundMessage, id: string, at: string): NewMessage {
  return { message, id, at, beside: false, light: false };
}
