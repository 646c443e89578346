import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Terminal } from "@xterm/headless";
import fc from "fast-check";
import { saveHistory } from "../../../src/adapters/cli/converse.ts";
import { type Block, createLiveScreen, type LiveRows } from "../../../src/adapters/cli/live-screen.ts";
import { createMarkdownStream, markdownBlocks } from "../../../src/adapters/cli/markdown-stream.ts";
import { diffLines, diffRows } from "../../../src/adapters/cli/terminal-card.ts";
import { createStyle } from "../../../src/adapters/cli/terminal-style.ts";
import { createTurnView } from "../../../src/adapters/cli/turn-view.ts";
import { createWordOutput } from "../../../src/application/chat/held-output.ts";
import { maskSecrets } from "../../../src/domain/platform/mask.ts";
import { matchFiles } from "../../../src/domain/platform/match-files.ts";
import { chatMessagesFor } from "../../../src/domain/texts/chat.ts";
import { terminalMessagesFor } from "../../../src/domain/texts/cli-terminal.ts";
import { cases } from "../../require.ts";

const style = () => createStyle({ colour: true, ground: "dark" });

const MARKDOWN = `# Head **bold**

- one \`code\` and **more** of it
- two

| name | what |
|---|---|
| total | sums \`x\` |
| 合計 | 足します |

\`\`\`ts
const a = "b"; // c
**not bold**
\`\`\`
> quoted
1. 日本語の文章です。
end`;

/** The same text cut at these places. */
function cut(text: string, places: readonly number[]): string[] {
  const at = [0, ...places.toSorted((a, b) => a - b), text.length];
  return at.slice(1).map((end, index) => text.slice(at[index], end));
}

test("however Markdown is cut into pieces, the same rows are given away, at any width", () => {
  const whole = (columns: number) =>
    markdownBlocks(MARKDOWN, style).flatMap((block) => block.render(columns));
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: MARKDOWN.length }), { maxLength: 60 }),
      fc.integer({ min: 20, max: 120 }),
      (places, columns) => {
        const stream = createMarkdownStream(style);
        const blocks: Block[] = [];
        for (const piece of cut(MARKDOWN, places)) {
          blocks.push(...stream.add(piece));
          stream.live(columns);
        }
        blocks.push(...stream.end());
        expect(blocks.flatMap((block) => block.render(columns))).toEqual([...whole(columns)]);
      },
    ),
    { numRuns: cases(100) },
  );
});

test("words are passed on as they come, and no piece of a secret is, however the text is cut", () => {
  const key = "sk-ant-api03-AbCdEfGh1234567890";
  const text = `Use ${key} here.\nPASSWORD=hunter2hunter2 and 日本語 too\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\nThe end`;
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: text.length }), { maxLength: 40 }), (places) => {
      const seen: string[] = [];
      const output = createWordOutput(maskSecrets, (piece) => seen.push(piece));
      for (const piece of cut(text, places)) output.add(piece);
      output.end();
      expect(seen.join("")).toBe(maskSecrets(text));
      for (const secret of ["AbCdEfGh", "hunter2", "MIIEvQ"]) expect(seen.join("")).not.toContain(secret);
    }),
    { numRuns: cases(200) },
  );
  const far = "all the words of a long line and 日本語も、 ".repeat(40);
  const long = `${far}${key} ${far}password: "a b c d e f 1" ${far}TOKEN= ${"x".repeat(300)}1 ${far}`;
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 700 }), fc.integer({ min: 0, max: 99 }), (step, from) => {
      const seen: string[] = [];
      const output = createWordOutput(maskSecrets, (piece) => seen.push(piece));
      output.add(long.slice(0, from));
      for (let at = from; at < long.length; at += step) output.add(long.slice(at, at + step));
      output.end();
      // Of a quoted secret the blank before its last word may have been shown.
      expect(seen.join("").replaceAll(" ", "")).toBe(maskSecrets(long).replaceAll(" ", ""));
    }),
    { numRuns: cases(40) },
  );
  const seen: string[] = [];
  const output = createWordOutput(maskSecrets, (piece) => seen.push(piece));
  for (const word of ["The ", "first ", "words "]) output.add(word);
  expect(seen).toEqual(["The ", "first ", "words "]);
});

