import type { Kysely } from "kysely";
import type { StoreQuestion } from "../../../src/application/ports/store-lent.ts";
import { lendStore, openLentStore } from "../../../src/infrastructure/store/lent-store.ts";
import type { Database } from "../../../src/infrastructure/store/schema.ts";

/** A store and the same one as another process uses it: every question and answer passes as the text that the channel carries. */
export function openLentPair(db: Kysely<Database>) {
  const front = lendStore(db);
  const asked: StoreQuestion[] = [];
  const lent = openLentStore(async (question) => {
    const passed = JSON.parse(JSON.stringify({ ...question, id: asked.length })) as StoreQuestion;
    asked.push(passed);
    return JSON.parse(JSON.stringify(await front.answer(passed)));
  });
  return { front, lent, asked };
}
