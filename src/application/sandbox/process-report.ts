import { nameJob } from "../../domain/jobs/result.ts";
import type { PatchCommand } from "../../domain/patch/patch-command.ts";
import { cutMiddle, namePaths, oneLine, shownPath } from "../../domain/texts/format-text.ts";
import type { RunningMessages } from "../../domain/texts/jobs-running.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { confinementMessages } from "../../domain/texts/policy.ts";
import { type ProcessMessages, processMessagesFor } from "../../domain/texts/sandbox.ts";
import { agentId, isFinished, type ListedJob, toJobJson } from "../jobs/job-facts.ts";
import type { JournalLine } from "../ports/jobs.ts";
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
    hosts_reached: process.traffic.reached,
    hosts_refused: process.traffic.refused,
  };
}

/** The running processes, for the list of running work. One over a preview is not listed under its job, which has ended. */
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
      return [line, ...wordTraces(process, locale)].join("\n");
    })
    .join("\n");
}

/** What it left and did since it started, a line each: planted files, hosts that it reached, hosts that were refused. */
export function wordTraces(process: BackgroundProcess, locale: Locale): string[] {
  return [...wordPlanted(process, locale), ...wordTraffic(process, locale)];
}

/** Hosts that it reached and hosts that were refused, a line each. */
export function wordTraffic({ name, startedBy, traffic }: BackgroundProcess, locale: Locale): string[] {
  const { reached, refused } = traffic;
  const { hostsReached } = processMessagesFor(locale);
  const { refusedHost } = confinementMessages(locale);
  const list = startedBy === "model" ? { list: "model" as const } : {};
  const more = Math.max(0, reached.length - SHOWN_HOSTS);
  return [
    ...(reached.length > 0 ? [hostsReached(name, reached.slice(0, SHOWN_HOSTS), more)] : []),
    ...refused.slice(0, SHOWN_HOSTS).map((one) => `${name}: ${refusedHost({ ...one, ...list })}`),
  ];
}

const SHOWN_HOSTS = 10;

/** A line for each kind of file that appeared since the process started, and that programs of the user would obey. */
function wordPlanted({ name, plantedGit, plantedHome }: BackgroundProcess, locale: Locale): string[] {
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
    return [line, ...wordTraces(process, locale)].join("\n");
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
    words.hint(where === "cli" ? "picoclaw ps" : "/ps", name),
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
      return [words.stopped(stopped.process.name), ...wordTraces(stopped.process, locale)].join("\n");
    case "not-running":
      return words.notRunning(stopped.process.name);
    case "survived":
      return [words.survived(stopped.process.name), ...wordTraces(stopped.process, locale)].join("\n");
    case "unknown":
      return words.unknown(stopped.name);
  }
}

export function wordLog({ process, text, cut }: ProcessLog, locale: Locale): string {
  const words = processMessagesFor(locale);
  const shown = text === "" ? words.noOutput : cut ? `${words.cut}\n${text}` : text;
  return [shown, ...wordTraffic(process, locale)].join("\n");
}

/** One line of the list of running work. A new kind needs a case in `wordRunningThing` and `toRunningJson`, and a source. */
export type RunningThing = RunningJob | RunningAgent | RunningProcess;

interface RunningBase {
  /** `picoclaw stop` takes it. */
  readonly id: string;
  /** The thing that it is listed under; null: none. */
  readonly under: string | null;
  readonly title: string;
  readonly seconds: number;
}

/** A job or a draft and its progress, from its journal. */
export interface RunningJob extends RunningBase {
  readonly kind: "job";
  readonly job: ListedJob;
  /** Of a draft; null before its first attempt, and for other jobs. */
  readonly attempt: number | null;
  /** The command that began last, counted from 1; null before the first. */
  readonly command: number | null;
  /** Null for a draft: its commands come one attempt at a time. */
  readonly commands: number | null;
  readonly latest: LatestEvent | null;
}

/** A sub-agent of a draft's coder. */
export interface RunningAgent extends RunningBase {
  readonly kind: "agent";
  /** Its coder's job, as people name it. */
  readonly jobName: string;
  readonly number: number;
  readonly writes: boolean;
  /** Its latest step; empty before the first. */
  readonly doing: string;
}

/** A background process of the workspace; its title is its command. */
export interface RunningProcess extends RunningBase {
  readonly kind: "process";
  readonly name: string;
  readonly urls: readonly string[];
  /** The preview that it runs over; null: the live folder. */
  readonly over: string | null;
}

interface LatestEvent extends JournalLine {
  /** The command that the event is about. */
  readonly command?: PatchCommand;
}

/** Puts each thing below the one that it belongs to; one without its parent is at the top level. */
export function inRunningOrder(things: readonly RunningThing[]): RunningThing[] {
  const ids = new Set(things.map(({ id }) => id));
  const below = Map.groupBy(things, ({ under }) => (under !== null && ids.has(under) ? under : ""));
  const place = (thing: RunningThing): RunningThing[] => [
    thing,
    ...(below.get(thing.id) ?? []).flatMap(place),
  ];
  return (below.get("") ?? []).flatMap(place);
}

