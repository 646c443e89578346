import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSignIn } from "../../../src/application/serve/access.ts";
import { StoreAway } from "../../../src/domain/store/store-trouble.ts";
import { hashHex } from "../../../src/infrastructure/platform/hash.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { openMessages } from "../../infrastructure/store/open-messages.ts";
import { createPages } from "./pages-kit.ts";

/** A token of the operator for messages. */
async function tokenFor(access: Awaited<ReturnType<typeof createPages>>["access"]): Promise<string> {
  const now = () => new Date();
  const sha256 = (text: string) => hashHex("sha256", text);
  const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
  const signIn = createSignIn({ access, sha256, random, now });
  const made = await signIn.createToken({
    name: "t",
    userId: "operator",
    role: "operator",
    scopes: ["chat"],
  });
  return made.secret;
}

test("a message that was stored before the store went away is acknowledged with its id, not called undone", async () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-stored-"));
  const db = openSqlite(join(folder, "store.db"));
  try {
    const now = () => new Date();
    const { store } = await openMessages({ db, now });
    const away = { message: () => Promise.reject(new StoreAway("locked", "locked")) };
    let isStored = true;
    const pages = await createPages(db, { ...store, ...away }, async () => {
      if (!isStored) throw new StoreAway("locked", "locked");
      return { status: "accepted", messageId: "msg_stored" };
    });
    const secret = await tokenFor(pages.access);
    const send = async () => {
      const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
      const body = JSON.stringify({ text: "hi", wait: 5 });
      const answer = await pages.ask("/api/v1/messages", { method: "POST", headers, body });
      const { message_id: id, state, error } = (await answer.json()) as Record<string, unknown>;
      return { status: answer.status, again: answer.headers.get("retry-after"), id, state, error };
    };
    expect(await send()).toEqual({
      status: 202,
      again: null,
      id: "msg_stored",
      state: "received",
      error: undefined,
    });
    isStored = false;
    expect(await send()).toMatchObject({ status: 503, again: "5", error: { code: "store-away" } });
  } finally {
    await db.destroy();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a server that stops gives a waiting caller the id, answers probes, and begins nothing new", async () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-stopping-"));
  const db = openSqlite(join(folder, "store.db"));
  try {
    const { store } = await openMessages({ db, now: () => new Date() });
    const closing = new AbortController();
    const waiting = Promise.withResolvers<void>();
    const waitForAnswer = () => {
      waiting.resolve();
      return Promise.withResolvers<void>().promise;
    };
    const receive = async () => ({ status: "accepted", messageId: "msg_stored" }) as const;
    const kept = { ...store, message: () => Promise.reject(new StoreAway("locked", "locked")) };
    const stopping = { closing: closing.signal, waitForAnswer };
    const pages = await createPages(db, kept, receive, {}, undefined, {}, stopping);
    const headers = {
      authorization: `Bearer ${await tokenFor(pages.access)}`,
      "content-type": "application/json",
    };
    const body = JSON.stringify({ text: "hi", wait: 5 });
    const send = () => pages.ask("/api/v1/messages", { method: "POST", headers, body });
    const asked = send();
    await Promise.race([waiting.promise, asked]);
    closing.abort();
    const answer = await asked;
    expect(answer.status).toBe(202);
    expect(await answer.json()).toMatchObject({ message_id: "msg_stored" });
    expect((await pages.ask("/healthz")).status).toBe(200);
    const ready = await pages.ask("/readyz");
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ ready: false, checks: [{ detail: "stopping" }] });
    const late = await send();
    expect(late.status).toBe(503);
    expect(late.headers.get("retry-after")).toBe("5");
    expect(await late.json()).toMatchObject({ error: { code: "stopping" } });
  } finally {
    await db.destroy();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a body of nothing but text is refused above two million characters, before it is parsed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-long-"));
  const db = openSqlite(join(folder, "store.db"));
  try {
    const { store } = await openMessages({ db, now: () => new Date() });
    const pages = await createPages(db, store, async () => ({ status: "accepted", messageId: "msg_1" }));
    const authorization = `Bearer ${await tokenFor(pages.access)}`;
    const send = async (body: string) => {
      const answer = await pages.ask("/api/v1/messages", {
        method: "POST",
        headers: { authorization },
        body,
      });
      const { error } = (await answer.json()) as { error: { code: string } };
      return [answer.status, error.code];
    };
    const long = "x".repeat(3 * 1024 ** 2);
    expect(await send(long)).toEqual([413, "too-large"]);
    expect(await send(JSON.stringify({ text: long }))).toEqual([413, "too-large"]);
    expect(await send("x".repeat(1024))).toEqual([400, "bad-json"]);
    // Images are larger; this one is none.
    expect(await send(JSON.stringify({ text: "", images: [{ name: "a.png", data: long }] }))).toEqual([
      415,
      "not-an-image",
    ]);
  } finally {
    await db.destroy();
    rmSync(folder, { recursive: true, force: true });
  }
});
