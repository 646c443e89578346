/** A tour through the conversation at a terminal: the screens that docs/images/terminal.txt keeps, and that a test compares. */
import { createWorld, startProgram } from "./terminal-kit.ts";

const ANSWERS = `answers:
  - when: { role: chat }
    usage: { input: 30, output: 17 }
    text: "## What this project does\\n\\n1. **Read** the cart\\n2. Add up \`price\` times \`quantity\`\\n\\n| file | what |\\n|---|---|\\n| src/cart.js | the total |\\n"
  - when: { role: coder3, message: slowly }
    pause_ms: 40
    text: |
      ## Plan
      The cart learns discounts.

      1. total() takes a discount
      2. an empty cart stays free
      ${"word ".repeat(200)}

      ## Patch
      \`\`\`js:src/cart.js
      export function total() {}
      \`\`\`

      ## Risk
      low
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

export const TOUR_SIZES = [
  [60, 20],
  [100, 30],
  [200, 40],
] as const;

interface TourPage {
  readonly name: string;
  readonly screen: string;
}

/** Spinners, seconds, times and names that every run has of its own. */
const steady = (screen: string) =>
  screen
    .replace(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, "⠿")
    .replace(/\b\d+ s\b/g, "N s")
    .replace(/\S*picoclaw-terminal-\w+/g, "~")
    .replace(/^picoclaw \S+/gm, "picoclaw X.Y.Z")
    .replace(/\b\d\d-\d\d \d\d:\d\d\b/g, "MM-DD hh:mm")
    .replace(/\b\d\d:\d\d\b/g, "hh:mm")
    .replace(/\bjob_\d+_\w+/g, "job_N")
    .replace(/\b\d{8}-cli-default/g, "DAY-cli-default")
    .replace(/(?:\bword\b\s*)+/g, "…\n")
    .replace(/ +$/gm, "");

export async function takeTour(columns: number, rows: number): Promise<readonly TourPage[]> {
  const pages: TourPage[] = [];
  const world = createWorld(ANSWERS);
  world.write("src/cart.js", CART);
  // Only a folder below the home is as wide wherever the tests run.
  const shown = startProgram(world, { columns, rows, env: { HOME: world.folder } });
  const keep = (name: string) => pages.push({ name, screen: steady(shown.screen()) });
  const pick = async (command: string, until: string, name: string) => {
    await shown.say(command);
    await shown.until(until);
    keep(name);
    shown.type("\x1b");
    await shown.until("Say what to change");
  };
  try {
    await shown.until("codes:");
    keep("empty");
    await shown.say("/chat explain this project");
    await shown.until("the total");
    await shown.until("Say what to change");
    await shown.until("47 tokens");
    keep("an answer");
    await shown.say("/code3 count the quantities");
    await shown.until("✓ Applied");
    await shown.until("1.3k tokens");
    keep("a card");
    shown.type("\t");
    await shown.until("▌ #1");
    shown.type("u");
    await shown.until("↶ Undone");
    keep("taken back");
    shown.type("\x1b");
    await shown.until(() => !shown.screen().includes("▌ #1"));
    await pick("/jobs", "type to search", "/jobs");
    await pick("/model", "type to search", "/model");
    await pick("/effort", "type to search", "/effort");
    await pick("/rewind", "type to search", "/rewind");
    // One that no new command joins.
    shown.type("/rewi");
    await shown.until("› /rewi");
    await shown.until("→ /rewind");
    keep("the menu");
    shown.type("\x1b");
    await shown.until(() => !shown.screen().includes("→ /rewind"));
    shown.type("\x15");
    await shown.until("Say what to change");
    await shown.say("/code3 slowly");
    await shown.until(/word/);
    keep("a coder writes");
    shown.type("\x1b");
    await shown.until("Stopped after");
    return pages;
  } finally {
    await shown.close();
    world.remove();
  }
}

/** As docs/images/terminal.txt has it. */
export function wordTour(columns: number, rows: number, pages: readonly TourPage[]): string {
  return pages.map(({ name, screen }) => `== ${name}, ${columns}x${rows}\n\n${screen}\n`).join("\n");
}
