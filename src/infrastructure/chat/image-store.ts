import type { Kysely } from "kysely";
import type { ImageStore, LoadedImage } from "../../application/ports/chat.ts";
import type { ImageType } from "../../domain/models/image.ts";
import { type Database, type ImageRow, storable } from "../store/schema.ts";

export interface ImageStoreDeps {
  readonly db: Kysely<Database>;
  /** As the store names it. */
  readonly workspace: string;
  readonly now: () => Date;
  readonly newId: () => string;
}

/** Images as rows of the store, so that any machine of a fleet can answer their message. Base64, as the wires send them. */
export function createImageStore({ db, workspace, now, newId }: ImageStoreDeps): ImageStore {
  const ofChat = (chatKey: string) =>
    db.selectFrom("images").where("workspace", "=", workspace).where("chat_key", "=", storable(chatKey));
  return {
    async keep(chatKey, { name, mediaType, bytes }) {
      const image = { id: newId(), name: storable(name) };
      await db
        .insertInto("images")
        .values({
          workspace,
          chat_key: storable(chatKey),
          ...image,
          group_id: null,
          at: now().toISOString(),
          media_type: mediaType,
          data: Buffer.from(bytes).toString("base64"),
        })
        .execute();
      return image;
    },
    async attach(chatKey, ids, groupId) {
      if (ids.length === 0) return;
      await db
        .updateTable("images")
        .set({ group_id: storable(groupId) })
        .where("workspace", "=", workspace)
        .where("chat_key", "=", storable(chatKey))
        .where("id", "in", ids)
        .execute();
    },
    async load(chatKey, ids) {
      if (ids.length === 0) return [];
      const rows = await ofChat(chatKey).selectAll().where("id", "in", ids).execute();
      const found = new Map(rows.map((row) => [row.id, toImage(row)]));
      return ids.flatMap((id) => found.get(id) ?? []);
    },
    async ofGroups(chatKey, groupIds, limit) {
      if (groupIds.length === 0) return [];
      const rows = await ofChat(chatKey)
        .selectAll()
        .where("group_id", "in", groupIds)
        .orderBy("at", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .execute();
      return rows
        .reverse()
        .flatMap((row) => (row.group_id === null ? [] : [{ ...toImage(row), groupId: row.group_id }]));
    },
  };
}

function toImage({ id, name, media_type, data }: ImageRow): LoadedImage {
  return { id, name, mediaType: media_type as ImageType, data };
}
