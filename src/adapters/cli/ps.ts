import type { BackgroundProcess, ProcessStarted } from "../../application/ports/sandbox-processes.ts";
import {
  processCells,
  toProcessJson,
  wordLog,
  wordStarted,
  wordStopped,
  wordTraces,
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
  flags: "--all --name= --port= --over= --restart --lines=",
  words: 256,
  run: ps,
};

type Opened = Extract<OpenedProcesses, { ok: true }>;

/** One `ps …`, with the texts of its user's language. */
interface Asked extends Opened, Pick<Flags, "values"> {
  readonly program: CliProgram;
  /** Behind the action. */
  readonly words: readonly string[];
  readonly texts: ProcessMessages;
}

const DEFAULT_LINES = 50;
const MOST_LINES = 10_000;
const ACTIONS: Readonly<Record<string, (asked: Asked) => Promise<number>>> = {
  list,
  start,
  log,
  restart,
  stop,
  clear,
};

async function ps(program: CliProgram, flags: Flags): Promise<number> {
  const [action = "list", ...words] = flags.words;
  const asked = await openAsked(program, flags, words);
  const run = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
  return run === undefined ? usage(asked) : run(asked);
}

async function openAsked(program: CliProgram, flags: Flags, words: readonly string[]): Promise<Asked> {
  const opened = await openOrStop(program, flags.values, program.openProcesses);
  return { ...opened, ...flags, program, words, texts: processMessagesFor(opened.messages.locale) };
}

function usage({ program, texts }: Asked, text?: string): number {
  const said = [...(text === undefined ? [] : [text]), texts.usage].join("\n");
  return refuseUsage(program, said);
}

async function list(asked: Asked): Promise<number> {
  const { program, values, words, texts, messages } = asked;
  if (words.length > 0) return usage(asked);
  const isAll = values.all === true;
  const found = isAll ? await asked.listEverywhere() : await asked.processes.list();
  if (program.json) return printJson(program, { processes: found.map(toProcessJson) });
  const planted = found.flatMap((process) => wordTraces(process, messages.locale));
  program.out(`${printable([tableOf(found, texts, isAll), ...planted].join("\n"))}\n`);
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

async function start(asked: Asked): Promise<number> {
  const { values, words, texts } = asked;
  const { name, port, over, restart } = values;
  const number = port === undefined ? undefined : readPort(port);
  if (port !== undefined && !number) return usage(asked, texts.badPort(String(port)));
  const [line = "", ...rest] = words;
  const started = await asked.processes.start({
    // One word is a line for the shell, several are a program and its arguments.
    command: rest.length === 0 ? line : quoteWords(words),
    startedBy: "user",
    ...(typeof name === "string" && { name }),
    ...(number !== undefined && { port: number }),
    ...(typeof over === "string" && { over }),
    restartsOnLanding: restart === true,
  });
  return reportStart(asked, started);
}

function reportStart({ program, messages }: Asked, started: ProcessStarted, again = false): number {
  const text = wordStarted(started, messages.locale, { where: "cli", again });
  if (!started.ok) {
    const { why } = started;
    const isUsage = why === "empty-command" || why === "bad-name" || why === "unknown";
    const exitCode = why === "ended" ? EXIT.failed : isUsage ? EXIT.usage : EXIT.refused;
    const facts =
      why === "ended" ? { process: toProcessJson(started.process), output: started.lastLines } : {};
    return fail(program, { exitCode, code: why, text, facts });
  }
  return succeed(program, { success: true, process: toProcessJson(started.process) }, text);
}

async function restart(asked: Asked): Promise<number> {
  const [name, ...more] = asked.words;
  if (name === undefined || more.length > 0) return usage(asked);
  return reportStart(asked, await asked.processes.restart(name), true);
}

async function stop(asked: Asked): Promise<number> {
  const { program, values, words, texts, messages } = asked;
  const isAll = values.all === true;
  const names =
    isAll && words.length === 0
      ? (await asked.processes.list()).filter(({ state }) => state.kind !== "ended").map(({ name }) => name)
      : words;
  if (names.length === 0 && !isAll) return usage(asked);
  const stopped = await Promise.all(names.map((name) => asked.processes.stop(name)));
  const text = stopped.map((one) => wordStopped(one, messages.locale)).join("\n") || texts.none;
  const failed = stopped.find(({ status }) => status !== "stopped");
  if (failed !== undefined) {
    const exitCode =
      failed.status === "unknown" ? EXIT.usage : failed.status === "survived" ? EXIT.failed : EXIT.refused;
    return fail(program, { exitCode, code: failed.status, text });
  }
  const processes = stopped.flatMap((one) => ("process" in one ? [toProcessJson(one.process)] : []));
  return succeed(program, { success: true, processes }, text);
}

/** `stop ID` with the id of a process. */
export async function stopById(program: CliProgram, flags: Flags): Promise<number> {
  const [id = ""] = flags.words;
  const asked = await openAsked(program, flags, flags.words);
  const found = (await asked.processes.list()).find((one) => one.id === id);
  return stop({ ...asked, words: [found?.name ?? id] });
}

async function log(asked: Asked): Promise<number> {
  const { program, values, words, texts, messages } = asked;
  const [name, ...more] = words;
  const lines = Number(values.lines ?? DEFAULT_LINES);
  if (name === undefined || more.length > 0 || !Number.isInteger(lines) || lines < 1 || lines > MOST_LINES)
    return usage(asked);
  const found = await asked.processes.log(name, lines);
  if (found === null) return refuseInput(program, "unknown", texts.unknown(name));
  const { process, text, cut } = found;
  const document = { process: toProcessJson(process), text, cut };
  return succeed(program, document, wordLog(found, messages.locale));
}

async function clear({ program, processes, texts }: Asked): Promise<number> {
  const forgotten = await processes.forgetEnded();
  return succeed(program, { success: true, forgotten }, texts.forgotten(forgotten));
}
