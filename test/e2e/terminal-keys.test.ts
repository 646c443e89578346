import { afterEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../fakes/model-server/server.ts";
import {
  createWorld,
  type Shown,
  type StartOptions,
  startProgram,
  type TerminalWorld,
} from "./terminal-kit.ts";

const CART = "export const total = 1;\n";

const SORTS = `
  - when: { role: worker, message: 以下のメッセージを分類してください }
    text: '{"route": "CHAT", "confidence": 0.9, "reason": "talk"}'`;

const changes = (plan: string, to: string, more = "") => `
  - when: { role: coder3${more} }
    text: |
      ## Plan
      ${plan}

      ## Patch
      \`\`\`js:src/cart.js
      export const total = ${to};
      \`\`\`

      ## Risk
      low`;

const chat = (text: string, more = "") =>
  `\n  - when: { role: chat }\n${more}    text: ${JSON.stringify(text)}`;

const open: { world?: TerminalWorld; shown: Shown[] } = { shown: [] };

afterEach(async () => {
  for (const shown of open.shown.splice(0)) await shown.close();
  open.world?.remove();
  delete open.world;
});

const files = () => open.world as TerminalWorld;

async function start(
  answers: string,
  options: StartOptions & { readonly config?: string } = {},
): Promise<Shown> {
  const world = createWorld(`answers:${SORTS}${answers}\n`, options.config);
  world.write("src/cart.js", CART);
  open.world = world;
  return again(options);
}

async function again(options: StartOptions = {}): Promise<Shown> {
  const shown = startProgram(files(), options);
  open.shown.push(shown);
  await shown.until("codes:");
  return shown;
}

/** A program in place of the user's editor: it records its input, and writes the scripted text. */
function editorThat(script: string): Readonly<Record<string, string>> {
  const path = join(files().folder, "editor.sh");
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return { EDITOR: path };
}

describe("lists to choose from", () => {
  test("/model: arrows and search; the choice applies from the next message on", async () => {
    const shown = await start(chat("hello"));
    await shown.say("/model");
    await shown.until("type to search");
    expect(shown.screen()).toContain("→ scripted/demo-1");
    shown.type("mio");
    await shown.until("→ Mio …");
    shown.type("\r");
    await shown.until(/→ scripted\/demo-1 +for Mio/);
    shown.type("\r");
    await shown.until("Mio uses scripted/demo-1");
  });

  test("/effort: a row down and Enter", async () => {
    const shown = await start(chat("hello"));
    await shown.say("/effort");
    await shown.until("→ off");
    shown.type("\x1b[B\x1b[B");
    await shown.until("→ medium");
    shown.type("\r");
    await shown.until("Gin works with effort medium");
  });

  test("/jobs shows jobs of every channel, and the chosen one is a card with its keys", async () => {
    const shown = await start(changes("Two is the total", "2"));
    await shown.say("/code3 two");
    await shown.until("✓ Applied");
    await shown.say("!echo x > made.txt");
    await shown.until("#2");
    await shown.until("✓ Applied");
    await shown.say("/jobs");
    await shown.until("→ #2");
    shown.type("two");
    await shown.until("→ #1");
    shown.type("\r");
    await shown.until("▌ #1");
    shown.type("u");
    await shown.until("↶ Undone · 1 file as before: src/cart.js");
    expect(files().read("src/cart.js")).toBe(CART);
    expect(files().read("made.txt")).toBe("x\n");
  });

  test("/status, /context and /cost are lists that lead on, and texts in one message", async () => {
    const shown = await start(chat("hello", "    usage: { input: 10, output: 5 }\n"));
    await shown.say("/chat hi");
    await shown.until("hello");
    await shown.until("Say what to change");
    await shown.say("/status");
    await shown.until("Current status");
    expect(shown.screen()).toContain("run at once");
    shown.type("proposals\r");
    await shown.until("Dry mode: on");
    await shown.say("/context");
    await shown.until("What the models see");
    expect(shown.screen()).toContain("1 message since");
    shown.type("\x1b");
    await shown.until("Say what to change");
    await shown.say("/cost");
    await shown.until("Tokens and cost");
    expect(shown.screen()).toContain("→ scripted/demo-1");
    shown.type("\r");
    await shown.until("scripted/demo-1:");
  });

  test("/resume lists the earlier conversations; the chosen one continues", async () => {
    const shown = await start(chat("hello"));
    await shown.say("/chat the first one");
    await shown.until("hello");
    await shown.until("Say what to change");
    await shown.say("/new");
    await shown.until("A new conversation begins");
    await shown.say("/resume");
    await shown.until("the first one”");
    shown.type("\r");
    await shown.until("The session continues");
  });

  test("esc esc lists the messages, and the chosen one is gone back to", async () => {
    const shown = await start(`${changes("Three", "3", ", message: three")}${changes("Two", "2")}`);
    await shown.say("/code3 two");
    await shown.until("✓ Applied");
    await shown.say("/code3 three");
    await shown.until("● Three");
    await shown.until("✓ Applied");
    await shown.until("Say what to change");
    shown.type("\x1b");
    await shown.until("esc again");
    shown.type("\x1b");
    await shown.until("Back to which message?");
    expect(shown.screen()).toMatch(/→ 2 .*three/);
    shown.type("\x1b[B");
    await shown.until(/→ 1 .*two/);
    shown.type("\r");
    await shown.until("messages forgotten: 1");
    expect(files().read("src/cart.js")).toBe("export const total = 2;\n");
  });

  test("a look at things does not wait for what runs", async () => {
    const shown = await start(chat("late", "    delay_ms: 20000\n"));
    await shown.say("/chat wait");
    await shown.until("esc stops");
    await shown.say("/help");
    await shown.until("/help all");
    expect(shown.screen()).toContain("esc stops");
    await shown.say("/status");
    await shown.until("Current status");
    shown.type("\x1b");
    await shown.until(() => !shown.screen().includes("Current status"));
    expect(shown.screen()).toContain("esc stops");
    shown.type("\x1b");
    await shown.until("Stopped after");
  });
});

describe("keys of a card", () => {
  test("d is the whole difference on another screen, with n and p for files, and leaves nothing behind", async () => {
    const shown = await start(chat("hello"), { rows: 30 });
    await shown.say("!seq 3000 > long.txt; echo b > z.txt");
    await shown.until("✓ Applied");
    const before = shown.screen();
    shown.type("\t");
    await shown.until("▌ #1");
    shown.type("d");
    await shown.until("n p file");
    expect(shown.screen()).toContain("long.txt");
    shown.type("G");
    await shown.until("100 %");
    expect(shown.screen()).toContain("+ b");
    shown.type("g");
    await shown.until("0 %");
    shown.type("n");
    await shown.until("z.txt");
    shown.type("q");
    await shown.until("▌ #1");
    shown.type("\x1b");
    await shown.until(() => shown.screen() === before);
  });

  test("o opens the file in the user's editor", async () => {
    const shown0 = createWorld(`answers:${SORTS}${changes("Two", "2")}\n`);
    open.world = shown0;
    shown0.write("src/cart.js", CART);
    const env = editorThat(`echo "$1" > ${shown0.folder}/opened; echo edited >> "$1"`);
    const shown = await again({ env });
    await shown.say("/code3 two");
    await shown.until("✓ Applied");
    shown.type("\t");
    await shown.until("▌ #1");
    shown.type("o");
    await shown.until(() => files().read("src/cart.js").endsWith("edited\n"));
    expect(files().read("../opened")).toEndWith("shop/src/cart.js\n");
    shown.type("\x1b");
    await shown.until("Say what to change");
  });

  test("p applies a preview", async () => {
    const shown = await start(changes("Two", "2"));
    await shown.say("/preview /code3 two");
    await shown.until("◇");
    expect(files().read("src/cart.js")).toBe(CART);
    shown.type("\t");
    await shown.until("[p] apply");
    shown.type("p");
    await shown.until("✓ Applied");
    expect(files().read("src/cart.js")).toBe("export const total = 2;\n");
  });

  test("a job of another channel is a card here: tab finds it, u takes it back", async () => {
    const shown0 = createWorld(`answers:${SORTS}${changes("Two", "2")}\n`);
    open.world = shown0;
    shown0.write("src/cart.js", CART);
    const other = startProgram(shown0, { args: ["chat", "--name", "elsewhere", "/code3 two"] });
    open.shown.push(other);
    expect(await other.child.exited).toBe(0);
    const shown = await again();
    shown.type("\t");
    await shown.until("▌ #1");
    expect(shown.screen()).toContain("+ export const total = 2;");
    shown.type("u");
    await shown.until("↶ Undone");
    expect(files().read("src/cart.js")).toBe(CART);
  });

  test("a job that later ones stand in the way of is undone with them by one key", async () => {
    const shown = await start(`${changes("Three", "3", ", message: three")}${changes("Two", "2")}`);
    await shown.say("/code3 two");
    await shown.until("✓ Applied");
    await shown.say("/code3 three");
    await shown.until("● Three");
    await shown.until(() => files().read("src/cart.js") === "export const total = 3;\n");
    await shown.until("Say what to change");
    await shown.say("/undo #1");
    await shown.until("Undo #2 and #1? y/n");
    shown.type("y");
    await shown.until("/undo #2 #1");
    await shown.until(() => files().read("src/cart.js") === CART);
  });
});

describe("the line", () => {
  test("ctrl-g writes the message in the user's editor", async () => {
    const world = createWorld(`answers:${SORTS}${chat("hello")}\n`);
    open.world = world;
    const env = editorThat('printf "%s and more\\nsecond line" "$(cat "$1")" > "$1"');
    const shown = await again({ env });
    shown.type("begun");
    await shown.until("› begun");
    shown.type("\x07");
    await shown.until(/› begun and more\n {2}second line/);
  });

  test("without an editor ctrl-g says so, and keeps the line", async () => {
    const shown = await start(chat("hello"));
    shown.type("begun");
    await shown.until("› begun");
    shown.type("\x07");
    await shown.until("No editor: set VISUAL or EDITOR.");
    expect(shown.screen()).toContain("› begun");
  });

  test("vi's keys by setting: modes, motions, operators, undo", async () => {
    const shown = await start(chat("hello there"), { config: "terminal: { keys: vim }" });
    shown.type("one two three");
    await shown.until("› one two three");
    shown.type("\x1b");
    await shown.until("NORMAL");
    shown.type("0dw");
    await shown.until("› two three");
    shown.type("wcwFOUR");
    await shown.until("› two FOUR");
    shown.type("\x1b");
    await shown.until("NORMAL");
    shown.type("yyp");
    await shown.until(/› two FOUR\n {2}two FOUR/);
    shown.type("u");
    await shown.until(() => !/two FOUR\n {2}two FOUR/.test(shown.screen()));
    shown.type("A!\r");
    await shown.until("hello there");
    expect(shown.all()).toContain("› two FOUR!");
  });
});

describe("what happens to terminals", () => {
  test("ctrl-z returns to the shell, and fg returns with the typed text", async () => {
    const world = createWorld(`answers:${SORTS}${chat("hello")}\n`);
    open.world = world;
    const program = join(import.meta.dir, "../../bin/picoclaw");
    const shown = startProgram(world, {
      args: ["--norc", "--noprofile", "-i"],
      program: "/bin/bash",
      env: { PS1: "shell> " },
    });
    open.shown.push(shown);
    await shown.until("shell> ");
    shown.type(`${program}\r`);
    await shown.until("codes:");
    shown.type("half");
    await shown.until("› half");
    shown.type("\x1a");
    await shown.until(/Stopped[\s\S]*\nshell>/);
    shown.type("echo in the $((40+2)) shell\r");
    await shown.until("in the 42 shell");
    shown.type("fg\r");
    await shown.until(/in the 42 shell[\s\S]*› half/);
    shown.type(" a thought");
    await shown.until("› half a thought");
  });

  test("a process that was killed leaves a sane terminal", async () => {
    const world = createWorld(`answers:${SORTS}${chat("hello")}\n`);
    open.world = world;
    const program = join(import.meta.dir, "../../bin/picoclaw");
    const line = `${program} & child=$!; echo $child > ${world.folder}/pid; fg; sleep 1; stty -a; read -r said; echo "read: $said"`;
    const shown = startProgram(world, { program: "/bin/bash", args: ["-mc", line] });
    open.shown.push(shown);
    await shown.until("codes:");
    process.kill(Number(readFileSync(join(world.folder, "pid"), "utf8")), "SIGKILL");
    await shown.until("isig icanon");
    for (const bytes of ["\x1b[?2004l", "\x1b[?25h", "\x1b[?1004l", "\x1b[<u"])
      expect(shown.sent.raw).toContain(bytes);
    expect(shown.screen()).toContain("isig icanon iexten echo");
    shown.type("typed\r");
    await shown.until("read: typed");
  });

  test("a light ground that the terminal names gives light grounds to the difference", async () => {
    const shown = await start(changes("Two", "2"), { ground: "rgb:ffff/ffff/ffff" });
    await shown.say("/code3 two");
    await shown.until("✓ Applied");
    expect(shown.sent.raw).toContain("48;2;222;247;226");
    expect(shown.sent.raw).not.toContain("48;2;18;52;28");
  });

  test("on a slow line esc answers while a model writes: a frame waits until the last one was shown", async () => {
    const words = Array.from({ length: 1_500 }, (_, at) => `word${at}${at % 15 === 14 ? "\n\n" : ""}`).join(
      " ",
    );
    const shown = await start(chat(words, "    pause_ms: 20\n"), {
      bytesPerSecond: 2_400,
      env: { SSH_TTY: "/dev/pts/9" },
    });
    await shown.say("/chat go");
    await shown.until("word60 ");
    shown.type("\x1b");
    await shown.until(() => shown.sent.raw.includes("Stopped after"));
    // A line that is given more than it carries shows the answer ten seconds late: 20,000 bytes wait.
    expect(shown.waiting()).toBeLessThan(6_000);
  });

  test.if(Bun.which("tmux") !== null)(
    "inside tmux nothing of a long answer is lost, and a new size draws one line",
    async () => {
      const parts = Array.from({ length: 40 }, (_, at) => `Part ${at + 1}`).join("\n\n");
      const world = createWorld(`answers:${SORTS}${chat(`${parts}\n\nThe end.`, "    pause_ms: 2\n")}\n`);
      open.world = world;
      const socket = join(world.folder, "tmux");
      const program = join(import.meta.dir, "../../bin/picoclaw");
      const tmux = (...args: string[]) => Bun.spawnSync(["tmux", "-S", socket, ...args]).stdout.toString();
      const shown = startProgram(world, {
        program: "tmux",
        args: ["-S", socket, "-f", "/dev/null", "new-session", program],
        columns: 100,
        rows: 30,
      });
      open.shown.push(shown);
      try {
        await shown.until("codes:");
        await shown.say("/chat explain");
        await shown.until("The end.");
        await shown.until("Say what to change");
        const history = tmux("capture-pane", "-p", "-S", "-");
        expect([...history.matchAll(/^Part (\d+)$/gm)].map(([, number]) => Number(number))).toEqual(
          Array.from({ length: 40 }, (_, at) => at + 1),
        );
        shown.resize(70, 24);
        await shown.until(() => shown.screen().split("? keys").length === 2);
      } finally {
        tmux("kill-server");
      }
    },
  );

  test("a model that stalls: the seconds go on, keys are seen, and esc answers", async () => {
    const shown = await start(chat("one two three four five", "    pause_ms: 60000\n"));
    await shown.say("/chat stall");
    await shown.until("esc stops");
    await shown.until(/ 2 s /);
    shown.type("typed meanwhile");
    await shown.until("› typed meanwhile");
    shown.type("\x15");
    await shown.until("say more");
    shown.type("\x1b");
    await shown.until("Stopped after");
  });
});

describe("images", () => {
  const PNG = Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  );

  test("one that is named by its path, and one of the clipboard, reach a model that sees", async () => {
    const server = await startModelServer({
      script: [{ text: "A single dot." }, { text: "The same dot." }],
    });
    try {
      const world = createWorld(`answers:${SORTS}\n`);
      open.world = world;
      writeFileSync(
        join(world.home, "config.yaml"),
        `providers:\n  claude: { base_url: "${server.baseUrl("anthropic")}" }\n  scripted: { type: scripted, script: ${join(world.home, "answers.yaml")} }\nsecurity: { local_only: false }\nroles:\n  chat: { provider: claude }\n  worker: { provider: scripted, model: demo-1 }\n`,
      );
      writeFileSync(join(world.workspace, "dot.png"), PNG);
      const programs = join(world.folder, "programs");
      const clipboard = join(world.folder, "clipboard.png");
      mkdirSync(programs);
      // Stand-ins: a desktop without Wayland, whose clipboard is a file.
      for (const [name, line] of [
        ["wl-paste", "exit 1"],
        ["xclip", `case "$*" in *image/png*) exec cat '${clipboard}' ;; esac`],
      ])
        writeFileSync(join(programs, `${name}`), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
      const shown = await again({
        env: { ANTHROPIC_API_KEY: "sk-AAAABBBBCCCCDDDD", PATH: `${programs}:${process.env.PATH}` },
      });
      await shown.say("/chat what is on @dot.png ?");
      await shown.until("A single dot.");
      expect(JSON.stringify(server.requests.at(-1)?.body)).toContain(PNG.toString("base64"));
      shown.type("\x16");
      await shown.until("No image in the clipboard.");
      const other = Buffer.concat([PNG, Buffer.from("of the clipboard")]);
      writeFileSync(clipboard, other);
      shown.type("/chat and ");
      await shown.until("/chat and");
      shown.type("\x1b[200~\x1b[201~");
      await shown.until("/chat and @clipboard-1.png");
      await shown.say("?");
      await shown.until("The same dot.");
      expect(JSON.stringify(server.requests.at(-1)?.body)).toContain(other.toString("base64"));
    } finally {
      await server.stop();
    }
  });

  test("a model without images refuses it with the reason, and a file that is not an image is not sent", async () => {
    const shown = await start(chat("hello"));
    writeFileSync(join(files().workspace, "dot.png"), PNG);
    writeFileSync(join(files().workspace, "no.png"), "text");
    await shown.say("/chat what is on @dot.png ?");
    await shown.until(/demo-1[^\n]*image|image[^\n]*demo-1/);
    shown.type("\x15");
    await shown.say("/chat what is on @no.png ?");
    await shown.until("✗ no.png");
    await shown.until("› /chat what is on @no.png ?");
  });
});
