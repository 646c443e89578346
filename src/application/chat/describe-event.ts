import type { ChatMessages } from "../../domain/texts/chat.ts";
import type { ChatEvent } from "../ports/chat.ts";

/** The event in one line; empty for events that need no text. */
export function describeEvent(event: ChatEvent, chat: ChatMessages): string {
  switch (event.type) {
    case "queued":
      return chat.doing("waiting", String(event.ahead));
    case "decided":
      return event.decision.route;
    case "thinking":
      return chat.doing("thinking", `${event.agent} (${event.provider}/${event.model})`);
    case "tool":
      return event.state === "started"
        ? chat.doing("tool", [event.name, event.note ?? ""].join(" ").trim())
        : "";
    case "proposed":
      return event.plan.split("\n", 1)[0] ?? "";
    case "progress":
      return event.attempt > 1 || event.doing !== "asking" || event.detail !== "" ? chat.progress(event) : "";
    case "agent":
      return chat.agentDoing(event);
    case "job-command":
      return chat.doing("running", `[${event.index}] ${event.command}`);
    case "job-output":
      return event.text.trimEnd().split("\n").at(-1)?.trim() ?? "";
    default:
      return "";
  }
}
