import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { ChatEvent } from "../../application/ports/conversation.ts";

/** The end of a command's output that an editor is shown while it runs. */
const OUTPUT_CHARS = 4_000;

export interface EditorUpdates {
  /** Words of the reply that the editor has already. */
  readonly said: () => string;
  /** Jobs that the editor knows as tool calls. */
  readonly jobs: ReadonlySet<string>;
  event(event: ChatEvent): void;
}

/** Tells an editor what happens, as it happens: words as a message, jobs and tools as tool calls, the rest as thoughts. */
export function createEditorUpdates(send: (update: SessionUpdate) => void): EditorUpdates {
  const jobs = new Set<string>();
  const outputs = new Map<string, string>();
  const tools = new Map<string, string>();
  let said = "";
  let calls = 0;
  const thought = (text: string) =>
    send({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text: `${text}\n` } });
  return {
    said: () => said,
    jobs,
    event(event) {
      switch (event.type) {
        case "text":
          said += event.text;
          send({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: event.text } });
          break;
        case "thinking":
          thought(`${event.agent} (${event.provider}/${event.model})`);
          break;
        case "proposed":
          thought(event.plan);
          break;
        case "notice":
          thought(event.text);
          break;
        case "tool":
          tool(event);
          break;
        case "job-started":
          jobs.add(event.jobId);
          send({
            sessionUpdate: "tool_call",
            toolCallId: event.jobId,
            title: event.jobId,
            kind: "edit",
            status: "in_progress",
          });
          break;
        case "job-command":
          outputs.delete(event.jobId);
          send({ sessionUpdate: "tool_call_update", toolCallId: event.jobId, title: event.command });
          break;
        case "job-output": {
          const text = `${outputs.get(event.jobId) ?? ""}${event.text}`.slice(-OUTPUT_CHARS).toWellFormed();
          outputs.set(event.jobId, text);
          send({
            sessionUpdate: "tool_call_update",
            toolCallId: event.jobId,
            content: [{ type: "content", content: { type: "text", text } }],
          });
          break;
        }
        default:
          break;
      }
    },
  };

  function tool({ name, state, note = "" }: Extract<ChatEvent, { type: "tool" }>): void {
    const title = note === "" ? name : `${name} ${note}`;
    const running = tools.get(name);
    if (state === "started" || running === undefined) {
      calls += 1;
      const toolCallId = `tool_${calls}`;
      tools.set(name, toolCallId);
      const status = { started: "in_progress", succeeded: "completed", failed: "failed" } as const;
      send({ sessionUpdate: "tool_call", toolCallId, title, kind: "other", status: status[state] });
    } else {
      tools.delete(name);
      const status = state === "succeeded" ? "completed" : "failed";
      send({ sessionUpdate: "tool_call_update", toolCallId: running, title, status });
    }
  }
}
