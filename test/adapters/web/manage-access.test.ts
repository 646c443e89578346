import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Kysely } from "kysely";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import type { Database } from "../../../src/infrastructure/store/schema.ts";
import { openMessages } from "../../infrastructure/store/open-messages.ts";
import { createPages } from "./pages-kit.ts";

let folder = "";
let db: Kysely<Database>;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-manage-"));
  db = openSqlite(join(folder, "store.db"));
});
afterEach(async () => {
  await db.destroy();
  rmSync(folder, { recursive: true, force: true });
});

async function open(viewer?: { readonly userId: string; readonly role: "operator" | "user" }) {
  const { store } = await openMessages({ db, now: () => new Date() });
  return createPages(db, store, async () => ({ status: "duplicate" }) as never, {}, viewer);
}

const later = () => new Date(Date.now() + 3_600_000).toISOString();

describe("an operator", () => {
  test("lets a stranger in by the code on the page, changes the role, and removes them", async () => {
    const { ask, press, access } = await open();
    await access.savePairing({
      code: "ABCDEFGH",
      channel: "line",
      userId: "U<1>",
      chatId: "U<1>",
      name: "",
      expiresAt: later(),
    });
    expect(await (await ask("/manage")).text()).toContain("ABCDEFGH");
    expect(await press("/manage/people", { code: "ABCDEFGH", role: "user", name: "mei" })).toContain(
      "line:U&lt;1&gt; was approved.",
    );
    expect(await access.person("line", "U<1>")).toMatchObject({ role: "user", name: "mei" });
    expect(await press("/manage/people", { code: "ABCDEFGH", role: "user" })).toContain("no such code");
    const who = { channel: "line", user: "U<1>" };
    await press("/manage/people/change", { ...who, role: "operator", name: "mei" });
    expect((await access.person("line", "U<1>"))?.role).toBe("operator");
    await press("/manage/people/remove", who);
    expect(await access.person("line", "U<1>")).toBeNull();
    expect(await press("/manage/people/remove", who)).toContain("not registered");
  });

  test("sees every signed-in browser and ends one, which is then a stranger", async () => {
    const { press } = await open();
    const user = await open({ userId: "mei", role: "user" });
    expect((await user.ask("/jobs")).status).toBe(200);
    const page = await press("/manage/sessions/end", { session: "unknown" });
    expect(page).toContain("signed out already");
    const hashes = [...page.matchAll(/name="session" value="([^"]+)"/g)].map(([, hash]) => hash ?? "");
    expect(hashes).toHaveLength(2);
    const [mei] = (await user.access.sessions(new Date().toISOString())).filter(
      ({ userId }) => userId === "mei",
    );
    expect(await press("/manage/sessions/end", { session: mei?.hash ?? "" })).toContain(
      "A browser of mei was signed out.",
    );
    expect((await user.ask("/jobs")).status).toBe(401);
  });

  test("ends the open pages of a browser with its session", async () => {
    const { ask, press, access } = await open();
    const [own] = await access.sessions(new Date().toISOString());
    const stream = await ask("/live");
    expect([stream.status, stream.headers.get("content-type")]).toEqual([
      200,
      "text/event-stream; charset=utf-8",
    ]);
    const ended = stream.body?.getReader();
    await ended?.read();
    await press("/manage/sessions/end", { session: own?.hash ?? "" });
    for (;;) if ((await ended?.read())?.done !== false) break;
    expect((await ask("/jobs")).status).toBe(401);
  });

  test("makes a token and a link, each shown once, and ends the token", async () => {
    const { ask, press, access } = await open();
    const fields = [
      ["name", "ci"],
      ["user", "operator"],
      ["role", "operator"],
      ["scope", "read"],
      ["scope", "jobs"],
    ];
    const made = await press("/manage/tokens", fields);
    const secret = /pico_[\w-]+/.exec(made)?.[0] ?? "";
    const headers = { authorization: `Bearer ${secret}` };
    expect((await ask("/api/v1/jobs", { headers })).status).toBe(200);
    expect(await (await ask("/manage")).text()).not.toContain(secret);
    const [token] = await access.tokens();
    expect(token?.scopes).toEqual(["read", "jobs"]);
    await press("/manage/tokens/end", { token: token?.id ?? "" });
    expect((await ask("/api/v1/jobs", { headers })).status).toBe(401);
    expect(await press("/manage/tokens", { name: "x", user: "operator", role: "user" })).toContain(
      "Use a-z, 0-9",
    );
    expect(await press("/manage/tokens", { name: "x", user: "ci", role: "user" })).toContain(
      "needs a name and at least one permission",
    );
    const link =
      /\/login\/[\w-]+/.exec(await press("/manage/links", { user: "mei", role: "user" }))?.[0] ?? "";
    const entered = await ask(link, { method: "POST" });
    expect(entered.headers.get("set-cookie")).toContain("picoclaw_7433=");
  });
});

test("a user gets to nothing of it", async () => {
  const { ask, csrf, access } = await open({ userId: "mei", role: "user" });
  expect((await ask("/manage")).status).toBe(403);
  const body = new URLSearchParams({ csrf, user: "mei", role: "operator" });
  expect((await ask("/manage/links", { method: "POST", body })).status).toBe(403);
  expect((await ask("/manage/settings")).status).toBe(403);
  expect(await access.tokens()).toEqual([]);
});
