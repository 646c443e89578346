import { findChecks, READ_FOR_CHECKS } from "../../domain/checks/checks-find-checks.ts";
import type { ProjectCheck } from "../../domain/checks/project-check.ts";
import type { TaskEnvironment } from "../ports/task-environments.ts";

/** The checks of the project as it lies in an environment. Reads a few files; runs nothing of the project's. */
export async function foundChecks(
  { run }: Pick<TaskEnvironment, "run">,
  configured: string | null,
  signal: AbortSignal,
): Promise<readonly ProjectCheck[]> {
  const names = (await run("ls -1A", signal)).stdout.split("\n").filter((name) => name !== "");
  const texts: Record<string, string> = {};
  for (const name of READ_FOR_CHECKS)
    if (names.includes(name)) texts[name] = (await run(`cat ./${name}`, signal)).stdout;
  return findChecks({ names, texts }, configured);
}
