import { isWorkflowPath } from "./protected-paths.ts";

const EDIT_TOOLS: ReadonlySet<unknown> = new Set(["create", "str_replace", "insert", undefined]);
const PROJECT_PREFIX = /^(?:\/workspace\/project\/|\.\/)+/;

/** Why an edit of this path is refused at once: a text for the model. Null where it is not. */
export function refusedEdit(tool: string, args: unknown): string | null {
  if (tool !== "text_editor") return null;
  const { command, path } = (args ?? {}) as { command?: unknown; path?: unknown };
  if (typeof path !== "string" || !EDIT_TOOLS.has(command)) return null;
  const plain = plainPath(path);
  if (!isWorkflowPath(plain)) return null;
  return `refused: ${plain} decides what runs on the forge's own machines, and a task may not change it. Do the rest of the task without it, and say in your summary what a person has to change there. (The operator can allow it with tasks.allow_ci_files.)`;
}

function plainPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.replace(PROJECT_PREFIX, "").split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts.join("/");
}
