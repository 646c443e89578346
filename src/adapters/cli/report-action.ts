import { type ActionCode, type ActionFacts, wordAction } from "../../application/jobs/action-report.ts";
import { changedFiles } from "../../domain/jobs/result.ts";
import type { Messages } from "../../domain/texts/jobs.ts";
import { fail, printable, styleReport } from "./command.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** Says what came of undo, redo, a preview or a stop. `document`: what a program gets where all went well. */
export async function reportAction(
  program: CliProgram,
  messages: Messages,
  facts: ActionFacts,
  { json, document }: { readonly json: boolean; readonly document: Readonly<Record<string, unknown>> },
): Promise<number> {
  const text = wordAction(messages, facts, "terminal");
  if (facts.code === "done") {
    program.out(
      `${json ? JSON.stringify(document) : await styleReport(program, printable(text), facts.status)}\n`,
    );
    return EXIT.done;
  }
  const { name, state, conflicts, done } = facts;
  const half = done.length > 0;
  return fail(program, json, {
    exitCode: half ? EXIT.failed : exitCodeOf(facts),
    code: facts.code,
    text,
    facts: {
      ...(facts.status !== null && { status: facts.status }),
      ...(facts.code !== "nothing" && facts.code !== "unknown-job" && { job_id: name }),
      ...(state !== undefined && { state }),
      ...(conflicts.length > 0 && { conflicts }),
      ...(half && { jobs: swappedJson(facts) }),
    },
  });
}

export function swappedJson({ done }: ActionFacts): readonly Record<string, unknown>[] {
  return done.map(({ jobId, changes, left }) => ({ job_id: jobId, changes: changedFiles(changes), left }));
}

const USAGE: readonly ActionCode[] = ["unknown-job", "not-a-preview"];

function exitCodeOf({ code, action }: ActionFacts) {
  if (USAGE.includes(code)) return EXIT.usage;
  return code === "conflict" && action === "apply" ? EXIT.failed : EXIT.refused;
}