test.each([
  ["words", "word "],
  ["Japanese", "日本語。"],
  ["one word", "abcdefgh"],
  ["a password without an end", 'password: "ab cd '],
  ["a key without an end", "-----BEGIN PRIVATE KEY-----abcd"],
])("a line of %s that is twice as long is masked twice as much, not four times", (_, word) => {
  const maskedFor = (words: number) => {
    let characters = 0;
    const mask = (text: string) => {
      characters += text.length;
      return maskSecrets(text);
    };
    const output = createWordOutput(mask, () => {});
    for (let n = 0; n < words; n += 1) output.add(word);
    output.end();
    return characters;
  };
  expect(maskedFor(8_000)).toBeLessThan(2.5 * maskedFor(4_000));
  expect(maskedFor(8_000)).toBeLessThan(8_000 * word.length * 200);
});

test("the intended file is first among 20,000", () => {
  const files = Array.from(
    { length: 20_000 },
    (_, at) => `packages/app-${at % 50}/src/cart/store/cart-store-${at}.ts`,
  );
  files.push("src/cart.js", "src/cart.test.js", "docs/日本語.md");
  matchFiles(files, "cart", 50);
  for (const [wanted, first] of [
    ["srccartjs", "src/cart.js"],
    ["cart.j", "src/cart.js"],
    ["日本", "docs/日本語.md"],
    ["store7777", "packages/app-27/src/cart/store/cart-store-7777.ts"],
  ] as const) {
    expect(matchFiles(files, wanted, 50)[0]).toBe(first);
  }
  expect(matchFiles(files, "zzzqqq", 50)).toEqual([]);
});

test("after any printing and redrawing, the terminal shows what was printed and then the live rows", async () => {
  const action = fc.oneof(
    fc.record({ print: fc.array(fc.stringMatching(/^[a-z日 ]{0,30}$/), { minLength: 1, maxLength: 4 }) }),
    fc.record({ live: fc.array(fc.stringMatching(/^[A-Z語]{1,15}$/), { minLength: 1, maxLength: 6 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 25 }), async (actions) => {
      const terminal = new Terminal({
        cols: 30,
        rows: 10,
        scrollback: 1_000,
        allowProposedApi: true,
        convertEol: false,
      });
      const sent: string[] = [];
      let live: LiveRows = { rows: ["START"], cursor: { row: 0, column: 1 } };
      const screen = createLiveScreen({
        write: (text) => sent.push(text),
        columns: () => 30,
        rows: () => 10,
        live: () => live,
        after: () => () => {},
        now: () => 0,
        slowLine: false,
      });
      screen.redraw();
      const printed: string[] = [];
      for (const one of actions) {
        if ("print" in one) {
          const rows = one.print.map((row) => row.slice(0, 14).trimEnd());
          printed.push(...rows);
          screen.print({ render: () => rows });
        } else live = { rows: one.live, cursor: { row: one.live.length - 1, column: 0 } };
        screen.redraw();
      }
      await new Promise<void>((resolve) => terminal.write(sent.join(""), resolve));
      const buffer = terminal.buffer.active;
      const lines = Array.from(
        { length: buffer.length },
        (_, row) => buffer.getLine(row)?.translateToString(true) ?? "",
      );
      const wanted = [...printed, ...live.rows];
      expect(lines.slice(0, wanted.length)).toEqual(wanted);
      expect(lines.slice(wanted.length).join("")).toBe("");
      terminal.dispose();
    }),
    { numRuns: cases(60) },
  );
});

const SOURCES = join(import.meta.dir, "../../../src");

/** Every file that is loaded with this one: imports that run late are not followed. */
function loadedWith(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const text = readFileSync(file, "utf8");
  for (const [, clause = "", from = ""] of text.matchAll(
    /^(?:import|export)\s+([^;]*?)\s*from\s+"([^"]+)";/gms,
  )) {
    if (clause.startsWith("type ")) continue;
    if (from.startsWith(".")) loadedWith(join(dirname(file), from), seen);
    else seen.add(from);
  }
  return seen;
}

