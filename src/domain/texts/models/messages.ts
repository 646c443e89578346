import type { Locale } from "../messages.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";

export interface ModelFacts {
  readonly provider: string;
  readonly model: string;
  /** The server's host and port, or the script. */
  readonly address: string;
  /** What the server said, masked and cut; of a limit, its seconds. */
  readonly detail: string;
  /** How long the server asks to be left alone. */
  readonly waitSeconds?: number;
}

type Say = (facts: ModelFacts) => string;

/** What is said of models: their failures and what helps. */
export interface ModelMessages {
  readonly unreachable: Say;
  readonly connectTimeout: Say;
  readonly firstTokenTimeout: Say;
  readonly idleTimeout: Say;
  readonly rateLimited: Say;
  readonly quotaSpent: Say;
  readonly serverError: Say;
  readonly unauthorized: Say;
  readonly unknownModel: Say;
  readonly contextTooLong: Say;
  readonly badRequest: Say;
  readonly redirected: Say;
  readonly cutOff: Say;
  readonly empty: Say;
  readonly thoughtOnly: Say;
  readonly malformed: Say;
  readonly aborted: Say;
  noKey(provider: string, variable: string): string;
  unknownProvider(role: string, provider: string): string;
  noModelName(provider: string): string;
  noBaseUrl(provider: string): string;
  scriptUnusable(file: string, detail: string): string;
  noScriptedAnswer(file: string, message: string): string;
  /** Local-only at work. */
  refusedRemote(
    role: string,
    facts: { readonly provider: string; readonly model: string; readonly why: RemoteReason },
  ): string;
  readonly remedy: {
    pull(model: string): string;
    startOllama(address: string): string;
    setKey(variable: string): string;
    checkModelName(provider: string): string;
    checkAddress(provider: string): string;
    useLocal: string;
  };
  readonly doctor: {
    role(role: string, agent: string, model: string): string;
    answers: string;
    pulled: string;
    scripted(file: string): string;
    checkTimeout: string;
    /** A budget is set, and nobody knows what this model costs. */
    priceUnknown(model: string): string;
    setPrice(model: string): string;
  };
}

export type RemoteReason = "not-declared" | "cloud-host" | "public-host" | "cloud-model";

const CATALOGUES: Readonly<Record<Locale, ModelMessages>> = { ja, en };

export function modelMessagesFor(locale: Locale): ModelMessages {
  return CATALOGUES[locale];
}
