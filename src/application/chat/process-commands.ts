import type { Locale } from "../../domain/texts/locale.ts";
import { processMessagesFor } from "../../domain/texts/sandbox.ts";
import { inEveryLanguage } from "../../domain/texts/worded.ts";
import type { Reply } from "../ports/chat.ts";
import type {
  BackgroundProcess,
  ProcessStart,
  ProcessStarted,
  WorkspaceProcesses,
} from "../ports/sandbox-processes.ts";
import {
  isUp,
  wordLog,
  wordProcessList,
  wordStarted,
  wordStopped,
  wordTraffic,
} from "../sandbox/process-report.ts";
import {
  type Answer,
  answerInEveryLanguage,
  type ChatBase,
  type LookCommand,
  type ServiceDeps,
} from "./chat-turn.ts";

const LOG_LINES = 30;
const MOST_OFFERED = 5;

/** `/ps [start|log|restart|stop|clear]`: a process belongs to the workspace, so none of this waits for what runs in the chat. */
export const ps: LookCommand<ServiceDeps> = async (deps, _, rest) => {
  const processes = await deps.openProcesses?.();
  if (processes === undefined) return usage();
  const [, action = "", words = ""] = /^\s*(\S*)\s*([\s\S]*)$/.exec(rest) ?? [];
  const name = words.trim();
  switch (action) {
    case "":
      return listProcesses(deps, processes);
    case "start": {
      const request = readStart(words);
      if (typeof request === "string") return usage((locale) => processMessagesFor(locale).badPort(request));
      return request.command === "" ? usage() : answerStart(deps, await processes.start(request));
    }
    case "restart":
      return name === "" ? usage() : answerStart(deps, await processes.restart(name), true);
    case "stop": {
      if (name === "") return usage();
      const stopped = await processes.stop(name);
      return answerInEveryLanguage((locale) => wordStopped(stopped, locale), stopped.status === "stopped");
    }
    case "log":
      return name === "" ? usage() : answerLog(processes, name);
    case "clear": {
      const forgotten = await processes.forgetEnded();
      return answerInEveryLanguage((locale) => processMessagesFor(locale).forgotten(forgotten));
    }
    default:
      return usage();
  }
};

/** A text is the word that is not a port. */
function readStart(text: string): ProcessStart | string {
  const start: { -readonly [Field in keyof ProcessStart]: ProcessStart[Field] } = {
    command: "",
    startedBy: "user",
    restartsOnLanding: false,
  };
  let rest = text.trim();
  for (;;) {
    const [whole = "", flag, value = ""] =
      /^--(name|port|over)[ =]+(\S+)\s*/.exec(rest) ?? /^--(restart)()(?:\s+|$)/.exec(rest) ?? [];
    if (flag === undefined) break;
    if (flag === "restart") start.restartsOnLanding = true;
    else if (flag === "name" || flag === "over") start[flag] = value;
    else {
      start.port = /^\d{1,5}$/.test(value) ? Number(value) : 0;
      if (start.port < 1 || start.port > 65_535) return value;
    }
    rest = rest.slice(whole.length);
  }
  return { ...start, command: rest.replace(/^--\s+/, "").trim() };
}

function usage(why?: (locale: Locale) => string): Answer {
  const word = (locale: Locale) =>
    [...(why === undefined ? [] : [why(locale)]), processMessagesFor(locale).chatUsage].join("\n");
  return answerInEveryLanguage(word, false);
}

async function listProcesses(deps: ChatBase, processes: WorkspaceProcesses): Promise<Answer> {
  const list = await processes.list();
  const now = deps.now();
  return {
    ...answerInEveryLanguage((locale) => wordProcessList(list, locale, now)),
    actions: list
      .filter(isUp)
      .slice(-MOST_OFFERED)
      .flatMap((process) => actionsFor(deps, process)),
  };
}

function actionsFor(
  { messages }: ChatBase,
  { name }: Pick<BackgroundProcess, "name">,
): NonNullable<Reply["actions"]> {
  const button = (label: "logLabel" | "stopLabel", message: string) => ({
    label: processMessagesFor(messages.locale)[label](name),
    labels: inEveryLanguage((locale) => processMessagesFor(locale)[label](name)),
    message,
  });
  return [button("logLabel", `/ps log ${name}`), button("stopLabel", `/ps stop ${name}`)];
}

function answerStart(deps: ChatBase, started: ProcessStarted, again = false): Answer {
  const answer = answerInEveryLanguage(
    (locale) => wordStarted(started, locale, { where: "chat", again }),
    started.ok,
  );
  return started.ok && isUp(started.process)
    ? { ...answer, actions: actionsFor(deps, started.process) }
    : answer;
}

async function answerLog(processes: WorkspaceProcesses, name: string): Promise<Answer> {
  const log = await processes.log(name, LOG_LINES);
  if (log === null) return answerInEveryLanguage((locale) => processMessagesFor(locale).unknown(name), false);
  if (log.text === "") return answerInEveryLanguage((locale) => wordLog(log, locale));
  const fence = log.text.includes("```") ? "~~~~" : "```";
  const block = `${fence}\n${log.text}\n${fence}`;
  return answerInEveryLanguage((locale) => [block, ...wordTraffic(log.process, locale)].join("\n"));
}
