import type { Decision, Route } from "../../domain/config/route.ts";
import type { Worded } from "../../domain/texts/worded.ts";
import type { JobAction } from "../../domain/jobs/job-actions.ts";
import type { ReplyPiece } from "../chat/reply-words.ts";
import type { ResultJson } from "../jobs/result-json.ts";

export type { Decision, Route } from "../../domain/config/route.ts";

/**
 * The chat as channels see it: a message goes in, events come out, the reply is the last of them.
 *
 * Messages of one chat are answered in order, chats side by side. `handle` never rejects: a failure is in the
 * reply. Commands like `/undo` and `/why` are messages too.
 */
export interface Conversation {
  handle(message: IncomingMessage, options: HandleOptions): Promise<Reply>;
  /**
   * Whether a message must not wait for its turn: it is about what runs in its chat right now (`/stop`, words for a coder
   * at work), or it only looks (`/help`, `/jobs`). It is handed to `handle` like any other.
   */
  interrupts(message: Pick<IncomingMessage, "channel" | "chatId" | "text">): boolean;
  /** Whether a message is answered without a model: a command that looks, takes back or sets something. */
  needsNoModel(text: string): boolean;
}

export interface IncomingMessage {
  /**
   * The channel's own id of this message, where it keeps messages. It becomes the group of the message's jobs, so that
   * after a crash it can be told whether the message had begun to change anything.
   */
  readonly id?: string;
  /** `cli`, `line`, `slack`, `telegram`, `web`, `acp`. */
  readonly channel: string;
  /** Together with the channel, the key of the session: `slack` + `C1:1700000000.1`. */
  readonly chatId: string;
  readonly userId: string;
  readonly text: string;
  /** A route that replaces rules and classifier; an explicit command still wins unless `strict`. */
  readonly forcedRoute?: Route;
  readonly strict?: boolean;
  /** The trace that it belongs to, for the log. */
  readonly traceparent?: string;
  /** When it was sent, in ISO form; absent: now. It may have waited behind others since. */
  readonly sentAt?: string;
}

export interface HandleOptions {
  readonly signal: AbortSignal;
  /** As it happens, for progress and streaming; must not throw. */
  readonly onEvent?: (event: ChatEvent) => void;
}

/** The domain events of one message, also the lines of `chat --events`. */
export type ChatEvent =
  | { readonly type: "queued"; readonly ahead: number }
  | { readonly type: "decided"; readonly decision: Decision }
  | {
      readonly type: "thinking";
      readonly agent: Agent;
      readonly provider: string;
      readonly model: string;
      readonly local: boolean;
    }
  | { readonly type: "text"; readonly agent: Agent; readonly text: string }
  | {
      readonly type: "tool";
      readonly name: string;
      readonly state: "started" | "succeeded" | "failed";
      readonly note?: string;
    }
  | {
      readonly type: "proposed";
      readonly plan: string;
      readonly commands: number;
      readonly risk?: "low" | "medium" | "high";
      /** Paths that the patch names. */
      readonly files?: readonly string[];
    }
  /** A coder at work: which attempt, at what, and what the message has used so far. */
  | {
      readonly type: "progress";
      readonly attempt: number;
      readonly of: number;
      readonly doing: "asking" | "running" | "checking";
      /** The checks that run. */
      readonly detail: string;
      readonly tokens: number;
      readonly costUsd: number;
    }
  | { readonly type: "job-started"; readonly jobId: string }
  /** `index` counts from 1; `command` is one line: `shell_command run npm test`. */
  | {
      readonly type: "job-command";
      readonly jobId: string;
      readonly index: number;
      readonly command: string;
    }
  | { readonly type: "job-output"; readonly jobId: string; readonly text: string }
  | { readonly type: "job-finished"; readonly jobId: string; readonly success: boolean }
  | { readonly type: "undone"; readonly jobIds: readonly string[] }
  | { readonly type: "cut-over"; readonly sessionId: string }
  /** `texts`: for readers of each language. */
  | { readonly type: "notice"; readonly text: string; readonly texts?: Worded };

export type Agent = "Mio" | "Shiro" | "Aka" | "Ao" | "Gin";

export interface Reply {
  /** What to show, in the user's language, Markdown at most. */
  readonly text: string;
  /** What the text says, as facts; `wordReply` words it for another reader. Absent in replies of older versions. */
  readonly said?: readonly ReplyPiece[];
  readonly ok: boolean;
  /**
   * The right to work on the chat was lost meanwhile, or the message could not even be begun: nobody stopped it, and it may
   * be begun again.
   */
  readonly lost?: true;
  readonly sessionId: string;
  readonly groupId?: string;
  readonly decision?: Decision;
  /** Results of the jobs of this message, in order. */
  readonly jobs: readonly ResultJson[];
  /** A job that was ended under this message before it had a result; nothing of it is applied. */
  readonly brokenJob?: string;
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number; readonly costUsd: number };
  /** The model that answered, for the footer; cloud answers on local routes must say so. */
  readonly model?: { readonly provider: string; readonly model: string; readonly local: boolean };
  /**
   * Buttons that made sense when this was said. Each is a message; one about jobs names them (`/undo job_…`), so that
   * whoever shows it later can ask what became of them.
   */
  readonly actions: readonly JobAction[];
}
