import type { BackgroundProcess, ProcessStarted } from "../../application/ports/sandbox-processes.ts";
import {
  processCells,
  toProcessJson,
  wordLog,
  wordPlanted,
  wordStarted,
  wordStopped,
} from "../../application/sandbox/process-report.ts";
import { quoteWords } from "../../domain/platform/paths.ts";
import { type ProcessMessages, processMessagesFor } from "../../domain/texts/sandbox.ts";
import {
  type Flags,
  fail,
  printable,
  printJson,
  readPort,
  refuseInput,
  refuseUsage,
  type Subcommand,
  succeed,
} from "./command.ts";
import { openOrStop } from "./flags.ts";
import { type CliProgram, EXIT, type OpenedProcesses } from "./program.ts";
import { columnsOf } from "./terminal-text.ts";

/** `ps`: the background processes of a workspace; `ps start|log|restart|stop|clear`. */
export const command: Subcommand = {
  name: "ps",
  usage: "ps [ACTION]",
  flags: {
    all: "boolean",
    name: "string",
    port: "string",
    over: "string",
    restart: "boolean",
    lines: "string",
  },
  words: 256,
  run: ps,
};

type Opened = Extract<OpenedProcesses, { ok: true }>;

const DEFAULT_LINES = 50;
const MOST_LINES = 10_000;

async function ps(program: CliProgram, flags: Flags): Promise<number> {
  const opened = await openOrStop(program, flags.values, program.openProcesses);
  const [action = "list", ...words] = flags.words;
  switch (action) {
    case "list":
      return words.length === 0 ? list(program, opened, flags) : usage(program, opened, flags);
    case "start":
      return start(program, opened, flags, words);
    case "log":
      return log(program, opened, flags, words);
    case "restart":
      return restart(program, opened, flags, words);
    case "stop":
      return stop(program, opened, flags, words);
    case "clear":
      return clear(program, opened, flags);
    default:
      return usage(program, opened, flags);
  }
}

function textsOf({ messages }: Opened): ProcessMessages {
  return processMessagesFor(messages.locale);
}

function usage(program: CliProgram, opened: Opened, { json }: Flags, text?: string): number {
  const said = [...(text === undefined ? [] : [text]), textsOf(opened).usage].join("\n");
  return refuseUsage(program, json, said);
}

async function list(program: CliProgram, opened: Opened, { values, json }: Flags): Promise<number> {
  const found = values.all === true ? await opened.listEverywhere() : await opened.processes.list();
  if (json) return printJson(program, { processes: found.map(toProcessJson) });
  const planted = found.flatMap((process) => wordPlanted(process, opened.messages.locale));
  const table = tableOf(found, textsOf(opened), values.all === true);
  program.out(`${printable([table, ...planted].join("\n"))}\n`);
  return EXIT.done;
}

function tableOf(
  found: readonly BackgroundProcess[],
  words: ProcessMessages,
  withWorkspace: boolean,
): string {
  if (found.length === 0) return words.none;
  const { name, state, time, ports, command } = words.header;
  const now = new Date();
  return columnsOf([
    [name, state, time, ports, command, ...(withWorkspace ? [""] : [])],
    ...found.map((process) => [
      ...processCells(process, words, now),
      ...(withWorkspace ? [process.root] : []),
    ]),
  ]);
}

async function start(
  program: CliProgram,
  opened: Opened,
  flags: Flags,
  words: readonly string[],
): Promise<number> {
  const { name, port, over, restart } = flags.values;
  const number = typeof port === "string" ? readPort(port) : undefined;
  if (port !== undefined && !number)
    return usage(program, opened, flags, textsOf(opened).badPort(String(port)));
  const [line = "", ...rest] = words;
  const started = await opened.processes.start({
    // One word is a line for the shell, several are a program and its arguments.
    command: rest.length === 0 ? line : quoteWords(words),
    ...(typeof name === "string" && { name }),
    ...(number !== undefined && { port: number }),
    ...(typeof over === "string" && { over }),
    restartsOnLanding: restart === true,
  });
  return reportStart(program, opened, flags, started);
}

function reportStart(
  program: CliProgram,
  { messages }: Opened,
  { json }: Flags,
  started: ProcessStarted,
  again = false,
): number {
  const text = wordStarted(started, messages.locale, { where: "cli", again });
  if (!started.ok) {
    const { why } = started;
    const isUsage = why === "empty-command" || why === "bad-name" || why === "unknown";
    const exitCode = why === "ended" ? EXIT.failed : isUsage ? EXIT.usage : EXIT.refused;
    const facts =
      why === "ended" ? { process: toProcessJson(started.process), output: started.lastLines } : {};
    return fail(program, json, { exitCode, code: why, text, facts });
  }
  return succeed(program, json, { success: true, process: toProcessJson(started.process) }, text);
}

async function restart(
  program: CliProgram,
  opened: Opened,
  flags: Flags,
  [name, ...more]: readonly string[],
): Promise<number> {
  if (name === undefined || more.length > 0) return usage(program, opened, flags);
  return reportStart(program, opened, flags, await opened.processes.restart(name), true);
}

async function stop(
  program: CliProgram,
  opened: Opened,
  flags: Flags,
  words: readonly string[],
): Promise<number> {
  const { json } = flags;
  const { locale } = opened.messages;
  const names =
    flags.values.all === true && words.length === 0
      ? (await opened.processes.list()).filter(({ state }) => state.kind !== "ended").map(({ name }) => name)
      : words;
  if (names.length === 0 && flags.values.all !== true) return usage(program, opened, flags);
  const stopped = await Promise.all(names.map((name) => opened.processes.stop(name)));
  const text = stopped.map((one) => wordStopped(one, locale)).join("\n") || textsOf(opened).none;
  const failed = stopped.find(({ status }) => status !== "stopped");
  if (failed !== undefined) {
    const exitCode =
      failed.status === "unknown" ? EXIT.usage : failed.status === "survived" ? EXIT.failed : EXIT.refused;
    return fail(program, json, { exitCode, code: failed.status, text });
  }
  const processes = stopped.flatMap((one) => ("process" in one ? [toProcessJson(one.process)] : []));
  return succeed(program, json, { success: true, processes }, text);
}

/** `stop ID` with the id of a process. */
export async function stopById(program: CliProgram, flags: Flags): Promise<number> {
  const [id = ""] = flags.words;
  const opened = await openOrStop(program, flags.values, program.openProcesses);
  const found = (await opened.processes.list()).find((one) => one.id === id);
  return stop(program, opened, flags, [found?.name ?? id]);
}

async function log(
  program: CliProgram,
  opened: Opened,
  flags: Flags,
  [name, ...more]: readonly string[],
): Promise<number> {
  const { json } = flags;
  const lines = Number(flags.values.lines ?? DEFAULT_LINES);
  if (name === undefined || more.length > 0 || !Number.isInteger(lines) || lines < 1 || lines > MOST_LINES)
    return usage(program, opened, flags);
  const found = await opened.processes.log(name, lines);
  if (found === null) {
    const text = textsOf(opened).unknown(name);
    return refuseInput(program, json, "unknown", text);
  }
  const { process, text, cut } = found;
  const document = { process: toProcessJson(process), text, cut };
  return succeed(program, json, document, wordLog(found, opened.messages.locale));
}

async function clear(program: CliProgram, opened: Opened, { json }: Flags): Promise<number> {
  const forgotten = await opened.processes.forgetEnded();
  const text = textsOf(opened).forgotten(forgotten);
  return succeed(program, json, { success: true, forgotten }, text);
}
