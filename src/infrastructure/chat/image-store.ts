import { type Kysely, sql } from "kysely";
import { giveWay } from "../../application/platform/give-way.ts";
import type { ImageStore, LoadedImage, MessageImage } from "../../application/ports/chat.ts";
import { type ImageType, MOST_IMAGES, readImage } from "../../domain/platform/image.ts";
import { type Database, insertRows, selectRows, storable, updateRows } from "../store/schema.ts";

export interface ImageStoreDeps {
  readonly db: Kysely<Database>;
  /** As the store names it. */
  readonly workspace: string;
  readonly now: () => Date;
  readonly newId: () => string;
}

/** One statement of the embedded store is one turn of the event loop: a piece takes less than a thousandth of a second. */
const PIECE_BYTES = 96 * 1024;

/** Images and long texts as rows, for any machine of a fleet. An image's row is written last; pieces without one go with their day. */
export function createImageStore({ db, workspace, now, newId }: ImageStoreDeps): ImageStore {
  const inChat = (chatKey: string) => ({ workspace, chat_key: storable(chatKey) });
  const imagesIn = (chatKey: string) =>
    db
      .selectFrom("images")
      .select(["id", "name", "media_type", "group_id", "pieces"])
      .where((is) => is.and(inChat(chatKey)));

  /** In their order, without those of which a piece is gone. */
  async function readImages(chatKey: string, rows: readonly ImageFacts[]): Promise<LoadedImage[]> {
    const found: LoadedImage[] = [];
    for (const { id, name, media_type, pieces } of rows) {
      await giveWay();
      const data = await readPieces(db, { ...inChat(chatKey), file_id: id }, pieces);
      if (data !== null) found.push({ id, name, mediaType: media_type as ImageType, data });
    }
    return found;
  }

  return {
    async keep(chatKey, files) {
      if (files.length > MOST_IMAGES)
        return { ok: false, trouble: { kind: "too-many", count: files.length } };
      const read = files.map((file) => ({ ...file, ...readImage(file.name, file.bytes) }));
      const refused = read.find((file) => !file.ok);
      if (refused?.ok === false) return { ok: false, trouble: refused.trouble };
      const images: MessageImage[] = [];
      for (const { name, bytes, mediaType } of read.filter((file) => file.ok)) {
        const kept = { id: newId(), name: storable(name) };
        const of = { ...inChat(chatKey), at: now().toISOString() };
        const pieces = await writePieces(db, { ...of, file_id: kept.id }, bytes);
        const row = { ...of, ...kept, group_id: null, media_type: mediaType, pieces };
        await insertRows(db, "images", [row]);
        images.push(kept);
      }
      return { ok: true, images };
    },
    async keepText(chatKey, text) {
      const id = newId();
      const of = { ...inChat(chatKey), at: now().toISOString(), file_id: id };
      return { id, pieces: await writePieces(db, of, Buffer.from(text)) };
    },
    async loadText(chatKey, { id, pieces }) {
      const data = await readPieces(db, { ...inChat(chatKey), file_id: id }, pieces);
      return data === null ? null : Buffer.from(data, "base64").toString();
    },
    async attach(chatKey, ids, groupId) {
      if (ids.length === 0) return;
      const isOne = sql`and id in (${sql.join(ids)})`;
      await updateRows(db, "images", inChat(chatKey), { group_id: storable(groupId) }, isOne);
    },
    async load(chatKey, ids) {
      if (ids.length === 0) return [];
      const rows = await imagesIn(chatKey).where("id", "in", ids).execute();
      const byId = new Map(rows.map((row) => [row.id, row]));
      return readImages(
        chatKey,
        ids.flatMap((id) => byId.get(id) ?? []),
      );
    },
    async ofGroups(chatKey, groupIds, limit) {
      if (groupIds.length === 0) return [];
      const rows = await imagesIn(chatKey)
        .where("group_id", "in", groupIds)
        .orderBy("at", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .execute();
      const groups = new Map(rows.map(({ id, group_id }) => [id, group_id ?? ""]));
      const found = await readImages(chatKey, rows.reverse());
      return found.map((image) => ({ ...image, groupId: groups.get(image.id) ?? "" }));
    },
  };
}

/** Answers with how many there are. */
async function writePieces(db: Kysely<Database>, of: PieceFacts, bytes: Uint8Array): Promise<number> {
  let position = 0;
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
    await giveWay();
    const data = Buffer.from(bytes.subarray(from, from + PIECE_BYTES)).toString("base64");
    await insertRows(db, "file_pieces", [{ ...of, position, data }]);
    position += 1;
  }
  return position;
}

/** Null where one of them is gone. */
async function readPieces(
  db: Kysely<Database>,
  of: Pick<PieceFacts, "workspace" | "chat_key" | "file_id">,
  pieces: number,
): Promise<string | null> {
  const read: string[] = [];
  for (let position = 0; position < pieces; position += 1) {
    const [piece] = await selectRows(db, "file_pieces", { ...of, position });
    if (piece === undefined) return null;
    read.push(piece.data);
    await giveWay();
  }
  return read.join("");
}

type PieceFacts = Omit<Database["file_pieces"], "position" | "data">;
type ImageFacts = Pick<Database["images"], "id" | "name" | "media_type" | "pieces">;
