import { requestTerms } from "../../domain/coder/context-request-terms.ts";
import { contextBudget } from "../coder/budget.ts";
import { pointedFiles } from "../coder/context-coder-context.ts";
import type { ModelMessage } from "../ports/models.ts";
import type { TaskEnvironment } from "../ports/task-environments.ts";
import { clonedTexts } from "./cloned-texts.ts";
import type { SolveDeps, SolveWork } from "./solve-work.ts";

/** What people wrote is quoted line by line, so none of it begins with this. */
const POINTED_HEADING = "# Files that the words of the task point to";

/**
 * The files that the words of the issue and its comments lead to, within the budget of a chat, so that the coder's first step
 * need not look for them. Nothing for a worker CLI, which looks for itself.
 */
export async function showPointed(
  { model, mask }: SolveDeps,
  { task, signal }: SolveWork,
  environment: TaskEnvironment,
): Promise<readonly ModelMessage[]> {
  const coder = model();
  if (task.worker !== null || !("generate" in coder)) return [];
  const request = peopleWords(task.title, task.transcript);
  const texts = await clonedTexts(environment, { request, terms: requestTerms(request) }, signal);
  const shown = pointedFiles(texts, { request, budget: contextBudget(coder, "full") });
  if (shown.size === 0) return [];
  const heading = `${POINTED_HEADING}\n\nAs they were cloned. What was left out is marked; the tools show the rest.`;
  return [{ role: "user", text: mask([heading, ...shown.values()].join("\n\n")) }];
}

/** Whether a message is that one: it is the first to go where a conversation is too long. */
export function isShownFiles({ role, text }: ModelMessage): boolean {
  return role === "user" && text.startsWith(POINTED_HEADING);
}

/** The words of people; ours around them point nowhere. */
function peopleWords(title: string, transcript: readonly ModelMessage[]): string {
  const lines = transcript.flatMap(({ role, text }) => (role === "user" ? text.split("\n") : []));
  const where = lines.flatMap((line) => /^\S+ on (\S+:\d+|\S+):$/.exec(line)?.[1] ?? []);
  const said = lines.filter((line) => line.startsWith("> ")).map((line) => line.slice(2));
  return [title, ...said, ...where].join("\n");
}
