/**
 * Writes docs/images/session.svg and session.ja.svg: a conversation with the real program in a pty, in the demo's project and with its
 * prepared model, as a picture that plays. Every frame is a screen that the program drew; only waiting is shortened.
 * test/e2e/first-minutes.test.ts compares its moments with the program's.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type IBufferCell, Terminal } from "@xterm/headless";
import { openDemo } from "../src/infrastructure/serve/demo-folder.ts";

const COLUMNS = 84;
const ROWS = 24;
const LINE = 19;
const LETTER = 8.43;
const EDGE = 18;
const BAR = 34;
/** Milliseconds: a typed letter, the longest frame while the program works, a moment to read, all the work of one step, and the end. */
const TIMES = { letter: 55, wait: 450, moment: 2_600, stretch: 4_000, end: 5_000 };
const WAIT_MS = 120_000;
const LEAST_MS = 80;

/** What is typed, and the words that end each step: from the program in both languages. */
const SESSIONS = {
  en: [
    ["fix the failing test", "[u] undo"],
    ["!rm -rf .git node_modules src", "[u] undo"],
    ["/undo", "#2 undone"],
  ],
  ja: [
    ["落ちているテストを直して", "[u] 取り消す"],
    ["!rm -rf .git node_modules src", "[u] 取り消す"],
    ["/undo", "#2 を取り消しました"],
  ],
} as const;
/** The empty line at the end of a screen that is drawn whole. */
const READY = { en: "? keys", ja: "? キー" } as const;
/** The last words above the first message. */
const START = { en: "codes: demo/demo", ja: "コード: demo/demo" } as const;

const PALETTE = [
  ...["#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#e6edf3"],
  ...["#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff"],
];
const INK = "#e6edf3";
const GROUND = "#0d1117";

interface Run {
  readonly text: string;
  readonly column: number;
  readonly columns: number;
  readonly style: string;
  readonly ground: string | null;
}

interface Frame {
  readonly rows: readonly (readonly Run[])[];
  /** Milliseconds that it is shown; `isHeld`: whatever the program took. */
  shownMs: number;
  isHeld: boolean;
}

type Language = keyof typeof SESSIONS;

if (import.meta.main)
  for (const language of ["en", "ja"] as const) {
    const name = language === "en" ? "session.svg" : `session.${language}.svg`;
    const drawn = drawRecording(await recordSession(language));
    writeFileSync(join(import.meta.dir, "../docs/images", name), drawn);
  }

/** Plays a session in a pty and keeps every screen that the program drew. */
export async function recordSession(language: Language): Promise<readonly Frame[]> {
  const demo = await openDemo({ PATH: process.env.PATH }, language);
  const screen = new Terminal({ cols: COLUMNS, rows: ROWS, scrollback: 2_000, allowProposedApi: true });
  const frames: Frame[] = [];
  let seenAt = 0;
  const keep = () => {
    const rows = Array.from({ length: ROWS }, (_, row) => readRow(screen, row));
    const last = frames.at(-1);
    const now = performance.now();
    if (last !== undefined && JSON.stringify(last.rows) === JSON.stringify(rows)) return;
    if (last !== undefined && !last.isHeld) last.shownMs = Math.min(now - seenAt, TIMES.wait);
    seenAt = now;
    frames.push({ rows, shownMs: TIMES.wait, isHeld: false });
  };
  const child = Bun.spawn([join(import.meta.dir, "../bin/picoclaw")], {
    cwd: demo.workspace,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: join(demo.workspace, ".."),
      PICOCLAW_HOME: demo.env.PICOCLAW_HOME,
      PICOCLAW_LOCALE: language,
      TERM: "xterm-256color",
      COLORTERM: "truecolor",
      LANG: "C.UTF-8",
    },
    terminal: { cols: COLUMNS, rows: ROWS, data: (_, bytes) => void screen.write(bytes, keep) },
  });
  screen.onData((answer) => child.terminal?.write(answer));
  const shown = () =>
    (frames.at(-1)?.rows ?? []).map((row) => row.map(({ text }) => text).join("")).join("\n");
  const hold = (ms: number) => {
    const last = frames.at(-1);
    if (last !== undefined) Object.assign(last, { shownMs: ms, isHeld: true });
  };
  const until = async (holds: (text: string) => boolean) => {
    const end = performance.now() + WAIT_MS;
    while (!holds(shown())) {
      if (performance.now() > end) throw new Error(`never shown:\n${shown()}`);
      await Bun.sleep(20);
    }
  };
  try {
    await until((text) => text.includes(START[language]));
    for (const [typed, result] of SESSIONS[language]) {
      for (const [at, letter] of [...typed].entries()) {
        child.terminal?.write(letter);
        await until((text) =>
          text.includes(
            `› ${[...typed]
              .slice(0, at + 1)
              .join("")
              .trimEnd()}`,
          ),
        );
        hold(TIMES.letter);
      }
      child.terminal?.write("\r");
      await until((text) => text.slice(text.lastIndexOf(`› ${typed}\n`)).includes(result));
      await until((text) => text.includes(READY[language]));
      hold(TIMES.moment);
    }
  } finally {
    child.kill("SIGTERM");
    await child.exited;
    child.terminal?.close();
    screen.dispose();
    await demo.remove();
  }
  return shortenWaits(frames);
}

