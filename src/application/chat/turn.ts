import type { JobHistory } from "../coder/job-history.ts";
import type { MeteredModels } from "../models/meter.ts";
import type { ChatEvent, Decision, IncomingMessage, Reply, Route } from "../ports/conversation.ts";
import type { Session } from "../ports/chat.ts";
import type { ReplyPiece } from "./reply-words.ts";
import type { ResultJson } from "../jobs/result-json.ts";

/** One message on its way through the conversation. */
export interface ChatTurn {
  readonly message: IncomingMessage;
  /** `<channel>:<chatId>`. */
  readonly sessionKey: string;
  readonly session: Session;
  /** What the chat remembers from before the history. */
  readonly memory: string;
  /** The last exchanges that fit, oldest first. */
  readonly history: readonly Exchange[];
  /** What the chat's jobs left behind in this workspace. */
  readonly jobs: JobHistory;
  /** Whether `/dry on` holds in this chat. */
  readonly dry: boolean;
  /** The models of this message: metered, and within the budget. */
  readonly models: MeteredModels;
  /** All jobs of this message; what `/undo` takes back. */
  readonly groupId: string;
  readonly signal: AbortSignal;
  /** On the monotonic clock: when the models' time is over. */
  readonly deadline: number;
  readonly emit: (event: ChatEvent) => void;
  readonly dryRun: boolean;
  readonly preview: boolean;
  /** What the reply begins with: that a new day began. */
  readonly notes: readonly ReplyPiece[];
  /** Rounds of this message so far (`loop.max_loops`); every agent counts its own. */
  readonly rounds: { count: number };
}

/** What a command needs that only looks: neither the chat's turn nor its session. */
export type LookRequest = Pick<ChatTurn, "message" | "sessionKey">;

export interface Exchange {
  readonly user: string;
  /** What an agent said itself; empty where it only worked. */
  readonly words: string;
  /** What became of the message's jobs, from their journals. */
  readonly facts: () => string;
  /** Who answered: `Mio`, `Gin`; `Worker` for what the executor did on a command. */
  readonly agent: string;
}

/** What one agent has to say. */
export interface Answer {
  readonly text: string;
  /** What the text says, as facts; absent: nothing but the text is known. */
  readonly said?: readonly ReplyPiece[];
  readonly ok: boolean;
  readonly agent: string;
  readonly jobs: readonly ResultJson[];
  readonly model?: NonNullable<Reply["model"]>;
  readonly actions?: Reply["actions"];
  /** A command's wish that a message is answered by another route. */
  readonly again?: { readonly route: Route; readonly text: string };
  /** Shiro's advice that somebody else should answer. */
  readonly reroute?: { readonly route: Route; readonly confidence: number; readonly fit: number };
}

/** A part of the message with its decision. */
export interface RoutedText {
  readonly text: string;
  readonly decision: Decision;
}

/** The jobs of a chat are found again by their group. */
export function groupPrefix(sessionKey: string): string {
  return `${sessionKey}#`;
}
