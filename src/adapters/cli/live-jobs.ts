import { type LatestEvent, type LiveJob, listLiveJobs, toJobJson } from "../../application/jobs/job-facts.ts";
import type { Opened } from "../../application/ports/jobs-workspace.ts";
import { oneLine } from "../../domain/jobs/result.ts";
import type { PatchCommand } from "../../domain/patch/patch-command.ts";
import { type LiveMessages, liveMessagesFor } from "../../domain/texts/cli.ts";
import { namePaths } from "../../domain/texts/format-text.ts";
import { type Flags, fail, printable } from "./command.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { columnsOf, textWidth } from "./terminal-text.ts";

const TICK_MS = 1_000;
/** From so many columns on, the latest event stands in the line of its job. */
const WIDE = 130;
const MOST_TITLE = 48;
/** The exit code that a shell expects of a program that this ended. */
const ENDED = { interrupt: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** `jobs --live`: one document, one list, or at a terminal a list that follows the jobs until somebody leaves. */
export async function showLiveJobs(program: CliProgram, opened: Opened, { values }: Flags): Promise<number> {
  const { workspace, messages } = opened;
  const words = liveMessagesFor(messages.locale);
  const json = values.json === true;
  const other = (["all", "limit"] as const).find((name) => values[name] !== undefined);
  if (other !== undefined) {
    const text = messages.usageError(`--live --${other}`);
    return fail(program, json, { exitCode: EXIT.usage, code: "usage", text });
  }
  const read = () => listLiveJobs(workspace, new Date());
  if (json) {
    program.out(`${JSON.stringify({ jobs: read().map((job) => toLiveJson(job, words)) })}\n`);
    return EXIT.done;
  }
  const look = program.outIsTerminal && program.inIsTerminal ? await import("./terminal-report.ts") : null;
  if (look?.hasReportLook(program)) return watchJobs(program, words, read);
  const jobs = read();
  program.out(jobs.length === 0 ? `${words.none}\n` : `${liveTable(jobs, words)}\n\n${words.stopHint}\n`);
  return EXIT.done;
}

function toLiveJson({ job, seconds, attempt, command, commands, latest }: LiveJob, words: LiveMessages) {
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

function liveTable(jobs: readonly LiveJob[], words: LiveMessages): string {
  const { job, time, from, title, step, latest } = words.header;
  return columnsOf([
    [job, time, from, title, step, latest],
    ...jobs.map((one) => [...cellsOf(one, words), latestOf(one, words)]),
  ]);
}

function cellsOf({ job, seconds, attempt, command, commands }: LiveJob, words: LiveMessages): string[] {
  const step =
    attempt !== null ? words.attempt(attempt) : command === null ? "" : words.command(command, commands);
  return [job.jobId, words.seconds(seconds), inOneLine(job.source), cutTitle(inOneLine(job.title)), step];
}

function latestOf({ latest }: LiveJob, words: LiveMessages): string {
  return latest === null ? "" : inOneLine(wordLatest(latest, words));
}

/** A stranger's words: they neither steer the terminal nor begin a line of their own. */
function inOneLine(text: string): string {
  return printable(text).replace(/\s+/g, " ").trim();
}

function cutTitle(title: string): string {
  if (textWidth(title) <= MOST_TITLE) return title;
  let cut = "";
  for (const letter of title) {
    if (textWidth(cut + letter) > MOST_TITLE - 1) break;
    cut += letter;
  }
  return `${cut}…`;
}

function wordLatest({ event, command }: LatestEvent, { latest: words }: LiveMessages): string {
  switch (event.type) {
    case "job_started":
      return words.began;
    case "command_started":
      return wordCommand(event.command);
    case "command_finished":
    case "command_judged": {
      const about = command === undefined ? "" : ` ${wordCommand(command)}`;
      return event.success ? `✓${about}` : `✗${about} ${oneLine(event.error)}`;
    }
    case "check_finished":
      return `${words.check(oneLine(event.command), event.over === "baseline")} → ${words.exit(event.exit_code)}`;
    case "auto_commit":
      return event.error === undefined
        ? words.autoCommit(event.moment, event.commit)
        : words.autoCommitFailed(oneLine(event.error));
    case "merged":
      return words.merged(event.path, event.by);
    case "staged":
      return words.staged;
    case "committed":
      return words.committed;
    case "conflict":
      return words.conflict(namePaths(event.paths, event.paths.length, (rest) => `+${rest}`));
    case "rolled_back":
      return words.rolledBack(oneLine(event.reason));
    case "undone":
      return words.undone;
    case "redone":
      return words.redone;
    case "evicted":
    case "quota_evicted":
      return words.evicted;
    case "note":
      return oneLine(event.text);
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

/** The list as a screen of so many rows: jobs that do not fit are counted. */
export function liveRows(
  jobs: readonly LiveJob[],
  words: LiveMessages,
  { columns, rows }: { readonly columns: number; readonly rows: number },
): string[] {
  if (jobs.length === 0) return [words.none, "", words.leaveHint];
  const isWide = columns >= WIDE;
  const each = isWide ? 1 : 2;
  // Beside the jobs: the head with a blank row, how many more there are, a blank row and two hints.
  const room = Math.max(1, Math.floor((rows - 6) / each));
  const shown = jobs.slice(0, room);
  const latest = shown.map((job) => latestOf(job, words));
  const table = columnsOf(
    shown.map((job, at) => (isWide ? [...cellsOf(job, words), latest[at] ?? ""] : cellsOf(job, words))),
  ).split("\n");
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

/** On the terminal's other screen, which leaves nothing behind. The jobs go on whatever happens here. */
async function watchJobs(
  program: CliProgram,
  words: LiveMessages,
  read: () => readonly LiveJob[],
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
    if (isKey(bytes, "ctrl+c")) left.resolve(ENDED.interrupt);
    else if (isKey(bytes, "q")) left.resolve(EXIT.done);
  };
  const keyboard = openKeyboard(onKey, draw);
  const endings = (["SIGTERM", "SIGHUP"] as const).map((signal) => {
    const end = () => left.resolve(ENDED[signal]);
    process.once(signal, end);
    return () => process.off(signal, end);
  });
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
    for (const off of endings) off();
    process.off("exit", restore);
    restore();
    unguard();
  }
}
