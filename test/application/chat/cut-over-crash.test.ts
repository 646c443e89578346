import { expect, test } from "bun:test";
import { join } from "node:path";
import { createSessionStore } from "../../../src/infrastructure/chat/session-store.ts";
import { openBench } from "./memory-kit.ts";

const chat = { channel: "cli", chatId: "default" };
const { signal } = new AbortController();

/** Killed at each step of a cut-over, a session is either still whole or ended with its note. */
test.each(["before-summary", "after-summary", "after-note", "after-reset"])(
  "kill -9 %s loses nothing, and the next message finishes the cut-over",
  async (where) => {
    const bench = await openBench();
    try {
      const child = Bun.spawn(
        [process.execPath, "--no-env-file", join(import.meta.dir, "cut-over-child.ts"), bench.file, where],
        { stdout: "ignore", stderr: "inherit" },
      );
      await child.exited;
      expect(child.signalCode).toBe("SIGKILL");
      bench.time.now = "2026-03-02T03:00:00.000Z";
      const store = createSessionStore({
        db: bench.db,
        now: () => new Date(bench.time.now),
        workspace: "/ws",
      });
      const { session } = await store.current("cli:default");
      const note = await store.note("cli:default", "20260301-cli-default");
      if (session?.id !== "20260301-cli-default") expect(note).not.toBeNull();
      const opened = await bench.sessions().open(chat, signal);
      expect(opened.session).toMatchObject({ id: "20260302-cli-default" });
      expect(opened.session.carried).toContain("one");
      expect(await store.note("cli:default", "20260301-cli-default")).toMatchObject({ turns: 2 });
      const { turns } = await store.turns("cli:default", "20260301-cli-default", { after: 0, limit: 9 });
      expect(turns.map(({ text }) => text)).toEqual(["one", "two"]);
    } finally {
      await bench.remove();
    }
  },
  300_000,
);
