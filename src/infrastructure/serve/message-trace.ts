import type { Kysely } from "kysely";
import type { InboundMessage } from "../../application/ports/channel.ts";
import type { Database } from "../store/schema.ts";

/** The trace of a message, of whichever workspace: any machine that has its channel may send the reply. */
export async function traceparentOf(db: Kysely<Database>, messageId: string): Promise<string | undefined> {
  const row = await db.selectFrom("messages").select("body").where("id", "=", messageId).executeTakeFirst();
  return row === undefined ? undefined : (JSON.parse(row.body) as Partial<InboundMessage>).traceparent;
}
