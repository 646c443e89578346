import type { Effort, ModelRequest } from "../../application/ports/models.ts";
import type { WireType } from "../../domain/config/configured-kinds.ts";
import type { ModelMessages } from "../../domain/texts/models.ts";

/** One model as the configuration describes it, its key resolved. */
export interface ModelSettings {
  readonly type: WireType;
  readonly provider: string;
  readonly model: string;
  readonly local: boolean;
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  /** The variable that holds the key, for remedies. */
  readonly keyVariable: string | undefined;
  /** Null: the server decides. */
  readonly maxTokens: number | null;
  readonly temperature: number | null;
  /** Null: the model decides. */
  readonly effort: Effort | null;
}

/** The options of one request; null is left to the server. */
export function requestOptions(
  settings: ModelSettings,
  request: ModelRequest,
): Pick<ModelSettings, "maxTokens" | "temperature" | "effort"> {
  return {
    maxTokens:
      request.maxTokens ?? settings.maxTokens ?? (settings.type === "anthropic" ? MOST_TOKENS : null),
    temperature: request.temperature ?? settings.temperature,
    effort: request.effort ?? settings.effort,
  };
}

/** Anthropic wants a number. */
const MOST_TOKENS = 32_000;

export interface OllamaSettings {
  readonly keepAlive: number | string;
  readonly maxContext: number;
}

export interface ModelLimits {
  readonly connectMs: number;
  readonly firstTokenMs: number;
  readonly idleMs: number;
  readonly retries: number;
}

/** Everything outside this process, and the texts for people. */
export interface ModelDeps {
  readonly fetch: Fetch;
  /** Whether a TCP connection to the host of this URL succeeds; settles late or never if it does not. */
  readonly connects: (url: string, signal: AbortSignal) => Promise<boolean>;
  readonly limits: ModelLimits;
  readonly messages: ModelMessages;
  readonly mask: (text: string) => string;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Resolves early when the signal is aborted. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

export type Fetch = (url: string, init: FetchInit) => Promise<Response>;

/** How every server is asked: no proxy sees what a local one is sent. */
export function plainly({
  local,
}: Pick<ModelSettings, "local">): Pick<FetchInit, "redirect" | "timeout" | "proxy"> {
  return { redirect: "manual", timeout: false, ...(local && { proxy: false }) };
}

/** Beside the web's own: Bun ends any fetch after five minutes and obeys HTTP_PROXY by default. */
interface FetchInit {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly signal: AbortSignal;
  readonly redirect: "manual";
  readonly timeout: false;
  /** False for a local model: a proxy would see its prompts. */
  readonly proxy?: false;
}
