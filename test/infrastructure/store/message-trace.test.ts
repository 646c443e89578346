import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { traceparentOf } from "../../../src/infrastructure/serve/message-views.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { inbound } from "../../fakes/channel.ts";
import { newMessage, openMessages } from "./open-messages.ts";

const folder = mkdtempSync(join(tmpdir(), "picoclaw-trace-"));
const db = openSqlite(join(folder, "picoclaw.db"));
afterAll(async () => {
  await db.destroy();
  rmSync(folder, { recursive: true, force: true });
});

test("the trace of a message is known to the sender of its reply, in any workspace", async () => {
  const now = () => new Date("2026-03-01T12:00:00Z");
  const { store, queue } = await openMessages({ db, now, workspace: "/elsewhere" });
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const at = now().toISOString();
  await store.addAll([newMessage(inbound(1, { traceparent }), "msg_1_aaaaaaaa", at)]);
  expect(await traceparentOf(db, "msg_1_aaaaaaaa")).toBe(traceparent);
  expect(await traceparentOf(db, "msg_2_aaaaaaaa")).toBeUndefined();
  await queue.close();
});
