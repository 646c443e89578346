import { beforeEach, describe, expect, test } from "bun:test";
import type { Kysely } from "kysely";
import { MOST_IMAGE_BYTES } from "../../../src/domain/platform/image.ts";
import { createImageStore } from "../../../src/infrastructure/chat/image-store.ts";
import { createRetentionStore, forgetPerson } from "../../../src/infrastructure/serve/retention-store.ts";
import type { Database } from "../../../src/infrastructure/store/schema.ts";
import { turnsDuring } from "../../event-loop.ts";
import { PNG, PNG_BASE64 } from "../../fakes/pictures.ts";

const AT = "2026-03-01T12:00:00.000Z";
const now = () => new Date(AT);
const LATER = new Date("2026-03-02T12:00:00Z");
/** As large as one may be. */
const LARGE = Buffer.concat([PNG, Buffer.alloc(3_670_016 - PNG.length, "\x00picture\xff", "latin1")]);

export function describeImageStore(name: string, open: () => Promise<Kysely<Database>>): void {
  describe(`images in ${name}`, () => {
    let db: Kysely<Database>;
    const ids = { made: 0 };
    const storeIn = (workspace: string) =>
      createImageStore({ db, workspace, now, newId: () => `image-${ids.made++}` });
    const pieces = () => db.selectFrom("file_pieces").select("file_id").execute();
    const keep = async (chatKey: string, bytes: Uint8Array) => {
      const kept = await storeIn("/ws").keep(chatKey, [{ name: "a.png", bytes }]);
      if (!kept.ok || kept.images[0] === undefined) throw new Error("not kept");
      return kept.images[0];
    };
    const forgetAll = async () => {
      const store = createRetentionStore(db, now);
      while ((await store.forget("messages", LATER, 100)) > 0);
    };
    beforeEach(async () => {
      db = await open();
    });

    test.each([PNG.length, 98_303, 98_304, 98_305, LARGE.length])(
      "one of %d bytes is read back unchanged",
      async (length) => {
        const bytes = LARGE.subarray(0, length);
        const { id } = await keep("web:a", bytes);
        const [found] = await storeIn("/ws").load("web:a", [id]);
        expect(found?.data === bytes.toString("base64")).toBe(true);
        expect(found).toMatchObject({ id, name: "a.png", mediaType: "image/png" });
        expect(await storeIn("/ws").load("web:b", [id])).toEqual([]);
        expect(await storeIn("/other").load("web:a", [id])).toEqual([]);
      },
    );

    test("of several files one that no model takes refuses all of them, and nothing is stored", async () => {
      const large = new Uint8Array(MOST_IMAGE_BYTES + 1);
      large.set(PNG);
      for (const [name, bytes, kind] of [
        ["notes.txt", new TextEncoder().encode("hello"), "not-an-image"],
        ["large.png", large, "too-large"],
      ] as const)
        expect(
          await storeIn("/ws").keep("cli:x", [
            { name: "a.png", bytes: PNG },
            { name, bytes },
          ]),
        ).toMatchObject({ ok: false, trouble: { kind, name } });
      const many = Array.from({ length: 11 }, (_, n) => ({ name: `${n}.png`, bytes: PNG }));
      expect(await storeIn("/ws").keep("cli:x", many)).toMatchObject({
        ok: false,
        trouble: { kind: "too-many" },
      });
      expect(await pieces()).toEqual([]);
    });

    test("others go on while a large one is written, and while it is read", async () => {
      const least = Math.floor(LARGE.length / (128 * 1024));
      const written = await turnsDuring(() => keep("web:a", LARGE));
      expect(written.turns).toBeGreaterThanOrEqual(least);
      const read = await turnsDuring(() => storeIn("/ws").load("web:a", [written.done.id]));
      expect(read.turns).toBeGreaterThanOrEqual(least);
      expect(read.done).toHaveLength(1);
    });

    test("a text sent as a file is read back unchanged, in pieces that cut no character in two", async () => {
      const text = "aé漢😀".repeat(30_000);
      const written = await turnsDuring(() => storeIn("/ws").keepText("web:a", text));
      expect(written.turns).toBeGreaterThanOrEqual(3);
      expect((await storeIn("/ws").loadText("web:a", written.done)) === text).toBe(true);
      expect(await storeIn("/ws").loadText("web:b", written.done)).toBe(null);
      await db.deleteFrom("file_pieces").where("position", "=", 1).execute();
      expect(await storeIn("/ws").loadText("web:a", written.done)).toBe(null);
    });

    test("those of several messages are read in the order of their messages, those that are named in the order of the names", async () => {
      const { id: first } = await keep("web:a", Buffer.from(PNG_BASE64, "base64"));
      await storeIn("/ws").attach("web:a", [first], "g1");
      const { id } = await keep("web:a", LARGE);
      await storeIn("/ws").attach("web:a", [id], "g2");
      const found = await storeIn("/ws").ofGroups("web:a", ["g1", "g2"], 4);
      expect(found.map((image) => [image.id, image.groupId, image.data.length])).toEqual([
        [first, "g1", PNG_BASE64.length],
        [id, "g2", LARGE.toString("base64").length],
      ]);
      expect((await storeIn("/ws").load("web:a", [id, first])).map((image) => image.id)).toEqual([id, first]);
    });

    test("one that its process did not finish is absent, and is removed with the messages of its day", async () => {
      const { id } = await keep("web:a", LARGE);
      await db.deleteFrom("images").where("id", "=", id).execute();
      expect(await storeIn("/ws").load("web:a", [id])).toEqual([]);
      expect((await pieces()).length).toBeGreaterThan(10);
      await forgetAll();
      expect(await pieces()).toEqual([]);
    });

    test("one that lost a piece is gone, not half an image", async () => {
      const { id } = await keep("web:a", LARGE);
      await db.deleteFrom("file_pieces").where("position", "=", 7).execute();
      expect(await storeIn("/ws").load("web:a", [id])).toEqual([]);
    });

    test("retention takes the rows first and a few pieces at a time, and leaves newer ones", async () => {
      await keep("web:a", LARGE);
      await keep("web:b", LARGE);
      const store = createRetentionStore(db, now);
      const all = (await pieces()).length;
      for (const images of [1, 0]) {
        expect(await store.forget("messages", LATER, 100)).toBe(1);
        expect(await db.selectFrom("images").select("id").execute()).toHaveLength(images);
        expect(await pieces()).toHaveLength(all);
      }
      expect(await store.forget("messages", LATER, 100)).toBe(10);
      expect(await pieces()).toHaveLength(all - 10);
      expect(await store.forget("messages", new Date(AT), 100)).toBe(0);
      await forgetAll();
      expect(await pieces()).toEqual([]);
    });

    test("a person who is forgotten leaves no piece", async () => {
      await keep("web:a", LARGE);
      await keep("web:b", PNG);
      await forgetPerson(db, { channel: "web", userId: "a" });
      expect((await pieces()).map(({ file_id }) => file_id)).toHaveLength(1);
      expect(await db.selectFrom("images").select("chat_key").execute()).toEqual([{ chat_key: "web:b" }]);
    });
  });
}
