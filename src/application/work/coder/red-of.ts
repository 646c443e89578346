import type { CommandResult } from "../../../domain/patch/result.ts";
import type { Judged } from "../checks/project-checks.ts";
import type { Red } from "./coder-end.ts";

/** What is wrong with an attempt: its own commands, or what the checks say; null where nothing is. */
export function redOf(failed: readonly CommandResult[], judged: Judged | null): Red | null {
  if (failed.length > 0) return { kind: "failing", failed, brief: briefly(failed) };
  if (judged?.verdict !== "red") return null;
  const kind = judged.facts.unended === undefined ? "worse" : "unended";
  return { kind, failed: [], brief: judged.brief };
}

function briefly(failed: readonly CommandResult[]): string {
  const [first] = failed;
  if (first === undefined) return "";
  const { command, error } = first;
  const what = command.target.split("\n")[0] ?? "";
  const why = error.split("\n")[0]?.replace(/ \(output: .*$/, "") ?? "";
  return why.startsWith(`${what}: `) ? why : `${what}: ${why}`;
}