export function toRunningThings(job: ListedJob, journal: readonly JournalLine[], now: Date): RunningThing[] {
  const secondsSince = (at: string) => Math.max(0, Math.floor((now.getTime() - Date.parse(at)) / 1000));
  const own = journal.filter(
    ({ event }) => !["agent_started", "agent_step", "agent_stop"].includes(event.type),
  );
  const startedAt = own.findLastIndex(({ event }) => event.type === "command_started");
  const isRunning = startedAt >= 0 && !own.slice(startedAt).some(({ event }) => isFinished(event));
  // Checks over the earlier workspace run in parallel with a command: the command is shown.
  const latest = isRunning ? own[startedAt] : own.at(-1);
  const about = latest !== undefined && "index" in latest.event ? latest.event.index : null;
  const started = own.flatMap(({ event }) => (event.type === "command_started" ? [event] : []));
  const command = started.findLast(({ index }) => index === about)?.command;
  // Checks of the workspace as it was belong to no attempt: they carry 0.
  const attempt = Math.max(0, ...own.map(({ event }) => ("attempt" in event ? (event.attempt ?? 0) : 0)));
  const at = started.at(-1)?.index;
  return [
    {
      kind: "job",
      id: job.jobId,
      under: null,
      title: job.title,
      seconds: secondsSince(job.createdAt),
      job,
      attempt: attempt === 0 ? null : attempt,
      command: at === undefined ? null : at + 1,
      commands: job.totalCmds === 0 || attempt > 0 ? null : job.totalCmds,
      latest: latest === undefined ? null : { ...latest, ...(command !== undefined && { command }) },
    },
    ...runningAgents(job, journal, secondsSince),
  ];
}

function runningAgents(
  job: ListedJob,
  journal: readonly JournalLine[],
  secondsSince: (at: string) => number,
): RunningAgent[] {
  const agents = new Map<number, RunningAgent>();
  for (const { at, event } of journal)
    switch (event.type) {
      case "agent_started": {
        const { agent: number, task, writes } = event;
        const about = { under: job.jobId, jobName: nameJob(job), title: task, seconds: secondsSince(at) };
        const id = agentId(job.jobId, number);
        agents.set(number, { kind: "agent", id, ...about, number, writes, doing: "" });
        break;
      }
      case "agent_step": {
        const agent = agents.get(event.agent);
        if (agent !== undefined) agents.set(event.agent, { ...agent, doing: event.doing });
        break;
      }
      case "agent_ended":
        agents.delete(event.agent);
        break;
      default:
        break;
    }
  return [...agents.values()];
}

export function wordRunningThing(thing: RunningThing, words: RunningMessages) {
  switch (thing.kind) {
    case "job": {
      const { job, attempt, command, commands, latest } = thing;
      const step =
        attempt !== null ? words.attempt(attempt) : command === null ? "" : words.command(command, commands);
      return {
        from: words.source(job.source),
        step,
        latest: latest === null ? "" : wordLatest(latest, words),
      };
    }
    case "agent":
      return { from: words.agent(thing.number, thing.writes), step: "", latest: thing.doing };
    case "process":
      return { from: words.process(thing.name), step: "", latest: thing.urls.join(" ") };
  }
}

/** A thing as programs read it: snake_case. */
export function toRunningJson(thing: RunningThing, words: RunningMessages): Record<string, unknown> {
  const { id, under, seconds } = thing;
  switch (thing.kind) {
    case "job": {
      const { job, attempt, command, commands, latest } = thing;
      return {
        ...toJobJson(job, true),
        ...(job.pid !== undefined && { pid: job.pid }),
        seconds,
        attempt,
        command,
        commands,
        latest: latest && { at: latest.at, type: latest.event.type, text: wordLatest(latest, words) },
      };
    }
    case "agent": {
      const { title: task, number, writes, doing } = thing;
      return { id, job_id: under, agent: number, task, writes, seconds, doing };
    }
    case "process": {
      const { title: command, name, urls, over } = thing;
      return { id, name, command, urls, over, seconds };
    }
  }
}

function wordLatest({ event, command }: LatestEvent, words: RunningMessages): string {
  const { latest, doing } = words;
  switch (event.type) {
    case "job_started":
      return latest.began;
    case "command_started":
      return wordCommand(event.command);
    case "command_finished":
    case "command_judged": {
      const about = command === undefined ? "" : ` ${wordCommand(command)}`;
      return event.success ? `✓${about}` : `✗${about} ${oneLine(event.error)}`;
    }
    case "check_finished":
      return `${latest.check(oneLine(event.command), event.over === "baseline")} → ${latest.exit(event.exit_code)}`;
    case "auto_commit":
      return event.error === undefined
        ? latest.autoCommit(event.moment, event.commit)
        : latest.autoCommitFailed(oneLine(event.error));
    case "planned":
      return oneLine(event.plan);
    case "doing":
      return [doing[event.doing], oneLine(event.detail)].filter((part) => part !== "").join(" ");
    case "merged":
      return event.lost === true ? latest.replaced(event.path) : latest.merged(event.path, event.by);
    case "answer_skipped":
      return latest.answerSkipped(event.parts.map(oneLine).join(" · "));
    case "staged":
      return latest.staged;
    case "committed":
      return latest.committed;
    case "conflict":
      return latest.conflict(namePaths(event.paths, event.paths.length, (rest) => `+${rest}`));
    case "rolled_back":
      return latest.rolledBack(oneLine(event.reason));
    case "undone":
      return latest.undone;
    case "redone":
      return latest.redone;
    case "evicted":
    case "quota_evicted":
      return latest.evicted;
    case "note":
      return oneLine(event.text);
    case "agent_ended":
      return latest.agentEnded(event.agent, event.end);
    // These are lines of their own.
    case "agent_started":
    case "agent_step":
    case "agent_stop":
      return "";
  }
}

function wordCommand({ type, action, target }: PatchCommand): string {
  switch (type) {
    case "shell_command":
      return `$ ${oneLine(target)}`;
    case "file_edit":
      return `✎ ${oneLine(target)}`;
    default:
      return `${type} ${action} ${oneLine(target)}`;
  }
}
