/** What a machine has for PicoClaw. */
export interface Found {
  readonly ollama: {
    readonly baseUrl: string;
    readonly reachable: boolean;
    /** Pulled models that answer on that machine; those that Ollama passes on to its cloud are none. */
    readonly models: readonly string[];
  };
  readonly keys: readonly { readonly variable: string; readonly there: boolean }[];
  /** Null: nothing answers. */
  readonly docker: { readonly version: string } | null;
  /** Null where it does not exist: elsewhere than on Linux. */
  readonly bubblewrap: boolean | null;
}

/** The keys that the default coders use, the default one first. */
export const CODER_KEYS = [
  { variable: "ANTHROPIC_API_KEY", coder: "coder3" },
  { variable: "OPENAI_API_KEY", coder: "coder2" },
  { variable: "DEEPSEEK_API_KEY", coder: "coder1" },
] as const;

/** Ollama's models that only make vectors do not talk. */
export function talkingModels(names: readonly string[]): string[] {
  return names.filter((name) => !/embed|bge-|minilm|rerank/i.test(name));
}
