import type { TaskProgress } from "../../application/tasks/task-runs.ts";
import { passes, type TaskEvent } from "../../domain/tasks/events.ts";
import type { TaskRecord } from "../../domain/tasks/task-record.ts";
import { oneLine } from "../../domain/texts/format-results.ts";
import type { TaskMessages } from "../../domain/texts/texts.ts";
import type { CliProgram } from "./program.ts";

const CLEAR = "\r\x1b[K";
const COLUMNS = 100;

/**
 * A task for a person who waits: with `line`, one line on standard error that says how it stands; with `follow`, every
 * step on standard output as it comes.
 */
export function createTaskProgress(
  program: CliProgram,
  texts: TaskMessages,
  { follow, line }: { readonly follow: boolean; readonly line: boolean },
) {
  let record: TaskRecord | null = null;
  let last = "";
  const startedAt = Date.now();
  function draw(): void {
    if (!line) return;
    const facts = {
      state: record?.state ?? "PENDING",
      loop: record?.loops.length ?? 0,
      maxLoops: record?.facts.maxLoops ?? 0,
      elapsed: elapsed(Date.now() - startedAt),
      last,
    } as const;
    program.err(`${CLEAR}${[...visible(texts.progress(facts))].slice(0, COLUMNS).join("")}`);
  }
  const timer = line ? setInterval(draw, 1000) : undefined;
  const say = (text: string) => {
    last = oneLine(text);
    draw();
    if (follow) program.out(`${visible(text)}\n`);
  };
  return {
    record(next: TaskRecord, event: TaskEvent): void {
      record = next;
      const text = describe(event);
      if (SHOWN.has(event.type)) last = oneLine(text);
      if (follow && text !== "") program.out(`[${event.at}] ${next.state} ${visible(text)}\n`);
      draw();
    },
    worker(progress: TaskProgress): void {
      const text = wordsOf(progress);
      if (text !== "") say(text);
    },
    end(): void {
      clearInterval(timer);
      if (line) program.err(CLEAR);
    },
  };
}

/** Events that are the last action for a while. */
const SHOWN: ReadonlySet<TaskEvent["type"]> = new Set(["decided", "worker-finished", "tested", "assessed"]);

function wordsOf(progress: TaskProgress): string {
  switch (progress.kind) {
    case "setup":
    case "text":
      return progress.text;
    case "command":
      return `$ ${progress.command}`;
    case "edit":
      return `✎ ${progress.path}`;
    case "tool":
      return `⚙ ${progress.name}`;
    case "trouble":
      return `! ${progress.text}`;
  }
}

function describe(event: TaskEvent): string {
  switch (event.type) {
    case "created":
      return event.task.title;
    case "planned":
      return event.criteria.map(({ id, description }) => `${id}: ${oneLine(description)}`).join(" · ");
    case "decided":
      return `${event.loop}: ${event.action} ${oneLine(event.reason)}`;
    case "worker-finished": {
      const { error, exitCode, job } = event.run;
      const changes = job === null ? "" : ` ${job.id} (${job.changes.length})`;
      return `${event.loop}: exit ${exitCode ?? "-"}${changes}${error === null ? "" : ` ${error}`}`;
    }
    case "tested":
      return `${event.loop}: ${event.test.command} → ${event.test.exitCode ?? "-"}${passes(event.test) ? "" : " ✗"}`;
    case "assessed":
      return event.verdicts.map(({ id, passed }) => `${id} ${passed ? "✓" : "✗"}`).join(" ");
    case "completed":
      return event.summary;
    case "failed":
      return event.reason;
    default:
      return event.type;
  }
}

function elapsed(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** A worker's words must not steer the terminal. */
function visible(text: string): string {
  return text.replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, " ");
}