/** Between two held frames everything takes at most as long as a reader watches; frames too short to be seen are left out. */
function shortenWaits(frames: readonly Frame[]): readonly Frame[] {
  const shown: Frame[] = [];
  let [waiting, owed]: [Frame[], number] = [[], 0];
  for (const frame of frames) {
    waiting.push(frame);
    if (!frame.isHeld && frame !== frames.at(-1)) continue;
    const total = waiting.slice(0, -1).reduce((sum, { shownMs }) => sum + shownMs, 0);
    for (const one of waiting.slice(0, -1)) {
      owed += one.shownMs * Math.min(1, TIMES.stretch / total);
      if (owed < LEAST_MS) continue;
      shown.push({ ...one, shownMs: owed });
      owed = 0;
    }
    shown.push(frame);
    waiting = [];
  }
  return shown;
}

function readRow(screen: Terminal, row: number): Run[] {
  const line = screen.buffer.active.getLine(screen.buffer.active.baseY + row);
  const runs: { text: string; column: number; columns: number; style: string; ground: string | null }[] = [];
  for (let column = 0; column < COLUMNS; column++) {
    const cell = line?.getCell(column);
    if (cell === undefined || cell.getWidth() === 0) continue;
    const [style, ground, columns] = [styleOf(cell), groundOf(cell), cell.getWidth()];
    const open = runs.at(-1);
    if (open !== undefined && open.style === style && open.ground === ground) {
      open.text += cell.getChars() || " ";
      open.columns += columns;
    } else runs.push({ text: cell.getChars() || " ", column, columns, style, ground });
  }
  while (runs.length > 0 && runs.at(-1)?.text.trim() === "" && runs.at(-1)?.ground === null) runs.pop();
  return runs.map((run, at) => (at === runs.length - 1 && run.ground === null ? trimRun(run) : run));
}

function trimRun(run: Run): Run {
  const text = run.text.trimEnd();
  return { ...run, text, columns: run.columns - (run.text.length - text.length) };
}

function styleOf(cell: IBufferCell): string {
  const colour = colourOf(cell.isFgDefault(), cell.isFgRGB(), cell.getFgColor());
  return [
    ...(colour === null ? [] : [`fill="${colour}"`]),
    ...(cell.isBold() ? ['font-weight="bold"'] : []),
    ...(cell.isDim() ? ['opacity=".6"'] : []),
  ].join(" ");
}

function groundOf(cell: IBufferCell): string | null {
  return colourOf(cell.isBgDefault(), cell.isBgRGB(), cell.getBgColor());
}

