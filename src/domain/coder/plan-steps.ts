/** One step of a coder's plan, with its progress. */
export interface PlanStep {
  readonly text: string;
  readonly state: "open" | "now" | "done" | "failed";
}

const ITEM = /^\s{0,3}(?:[-*+•]|\d{1,2}[.)、])\s+(?:\[[ xX]\]\s+)?(\S.*)$/u;
const MOST_STEPS = 12;
const STEP_CHARS = 120;

/** The steps of a list in a plan; a plan of prose, or with one step, has none. */
export function readPlanSteps(plan: string): readonly PlanStep[] {
  const items = plan.split("\n").flatMap((line) => ITEM.exec(line)?.[1] ?? []);
  if (items.length < 2) return [];
  const shown = items.slice(0, MOST_STEPS).map((item) => item.replace(/[*_`]{1,3}/g, "").trim());
  const cut = (text: string) => (text.length > STEP_CHARS ? `${text.slice(0, STEP_CHARS - 1)}…` : text);
  return shown.map((text) => ({ text: cut(text), state: "open" }));
}

const CHECKS = /\b(?:tests?|checks?|lint|verify)\b|テスト|確認|検証|チェック/i;

/** Whether the project's checks do a step, and not a command of the patch. */
function isCheck({ text }: PlanStep): boolean {
  return CHECKS.test(text) && pathsIn(text).length === 0;
}

function pathsIn(text: string): string[] {
  return text.match(/[\w@.-]+(?:\/[\w@.-]+)+|[\w-]+\.[a-z][a-z0-9]{0,4}\b/gi) ?? [];
}

/** A command of the patch begins, `file_edit update src/a.ts`: the one before has ended. */
export function beginCommand(steps: readonly PlanStep[], command: string): readonly PlanStep[] {
  const ended = steps.map((step) => (step.state === "now" ? { ...step, state: "done" as const } : step));
  const names = (step: PlanStep) =>
    pathsIn(step.text).some((path) => command.includes(path) || command.endsWith(`/${path}`));
  const about = ended.findIndex(names);
  const next = ended.findIndex(
    (step) => step.state === "open" && !isCheck(step) && pathsIn(step.text).length === 0,
  );
  const at = about >= 0 ? about : next;
  return ended.map((step, index) => (index === at ? { ...step, state: "now" } : step));
}

/** Every command has run, and the checks begin. */
export function beginChecks(steps: readonly PlanStep[]): readonly PlanStep[] {
  return steps.map((step) => ({ ...step, state: isCheck(step) ? "now" : "done" }));
}

/** The work has ended, or is sent back to the coder. */
export function endSteps(steps: readonly PlanStep[], success: boolean): readonly PlanStep[] {
  if (success) return steps.map((step) => ({ ...step, state: "done" }));
  return steps.map((step) => (step.state === "now" ? { ...step, state: "failed" } : step));
}

const SIGNS = { open: "☐", now: "▸", done: "☑", failed: "✗" } as const;

export function stepLines(steps: readonly PlanStep[]): string {
  return steps.map(({ text, state }) => `${SIGNS[state]} ${text}`).join("\n");
}
