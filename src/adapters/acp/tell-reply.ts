import { join } from "node:path";
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { Reply } from "../../application/ports/conversation.ts";
import { fileDiffs } from "./file-diffs.ts";
import type { EditorFolder } from "./host.ts";
import type { EditorUpdates } from "./tell-event.ts";

/** How a message ended: each job with its differences, then the words that were not streamed, and what can follow. */
export function tellReply(
  { workspace }: Pick<EditorFolder, "workspace">,
  reply: Reply,
  told: EditorUpdates,
  send: (update: SessionUpdate) => void,
): void {
  const open = new Set(told.jobs);
  for (const job of reply.jobs) {
    open.delete(job.job_id);
    const call = {
      toolCallId: job.job_id,
      title: workspace.archive.read(job.job_id)?.title ?? job.summary,
      kind: job.changes.length > 0 ? "edit" : "execute",
      status: job.success ? "completed" : "failed",
      content: fileDiffs(workspace.archive.differences(job.job_id), workspace.root),
      locations: job.changes.map(({ path }) => ({ path: join(workspace.root, path) })),
      rawOutput: { job_id: job.job_id, status: job.status, summary: job.summary, undo: job.undo },
    } as const;
    send({
      sessionUpdate: told.jobs.has(job.job_id) ? "tool_call_update" : "tool_call",
      ...call,
      locations: [...call.locations],
    });
  }
  for (const toolCallId of open)
    send({ sessionUpdate: "tool_call_update", toolCallId, status: reply.ok ? "completed" : "failed" });
  const said = told.said().trim();
  const rest = said !== "" && reply.text.startsWith(said) ? reply.text.slice(said.length) : reply.text;
  const text = `${said !== "" && rest === reply.text ? "\n\n" : ""}${rest}${wordActions(reply)}`;
  if (text !== "") send({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
}

/** The protocol has no buttons: a command that can be sent is named. */
function wordActions({ actions }: Reply): string {
  if (actions.length === 0) return "";
  return `\n\n${actions.map(({ label, message }) => `${label}: \`${message}\``).join(" · ")}`;
}
