import type { Proposal } from "../../domain/proposal/proposal.ts";
import type { Reply } from "../ports/conversation.ts";
import type { Execution } from "../work/execution.ts";
import { actionsFor } from "../work/present-actions.ts";
import { executionFacts } from "../work/report/job-facts.ts";
import { forReply, type Said } from "../work/report/said.ts";
import { type ResultJson, toResultJson } from "../work/result-json.ts";
import type { ChatParts } from "./parts.ts";

export interface JobReport {
  readonly said: Said;
  readonly ok: boolean;
  readonly job?: ResultJson;
  readonly actions: Reply["actions"];
}

/** A proposal that was carried out, as the chat tells it: the executor's facts alone. */
export function reportJob(
  { messages, chat, workspace }: Pick<ChatParts, "messages" | "chat" | "workspace">,
  execution: Execution,
  { plan, risk }: Pick<Proposal, "plan" | "risk">,
): JobReport {
  const facts = executionFacts(workspace.root, execution);
  if (facts.about === "refusal") return { said: { kind: "refusal", facts }, ok: false, actions: [] };
  return {
    said: {
      kind: "job",
      facts: forReply(facts),
      plan: workspace.mask(plan.trim()),
      ...(risk === "high" && { risk }),
    },
    ok: facts.success,
    job: toResultJson(messages, facts),
    actions: actionsFor(workspace.archive, facts.jobId, chat.actions),
  };
}
