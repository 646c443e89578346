import { cutMiddle, shownPath } from "../../domain/texts/format-text.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { type ProcessMessages, processMessagesFor } from "../../domain/texts/sandbox.ts";
import type { RunningProcess } from "../jobs/running-things.ts";
import type {
  BackgroundProcess,
  ProcessLog,
  ProcessStarted,
  ProcessState,
  ProcessStopped,
} from "../ports/sandbox-processes.ts";

export function toProcessJson(process: BackgroundProcess) {
  const { state, restartsOnLanding, endsWithProgram } = process;
  return {
    name: process.name,
    id: process.id,
    command: process.command,
    workspace: process.root,
    state: state.kind,
    ...(state.kind === "ended" && {
      why: state.why,
      exit_code: state.exitCode,
      signal: state.signal,
      ended_at: state.at,
    }),
    started_at: process.startedAt,
    ports: process.ports,
    urls: process.ports.map(toUrl),
    restart_on_landing: restartsOnLanding,
    over: process.over,
    keeps: !endsWithProgram,
    runs: process.runs,
    confinement: process.confinement,
    planted_git: process.plantedGit,
    planted_home: process.plantedHome,
  };
}

/** Those that run, for the list of what runs now. One over a preview is its job's no more: that one has ended. */
export function toRunningProcesses(list: readonly BackgroundProcess[], now: Date): RunningProcess[] {
  return list.filter(isUp).map(({ id, name, command, startedAt, ports, over }) => ({
    kind: "process",
    id,
    under: null,
    title: cutMiddle(command, SHOWN_COMMAND),
    seconds: Math.max(0, Math.floor((now.getTime() - Date.parse(startedAt)) / 1000)),
    name,
    urls: ports.map(toUrl),
    over,
  }));
}

function toUrl(port: number): string {
  return `http://127.0.0.1:${port}/`;
}

/** Characters of a command in a list. */
const SHOWN_COMMAND = 300;

const SHOWN_PLANTED = 5;

/** Cells of one row: name, state, time, where it is reached, command. */
export function processCells(process: BackgroundProcess, words: ProcessMessages, now: Date): string[] {
  const { name, state, startedAt, ports, command } = process;
  const until = state.kind === "ended" ? Date.parse(state.at) : now.getTime();
  return [
    name,
    wordState(state, words),
    wordDuration(until - Date.parse(startedAt), words),
    ports.map(toUrl).join(" "),
    cutMiddle(command, SHOWN_COMMAND).replace(/\s+/g, " "),
  ];
}

function wordState(state: ProcessState, words: ProcessMessages): string {
  if (state.kind !== "ended") return words.states[state.kind];
  const how = wordExit(state, words);
  return state.why === "exited" && how !== "" ? how : words.ends[state.why];
}

function wordExit(
  { exitCode, signal }: { exitCode: number | null; signal: string | null },
  words: ProcessMessages,
) {
  if (signal !== null) return words.signaled(signal);
  return exitCode === null ? "" : words.exited(exitCode);
}

function wordDuration(ms: number, words: ProcessMessages): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return words.seconds(seconds);
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? words.minutes(minutes) : words.hours(Math.round(minutes / 60));
}

/** One line a process, as a chat shows it; the same list on every surface that has no columns. */
export function wordProcessList(list: readonly BackgroundProcess[], locale: Locale, now: Date): string {
  const words = processMessagesFor(locale);
  if (list.length === 0) return words.none;
  return list
    .map((process) => {
      const [name, state, time, ports, command] = processCells(process, words, now);
      const line = [`${isUp(process) ? "●" : "○"} ${name}`, state, time, ports, command]
        .filter((cell) => cell !== "")
        .join(" · ");
      return [line, ...wordPlanted(process, locale)].join("\n");
    })
    .join("\n");
}

/** A line for each kind of file that has come since the process started, and that programs of the user would obey. */
export function wordPlanted({ name, plantedGit, plantedHome }: BackgroundProcess, locale: Locale): string[] {
  const words = processMessagesFor(locale);
  const kinds = [
    [plantedGit, words.plantedGit],
    [plantedHome, words.plantedHome],
  ] as const;
  return kinds.flatMap(([paths, say]) => {
    const shown = paths.slice(0, SHOWN_PLANTED).map((path) => shownPath(cutMiddle(path, SHOWN_COMMAND)));
    return paths.length === 0 ? [] : [say(name, shown, paths.length - shown.length)];
  });
}

export function isUp({ state }: BackgroundProcess): boolean {
  return state.kind === "running" || state.kind === "starting";
}

/** `where`: which commands the reader can give. */
export function wordStarted(
  started: ProcessStarted,
  locale: Locale,
  { where, again = false }: { readonly where: "cli" | "chat"; readonly again?: boolean },
): string {
  const words = processMessagesFor(locale);
  if (!started.ok) return wordNotStarted(started, words);
  const { process } = started;
  const { name, ports, port, state, confinement } = process;
  if (state.kind === "ended") {
    const line = [words.ranToEnd(name), wordState(state, words)].join(" ");
    return [line, ...wordPlanted(process, locale)].join("\n");
  }
  const facts = [
    process.endsWithProgram ? words.endsWithProgram : words.keeps,
    ...(process.restartsOnLanding ? [words.restartsOnLanding] : []),
    ...(confinement === null ? [] : [words.confinement[confinement]]),
  ];
  return [
    [again ? words.startedAgain(name) : words.started(name), ...ports.map(toUrl)].join(" · "),
    ...(port !== null && ports.length === 0 ? [words.notListening(port)] : []),
    facts.join(" · "),
    process.over === null ? words.liveWrites : words.over,
    where === "cli" ? words.hint(name) : words.chatHint(name),
  ].join("\n");
}

function wordNotStarted(failure: Extract<ProcessStarted, { ok: false }>, words: ProcessMessages): string {
  switch (failure.why) {
    case "empty-command":
      return words.emptyCommand;
    case "bad-name":
      return words.badName(failure.name);
    case "unknown":
      return words.unknown(failure.name);
    case "name-taken":
      return words.nameTaken(failure.name);
    case "no-preview":
      return words.noPreview(failure.jobId);
    case "limit":
      return words.limit(failure.most);
    case "port-taken":
      return words.portTaken(failure.port, failure.holder);
    case "not-confined":
      return words.notConfined;
    case "busy":
      return words.busy;
    case "ended": {
      const { process, lastLines } = failure;
      const message = process.state.kind === "ended" ? (process.state.message ?? "") : "";
      return [
        words.endedAtOnce(process.name, wordState(process.state, words)),
        ...(message === "" ? [] : [message]),
        ...(lastLines === "" ? [words.noOutput] : [words.lastLines, lastLines]),
      ].join("\n");
    }
  }
}

export function wordStopped(stopped: ProcessStopped, locale: Locale): string {
  const words = processMessagesFor(locale);
  switch (stopped.status) {
    case "stopped":
      return [words.stopped(stopped.process.name), ...wordPlanted(stopped.process, locale)].join("\n");
    case "not-running":
      return words.notRunning(stopped.process.name);
    case "survived":
      return [words.survived(stopped.process.name), ...wordPlanted(stopped.process, locale)].join("\n");
    case "unknown":
      return words.unknown(stopped.name);
  }
}

export function wordLog({ text, cut }: ProcessLog, locale: Locale): string {
  const words = processMessagesFor(locale);
  if (text === "") return words.noOutput;
  return cut ? `${words.cut}\n${text}` : text;
}
