import type { Opened } from "../../application/ports/opening.ts";
import type { Execution } from "../../application/jobs/execution.ts";
import { executionFacts, type RefusalFacts } from "../../application/jobs/job-facts.ts";
import { wordJob, wordRefusal } from "../../application/jobs/job-report.ts";
import { toResultJson } from "../../application/jobs/result-json.ts";
import { reportMessages } from "../../domain/texts/messages.ts";
import { fail } from "./fail.ts";
import { printable } from "./printable.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** Says what a job did, from its facts alone, and chooses the exit code. */
export function reportExecution(
  program: CliProgram,
  { messages, workspace }: Opened,
  execution: Execution,
  json: boolean,
): number {
  const facts = executionFacts(workspace.root, execution);
  if (facts.about === "refusal") {
    const status = reportMessages(messages.locale).status("refused", 0);
    const text = wordRefusal(messages, facts);
    return fail(program, json, { ...failureOf(facts), text: json ? text : `${status}\n${text}` });
  }
  if (execution.status === "ran")
    for (const warning of execution.warnings) program.err(`${messages.warningLabel} ${warning}\n`);
  program.out(
    `${json ? JSON.stringify(toResultJson(messages, facts)) : printable(wordJob(messages, facts))}\n`,
  );
  return facts.success ? EXIT.done : EXIT.failed;
}

function failureOf({ why }: RefusalFacts) {
  if (why.kind === "not-a-patch") {
    const { kind: _, code, message: __, ...facts } = why;
    return { exitCode: EXIT.usage, code, facts };
  }
  const { refusal } = why;
  const facts = refusal.code === "auto-commit" ? { cause: refusal.cause } : {};
  return { exitCode: EXIT.refused, code: refusal.code, facts };
}
