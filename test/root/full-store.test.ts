/** A full disk under the store of `serve`: senders learn of it, and it continues when there is room again. */
import { afterEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tryWrite } from "../../src/infrastructure/store/open-store.ts";
import { openPostgres } from "../../src/infrastructure/store/postgres.ts";
import { migrate } from "../../src/infrastructure/store/schema.ts";
import { createServer } from "../adapters/web/web-kit.ts";
import { until } from "../e2e/cli-kit.ts";
import { startPostgres } from "../infrastructure/store/postgres-server.ts";
import { requirePart } from "../require.ts";

const nightly = process.env.TEST_NIGHTLY === "1" || process.env.PICOCLAW_TEST_NIGHTLY === "1";
const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
}, 300_000);

const mayMount = process.getuid?.() === 0 && process.platform === "linux" && requirePart("mount");

/** A file system of so many megabytes. */
function smallDisk(megabytes = 16): string {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-full-"));
  expect(spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder]).status).toBe(0);
  closing.push(() => {
    spawnSync("umount", ["-l", folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

const SCRIPT = [
  { when: { message: "/slow$/" }, text: "slow answer", delay_ms: 1_000 },
  { text: "re: {{message}}" },
];

describe.if(mayMount)("a full disk under SQLite", () => {
  test("is reported to the sender and by /readyz; waiting messages are answered when there is room again", async () => {
    const under = smallDisk();
    const server = await createServer({ script: SCRIPT, under });
    closing.push(server.close);
    const token = server.token("--user", "alice", "--role", "user", "--scope", "read,chat");
    const ask = async (path: string, body?: object) => {
      const response = await fetch(`${server.url}${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { authorization: `Bearer ${token}` },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: response.status, said: (await response.json()) as Record<string, never> };
    };
    const say = (text: string) => ask("/api/v1/messages", { chat: text, text });
    const state = async (id: string) => (await ask(`/api/v1/messages/${id}`)).said as never as Said;
    const reach = async (id: string, wanted: string) => {
      for (;;) {
        const message = await state(id);
        if (message.state === wanted) return message.reply?.text;
        await Bun.sleep(20);
      }
    };
    const pid = server.pid();
    const slow = (await say("slow")).said.message_id as unknown as string;
    await reach(slow, "working");
    const filler = join(under, "filler");
    expect(() => writeFileSync(filler, Buffer.alloc(64 * 1024 * 1024))).toThrow("ENOSPC");
    expect(await say("refused")).toMatchObject({ status: 503, said: { error: { code: "no-space" } } });
    expect(await ask("/readyz")).toMatchObject({
      status: 503,
      said: { checks: expect.arrayContaining([expect.objectContaining({ name: "store", ok: false })]) },
    });
    await until(() => server.errors().split("database or disk is full").length > 2);
    expect(server.errors()).not.toContain("cannot rollback");
    rmSync(filler);
    // Either its answer, or that there was no room for it, once there is room.
    expect(await reach(slow, "done")).toMatch(/^slow answer$|^No space left on the disk/);
    const next = (await say("next")).said.message_id as unknown as string;
    expect(await reach(next, "done")).toBe("re: next");
    // It keeps what it found for some seconds.
    if (nightly) while ((await ask("/readyz")).status !== 200) await Bun.sleep(20);
    expect(server.pid()).toBe(pid);
  }, 300_000);
});

interface Said {
  readonly state: string;
  readonly reply: { readonly text: string } | null;
}

describe.if(mayMount && requirePart("postgres"))("a full disk under Postgres", () => {
  test("is found by the write of /readyz, though rows in pages that it has can still be changed", async () => {
    const under = smallDisk(200);
    const server = startPostgres({ under });
    closing.push(server.stop);
    const db = openPostgres(server.newDatabase());
    closing.push(() => db.destroy());
    await migrate(db, () => new Date(0));
    await tryWrite(db, new Date(1));
    const filler = join(under, "filler");
    expect(() => writeFileSync(filler, Buffer.alloc(300 * 1024 * 1024))).toThrow("ENOSPC");
    // The row alone does not find it.
    await db.updateTable("forge_deliveries").set({ seen_at: "x" }).execute();
    expect(await tryWrite(db, new Date(2)).catch((error: unknown) => String(error))).toContain(
      "No space left",
    );
    rmSync(filler);
    await tryWrite(db, new Date(3));
  }, 300_000);
});
