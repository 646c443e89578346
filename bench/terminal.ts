/** The conversation at a terminal, in a real pty: until its prompt, while words stream, and on a slow line. */
import { readFileSync } from "node:fs";
import { createWorld, type Shown, type StartOptions, startProgram } from "../test/e2e/terminal-kit.ts";
import type { Row } from "./measure.ts";

const STARTS = 20;
const KEYS = 20;
const STREAM_MS = 8_000;
/** A tick of the kernel's clock, as it counts a process's time. */
const TICK_MS = 10;

const WORDS = Array.from({ length: 1_500 }, (_, at) => `word${at}${at % 15 === 14 ? "\n\n" : ""}`).join(" ");
const ANSWERS = `answers:\n  - when: { role: chat }\n    pause_ms: 20\n    text: ${JSON.stringify(WORDS)}\n`;

export async function terminal(): Promise<Row[]> {
  const starts: { readonly prompt: number; readonly memory: number }[] = [];
  for (let at = 0; at < STARTS; at++)
    starts.push(
      await withProgram({}, async (shown) => {
        await shown.until("›");
        const prompt = performance.now() - shown.startedAt;
        await shown.until("codes:");
        return { prompt, memory: memoryOf(shown) };
      }),
    );
  const prompt = Math.min(...starts.map((one) => one.prompt));
  const memory = Math.max(...starts.map((one) => one.memory));
  const { echo, share, streaming } = await withProgram({}, measureStream);
  const slow = await withProgram({ bytesPerSecond: 2_400, env: { SSH_TTY: "/dev/pts/9" } }, measureEscape);
  const row = (name: string, figure: string, target: string, isMet: boolean): Row => ({
    name,
    figure,
    target,
    ok: isMet,
  });
  return [
    row(
      `picoclaw at a terminal, until its prompt (least of ${STARTS})`,
      `${prompt.toFixed(0)} ms`,
      "≤ 150 ms",
      prompt <= 150,
    ),
    row(
      "its memory, idle / streaming",
      `${memory} / ${streaming} MB`,
      "≤ 90 MB",
      Math.max(memory, streaming) <= 90,
    ),
    row("a core, streaming 50 tokens a second", `${share.toFixed(1)} %`, "< 10 %", share < 10),
    row(`a key until it is echoed (median of ${KEYS})`, `${echo.toFixed(1)} ms`, "≤ 30 ms", echo <= 30),
    row("Esc on a line of 2,400 bytes a second", `${slow.toFixed(0)} ms`, "≤ 1 s", slow <= 1_000),
  ];
}

async function withProgram<T>(options: StartOptions, use: (shown: Shown) => Promise<T>): Promise<T> {
  const world = createWorld(ANSWERS);
  const shown = startProgram(world, options);
  try {
    return await use(shown);
  } finally {
    await shown.close();
    world.remove();
  }
}

async function measureStream(shown: Shown) {
  await shown.until("codes:");
  const echoes: number[] = [];
  for (let at = 0; at < KEYS; at++) {
    const [begun, { bytes }] = [performance.now(), shown.sent];
    shown.type("x");
    await shown.until(() => shown.sent.bytes > bytes);
    echoes.push(performance.now() - begun);
    await Bun.sleep(60);
  }
  shown.type("\x15");
  await shown.say("/chat go");
  await shown.until("word5 ");
  const [begun, used] = [performance.now(), processorMs(shown)];
  await Bun.sleep(STREAM_MS);
  const share = (100 * (processorMs(shown) - used)) / (performance.now() - begun);
  return { echo: echoes.sort((a, b) => a - b)[KEYS / 2] as number, share, streaming: memoryOf(shown) };
}

async function measureEscape(shown: Shown): Promise<number> {
  await shown.until("codes:");
  await shown.say("/chat go");
  await shown.until("word5 ");
  await Bun.sleep(5_000);
  const begun = performance.now();
  shown.type("\x1b");
  await shown.until("Stopped after");
  return performance.now() - begun;
}

function memoryOf({ child }: Shown): number {
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}

function processorMs({ child }: Shown): number {
  const fields = (readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1] ?? "").split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
