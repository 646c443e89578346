import { isInstalled, rankInstalled } from "../models/rank-installed.ts";
import type { ModelSource, SetupFindings } from "./found.ts";

export interface ChosenModel {
  /** `ollama`, or a name under `providers`. */
  readonly provider: string;
  readonly model: string;
  readonly local: boolean;
}

/** What a configuration is made of. */
export interface ModelChoice {
  /** Mio and Shiro; null: nobody talks yet. */
  readonly chat: ChosenModel | null;
  readonly coder: ChosenModel | null;
  /** Conversations may leave this machine. Only ever by a person's word. */
  readonly cloudMayTalk: boolean;
}

/** The names that PicoClaw ships for Ollama. */
export const SHIPPED_OLLAMA_MODELS = { chat: "chat-v1:latest", worker: "worker-v1:latest" } as const;

/** Models that may talk, best first: those of this machine, then those of clouds. */
export function offeredFor(found: SetupFindings, purpose: "talk" | "code"): ChosenModel[] {
  const installed = rankInstalled(found.ollama.models, purpose).map(({ name }) => ofOllama(name));
  const shipped =
    purpose === "talk" && isInstalled(found.ollama.models, SHIPPED_OLLAMA_MODELS.chat)
      ? [ofOllama(SHIPPED_OLLAMA_MODELS.chat)]
      : [];
  const local = [
    ...shipped,
    ...installed.filter(
      ({ model }) => model !== SHIPPED_OLLAMA_MODELS.chat && model !== SHIPPED_OLLAMA_MODELS.worker,
    ),
    ...found.sources.filter((source) => source.local).flatMap(modelsOf),
  ];
  const cloud = found.sources.filter((source) => !source.local).flatMap(modelsOf);
  // A coder may be in the cloud, and is better there.
  return purpose === "talk" ? [...local, ...cloud] : [...cloud, ...local];
}

/** Without a word of anybody: talk stays here. */
export function usualChoice(found: SetupFindings): ModelChoice {
  return {
    chat: offeredFor(found, "talk").find(({ local }) => local) ?? null,
    coder: offeredFor(found, "code")[0] ?? null,
    cloudMayTalk: false,
  };
}

function ofOllama(model: string): ChosenModel {
  return { provider: "ollama", model, local: true };
}

/** The shipped one first where it is offered. */
function modelsOf({ provider, local, models, usual }: ModelSource): ChosenModel[] {
  const names = (models ?? []).filter((name) => !NO_TALK.test(name));
  const ordered =
    usual !== null && names.includes(usual) ? [usual, ...names.filter((name) => name !== usual)] : names;
  return ordered.map((model) => ({ provider, model, local }));
}

const NO_TALK =
  /embed|whisper|tts|audio|realtime|image|dall-e|moderation|transcribe|rerank|sora|search|babbage|davinci|instruct$/i;
