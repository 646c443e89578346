import type { ChatEvent, PlanStep } from "../ports/chat.ts";
import { beginChecks, beginCommand, endSteps, readPlanSteps } from "./describe-event.ts";

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
