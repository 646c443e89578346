/** The real program in a real pty, read as a screen through a terminal emulator. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Terminal } from "@xterm/headless";
import { removeTree } from "../../src/infrastructure/platform/remove-tree.ts";
import { processesEnded } from "../left-behind.ts";

const PROGRAM = join(import.meta.dir, "../../bin/picoclaw");

export interface TerminalWorld {
  readonly folder: string;
  readonly workspace: string;
  readonly home: string;
  write(path: string, text: string): void;
  read(path: string): string;
  remove(): void;
}

/** A project and a home with a scripted model; `answers` is its script. */
export function createWorld(answers: string, more = ""): TerminalWorld {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "picoclaw-terminal-")));
  const [workspace, home] = [join(folder, "shop"), join(folder, "home")];
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), text);
  };
  mkdirSync(workspace);
  mkdirSync(home);
  mkdirSync(join(folder, "user"));
  writeFileSync(join(home, "answers.yaml"), answers);
  const roles = ["chat", "worker", "coder1", "coder2", "coder3"];
  writeFileSync(
    join(home, "config.yaml"),
    [
      "providers:",
      `  scripted: { type: scripted, script: ${join(home, "answers.yaml")} }`,
      "roles:",
      ...roles.map((role) => `  ${role}: { provider: scripted, model: demo-1 }`),
      more,
      "",
    ].join("\n"),
  );
  return {
    folder,
    workspace,
    home,
    write,
    read: (path) => readFileSync(join(workspace, path), "utf8"),
    remove: () => removeTree(folder),
  };
}

export interface StartOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** Instead of PicoClaw: another program, which `args` are for. */
  readonly program?: string;
  /** The ground that the terminal names when it is asked: `rgb:ffff/ffff/ffff`. */
  readonly ground?: string;
  /** Bytes a second that the line carries; without it, all at once. */
  readonly bytesPerSecond?: number;
}

export type Shown = ReturnType<typeof startProgram>;

const WAIT_MS = 120_000;

export function startProgram(world: TerminalWorld, options: StartOptions = {}) {
  const size = { cols: options.columns ?? 80, rows: options.rows ?? 24 };
  const screen = new Terminal({ ...size, scrollback: 20_000, allowProposedApi: true });
  const sent = { bytes: 0, raw: "" };
  const line = { freeAt: 0, waiting: 0 };
  let awake = Promise.withResolvers<void>();
  const startedAt = performance.now();
  const argv = [options.program ?? PROGRAM, ...(options.args ?? [])];
  const child = Bun.spawn(argv, {
    cwd: world.workspace,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: join(world.folder, "user"),
      PICOCLAW_HOME: world.home,
      PICOCLAW_LOCALE: "en",
      TERM: "xterm-256color",
      LANG: "C.UTF-8",
      ...options.env,
    },
    terminal: {
      ...size,
      data(_, bytes) {
        sent.bytes += bytes.length;
        const text = Buffer.from(bytes).toString("latin1");
        sent.raw += text;
        if (options.ground !== undefined && text.includes("\x1b]11;?"))
          child.terminal?.write(`\x1b]11;${options.ground}\x07`);
        const show = () =>
          screen.write(bytes, () => {
            awake.resolve();
            awake = Promise.withResolvers();
          });
        if (options.bytesPerSecond === undefined) {
          show();
          return;
        }
        // A slow line: every byte takes its time, and so does the terminal's answer.
        const now = performance.now();
        line.freeAt = Math.max(now, line.freeAt) + (bytes.length / options.bytesPerSecond) * 1000;
        line.waiting += bytes.length;
        setTimeout(() => {
          line.waiting -= bytes.length;
          show();
        }, line.freeAt - now);
      },
    },
  });
  // A terminal answers what it is asked: its kind, its state.
  screen.onData((answer) => child.terminal?.write(answer));

  const lineAt = (row: number) => screen.buffer.active.getLine(row)?.translateToString(true) ?? "";
  const visible = () => {
    const { baseY } = screen.buffer.active;
    return Array.from({ length: size.rows }, (_, row) => lineAt(baseY + row));
  };
  const everything = () => Array.from({ length: screen.buffer.active.length }, (_, row) => lineAt(row));

  async function until(what: string | RegExp | (() => boolean), ms = WAIT_MS): Promise<void> {
    const holds = () => {
      if (typeof what === "function") return what();
      const text = visible().join("\n");
      return typeof what === "string" ? text.includes(what) : what.test(text);
    };
    const end = performance.now() + ms;
    while (!holds()) {
      const left = end - performance.now();
      if (left <= 0) throw new Error(`never shown: ${String(what)}\n${visible().join("\n")}`);
      await Promise.race([awake.promise, Bun.sleep(Math.min(left, 250))]);
    }
  }

  return {
    child,
    sent,
    /** Bytes that the program wrote and a slow line has not shown yet. */
    waiting: () => line.waiting,
    startedAt,
    until,
    /** The content of the screen now. */
    screen: () => visible().join("\n").trimEnd(),
    /** The scrollback too. */
    all: () => everything().join("\n").trimEnd(),
    type: (text: string) => child.terminal?.write(text),
    /** Types it, waits until it is seen in the line, and sends it. */
    async say(text: string) {
      child.terminal?.write(text);
      await until(() => visible().join("").includes(text.slice(-12)));
      child.terminal?.write("\r");
    },
    cursor: () => ({ row: screen.buffer.active.cursorY, column: screen.buffer.active.cursorX }),
    cell(row: number, column: number) {
      const cell = screen.buffer.active.getLine(screen.buffer.active.baseY + row)?.getCell(column);
      return {
        text: cell?.getChars() ?? "",
        ground: cell?.getBgColor() ?? -1,
        isRgb: cell?.isBgRGB() ?? false,
      };
    },
    resize(columns: number, rows: number) {
      Object.assign(size, { cols: columns, rows });
      screen.resize(columns, rows);
      child.terminal?.resize(columns, rows);
    },
    /** Everything that was written is on the screen. */
    settled: () => new Promise<void>((resolve) => screen.write("", resolve)),
    /** How often these bytes were sent. */
    count: (bytes: string) => sent.raw.split(bytes).length - 1,
    async close() {
      if (child.exitCode === null) child.kill("SIGTERM");
      // An interactive shell does not hear it.
      const timer = setTimeout(() => child.kill("SIGKILL"), options.program === undefined ? WAIT_MS : 5_000);
      await child.exited;
      clearTimeout(timer);
      child.terminal?.close();
      // What a shell started hears of it when its terminal is gone, and still writes its last lines.
      await processesEnded(world.folder);
      screen.dispose();
    },
  };
}
