import type { InstalledModel } from "../models/rank-installed.ts";

/** What a machine has for PicoClaw. */
export interface SetupFindings {
  readonly ollama: {
    readonly baseUrl: string;
    readonly reachable: boolean;
    /** Pulled models that answer on that machine; those that Ollama passes on to its cloud are none. */
    readonly models: readonly InstalledModel[];
  };
  readonly sources: readonly ModelSource[];
  readonly keys: readonly { readonly variable: string; readonly there: boolean }[];
  /** The variable that holds a token of GitHub; null: none. */
  readonly github: string | null;
  readonly git: boolean;
  /** Null: nothing answers. */
  readonly docker: { readonly version: string } | null;
  /** Null where it does not exist: elsewhere than on Linux. */
  readonly bubblewrap: boolean | null;
}

/** Somebody who offers models beside Ollama: a cloud, or a server that `OPENAI_BASE_URL` names. */
export interface ModelSource {
  /** Its name under `providers`. */
  readonly provider: string;
  readonly address: string;
  readonly local: boolean;
  /** As it lists them; null: it did not answer, or refused the key. */
  readonly models: readonly string[] | null;
  /** The shipped model, where there is one. */
  readonly usual: string | null;
  /** What the configuration needs to know of it; null: nothing that is not shipped. */
  readonly settings: Readonly<Record<string, string | boolean | null>> | null;
}

/** The keys that are looked for, in the order in which their models are preferred. */
export const KEY_VARIABLES = [
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "DEEPSEEK_API_KEY",
  "OPENROUTER_API_KEY",
] as const;