test.each([
  "adapters/cli/chat.ts",
  "adapters/cli/apply.ts",
  "adapters/cli/serve.ts",
  "adapters/cli/dispatch.ts",
  "adapters/cli/jobs.ts",
  "adapters/cli/live-jobs.ts",
  "wiring/program.ts",
  "wiring/chat.ts",
])("%s loads nothing of the screen", (file) => {
  const loaded = [...loadedWith(join(SOURCES, file))];
  expect(
    loaded.filter((one) => /pi-tui|converse|live-screen|terminal-(?:pi|card|input|pager|style)/.test(one)),
  ).toEqual([]);
});

test("the prompt is drawn with the screen and the line alone: words, cards and the workspace are loaded behind it", () => {
  const loaded = [...loadedWith(join(SOURCES, "adapters/cli/open-conversation.ts"))].concat([
    ...loadedWith(join(SOURCES, "adapters/cli/converse.ts")),
  ]);
  expect(
    loaded.filter((one) =>
      /reply-words|conversation-(?:cards|turns)|terminal-(?:card|markdown)|markdown-stream|turn-view|texts\/(?:jobs|chat)|^diff$|child_process|kysely/.test(
        one,
      ),
    ),
  ).toEqual([]);
});

test("pi-tui has one door", () => {
  const importing = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter(
    (file) =>
      file.endsWith(".ts") && readFileSync(join(SOURCES, file), "utf8").includes('"@earendil-works/pi-tui'),
  );
  expect(importing).toEqual(["adapters/cli/terminal-pi.ts"]);
});

test("the steps of a plan stand above what runs, and are ticked in place", () => {
  const plain = createStyle({ colour: false, ground: "dark" });
  const view = createTurnView({
    texts: terminalMessagesFor("en"),
    chat: chatMessagesFor("en"),
    style: () => plain,
    now: () => 0,
  });
  const steps = (first: "open" | "done") => [
    { text: "Add total", state: first },
    { text: "Run the tests", state: "open" as const },
  ];
  view.event({ type: "steps", steps: steps("open") });
  expect(view.live(40)).toEqual(["  ☐ Add total", "  ☐ Run the tests"]);
  view.event({ type: "job-command", jobId: "j", index: 1, command: "file_edit update a.ts" });
  view.event({ type: "steps", steps: steps("done") });
  expect(view.live(40).slice(0, 2)).toEqual(["  ☑ Add total", "  ☐ Run the tests"]);
});

test("a changed line has the colours of its code on the ground of the change, and none without colours", () => {
  const lines = diffLines(
    [
      {
        path: "a.js",
        before: Buffer.from('let a = "x"; // one\n'),
        after: Buffer.from('let a = "y"; // one\n'),
      },
    ],
    terminalMessagesFor("en"),
  );
  const [, , added = ""] = diffRows(lines, 60, createStyle({ colour: true, ground: "dark" }));
  expect(added).toContain("\x1b[35mlet\x1b[39m");
  expect(added).toContain("\x1b[36my\x1b[39m");
  expect(added).toContain("\x1b[2m// one\x1b[22m");
  const [, , bare = ""] = diffRows(lines, 60, createStyle({ colour: false, ground: "dark" }));
  expect(bare).toBe('    1 + let a = "\x1b[1;4my\x1b[22;24m"; // one');
});

test("the history of the input keeps no key: of /login none of any shape, in other lines none of a known shape", () => {
  let saved = "";
  const program = { chatHistory: { file: "", save: (text: string) => (saved = text) } };
  const lines = [
    "/login sk-ant-api03-abc123",
    "/LOGIN\n0123456789abcdef",
    "/login",
    "use sk-ant-api03-abc123",
    "/loginx y",
  ];
  saveHistory(program as unknown as Parameters<typeof saveHistory>[0], lines);
  expect(saved).toBe('"/login"\n"use sk-ant-****"\n"/loginx y"\n');
});