function colourOf(isDefault: boolean, isRgb: boolean, value: number): string | null {
  if (isDefault) return null;
  if (isRgb) return `#${value.toString(16).padStart(6, "0")}`;
  if (value < 16) return PALETTE[value] ?? INK;
  if (value >= 232) return `#${(8 + (value - 232) * 10).toString(16).padStart(2, "0").repeat(3)}`;
  const steps = [0, 95, 135, 175, 215, 255];
  const parts = [Math.floor((value - 16) / 36), Math.floor((value - 16) / 6) % 6, (value - 16) % 6];
  return `#${parts.map((part) => (steps[part] ?? 0).toString(16).padStart(2, "0")).join("")}`;
}

/** The frames side by side; one animation moves the next into the window. Where motion is not wanted, it shows the end. */
export function drawRecording(frames: readonly Frame[]): string {
  const [width, height] = [Math.ceil(COLUMNS * LETTER + 2 * EDGE), BAR + ROWS * LINE + EDGE];
  const known = new Map<string, string>();
  const groups = frames.map(({ rows, shownMs }, at) => {
    const uses = rows.flatMap((row, line) => {
      const drawn = drawRow(row);
      if (drawn === "") return [];
      const id = known.get(drawn) ?? `r${known.size}`;
      known.set(drawn, id);
      return [`<use href="#${id}" y="${line * LINE}"/>`];
    });
    const shift = at === 0 ? "" : ` transform="translate(${at * width})"`;
    return `<g${shownMs === TIMES.moment ? ' class="moment"' : ""}${shift}>${uses.join("")}</g>`;
  });
  const times = frames.map(({ shownMs }, at) => (at === frames.length - 1 ? TIMES.end : shownMs));
  const total = times.reduce((sum, ms) => sum + ms, 0);
  let passed = 0;
  const stops = times.map((ms, at) => {
    const stop = `${((100 * passed) / total).toFixed(2)}%{transform:translateX(${-at * width}px)}`;
    passed += ms;
    return stop;
  });
  const end = -(frames.length - 1) * width;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="a conversation with picoclaw in a terminal">
<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:${INK};white-space:pre}.all{transform:translateX(${end}px)}
@media (prefers-reduced-motion:no-preference){.all{animation:play ${(total / 1000).toFixed(1)}s steps(1,end) infinite}@keyframes play{${stops.join("")}100%{transform:translateX(${end}px)}}}</style>
<defs>${[...known].map(([drawn, id]) => `<g id="${id}">${drawn}</g>`).join("\n")}</defs>
<rect width="${width}" height="${height}" rx="9" fill="${GROUND}"/><circle cx="20" cy="17" r="6" fill="#ff5f57"/><circle cx="40" cy="17" r="6" fill="#febc2e"/><circle cx="60" cy="17" r="6" fill="#28c840"/>
<svg aria-hidden="true" x="${EDGE}" y="${BAR}" width="${width - 2 * EDGE}" height="${ROWS * LINE + 4}"><g class="all">
${groups.join("\n")}
</g></svg></svg>
`;
}

function drawRow(row: readonly Run[]): string {
  const grounds = row
    .filter(({ ground }) => ground !== null)
    .map(
      ({ column, columns, ground }) =>
        `<rect x="${(column * LETTER).toFixed(1)}" width="${(columns * LETTER).toFixed(1)}" height="${LINE}" fill="${ground}"/>`,
    );
  const words = row
    .filter(({ text }) => text.trim() !== "")
    .map(({ column, columns, text, style }) => {
      const look = style === "" ? "" : ` ${style}`;
      // Fonts draw wide letters wider or narrower than two columns.
      const wide = columns === text.length ? "" : ` textLength="${(columns * LETTER).toFixed(1)}"`;
      return `<tspan x="${(column * LETTER).toFixed(1)}"${wide}${look}>${escapeXml(text)}</tspan>`;
    });
  return words.length === 0 ? grounds.join("") : `${grounds.join("")}<text y="14">${words.join("")}</text>`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
