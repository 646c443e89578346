/** Run as a process of its own by cut-over-crash.test.ts: cuts a session over and kills itself at the named step. */
import { createSessions } from "../../../src/application/chat/sessions.ts";
import { createDayClock } from "../../../src/domain/platform/days.ts";
import { createSessionStore } from "../../../src/infrastructure/chat/session-store.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";

const [file, where] = process.argv.slice(2) as [string, string];
const time = { now: "2026-03-01T03:00:00.000Z" };
const now = () => new Date(time.now);
const store = createSessionStore({ db: openSqlite(file), now, workspace: "/ws" });
const die = (step: string) => {
  if (step === where) process.kill(process.pid, "SIGKILL");
};
const quiet = () => {};
const sessions = createSessions({
  store: {
    ...store,
    async saveNote(note) {
      await store.saveNote(note);
      die("after-note");
    },
    async open(next, from) {
      const opened = await store.open(next, from);
      if (from !== null) die("after-reset");
      return opened;
    },
  },
  clock: createDayClock("Asia/Tokyo", "00:00"),
  now,
  async summarise({ turns }) {
    die("before-summary");
    const text = turns.map((turn) => turn.text).join(" / ");
    die("after-summary");
    return { text, by: "model" };
  },
  log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  jobsOf: () => ({ tell: () => "" }),
  mask: (text) => text,
  historyTokens: () => 256,
  summaryTokens: 64,
});
const { signal } = new AbortController();
const chat = { channel: "cli", chatId: "default" };
const { session } = await sessions.open(chat, signal);
const turn = { at: time.now, role: "user", agent: "", groupId: null } as const;
await sessions.append(session, [
  { ...turn, text: "one" },
  { ...turn, text: "two" },
]);
time.now = "2026-03-02T03:00:00.000Z";
await sessions.open(chat, signal);
