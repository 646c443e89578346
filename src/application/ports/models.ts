import type {
  AnswerForm,
  ModelFailureCode,
  TokenCounts,
  UsageTotal,
} from "../../domain/models/model-facts.ts";
import type { ImageType } from "../../domain/platform/image.ts";
import type { WordsByLocale } from "../../domain/texts/worded.ts";

/**
 * One configured LLM, local or cloud. The stream of `generate` never rejects: it ends with exactly one `finished` or `failed` event,
 * also when aborted. Retries on 429, 5xx and lost connections happen inside, only before the first part of an answer was given.
 * A request carries no key: the model holds it.
 */
export interface Model {
  /** As the configuration names it. */
  readonly provider: string;
  readonly model: string;
  /** Whether requests stay on machines that the user named as local. */
  readonly local: boolean;
  /** Whether its answers come from a file, in their order. */
  readonly isScripted?: boolean;
  /** The shipped default that this one replaces, because it is not installed. */
  readonly insteadOf?: string;
  /** Which patch format this family writes best, and how its prompts are worded. */
  readonly family: ModelFamily;
  /** Absent if unknown. A request with images to one that does not see them fails with `no-images` before anything is sent. */
  readonly seesImages?: boolean | undefined;
  /** Tokens that one request may hold; undefined: unknown. */
  readonly window?: number | undefined;
  /** It was looked for and does not run: its window limits no conversation. */
  readonly isAway?: boolean;
  generate(request: ModelRequest): AsyncIterable<ModelEvent>;
  /** The server's identity of the model behind its name: a digest, or its size. Null where it tells nothing; never rejects. */
  identify?(signal: AbortSignal): Promise<string | null>;
  /** Asks the server whether it would answer; never rejects. */
  check(signal: AbortSignal): Promise<ModelCheck>;
  /** The newest model of the same line that the provider itself lists; null: this one is. Absent where none is asked. */
  findNewer?(signal: AbortSignal): Promise<string | null>;
}

export type ModelFamily = "claude" | "openai" | "deepseek" | "gemini" | "other";

export interface ModelRequest {
  readonly system?: string;
  readonly messages: readonly ModelMessage[];
  readonly tools?: readonly ModelTool[];
  /** Default: the configured limit of this model. */
  readonly maxTokens?: number;
  /** Characters of text after which the answer is ended as endless. Thoughts do not count. Default: none. */
  readonly endsAfter?: number;
  readonly temperature?: number;
  /** How much to think before answering. Default: the configured effort, else the model's own. */
  readonly effort?: Effort;
  /** Names the context of several requests (a chat, a draft) for a provider's cache. Default: made of how the request begins. */
  readonly cacheKey?: string;
  /** Asks for one JSON document where the server can promise that; a schema binds its form where the server has a grammar. */
  readonly json?: boolean | Readonly<Record<string, unknown>>;
  /** How long the first word may take, if that is more than the configured limit. */
  readonly firstTokenMs?: number;
  readonly signal: AbortSignal;
}

export const EFFORTS = ["off", "low", "medium", "high"] as const;
export type Effort = (typeof EFFORTS)[number];

export function isEffort(text: string): text is Effort {
  return (EFFORTS as readonly string[]).includes(text);
}

export type ModelMessage =
  | { readonly role: "user"; readonly text: string; readonly images?: readonly ModelImage[] }
  | {
      readonly role: "assistant";
      readonly text: string;
      readonly toolCalls?: readonly ToolCall[];
      /** Of the answer that this message was. */
      readonly thoughts?: ModelThoughts;
    }
  | { readonly role: "tool"; readonly callId: string; readonly name: string; readonly text: string };

export interface ModelImage {
  readonly mediaType: ImageType;
  /** Base64. */
  readonly data: string;
}

/** A model's thoughts before its tool calls, signed or encrypted, as JSON. Only the model that thought them is sent them again. */
export interface ModelThoughts {
  readonly thinker: string;
  readonly parts: readonly unknown[];
}

export interface ModelTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** Parsed; a string if the model wrote invalid JSON. */
  readonly arguments: unknown;
}

export type ModelEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "tool-call"; readonly call: ToolCall }
  /** A try failed and another follows. */
  | {
      readonly type: "retrying";
      readonly attempt: number;
      readonly waitMs: number;
      readonly failure: ModelFailure;
    }
  | { readonly type: "finished"; readonly answer: ModelAnswer }
  | { readonly type: "failed"; readonly failure: ModelFailure };

