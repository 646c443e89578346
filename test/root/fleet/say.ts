/** The messages to a fleet in tests, and the model that answers them. */
import type { Kysely } from "kysely";
import { readMachineId } from "../../../src/infrastructure/fleet/workspace-name.ts";
import type { Database } from "../../../src/infrastructure/store/schema.ts";
import { newMessage, openMessages } from "../../infrastructure/store/open-messages.ts";
import type { Close, Machine } from "./machines.ts";

const APPEND = JSON.stringify([
  { type: "file_edit", action: "append", target: "shared.txt", content: "{{1}}\n" },
  { type: "file_edit", action: "append", target: "{{1}}.txt", content: "{{1}}\n" },
]);
export const WRITES = [
  {
    when: { message: "/write (\\w+)$/" },
    text: `## Plan\nwrite\n## Patch\n\`\`\`json\n${APPEND}\n\`\`\`\n## Risk\nlow\n`,
    delay_ms: 50,
  },
  { text: "re: {{message}}", delay_ms: 20 },
];

export interface Saying {
  readonly db: Kysely<Database>;
  readonly url: string;
  readonly machine: Machine;
  readonly name: string;
  readonly count: number;
  readonly chats: number;
  readonly channel?: string;
  readonly text?: (word: string, n: number) => string;
}

/** Messages for a machine's workspace, as its channels would store them. */
export async function say(closing: Close[], saying: Saying): Promise<void> {
  const { db, url, machine, name, count, chats, channel = "web" } = saying;
  const text = saying.text ?? ((word, n) => (n % 2 === 0 ? `/code3 write ${word}` : `hello ${word}`));
  const { store, queue } = await openMessages({
    db,
    databaseUrl: url,
    now: () => new Date(),
    workspace: `${readMachineId(machine.cli.home)}:${machine.cli.workspace}`,
    owner: `test ${name}`,
  });
  closing.push(() => queue.close().catch(() => {}));
  for (let n = 0; n < count; n += 1) {
    const word = `${name}${n}`;
    // Both kinds of message in each chat.
    const chatId = `${name}.c${Math.floor(n / 2) % chats}`;
    const message = { channel, eventId: word, chatId, userId: `${name}${n % 3}`, text: text(word, n) };
    await store.addAll([newMessage(message, `msg_${word}`, new Date().toISOString())]);
  }
}
