/** A user, chats and jobs at one file in a random order: nothing is silently lost. */
import { afterEach, expect, test } from "bun:test";
import { proposal, replace } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

const nightly = process.env.TEST_NIGHTLY === "1" || process.env.PICOCLAW_TEST_NIGHTLY === "1";
/** `PICOCLAW_TEST_SEEDS=501-1000` plays a part of the night's rounds. */
const SEEDS = /^(\d+)-(\d+)$/.exec(process.env.PICOCLAW_TEST_SEEDS ?? "");
const FIRST = Number(SEEDS?.[1] ?? 1);
const LAST = Number(SEEDS?.[2] ?? (nightly ? 1000 : 8));
const CHATS = 3;
const SAVES = 4;

let at: OpenedConversation;
afterEach(() => at.close());

function dice(seed: number) {
  let state = seed * 7919 + 1;
  return (sides: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * sides);
  };
}

async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick++) await new Promise((resolve) => setImmediate(resolve));
}

const slotsOf = (names: readonly string[]) => names.map((name) => `${name} = 0\n\n\n`).join("");
const set = (text: string, name: string, value: string) =>
  text.replace(new RegExp(`${name} = .*`), `${name} = ${value}`);
const slotValue = (text: string, name: string) => new RegExp(`${name} = (.*)`).exec(text)?.[1];

test(
  `${LAST - FIRST + 1} random interleavings of saves, drafts and jobs lose nothing`,
  async () => {
    let roll = dice(0);
    at = await openConversation(async ({ messages }) => {
      const all = messages.map(({ text }) => text).join("\n");
      const [, name = "", value = ""] = /set (chat\d) to (\w+)/.exec(all) ?? [];
      const shown = [...all.matchAll(/<file path="a.txt">\n([\s\S]*?)<\/file>/g)].at(-1)?.[1] ?? "";
      const now = slotValue(shown, name) ?? "0";
      const kind = roll(2);
      await ticks(roll(400));
      return kind === 0
        ? proposal(`Set ${name}`, replace("a.txt", `${name} = ${now}`, `${name} = ${value}`))
        : proposal(`Set ${name}`, `\`\`\`txt:a.txt\n${set(shown, name, value)}\`\`\``);
    });
    const chats = Array.from({ length: CHATS }, (_, number) => `chat${number}`);
    for (let seed = FIRST; seed <= LAST; seed++) {
      roll = dice(seed);
      at.write("a.txt", slotsOf([...chats, "user", "last"]));
      const saved = { user: "0" };
      const user = async () => {
        for (let save = 1; save <= SAVES; save++) {
          await ticks(roll(300));
          saved.user = `save${save}`;
          at.write("a.txt", set(at.read("a.txt"), "user", saved.user));
        }
      };
      const [replies] = await Promise.all([
        Promise.all(
          chats.map(async (name, number) => {
            await ticks(roll(200));
            return at.send(`/code3 set ${name} to round${seed}`, { chatId: `${name}-${seed}-${number}` });
          }),
        ),
        user(),
      ]);
      const text = at.read("a.txt");
      const told = chats.map((name, number) =>
        replies[number]?.ok ? `${name} = round${seed}` : `${name} = 0`,
      );
      const stands = chats.map((name) => `${name} = ${slotValue(text, name)}`);
      expect({ seed, stands, user: slotValue(text, "user"), last: slotValue(text, "last") }).toEqual({
        seed,
        stands: told,
        user: saved.user,
        last: "0",
      });
      expect({ seed, text }).toEqual({ seed, text: expect.not.stringContaining("<<<<") });
    }
  },
  nightly || SEEDS !== null ? 1_800_000 : 120_000,
);
