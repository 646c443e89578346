/**
 * Writes docs/images/demo.svg: `picoclaw demo` as the real program draws it in a pty, as a picture that plays. Waiting is cut:
 * each command and each result has a fixed time. test/e2e/first-minutes.test.ts compares its lines with the program's.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type IBufferCell, Terminal } from "@xterm/headless";

const COLUMNS = 84;
const ROWS = 400;
/** Lines that the picture shows at once. */
const SHOWN = 26;
const LINE = 19;
const LETTER = 8.43;
const EDGE = 18;
const BAR = 34;
/** Seconds: until a command appears, until its result does, and at the end. */
const TIMES = { command: 1.6, result: 1, last: 7 };
/** The demo's folder is another one each time. */
const FOLDER = "/tmp/picoclaw-demo";

const PALETTE = [
  ...["#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#e6edf3"],
  ...["#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff"],
];
const INK = "#e6edf3";
const GROUND = "#0d1117";

interface Run {
  readonly text: string;
  readonly column: number;
  readonly style: string;
  readonly ground: string | null;
}

const lines = await recordDemo();
writeFileSync(join(import.meta.dir, "../docs/images/demo.svg"), drawRecording(lines));

async function recordDemo(): Promise<Run[][]> {
  const home = mkdtempSync(join(tmpdir(), "picoclaw-record-"));
  const screen = new Terminal({ cols: COLUMNS, rows: ROWS, allowProposedApi: true });
  mkdirSync(join(home, "project"));
  const child = Bun.spawn([join(import.meta.dir, "../bin/picoclaw"), "demo"], {
    cwd: join(home, "project"),
    env: {
      PATH: process.env.PATH ?? "",
      HOME: home,
      TERM: "xterm-256color",
      COLORTERM: "truecolor",
      LANG: "en_US.UTF-8",
    },
    terminal: { cols: COLUMNS, rows: ROWS, data: (_, bytes) => void screen.write(bytes) },
  });
  const code = await child.exited;
  await new Promise<void>((resolve) => screen.write("", resolve));
  rmSync(home, { recursive: true, force: true });
  if (code !== 0) throw new Error(`the demo ended with ${code}`);
  const rows = Array.from({ length: ROWS }, (_, row) => readRow(screen, row));
  const last = rows.findLastIndex((row) => row.length > 0);
  return rows.slice(0, last + 1);
}

function readRow(screen: Terminal, row: number): Run[] {
  const line = screen.buffer.active.getLine(row);
  const runs: { text: string; column: number; style: string; ground: string | null }[] = [];
  for (let column = 0; column < COLUMNS; column++) {
    const cell = line?.getCell(column);
    if (cell === undefined || cell.getWidth() === 0) continue;
    const [style, ground] = [styleOf(cell), groundOf(cell)];
    const open = runs.at(-1);
    if (open !== undefined && open.style === style && open.ground === ground)
      open.text += cell.getChars() || " ";
    else runs.push({ text: cell.getChars() || " ", column, style, ground });
  }
  while (runs.length > 0 && runs.at(-1)?.text.trim() === "" && runs.at(-1)?.ground === null) runs.pop();
  return runs.map((run, at) => {
    const text = run.text.replace(/\/\S*picoclaw-demo-\w+\S*/g, FOLDER);
    return { ...run, text: at === runs.length - 1 && run.ground === null ? text.trimEnd() : text };
  });
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

/** Without animation, and where motion is not wanted, it shows the end. */
function drawRecording(rows: readonly (readonly Run[])[]): string {
  const scenes = sceneOf(rows);
  const total = scenes.reduce((sum, { seconds }) => sum + seconds, 0) + TIMES.last;
  const rules: string[] = [];
  const groups: string[] = [];
  const scroll: string[] = [];
  let at = 0;
  for (const [index, { from, to, seconds }] of scenes.entries()) {
    at += seconds;
    const percent = ((at / total) * 100).toFixed(2);
    const up = Math.max(0, to - SHOWN) * LINE;
    rules.push(
      `@keyframes s${index}{0%,${percent}%{opacity:0}${(Number(percent) + 0.4).toFixed(2)}%,99.6%{opacity:1}100%{opacity:0}}.s${index}{animation:s${index} ${total}s infinite}`,
    );
    scroll.push(
      `${percent}%{transform:translateY(${-Math.max(0, from - SHOWN) * LINE}px)}${(Number(percent) + 1.5).toFixed(2)}%{transform:translateY(${-up}px)}`,
    );
    const drawn = rows.slice(from, to).map((row, offset) => drawRow(row, from + offset));
    groups.push(`<g class="s${index}">${drawn.join("")}</g>`);
  }
  const end = Math.max(0, rows.length - SHOWN) * LINE;
  const [width, height] = [Math.ceil(COLUMNS * LETTER + 2 * EDGE), BAR + SHOWN * LINE + EDGE];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="picoclaw demo in a terminal">
<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:${INK};white-space:pre}.all{transform:translateY(${-end}px)}
@media (prefers-reduced-motion:no-preference){.all{animation:scroll ${total}s infinite}@keyframes scroll{0%{transform:translateY(0)}${scroll.join("")}100%{transform:translateY(${-end}px)}}${rules.join("")}}</style>
<rect width="${width}" height="${height}" rx="9" fill="${GROUND}"/><circle cx="20" cy="17" r="6" fill="#ff5f57"/><circle cx="40" cy="17" r="6" fill="#febc2e"/><circle cx="60" cy="17" r="6" fill="#28c840"/>
<svg aria-hidden="true" x="${EDGE}" y="${BAR}" width="${width - 2 * EDGE}" height="${SHOWN * LINE + 4}"><g class="all">
${groups.join("\n")}
</g></svg></svg>
`;
}

/** A scene is what appears at once: a command with the words above it, or its result. */
function sceneOf(rows: readonly (readonly Run[])[]) {
  const texts = rows.map((row) => row.map(({ text }) => text).join(""));
  const commands = texts.flatMap((text, row) => (text.startsWith("$ ") ? [row] : []));
  const afterCommands = commands.map((row) => row + 1);
  const beforeCommands = commands.slice(1).map((row) => texts.lastIndexOf("", row - 1));
  const cuts = [...new Set([0, ...afterCommands, ...beforeCommands, rows.length])].sort((a, b) => a - b);
  return cuts.slice(1).map((to, index) => {
    const from = cuts[index] ?? 0;
    const isCommand = commands.includes(to - 1);
    return { from, to, seconds: isCommand ? (index === 0 ? 0.4 : TIMES.command) : TIMES.result };
  });
}

function drawRow(row: readonly Run[], number: number): string {
  const y = number * LINE;
  const grounds = row
    .filter(({ ground }) => ground !== null)
    .map(
      ({ column, text, ground }) =>
        `<rect x="${(column * LETTER).toFixed(1)}" y="${y}" width="${(text.length * LETTER).toFixed(1)}" height="${LINE}" fill="${ground}"/>`,
    );
  const words = row.map(
    ({ column, text, style }) =>
      `<tspan x="${(column * LETTER).toFixed(1)}"${style === "" ? "" : ` ${style}`}>${escapeXml(text)}</tspan>`,
  );
  return `${grounds.join("")}<text y="${y + 14}">${words.join("")}</text>`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
