import type { Opened } from "../../application/ports/opening.ts";
import type { Execution } from "../../application/work/execution.ts";
import { describeRefusal } from "../../application/work/report/describe-refusal.ts";
import { fail } from "./fail.ts";
import { type CliProgram, EXIT } from "./program.ts";

type Refusal = Extract<Execution, { status: "refused" }>["refusal"];

/** A job that never began: the thing that stands in its way, and what helps. */
export function reportRefusal(
  program: CliProgram,
  { messages, workspace }: Opened,
  refusal: Refusal,
  json: boolean,
): number {
  const text = describeRefusal(messages, workspace.root, refusal).join("\n");
  const facts = refusal.code === "auto-commit" ? { cause: refusal.cause } : {};
  return fail(program, json, { exitCode: EXIT.refused, code: refusal.code, text, facts });
}
