import type { CommandResult } from "../../domain/jobs/result.ts";
import type { JudgedAttempt } from "../checks/checks-project-checks.ts";
import type { RedAttempt } from "./coder-end.ts";

/** What is wrong with an attempt: its own commands, or what the checks say; null where nothing is. */
export function findRedAttempt(
  failed: readonly CommandResult[],
  judged: JudgedAttempt | null,
): RedAttempt | null {
  if (failed.length > 0) return { kind: "failing", failed, brief: firstFailureLine(failed) };
  if (judged?.verdict !== "red") return null;
  const kind = judged.facts.unended === undefined ? "worse" : "unended";
  return { kind, failed: [], brief: judged.brief };
}

function firstFailureLine(failed: readonly CommandResult[]): string {
  const [first] = failed;
  if (first === undefined) return "";
  const { command, error } = first;
  const what = command.target.split("\n")[0] ?? "";
  const why = error.split("\n")[0]?.replace(/ \(output: .*$/, "") ?? "";
  return why.startsWith(`${what}: `) ? why : `${what}: ${why}`;
}
