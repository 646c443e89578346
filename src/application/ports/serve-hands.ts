import type { ChatEvent, Reply } from "./chat.ts";
import type { OpenOptions } from "./jobs-workspace.ts";
import type { ModelCall } from "./models-meter.ts";
import type { StoredMessage } from "./serve.ts";
import type { StoreAnswer, StoreQuestion } from "./store-lent.ts";

/**
 * The words that the front of a server and its hands say to each other. The front accepts, stores and shows; a hand is a process of its own on
 * the same home that answers messages. Every word is plain JSON.
 */
export type FrontWord =
  | HandOrders
  | { readonly type: "answer"; readonly answer: StoreAnswer }
  /** Work was added. */
  | { readonly type: "look" | "reload" }
  | { readonly type: "cancel"; readonly messageId: string }
  /** Takes nothing new, finishes or hands back what runs, and ends. */
  | { readonly type: "stop" };

/** The first word to a hand. */
export interface HandOrders {
  readonly type: "orders";
  readonly options: OpenOptions;
  readonly demo: boolean;
  /** Messages at once. */
  readonly lanes: number;
  /** Whether the front asks for the calls of models. */
  readonly isTraced: boolean;
}

export type HandWord =
  | { readonly type: "ready" }
  | { readonly type: "question"; readonly question: StoreQuestion }
  | { readonly type: "event"; readonly event: HandEvent }
  | { readonly type: "asked"; readonly call: ModelCall }
  /** Replies wait to be sent. */
  | { readonly type: "replies" };

/** A message is said once, with its beginning; later events name it. */
export type HandEvent =
  | { readonly type: "begun"; readonly message: StoredMessage }
  | { readonly type: "left"; readonly id: string }
  | { readonly type: "chat"; readonly id: string; readonly event: ChatEvent }
  | { readonly type: "answered"; readonly id: string; readonly reply: Reply; readonly ms: number }
  | { readonly type: "delivered"; readonly channel: string; readonly messageId: string }
  | { readonly type: "job"; readonly jobId: string; readonly output?: string };

/** Facts about a process that only its machine knows; null where it does not tell, or the process is gone. */
export interface HandUsage {
  readonly cpuMs: number;
  readonly residentBytes: number;
  /** By SIGSTOP or a debugger. */
  readonly isStopped: boolean;
}

export interface HandProcess {
  readonly pid: number;
  /** A word to a process that has ended is lost. */
  send(word: FrontWord): void;
  usage(): HandUsage | null;
  /** Whether it holds the lock of the workspace, so that only the lock's own rule may end it. */
  isLanding(): boolean;
  kill(): void;
  /** Resolves when it is gone. */
  readonly ended: Promise<void>;
}

export type StartHand = (hear: (word: HandWord) => void) => HandProcess;
