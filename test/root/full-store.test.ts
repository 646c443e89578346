/** A full disk under the store of `serve`: whoever speaks is told, and it goes on when there is room again. */
import { afterEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "../adapters/web/web-kit.ts";
import { until } from "../e2e/cli-kit.ts";

const nightly = process.env.TEST_NIGHTLY === "1" || process.env.PICOCLAW_TEST_NIGHTLY === "1";
const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
}, 30_000);

/** A file system of 16 MB; null where none can be made. */
function smallDisk(): string | null {
  if (process.getuid?.() !== 0 || process.platform !== "linux") return null;
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-full-"));
  const made = spawnSync("mount", ["-t", "tmpfs", "-o", "size=16m", "tmpfs", folder]).status === 0;
  closing.push(() => {
    if (made) spawnSync("umount", ["-l", folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  if (!made) console.error("skipped: mount — run the suite as root on a machine that may mount");
  return made ? folder : null;
}

const SCRIPT = [
  { when: { message: "/slow$/" }, text: "slow answer", delay_ms: 1_000 },
  { text: "re: {{message}}" },
];

describe.if(process.getuid?.() === 0)("a full disk under SQLite", () => {
  test("is told to who speaks and by /readyz; what was in hand is answered when there is room again", async () => {
    const under = smallDisk();
    if (under === null) return;
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
    await until(() => server.errors().split("database or disk is full").length > 2, 30_000);
    expect(server.errors()).not.toContain("cannot rollback");
    rmSync(filler);
    // Whether its answer, or that there was no room for it: it is told once there is.
    expect(await reach(slow, "done")).toMatch(/^slow answer$|^No space left on the disk/);
    const next = (await say("next")).said.message_id as unknown as string;
    expect(await reach(next, "done")).toBe("re: next");
    // It keeps what it found for some seconds.
    if (nightly) while ((await ask("/readyz")).status !== 200) await Bun.sleep(20);
    expect(server.pid()).toBe(pid);
  }, 60_000);
});

interface Said {
  readonly state: string;
  readonly reply: { readonly text: string } | null;
}
