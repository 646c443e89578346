import type { Change } from "../../domain/jobs/result.ts";
import type { PatchCommand } from "../../domain/patch/patch-command.ts";
import { cutMiddle } from "../../domain/texts/format-text.ts";
import { validatedJournal } from "../jobs/job-facts.ts";
import type { JobArchive, JobEvent, StoredJob } from "../ports/jobs.ts";

/** What the jobs of a chat left behind in this workspace, read from their journals. */
export interface JobHistory {
  /** What became of a message's jobs, for a model; empty where it had none here. */
  tell(groupId: string): string;
  /** Files of the last message that had jobs: those it changed, and those that a failed edit was meant for. */
  recentFiles(): readonly string[];
}

const MOST_FILES = 12;
const MOST_FAILED = 2;
/** Of an output, the end tells why it failed. */
const OUTPUT_CHARS = 700;
const COMMAND_CHARS = 200;
const MOST_RECENT = 8;

/** The archive is read when something is first asked of it, once. */
export function createJobHistory(
  archive: Pick<JobArchive, "list" | "events">,
  groupPrefix: string,
): JobHistory {
  let groups: ReadonlyMap<string, readonly StoredJob[]> | null = null;
  const known = () => {
    groups ??= Map.groupBy(
      archive.list().filter(({ groupId }) => groupId.startsWith(groupPrefix)),
      ({ groupId }) => groupId,
    );
    return groups;
  };
  return {
    tell: (groupId) =>
      (known().get(groupId) ?? [])
        .map((job) =>
          wordPastJob(
            job,
            validatedJournal(archive.events(job.jobId)).map(({ event }) => event),
          ),
        )
        .join("\n"),
    recentFiles() {
      const last = [...known().values()].at(-1) ?? [];
      const files = last.flatMap((job) => [
        ...(job.state === "undone"
          ? []
          : job.changes.filter(({ kind }) => kind !== "deleted").map(({ path }) => path)),
        ...failuresOf(validatedJournal(archive.events(job.jobId)).map(({ event }) => event)).flatMap(
          ({ command }) => (command?.type === "file_edit" ? [command.target] : []),
        ),
      ]);
      return [...new Set(files)].slice(0, MOST_RECENT);
    },
  };
}

function wordPastJob(job: StoredJob, events: readonly JobEvent[]): string {
  const failures = failuresOf(events);
  return [
    `${jobStateText(job)} ${changesOf(job.changes)}`.trim(),
    ...failures.slice(-MOST_FAILED).map(({ name, output }) => `failed: ${name}${quoted(output)}`),
    ...(failures.length > MOST_FAILED ? [`and ${failures.length - MOST_FAILED} more failures`] : []),
  ].join("\n");
}

function jobStateText({ state, outcome }: StoredJob): string {
  switch (state) {
    case "undone":
      return "Done, then TAKEN BACK by the user; the files are as before. It had";
    case "staged":
      return "Kept as a preview, not applied. It would have";
    case "discarded":
      return "Dropped, nothing applied. It would have";
    case "running":
      return "Not finished. It would have";
    case "committed":
    case "evicted":
      return outcome === "committed" ? "Done:" : "Nothing applied:";
  }
}

function changesOf(changes: readonly Change[]): string {
  if (changes.length === 0) return "changed no file.";
  const named = changes.slice(0, MOST_FILES).map(({ path, kind }) => `${kind} ${path}`);
  const more = changes.length - named.length;
  return `${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`;
}

interface Failure {
  readonly name: string;
  readonly output: string;
  readonly command?: PatchCommand;
}

/** What failed last: of a draft only its last attempt, and its checks over the draft. */
function failuresOf(events: readonly JobEvent[]): Failure[] {
  const last = Math.max(0, ...events.map((event) => ("attempt" in event ? (event.attempt ?? 0) : 0)));
  const commands = new Map<number, PatchCommand>();
  const failures: Failure[] = [];
  for (const event of events) {
    if ("attempt" in event && event.attempt !== undefined && event.attempt !== last) continue;
    if (event.type === "command_started") commands.set(event.index, event.command);
    if (event.type === "command_finished" && !event.success) {
      const command = commands.get(event.index);
      const name = command === undefined ? "a command" : jobCommandName(command);
      const output = [event.output, event.error].filter((text) => text !== "").join("\n");
      failures.push({ name, output, ...(command !== undefined && { command }) });
    }
    // Attempt 0 is what a coder only tried out.
    if (
      event.type === "check_finished" &&
      event.over === "draft" &&
      event.attempt > 0 &&
      event.exit_code !== 0
    )
      failures.push({ name: `check ${event.command} (${exitOf(event.exit_code)})`, output: event.output });
  }
  return failures;
}

function jobCommandName({ type, action, target }: PatchCommand): string {
  const short = cutMiddle(target, COMMAND_CHARS);
  return type === "shell_command" ? `command ${short}` : `${type} ${action} ${short}`;
}

function exitOf(code: number | null): string {
  return code === null ? "did not end by itself" : `exit code ${code}`;
}

function quoted(output: string): string {
  const text = output.trim();
  if (text === "") return "";
  const end = text.length > OUTPUT_CHARS ? `…${text.slice(-OUTPUT_CHARS)}` : text;
  return `\n${end.replace(/^/gm, "  | ")}`;
}
