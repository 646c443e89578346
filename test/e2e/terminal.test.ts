import { afterEach, describe, expect, test } from "bun:test";
import {
  createWorld,
  type Shown,
  type StartOptions,
  startProgram,
  type TerminalWorld,
} from "./terminal-kit.ts";

const CART = `export function total(items) {
  return items.reduce((sum, item) => sum + item.price, 0);
}
`;

const SORTS = `
  - when: { role: worker, message: 以下のメッセージを分類してください }
    text: '{"route": "CHAT", "confidence": 0.9, "reason": "talk"}'`;

const MENDS = `
  - when: { role: coder3 }
    delay_ms: 300
    usage: { input: 1200, output: 80 }
    text: |
      ## Plan
      The total counts quantities

      ## Patch
      \`\`\`js:src/cart.js
      export function total(items, tax = 0) {
        const net = items.reduce((sum, item) => sum + item.price * item.quantity, 0);
        return net * (1 + tax);
      }
      \`\`\`

      ## Risk
      low`;

const open: { world?: TerminalWorld; shown: Shown[] } = { shown: [] };

afterEach(async () => {
  for (const shown of open.shown.splice(0)) await shown.close();
  open.world?.remove();
  delete open.world;
});

/** A fresh process, with its conversation open. */
async function start(answers: string, options: StartOptions = {}): Promise<Shown> {
  const world = createWorld(`answers:${SORTS}${answers}\n`);
  world.write("src/cart.js", CART);
  open.world = world;
  const shown = startProgram(world, options);
  open.shown.push(shown);
  await shown.until("codes:");
  return shown;
}

const files = () => open.world as TerminalWorld;
const chat = (text: string, more = "") =>
  `\n  - when: { role: chat }\n    usage: { input: 10, output: 20 }\n${more}    text: ${JSON.stringify(text)}`;

describe("the conversation at a terminal", () => {
  test("bare picoclaw opens it: banner, line and status, the cursor in the line, and then silence", async () => {
    const shown = await start(chat("hello"));
    const rows = shown.screen().split("\n");
    const line = rows.findIndex((row) => row.startsWith("› Say what to change, or ask."));
    expect(rows[0]).toContain("picoclaw ");
    expect(rows.join("\n")).toContain("a new chat");
    expect(rows[line + 1]).toContain("scripted/demo-1");
    expect(shown.cursor()).toEqual({ row: line, column: 2 });
    await Bun.sleep(700);
    const { bytes } = shown.sent;
    await Bun.sleep(1_000);
    expect(shown.sent.bytes).toBe(bytes);
  });

  test("a reply longer than the window is in the scrollback once and in order, and nothing is wiped", async () => {
    const parts = Array.from({ length: 40 }, (_, at) => `## Part ${at + 1}\n\nSome words about it.\n`).join(
      "\n",
    );
    const shown = await start(chat(`${parts}\nThe end.`, "    pause_ms: 2\n"), { columns: 60, rows: 20 });
    await shown.say("explain");
    await shown.until("The end.");
    const seen = [...shown.all().matchAll(/^Part (\d+)$/gm)].map(([, number]) => Number(number));
    expect(seen).toEqual(Array.from({ length: 40 }, (_, at) => at + 1));
    expect(shown.count("\x1b[3J") + shown.count("\x1b[2J")).toBe(0);
  });

  test("a job is a card with its difference; u takes it back byte for byte, and nothing goes on claiming applied", async () => {
    const shown = await start(MENDS);
    await shown.say("/code3 count quantities");
    await shown.until("✓ Applied");
    expect(shown.screen()).toContain("● The total counts quantities  #1");
    expect(shown.screen()).toContain("src/cart.js  +3 −2");
    expect(shown.screen()).toContain("    1 + export function total(items, tax = 0) {");
    expect(files().read("src/cart.js")).toContain("item.quantity");
    shown.type("\t");
    await shown.until("▌ #1");
    shown.type("u");
    await shown.until("↶ Taken back · 1 file as before: src/cart.js");
    expect(files().read("src/cart.js")).toBe(CART);
    expect(shown.all()).not.toContain("✓ Applied");
    shown.type("r");
    await shown.until("✓ Applied");
    expect(files().read("src/cart.js")).toContain("item.quantity");
    expect(shown.all().split("The total counts quantities").length - 1).toBeLessThanOrEqual(2);
  });

  test("ctrl-c empties the line, then hints, then leaves with a sane terminal", async () => {
    const shown = await start(chat("hello"));
    shown.type("half a thought");
    await shown.until("half a thought");
    shown.type("\x03");
    await shown.until("emptied");
    shown.type("\x03");
    await shown.until("ctrl-c again leaves");
    shown.type("\x03");
    expect(await shown.child.exited).toBe(0);
    for (const bytes of ["\x1b[?2004l", "\x1b[?25h", "\x1b[<u", "\x1b[?1004l"])
      expect(shown.count(bytes)).toBeGreaterThan(0);
    await shown.until("To go on: picoclaw chat");
  });
});
