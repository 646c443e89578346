import type { Proposal } from "../../domain/proposal/proposal.ts";
import { reportMessages } from "../../domain/texts/messages.ts";
import type { Reply } from "../ports/conversation.ts";
import type { Execution } from "../work/execution.ts";
import { actionsFor } from "../work/present-actions.ts";
import { executionFacts } from "../work/report/job-facts.ts";
import { wordChatJob, wordRefusal } from "../work/report/word-job.ts";
import { type ResultJson, toResultJson } from "../work/result-json.ts";
import type { ChatParts } from "./parts.ts";

type Parts = Pick<ChatParts, "messages" | "chat" | "workspace">;

export interface JobReport {
  readonly text: string;
  readonly ok: boolean;
  readonly job?: ResultJson;
  readonly actions: Reply["actions"];
}

/** Words a job for the chat, from the executor's facts alone. */
export function reportJob(
  parts: Parts,
  execution: Execution,
  proposal: Pick<Proposal, "plan" | "risk">,
): JobReport {
  const { messages, chat, workspace } = parts;
  const facts = executionFacts(workspace.root, execution);
  if (facts.about === "refusal") {
    const status = reportMessages(messages.locale).status("refused", 0);
    const why = wordRefusal(messages, facts);
    const text = facts.why.kind === "refused" ? messages.workerFailed(why) : chat.proposalUnusable(why);
    return { text: `${status}\n\n${text}`, ok: false, actions: [] };
  }
  return {
    text: wordChatJob(messages, facts, planOf(parts, proposal)),
    ok: facts.success,
    job: toResultJson(messages, facts),
    actions: actionsFor(workspace.archive, facts.jobId, chat.actions),
  };
}

/** A high risk is said beside the plan; the others are no news. */
function planOf({ chat, workspace }: Parts, { plan, risk }: Pick<Proposal, "plan" | "risk">): string {
  const said = workspace.mask(plan.trim());
  return risk === "high" ? [said, chat.riskNote(risk)].filter((part) => part !== "").join("\n") : said;
}
