/**
 * Writes docs/images/terminal.txt: the conversation at a terminal as the real program draws it, in a pty, at three sizes, with a
 * scripted model. Spinners, seconds and folders are made the same for every run.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createWorld, startProgram } from "../test/e2e/terminal-kit.ts";

const ANSWERS = `answers:
  - when: { role: chat }
    text: "## What this project does\\n\\n1. **Read** the cart\\n2. Add up \`price\` times \`quantity\`\\n\\n| file | what |\\n|---|---|\\n| src/cart.js | the total |\\n"
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
      low
`;
const CART =
  "export function total(items) {\n  return items.reduce((sum, item) => sum + item.price, 0);\n}\n";

const steady = (screen: string) =>
  screen
    .replace(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, "⠿")
    .replace(/\b\d+ s\b/g, "N s")
    .replace(/\S*picoclaw-terminal-\w+/g, "~")
    .replace(/ +$/gm, "");

const pages: string[] = [];
for (const [columns, rows] of [
  [60, 20],
  [100, 30],
  [200, 40],
] as const) {
  const world = createWorld(ANSWERS);
  world.write("src/cart.js", CART);
  const shown = startProgram(world, { columns, rows });
  const keep = (name: string) => pages.push(`== ${name}, ${columns}x${rows}\n\n${steady(shown.screen())}\n`);
  try {
    await shown.until("codes:");
    keep("empty");
    await shown.say("/chat explain this project");
    await shown.until("the total");
    await shown.until("Say what to change");
    keep("an answer");
    await shown.say("/code3 count the quantities");
    await shown.until("✓ Applied");
    keep("a card");
    shown.type("\t");
    await shown.until("▌ #1");
    shown.type("u");
    await shown.until("↶ Taken back");
    keep("taken back");
    shown.type("/re");
    await shown.until("→ /redo");
    keep("the menu");
  } finally {
    await shown.close();
    world.remove();
  }
}
writeFileSync(join(import.meta.dir, "../docs/images/terminal.txt"), pages.join("\n"));
