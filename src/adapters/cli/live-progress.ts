import type { TaskProgress } from "../../application/ports/tasks.ts";
import { NO_USAGE } from "../../domain/models/model-facts.ts";
import { passes, type TaskEvent, type TaskRecord } from "../../domain/tasks/task-record.ts";
import { figuresOf, type TaskStep, wordsOfStep } from "../../domain/tasks/task-steps.ts";
import { oneLine } from "../../domain/texts/format-text.ts";
import type { SolveMessages, TaskMessages } from "../../domain/texts/tasks.ts";
import type { CliProgram } from "./program.ts";
import { createLiveLine, harmless } from "./progress-line.ts";

/** A task's progress: with `line`, one line on standard error; with `follow`, every step on standard output. */
export function createTaskProgress(
  program: CliProgram,
  texts: TaskMessages,
  { follow, line }: { readonly follow: boolean; readonly line: boolean },
) {
  let record: TaskRecord | null = null;
  let last = "";
  const startedAt = Date.now();
  const live = createLiveLine(program, {
    enabled: line,
    render: () =>
      texts.progress({
        state: record?.state ?? "PENDING",
        loop: record?.loops.length ?? 0,
        maxLoops: record?.facts.maxLoops ?? 0,
        figures: { ...(record?.usage ?? NO_USAGE), elapsedMs: Date.now() - startedAt },
        last,
      }),
  });
  /** A worker's words grow while it speaks: a line is printed once, when it is whole. */
  let spoken = { text: "", printed: 0 };
  let printed = "";
  const print = (text: string) => {
    if (!follow || text === "" || text === printed) return;
    printed = text;
    program.out(`${harmless(text)}\n`);
  };
  const endWords = () => {
    print(spoken.text.slice(spoken.printed).trimEnd());
    spoken = { text: "", printed: 0 };
  };
  function speak(text: string): void {
    if (!text.startsWith(spoken.text)) endWords();
    const whole = text.lastIndexOf("\n") + 1;
    if (whole > spoken.printed) print(text.slice(spoken.printed, whole).trimEnd());
    spoken = { text, printed: Math.max(whole, spoken.printed) };
  }
  return {
    record(next: TaskRecord, event: TaskEvent): void {
      record = next;
      const text = describeTaskEvent(event);
      if (LASTING.includes(event.type)) last = oneLine(text);
      endWords();
      if (text !== "") print(`[${event.at}] ${next.state} ${text}`);
      live.draw();
    },
    worker(progress: TaskProgress): void {
      const text = progressWords(progress);
      if (text === "") return;
      last = oneLine(text);
      live.draw();
      if (progress.kind === "text") speak(text);
      else {
        endWords();
        print(text);
      }
    },
    end() {
      endWords();
      live.end();
    },
  };
}

/** Events that are the last action for a while. */
const LASTING: readonly TaskEvent["type"][] = ["decided", "worker-finished", "tested", "assessed"];

function progressWords(progress: TaskProgress): string {
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

function describeTaskEvent(event: TaskEvent): string {
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

export interface SolveProgressOptions {
  /** A terminal: the line with step, time, tokens and cost. */
  readonly line: boolean;
  /** The model's text and the files it edits, beside commands and phases. */
  readonly words: boolean;
  readonly maxSteps: number;
  readonly now: () => Date;
}

/** A task of a forge for a person who waits, on standard error. */
export function createSolveProgress(
  program: Pick<CliProgram, "err"> & Partial<Pick<CliProgram, "errColumns">>,
  texts: SolveMessages,
  { line, words, maxSteps, now }: SolveProgressOptions,
) {
  const steps: TaskStep[] = [];
  const live = createLiveLine(program, {
    enabled: line,
    render() {
      const figures = figuresOf(steps, now().toISOString());
      return `${texts.steps(figures.answers, maxSteps)} · ${texts.figures(figures)} · ${figures.last}`;
    },
  });
  return {
    say: live.print,
    step(step: TaskStep): void {
      steps.push(step);
      const text = step.kind === "said" || step.kind === "edited" ? wordsOfStep(step) : "";
      if (words && text !== "") live.print(step.kind === "said" ? `» ${text}` : text);
      else live.draw();
    },
    end: live.end,
  };
}
