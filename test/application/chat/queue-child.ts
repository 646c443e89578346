/** Run as a process of its own by chat-queue.test.ts: holds a chat until it is killed, or works on it five times. */
import { createChatQueue } from "../../../src/application/chat/chat-queue.ts";
import { createOwnerNames } from "../../../src/infrastructure/platform/process-table.ts";
import { createChatTurns } from "../../../src/infrastructure/serve/chat-turns.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";

const [file, what] = process.argv.slice(2) as [string, string];
const names = createOwnerNames(process.pid);
const db = openSqlite(file);
const queue = createChatQueue({
  turns: createChatTurns({
    db,
    workspace: "/ws",
    process: names.next(),
    isGone: names.isGone,
    newId: names.next,
  }),
  now: () => new Date(),
  lookMs: 1_000,
  retry: () => {},
  pollMs: 5,
  setTimer(run, ms) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
});
const { signal } = new AbortController();
const clock = () => performance.timeOrigin + performance.now();

if (what === "hold")
  await queue.run(
    "c",
    async () => {
      console.log("holding");
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    },
    { signal },
  );
else
  for (let n = 0; n < 5; n++)
    await queue.run(
      "c",
      async () => {
        const begin = clock();
        await new Promise((resolve) => setTimeout(resolve, 3));
        console.log(begin, clock());
      },
      { signal },
    );
await db.destroy();
