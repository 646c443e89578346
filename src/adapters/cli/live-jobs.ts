import { isOwnJob, toListedJob } from "../../application/jobs/job-facts.ts";
import type { Workspace } from "../../application/ports/jobs-workspace.ts";
import {
  inRunningOrder,
  type RunningThing,
  toRunningJson,
  toRunningProcesses,
  toRunningThings,
  wordRunningThing,
} from "../../application/sandbox/process-report.ts";
import { nameJob, toJobStatus } from "../../domain/jobs/result.ts";
import { type RunningMessages, runningMessagesFor } from "../../domain/texts/jobs-running.ts";
import { type Flags, onEnding, printable, printJson, refuseUsage } from "./command.ts";
import { type CliProgram, EXIT, type OpenedProcesses } from "./program.ts";
import { columnsOf, cutText } from "./terminal-text.ts";

const TICK_MS = 1_000;
/** From this width on, the latest event is on the line of its job. */
const WIDE = 130;
const MOST_TITLE = 48;

/** `jobs --live`: one document, one list, or at a terminal a live list until the user leaves it. */
export async function showLiveJobs(
  program: CliProgram,
  opened: Extract<OpenedProcesses, { ok: true }>,
  { values }: Flags,
): Promise<number> {
  const { workspace, messages } = opened;
  const words = runningMessagesFor(messages.locale);
  const other = (["all", "limit"] as const).find((name) => values[name] !== undefined);
  if (other !== undefined) return refuseUsage(program, messages.notTogether(["--live", `--${other}`]));
  const listProcesses = async () => toRunningProcesses(await opened.processes.list(), new Date());
  const known = { processes: await listProcesses() };
  const read = () => {
    // Drawn with the next look: the list does not wait for the machine's processes.
    void listProcesses().then((processes) => Object.assign(known, { processes }));
    return inRunningOrder([...listRunningJobs(workspace, new Date()), ...known.processes]);
  };
  if (program.json) {
    const things = read();
    const ofKind = (kind: RunningThing["kind"]) =>
      things.filter((one) => one.kind === kind).map((one) => toRunningJson(one, words));
    return printJson(program, { jobs: ofKind("job"), agents: ofKind("agent"), processes: ofKind("process") });
  }
  const look = program.outIsTerminal && program.inIsTerminal ? await import("./terminal-report.ts") : null;
  if (look?.hasReportLook(program)) return watchJobs(program, words, read);
  const jobs = read();
  program.out(jobs.length === 0 ? `${words.none}\n` : `${liveTable(jobs, words)}\n\n${words.stopHint}\n`);
  return EXIT.done;
}

interface RunningSource extends Pick<Workspace, "isAlive"> {
  readonly archive: Pick<Workspace["archive"], "list" | "events">;
}

/** The jobs that run now, in whichever process, oldest first, each with its sub-agents. A job whose process is gone does not run. */
export function listRunningJobs({ archive, isAlive }: RunningSource, now: Date): RunningThing[] {
  return archive
    .list()
    .map(toListedJob)
    .filter(isOwnJob)
    .filter((job) => toJobStatus(job, job.pid === undefined || isAlive(job)) === "running")
    .flatMap((job) => toRunningThings(job, archive.events(job.jobId), now));
}

function liveTable(jobs: readonly RunningThing[], words: RunningMessages): string {
  const { id, time, from, title, step, latest } = words.header;
  return columnsOf([[id, time, from, title, step, latest], ...jobs.map((one) => [...cellsOf(one, words)])]);
}

/** The cells of a line, the latest event last. A thing below another is indented. */
function cellsOf(thing: RunningThing, words: RunningMessages): readonly [...string[], string] {
  const { from, step, latest } = wordRunningThing(thing, words);
  const id = nameThing(thing);
  const title = cutText(inOneLine(thing.title), MOST_TITLE);
  return [id, words.seconds(thing.seconds), inOneLine(from), title, step, inOneLine(latest)];
}

/** The name under which `picoclaw stop` takes it; `#` may be left out. */
function nameThing(thing: RunningThing): string {
  switch (thing.kind) {
    case "job":
      return nameJob(thing.job);
    case "agent":
      return `  ${thing.jobName}/${thing.number}`;
    case "process":
      return thing.under === null ? thing.id : `  ${thing.id}`;
  }
}

/** A stranger's words: they neither steer the terminal nor begin a line of their own. */
function inOneLine(text: string): string {
  return printable(text).replace(/\s+/g, " ").trim();
}

/** The list as a screen of so many rows: jobs that do not fit are counted. */
export function liveRows(
  jobs: readonly RunningThing[],
  words: RunningMessages,
  { columns, rows }: { readonly columns: number; readonly rows: number },
): string[] {
  if (jobs.length === 0) return [words.none, "", words.leaveHint];
  const isWide = columns >= WIDE;
  const each = isWide ? 1 : 2;
  // Beside the jobs: the head with a blank row, how many more there are, a blank row and two hints.
  const room = Math.max(1, Math.floor((rows - 6) / each));
  const shown = jobs.slice(0, room);
  const cells = shown.map((thing) => cellsOf(thing, words));
  const latest = cells.map((line) => line.at(-1) ?? "");
  const table = columnsOf(cells.map((line) => (isWide ? [...line] : line.slice(0, -1)))).split("\n");
  return [
    words.running(jobs.length),
    "",
    ...table.flatMap((line, at) => (isWide ? [line] : [line, `    ${latest[at]}`])),
    ...(jobs.length > room ? [words.more(jobs.length - room)] : []),
    "",
    words.stopHint,
    words.leaveHint,
  ].slice(0, rows);
}

/** On the terminal's other screen, which leaves nothing behind. The jobs continue regardless. */
async function watchJobs(
  program: CliProgram,
  words: RunningMessages,
  read: () => readonly RunningThing[],
): Promise<number> {
  const { cutToColumns, isKey, openKeyboard, RESTORE_TERMINAL } = await import("./terminal-pi.ts");
  const left = Promise.withResolvers<number>();
  const draw = () => {
    try {
      const size = { columns: keyboard.columns(), rows: keyboard.rows() };
      const lines = liveRows(read(), words, size).map((line) => cutToColumns(line, size.columns));
      const text = lines.map((line, at) => `\x1b[${at + 1};1H\x1b[2K${line}`).join("");
      keyboard.write(`\x1b[?2026h${text}\x1b[0J\x1b[?2026l`);
    } catch (error) {
      left.reject(error);
    }
  };
  const onKey = (bytes: string) => {
    if (isKey(bytes, "ctrl+c")) left.resolve(EXIT.interrupted);
    else if (isKey(bytes, "q")) left.resolve(EXIT.done);
  };
  const keyboard = openKeyboard(onKey, draw);
  using _ = onEnding(left.resolve);
  const restore = () => {
    keyboard.write("\x1b[?1049l\x1b[?25h");
    keyboard.stop();
  };
  // The shell gets its terminal back however this process ends.
  const unguard = (await program.terminalHost()).guardTerminal(RESTORE_TERMINAL);
  process.on("exit", restore);
  keyboard.start();
  keyboard.write("\x1b[?1049h\x1b[?25l");
  draw();
  const timer = setInterval(draw, TICK_MS);
  try {
    return await left.promise;
  } finally {
    clearInterval(timer);
    process.off("exit", restore);
    restore();
    unguard();
  }
}
