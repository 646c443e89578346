import { figuresOf } from "../../domain/tasks/task-steps.ts";
import type { SolveTask } from "../ports/tasks.ts";
import { pullText } from "./pull-text.ts";
import type { SolveDeps, SolveWork } from "./solve-work.ts";
import { orStop } from "./solve-stop.ts";

/** As `branchName` writes it. */
const OWN_BRANCH = /^picoclaw\/(\d+)(?:-|$)/;

/**
 * After a follow-up, PicoClaw's own pull request says what holds now: how the checks ended, whether it closes its issue, and
 * whether it is a draft. A person's pull request is theirs to word.
 */
export async function retellPull(parts: SolveDeps, work: SolveWork): Promise<void> {
  const { forge, messages, mask, store } = parts;
  const { task, item, bot, signal } = work;
  const issue = Number(OWN_BRANCH.exec(item.pull?.sourceBranch ?? "")?.[1]);
  if (item.author !== bot.login || !Number.isInteger(issue)) return;
  const ref = { ...item.ref, kind: "issue" as const, number: issue };
  const last = await store.findLast(ref);
  const first = last?.pull?.ref.number === item.ref.number ? last : null;
  const steps = [...(first === null ? [] : await store.steps(first.id)), ...(await store.steps(task.id))];
  const worded = pullText(mergeTasks(first, { ...task, item: ref, title: plainTitle(item.title) }), {
    messages,
    figures: figuresOf(steps),
  });
  const text = { ...worded, title: mask(worded.title), body: mask(worded.body) };
  const pull = await orStop(forge.updatePull(item.ref, text, signal));
  await work.update({ pull });
}

/** What the first task did and what the follow-up did, judged by the follow-up's checks. */
function mergeTasks(first: SolveTask | null, task: SolveTask): SolveTask {
  if (first === null) return task;
  return {
    ...task,
    plan: first.plan,
    summary: [first.summary, task.summary].filter((text) => text !== "").join("\n\n"),
    commands: [...first.commands, ...task.commands],
    notes: [...new Set([...first.notes, ...task.notes])],
  };
}

/** As it stands there now, somebody may have changed it; whether it is a draft is said apart. */
function plainTitle(title: string): string {
  return title.replace(/^(?:draft|wip):\s*/i, "");
}
