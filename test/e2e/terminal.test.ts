import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
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

const SLOW = `
  - when: { role: coder3 }
    text: |
      ## Plan
      Be slow

      ## Patch
      \`\`\`bash
      touch began; sleep 60
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

  test("a job is a card with its difference; u undoes it byte for byte, and no line keeps claiming applied", async () => {
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
    await shown.until("↶ Undone · 1 file as before: src/cart.js");
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
    await shown.until("cleared");
    shown.type("\x03");
    await shown.until("ctrl-c again to quit");
    shown.type("\x03");
    expect(await shown.child.exited).toBe(0);
    for (const bytes of ["\x1b[?2004l", "\x1b[?25h", "\x1b[<u", "\x1b[?1004l"])
      expect(shown.count(bytes)).toBeGreaterThan(0);
    await shown.until("To continue: picoclaw chat");
  });

  test("the next message after an undo leaves the verdict unchanged, and a job has a number to name it by", async () => {
    const shown = await start(`${MENDS}${chat("hello there")}`);
    await shown.say("/code3 count quantities");
    await shown.until("✓ Applied");
    shown.type("\x1bu");
    await shown.until("↶ Undone");
    await shown.say("hi");
    await shown.until("hello there");
    expect(shown.all()).toContain("↶ Undone · 1 file as before: src/cart.js");
    expect(shown.all()).not.toContain("✓ Applied");
    await shown.say("/redo #1");
    await shown.until(() => files().read("src/cart.js").includes("item.quantity"));
  });

  test("text typed while a coder works is shown, and reaches its next round", async () => {
    const red = MENDS.replace("delay_ms: 300", "times: 1\n    delay_ms: 1500").replace(
      "## Risk",
      "```bash\n      exit 1\n      ```\n\n      ## Risk",
    );
    const heard = MENDS.replace(
      "{ role: coder3 }",
      '{ role: coder3, message: "also an empty cart" }',
    ).replace("The total counts quantities", "An empty cart is free as well");
    const shown = await start(`${heard}${red}${MENDS}`);
    await shown.say("/code3 count quantities");
    await shown.until("esc stops");
    await shown.say("also an empty cart");
    await shown.until("↳ also an empty cart · joins the next round");
    await shown.until("✓ Applied");
    expect(shown.all()).toContain("↳ also an empty cart the coder has it");
    // The card begins with the first plan; what was heard in the second round is in the log.
    const log = () => readFileSync(join(files().home, "logs/picoclaw.log"), "utf8");
    await shown.until(() => log().includes("An empty cart is free as well"));
  });

  test("tab sends afterwards, ↑ takes it back into the line, and esc stops without sending it", async () => {
    const shown = await start(chat("a slow answer that nobody waits for", "    delay_ms: 90000\n"));
    await shown.say("wait");
    await shown.until("esc stops");
    shown.type("then this");
    await shown.until("› then this");
    shown.type("\t");
    await shown.until("↳ then this · after this one");
    shown.type("\x1b[A");
    await shown.until("› then this");
    shown.type("\t");
    await shown.until("after this one");
    const begun = performance.now();
    shown.type("\x1b");
    await shown.until("Stopped after");
    expect(performance.now() - begun).toBeLessThan(60_000);
    expect(shown.screen()).toContain("nothing was changed");
    await shown.until("› then this");
    expect(files().read("src/cart.js")).toBe(CART);
  });

  test("@ offers files that were made since the conversation began, and Tab takes no other one", async () => {
    const shown = await start(chat("hello there"));
    files().write("README.md", "# Shop\n");
    shown.type("see @REA");
    await shown.until("→ README.md");
    shown.type("\x15");
    files().write("red.png", "made meanwhile");
    // The key follows the name at once: it waits for the names of now.
    shown.type("see @red\t");
    await shown.until(/see @(red\.png|README\.md)/);
    expect(shown.screen()).toContain("› see @red.png");
    shown.type("\x15@blue");
    await shown.until("› @blue");
    files().write("blue.txt", "");
    shown.type("\x15@blu\t");
    await shown.until("› @blue.txt");
  });

  test("a menu for / by name and by purpose, one for @, and a search of earlier input", async () => {
    const shown = await start(chat("hello there"));
    await shown.say("/chat rename describe to nameAll");
    await shown.until("hello there");
    shown.type("/re");
    await shown.until("/redo");
    expect(shown.screen()).toContain("/rewind");
    shown.type("\x1b");
    await shown.until(() => !shown.screen().includes("/redo"));
    expect(shown.screen()).toContain("› /re");
    shown.type("\x15");
    shown.type("look at @srccartjs");
    await shown.until("→ cart.js");
    shown.type("\t");
    await shown.until("› look at @src/cart.js");
    shown.type("\x12");
    await shown.until("history");
    shown.type("to name");
    await shown.until("→ /chat rename describe to nameAll");
    shown.type("\x1b");
    await shown.until("› look at @src/cart.js");
  });

  test("a paste of 10,000 lines is one mark, and all of it is sent", async () => {
    const shown = await start(chat("got it"));
    const text = Array.from({ length: 10_000 }, (_, at) => `line ${at}`).join("\n");
    shown.type(`\x1b[200~${text}\x1b[201~`);
    await shown.until("[paste #1 +10000 lines]");
    shown.type("\r");
    await shown.until("got it");
    expect(shown.all()).toContain("› line 0");
  });

  test("! runs a command as a job that one key undoes", async () => {
    const shown = await start(chat("hello"));
    await shown.say("!echo made > made.txt; echo printed");
    await shown.until("✓ Applied");
    expect(shown.screen()).toContain("printed");
    expect(files().read("made.txt")).toBe("made\n");
    shown.type("\x1bu");
    await shown.until("↶ Undone · 1 file as before: made.txt");
    expect(() => files().read("made.txt")).toThrow();
  });

  test("Japanese takes two columns a letter, and every way to a new line works", async () => {
    const shown = await start(chat("hello"));
    shown.type("日本語abc");
    await shown.until("› 日本語abc");
    expect(shown.cursor().column).toBe(11);
    shown.type("\x1b[D\x1b[D\x1b[D\x1b[D");
    await shown.until(() => shown.cursor().column === 6);
    shown.type("\x05\x1b[13;2ux\x1b\ry\nz");
    await shown.until(/abc\n {2}x\n {2}y\n {2}z/);
  });

  test("a new width while it streams: one line, one status, the text at the new width, and the scrollback stays", async () => {
    const parts = Array.from({ length: 30 }, (_, at) => `Part ${at + 1} ${"word ".repeat(20)}`).join("\n\n");
    const shown = await start(chat(`${parts}\n\nThe end.`, "    pause_ms: 2\n"), { columns: 100, rows: 30 });
    await shown.say("explain");
    await shown.until("Part 5 ");
    for (const columns of [200, 60, 180, 60, 100]) shown.resize(columns, 30);
    await shown.until("The end.");
    await shown.until("Say what to change");
    expect(shown.screen().split("? keys").length - 1).toBe(1);
    expect(shown.count("\x1b[3J")).toBe(0);
    expect(shown.all()).toContain("Part 1 word");
  });

  test("ctrl-c stops a running job and undoes it, and the conversation continues", async () => {
    const shown = await start(`${SLOW}${chat("Still here.")}`);
    await shown.say("/code3 be slow");
    await shown.until(/run +.*sleep 60/);
    shown.type("\x03");
    await shown.until("Say what to change");
    expect(files().read("src/cart.js")).toBe(CART);
    expect(() => files().read("began")).toThrow();
    await shown.say("/chat are you there");
    await shown.until("Still here.");
  });

  test("ended from outside in the middle of a job, it takes the job back", async () => {
    const shown = await start(SLOW);
    await shown.say("/code3 be slow");
    await shown.until(/run +.*sleep 60/);
    shown.child.kill("SIGTERM");
    expect(await shown.child.exited).toBe(143);
    expect(shown.sent.raw).toContain("\x1b[?2004l");
    expect(files().read("src/cart.js")).toBe(CART);
    expect(() => files().read("began")).toThrow();
  });

  test("earlier input is available in the next conversation", async () => {
    const shown = await start(chat("hello there"));
    await shown.say("/chat 一行目");
    await shown.until("hello there");
    // The reply is remembered when its turn has ended, not when its words are seen.
    await shown.until("Say what to change");
    await shown.close();
    const next = startProgram(files());
    open.shown.push(next);
    await next.until("resumed the chat: 1 message");
    next.type("\x1b[A");
    await next.until("› /chat 一行目");
  });

  test("SIGTERM gives the terminal back", async () => {
    const shown = await start(chat("hello"));
    shown.child.kill("SIGTERM");
    expect(await shown.child.exited).toBe(143);
    for (const bytes of ["\x1b[?2004l", "\x1b[?25h", "\x1b[<u"])
      expect(shown.count(bytes)).toBeGreaterThan(0);
  });
});

describe("where a screen is not wanted", () => {
  test("NO_COLOR sends no colour, and the sides of a difference can still be distinguished", async () => {
    const shown = await start(MENDS, { env: { NO_COLOR: "1" } });
    await shown.say("/code3 count quantities");
    await shown.until("✓ Applied");
    expect(shown.sent.raw).not.toMatch(/\x1b\[(?:3[0-7]|4[0-8]|9[0-7])[;m]/);
    expect(shown.sent.raw).toContain("\x1b[1;4m");
  });

  test.each([
    ["TERM=dumb", { env: { TERM: "dumb" } }],
    ["--plain", { args: ["chat", "--plain"] }],
    ["PICOCLAW_PLAIN", { env: { PICOCLAW_PLAIN: "1" } }],
  ])("%s: lines alone, and every fact is there", async (_, options) => {
    const shown = await start(MENDS, options);
    await shown.until("> ");
    shown.type("/code3 count quantities\r");
    await shown.until("Applied");
    expect(shown.all()).toContain("src/cart.js");
    expect(shown.sent.raw).not.toContain("\x1b");
    shown.type("\x04");
    expect(await shown.child.exited).toBe(0);
  });
});
