import type { TaskFigures } from "./task-steps.ts";

export type ShownFigures = Pick<TaskFigures, "elapsedMs" | "inputTokens" | "outputTokens" | "costUsd">;

/** Time, tokens and cost, for every place that shows a task. */
export function figuresText(figures: ShownFigures, tokens: string): string {
  const { elapsedMs, inputTokens, outputTokens, costUsd } = figures;
  return `${clockText(elapsedMs)} · ${inputTokens} → ${outputTokens} ${tokens} · $${costUsd.toFixed(4)}`;
}

/** 3:07, 1:02:07 */
function clockText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = two(seconds % 60);
  return hours === 0 ? `${minutes}:${rest}` : `${hours}:${two(minutes)}:${rest}`;
}
