import type { TaskStep } from "../../domain/tasks/step.ts";
import { figuresOf, wordsOfStep } from "../../domain/tasks/task-steps.ts";
import type { SolveMessages } from "../../domain/texts/texts.ts";
import type { CliProgram } from "./program.ts";
import { createLiveLine } from "./live-line.ts";

export interface SolveProgressOptions {
  /** A terminal: the line with step, time, tokens and cost. */
  readonly line: boolean;
  /** What the model says and which files it edits, beside commands and phases. */
  readonly words: boolean;
  readonly maxSteps: number;
  readonly now: () => Date;
}

/** A task of a forge for a person who waits, on standard error. */
export function createSolveProgress(
  program: Pick<CliProgram, "err">,
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