export interface ModelAnswer {
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly finish: "stop" | "length" | "tool-calls" | "filtered";
  readonly usage: ModelUsage;
  /** Part of the message that repeats this answer. Only with tool calls. */
  readonly thoughts?: ModelThoughts;
}

/** Zero where the server did not say. */
export type ModelUsage = TokenCounts;

/**
 * The error, so that no caller reads the text. `aborted`: by the caller's signal. `refused-remote`: a cloud model was asked for where
 * only a local one may answer. `over-budget`: the day's budget is spent. `no-price`: a budget over a model without a stated price.
 * `no-images`: the model does not see the images of the request.
 */
export interface ModelFailure {
  readonly code: ModelFailureCode;
  /** For a person; no secret in it. */
  readonly message: string;
  /** The same for readers of each language; absent where the message is in no particular language. */
  readonly texts?: WordsByLocale;
  readonly retryable: boolean;
  readonly status?: number;
  /** When the server would like to be asked again. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

export type ModelCheck =
  | { readonly ok: true; readonly detail: string }
  | { readonly ok: false; readonly failure: ModelFailure; readonly remedy?: string | undefined };

/** The answering role. The coder roles may be cloud models, the others only local ones. */
export type ModelRole = "chat" | "worker" | "coder1" | "coder2" | "coder3";

/** A chat's choice for a role at run time; absent values come from the configuration. */
export interface ModelChoiceOfRole {
  /** A provider of the configuration, or `ollama`. */
  readonly provider?: string;
  readonly model?: string;
  readonly effort?: Effort;
}

export interface Models {
  /** The one place where local-only is enforced. */
  forRole(role: ModelRole, choice?: ModelChoiceOfRole): Model | ModelFailure;
  /**
   * Looks which models the local server has, for roles that are not configured. Never rejects; asks once, and again only if no server
   * answered. With a role it asks only if that role's model depends on it.
   */
  look?(signal: AbortSignal, role?: ModelRole, choice?: ModelChoiceOfRole): Promise<void>;
}

/** The record of a local model's answers, by model and server; begins anew with another identity. Small and readable. */
export interface ModelRecord {
  readonly identity: string;
  /** When it was written last. */
  readonly at: string;
  /** Answers by the form that they were asked for in. */
  readonly forms: Readonly<Partial<Record<AnswerForm, FormCounts>>>;
  /** Tokens a second; 0 where nothing was measured. */
  readonly reads: number;
  readonly writes: number;
}

/** `read`: carried out. `unread`: sent back. `endless`: ended without an end. `green`: carried out, and the last one. */
export type FormCounts = Readonly<Record<AnswerOutcome, number>>;

export type AnswerOutcome = "read" | "unread" | "endless" | "green";

export interface ModelRecords {
  /** Null where nothing is known. Asks the server once who the model is. */
  recall(model: Model): Promise<ModelRecord | null>;
  note(model: Model, seen: SeenAnswer): Promise<void>;
}

export type SeenAnswer =
  | { readonly form: AnswerForm; readonly outcome: AnswerOutcome }
  /** Tokens and milliseconds; zero tokens are no measurement. */
  | { readonly read: number; readonly readMs: number; readonly wrote: number; readonly wroteMs: number };

/** The usage and cost of models. Entries are only added. */
export interface UsageStore {
  record(entry: UsageEntry): Promise<void>;
  /** The amount spent from `since` on, in US dollars. */
  spent(since: Date): Promise<number>;
  /** Sums by group; costliest first. */
  totals(filter: UsageFilter): Promise<UsageTotal[]>;
}

export interface UsageEntry extends TokenCounts {
  readonly at: string;
  readonly chatKey: string;
  readonly sessionId: string;
  readonly groupId: string;
  readonly role: string;
  readonly provider: string;
  readonly model: string;
  readonly local: boolean;
  /** Null: the model's price is unknown. */
  readonly costUsd: number | null;
}

export interface UsageFilter {
  /** `moment`: by model, and by times within the same quarter of an hour. */
  readonly by: "model" | "group" | "chat" | "moment";
  readonly since: Date;
  readonly until?: Date;
  readonly chatKey?: string;
  /** Also chats that are called `<chatKey>.<something>`. */
  readonly withChatsBelow?: boolean;
  readonly groupId?: string;
}
