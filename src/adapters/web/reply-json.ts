import type { Reply } from "../../application/ports/chat.ts";

/** A reply in its public form, beside its text and whether it succeeded: snake_case. */
export function replyJson(reply: Reply): Record<string, unknown> {
  const { sessionId, groupId, decision, jobs, usage, model, actions } = reply;
  return {
    session_id: sessionId,
    ...(groupId !== undefined && { group_id: groupId }),
    ...(decision !== undefined && { decision }),
    jobs,
    ...(usage !== undefined && {
      usage: {
        input_tokens: usage.inputTokens,
        output_tokens: usage.outputTokens,
        cost_usd: usage.costUsd,
      },
    }),
    ...(model !== undefined && { model }),
    actions: actions.map(({ label, message }) => ({ label, message })),
  };
}
