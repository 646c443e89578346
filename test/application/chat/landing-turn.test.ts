/** Many drafts in one workspace at once: each lands in its turn, merged with what landed before it. */
import { afterEach, expect, test } from "bun:test";
import { proposal, replace } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const COUNT = 8;
const part = (number: number) => `def f${number}():\n    return ${number}\n\n\n`;
const PARTS = Array.from({ length: COUNT }, (_, number) => part(number)).join("");
const numberIn = (text: string) => Number(/function (\d+)/.exec(text)?.[1]);
const changed = (numbers: readonly number[]) =>
  numbers.reduce((text, number) => text.replace(`return ${number}\n`, `return ${number} + 100\n`), PARTS);

/** Lets all of them be asked before the first is answered. */
function createGate(count: number) {
  const open = Promise.withResolvers<void>();
  let waiting = 0;
  return async () => {
    if (++waiting === count) open.resolve();
    await open.promise;
  };
}

const sendAll = (count = COUNT) =>
  Promise.all(
    Array.from({ length: count }, (_, number) =>
      at.send(`/code3 change function ${number} in app.py`, { chatId: `c${number}` }),
    ),
  );

test("eight hunks in one file at once all land, and seven replies say what they were merged with", async () => {
  const gate = createGate(COUNT);
  at = await openConversation(async ({ messages }) => {
    const number = numberIn(messages.at(-1)?.text.split("Request:").at(-1) ?? "");
    await gate();
    return proposal(`Change ${number}`, replace("app.py", `return ${number}`, `return ${number} + 100`));
  });
  at.write("app.py", PARTS);
  const replies = await sendAll();
  expect(replies.map(({ ok }) => ok)).toEqual(Array.from({ length: COUNT }, () => true));
  expect(at.read("app.py")).toBe(changed([...Array(COUNT).keys()]));
});

test("eight whole files one after the other, all made for the first: nothing is lost", async () => {
  const gate = createGate(COUNT);
  let before: Promise<unknown> = Promise.resolve();
  at = await openConversation(async ({ messages }) => {
    const number = numberIn(messages.at(-1)?.text.split("Request:").at(-1) ?? "");
    await gate();
    await before;
    return proposal(`Change ${number}`, `\`\`\`py:app.py\n${changed([number])}\`\`\``);
  });
  at.write("app.py", PARTS);
  const replies: Promise<{ readonly ok: boolean; readonly text: string }>[] = [];
  for (let number = 0; number < COUNT; number++)
    replies.push(at.send(`/code3 change function ${number} in app.py`, { chatId: `c${number}` }));
  before = Promise.resolve();
  const ended = await Promise.all(replies);
  expect(ended.every(({ ok }) => ok)).toBe(true);
  expect(at.read("app.py")).toBe(changed([...Array(COUNT).keys()]));
  expect(ended.filter(({ text }) => text.includes("merged with job")).length).toBe(COUNT - 1);
});

test("two hunks on one line: one lands, the other coder learns whose, and lands on its second answer", async () => {
  const gate = createGate(2);
  at = await openConversation(async ({ messages }) => {
    const last = messages.at(-1)?.text ?? "";
    if (last.includes("As they are now")) {
      const now = /return (.*)/.exec(last.split("As they are now").at(-1) ?? "")?.[1] ?? "";
      return proposal("Both", replace("app.py", `return ${now}`, `return ${now} + 1`));
    }
    const number = numberIn(messages[0]?.text.split("Request:").at(-1) ?? "");
    await gate();
    return proposal(`Change ${number}`, replace("app.py", "return 0", `return ${number + 100}`));
  });
  at.write("app.py", part(0));
  const replies = await sendAll(2);
  expect(replies.map(({ ok }) => ok)).toEqual([true, true]);
  expect(at.read("app.py")).toMatch(/return 10[01] \+ 1\n/);
  const [first] = at.archive.list();
  // Where the first has landed before the second is tried, the edit itself no longer fits.
  expect(at.asked.at(-1)?.messages.at(-1)?.text).toMatch(new RegExp(`${first?.jobId}|not in the file`));
});

test("a conflict that is answered wrongly twice is a preview", async () => {
  const gate = createGate(2);
  at = await openConversation(async ({ messages }) => {
    const number = numberIn(messages[0]?.text.split("Request:").at(-1) ?? "");
    if (messages.length === 1) await gate();
    else at.write("app.py", part(0).replace("return 0", `return ${messages.length * 1000}`));
    return proposal(
      `Change ${number}`,
      `\`\`\`py:app.py\n${part(0).replace("return 0", `return ${number + 100}`)}\`\`\``,
    );
  });
  at.write("app.py", part(0));
  const replies = await sendAll(2);
  expect(replies.map(({ ok }) => ok).sort()).toEqual([false, true]);
  expect(replies.find(({ ok }) => !ok)?.text).toStartWith("Preview, nothing applied");
  expect(at.read("app.py")).toMatch(/return \d+000\n/);
});
