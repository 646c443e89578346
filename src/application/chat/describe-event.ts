import type { ChatMessages } from "../../domain/texts/chat.ts";
import type { ChatEvent, PlanStep } from "../ports/chat.ts";
import type { AgentEnd } from "../ports/jobs.ts";

/** The event in one line; empty for events that need no text. */
export function describeEvent(event: ChatEvent, chat: ChatMessages): string {
  switch (event.type) {
    case "queued":
      return chat.doing("waiting", String(event.ahead));
    case "decided":
      return event.decision.route;
    case "thinking":
      return chat.doing("thinking", `${event.agent} (${event.provider}/${event.model})`);
    case "tool":
      return event.state === "started"
        ? chat.doing("tool", [event.name, event.note ?? ""].join(" ").trim())
        : "";
    case "proposed":
      return event.plan.split("\n", 1)[0] ?? "";
    case "progress":
      return event.attempt > 1 || event.doing !== "asking" || event.detail !== "" ? chat.progress(event) : "";
    case "agent":
      return chat.agentDoing(event);
    case "job-command":
      return chat.doing("running", `[${event.index}] ${event.command}`);
    case "job-output":
      return event.text.trimEnd().split("\n").at(-1)?.trim() ?? "";
    default:
      return "";
  }
}

export type StepKind = "read" | "search" | "edit" | "check" | "run" | "plan" | "retry" | "tool" | "agent";

/** A step of the work on a message, as the terminal and the console list them. Times are milliseconds. */
export interface WorkStep {
  readonly kind: StepKind;
  readonly detail: string;
  readonly state: "runs" | "done" | "failed";
  readonly note: string;
  readonly startedAt: number;
  readonly endedAt: number;
  /** The number of a sub-agent: it works beside the others, and says itself how it ended. */
  readonly agent?: number;
  readonly end?: { readonly end: AgentEnd; readonly files: number };
}

/** The steps after an event. Earlier ones keep their places. */
export function addToSteps(steps: readonly WorkStep[], event: ChatEvent, at: number): readonly WorkStep[] {
  const begin = (kind: StepKind, detail: string, state: WorkStep["state"] = "runs") => [
    ...settleSteps(steps, "done", at),
    { kind, detail, state, note: "", startedAt: at, endedAt: at },
  ];
  switch (event.type) {
    case "tool": {
      if (event.state === "started") return begin("tool", [event.name, event.note ?? ""].join(" ").trim());
      const last = steps.findLastIndex(({ state }) => state === "runs");
      const note = (event.note ?? "").split("\n", 1)[0] ?? "";
      const noted = steps.map((step, n) => (n === last ? { ...step, note } : step));
      return settleSteps(noted, event.state === "failed" ? "failed" : "done", at);
    }
    case "proposed":
      return begin("plan", event.plan.split("\n", 1)[0] ?? "", "done");
    case "progress": {
      if (event.doing !== "checking") return steps;
      const last = steps.at(-1);
      if (last?.state !== "runs" || last.kind !== "check") return begin("check", event.detail);
      return [...steps.slice(0, -1), { ...last, detail: event.detail }];
    }
    case "agent":
      return addAgent(steps, event, at);
    case "job-command": {
      const [type = "", , ...rest] = event.command.split(" ");
      return begin(type === "file_edit" ? "edit" : "run", rest.join(" "));
    }
    case "job-finished":
      // The card says what a check found, not the step.
      return settleSteps(steps, event.success || steps.at(-1)?.kind === "check" ? "done" : "failed", at);
    case "drafting":
      return event.text === "" ? steps : settleSteps(steps, "done", at);
    case "notice": {
      if (event.step === undefined) return settleSteps(steps, "done", at);
      const { kind, detail } = event.step;
      // One line for all tries of the same thing: it shows the last of them.
      const last = steps.at(-1);
      if (kind === "retry" && last?.kind === "retry")
        return [...steps.slice(0, -1), { ...last, detail, endedAt: at }];
      return begin(kind === "call" ? "tool" : kind, detail, kind === "retry" ? "failed" : "done");
    }
    default:
      return steps;
  }
}

/** Ends every running line except those of sub-agents. */
export function settleSteps(
  steps: readonly WorkStep[],
  state: "done" | "failed",
  at: number,
): readonly WorkStep[] {
  if (steps.every((step) => step.state !== "runs" || step.agent !== undefined)) return steps;
  return steps.map((step) =>
    step.state === "runs" && step.agent === undefined ? { ...step, state, endedAt: at } : step,
  );
}

function addAgent(
  steps: readonly WorkStep[],
  { number, task, state, doing, files }: Extract<ChatEvent, { type: "agent" }>,
  at: number,
): readonly WorkStep[] {
  const known = steps.find(({ agent }) => agent === number);
  const step: WorkStep = {
    agent: number,
    kind: "agent",
    detail: `${number} ${task}`,
    note: state === "working" ? doing : "",
    state: state === "working" ? "runs" : state === "done" ? "done" : "failed",
    startedAt: known?.startedAt ?? at,
    endedAt: at,
    ...(state !== "working" && { end: { end: state, files } }),
  };
  if (known === undefined) return [...settleSteps(steps, "done", at), step];
  return steps.map((one) => (one === known ? step : one));
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
function beginCommand(steps: readonly PlanStep[], command: string): readonly PlanStep[] {
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
function beginChecks(steps: readonly PlanStep[]): readonly PlanStep[] {
  return steps.map((step) => ({ ...step, state: isCheck(step) ? "now" : "done" }));
}

/** The work has ended, or is sent back to the coder. */
function endSteps(steps: readonly PlanStep[], success: boolean): readonly PlanStep[] {
  if (success) return steps.map((step) => ({ ...step, state: "done" }));
  return steps.map((step) => (step.state === "now" ? { ...step, state: "failed" } : step));
}

const SIGNS = { open: "☐", now: "▸", done: "☑", failed: "✗" } as const;

export function stepLines(steps: readonly PlanStep[]): string {
  return steps.map(({ text, state }) => `${SIGNS[state]} ${text}`).join("\n");
}

/** Reports the steps of a coder's plan by the commands that begin and the checks that run, never by the coder's word. */
export function tellSteps(emit: (event: ChatEvent) => void): (event: ChatEvent) => void {
  let steps: readonly PlanStep[] = [];
  const tell = (next: readonly PlanStep[]) => {
    if (next.every((step, at) => step.state === steps[at]?.state && step.text === steps[at]?.text)) return;
    steps = next;
    emit({ type: "steps", steps });
  };
  return (event) => {
    emit(event);
    switch (event.type) {
      case "proposed": {
        const listed = readPlanSteps(event.plan);
        // A plan that corrects a part of the work does not list all of it.
        if (listed.length > 0) tell(listed);
        return;
      }
      case "job-command":
        return tell(beginCommand(steps, event.command));
      case "progress":
        if (event.doing === "checking") tell(beginChecks(steps));
        else if (event.doing === "asking" && event.attempt > 1) tell(endSteps(steps, false));
        return;
      case "job-finished":
        return tell(endSteps(steps, event.success));
      default:
        return;
    }
  };
}
