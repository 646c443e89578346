import type { LiveWork } from "../../application/serve/serve-events.ts";
import type { ChatEvent } from "../../application/ports/conversation.ts";
import type { ConsoleMessages } from "../../domain/texts/texts.ts";
import { sealOf } from "./icons.ts";
import { visible } from "./visible.ts";

/** What a page shows of a message at work; the stream sends the same, so that both always agree. */
export interface LiveLine {
  /** The character of whoever works, and its style. */
  readonly face: string;
  readonly style: string;
  readonly now: string;
  readonly command: string;
  readonly lines: string;
  readonly cost: string;
}

export function liveLine(t: ConsoleMessages, work: LiveWork, otherwise: string): LiveLine {
  const [face, style] = sealOf(work.agent ?? "Mio");
  return {
    face,
    style,
    now: (work.event === null ? null : progressText(t, work.event)) ?? otherwise,
    command: visible(shortCommand(work.command)),
    lines: visible(work.lines.trimEnd()),
    cost: work.costUsd > 0 ? `$${work.costUsd.toFixed(4)}` : "",
  };
}

/** `shell_command run npm test` as people type it. */
function shortCommand(command: string): string {
  return command
    .replace(/^shell_command run /, "")
    .replace(/^git_operation /, "git ")
    .replace(/^file_edit /, "");
}

function progressText(t: ConsoleMessages, event: ChatEvent): string | null {
  const words = t.chatEvents;
  switch (event.type) {
    case "decided":
      return words.decided(event.decision.route);
    case "thinking":
      return words.thinking(event.agent);
    case "proposed":
      return words.proposed(event.commands);
    case "job-started":
      return words.jobStarted;
    case "job-finished":
      return words.jobFinished;
    case "tool":
      return words.tool(event.name);
    case "progress":
      // What it cost stands beside it.
      return words.progress({ ...event, costUsd: 0 });
    case "notice":
      return event.texts?.[t.locale] ?? event.text;
    default:
      return null;
  }
}
