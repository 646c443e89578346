/** Characters of each kind of context. */
export interface ContextBudget {
  readonly rules: number;
  readonly map: number;
  /** Of files that somebody named. */
  readonly files: number;
  /** Of files that nobody named, only found. */
  readonly guessed: number;
  /** A project up to this is shown whole when no file is named. */
  readonly whole: number;
}

const CONTEXT = {
  cloud: { rules: 6_000, map: 3_000, files: 60_000, guessed: 30_000, whole: 24_000 },
  local: { rules: 3_000, map: 1_500, files: 16_000, guessed: 14_000, whole: 14_000 },
  small: { rules: 1_500, map: 800, files: 8_000, guessed: 3_000, whole: 3_000 },
} as const satisfies Readonly<Record<string, ContextBudget>>;

/** Local windows are small (`ollama.max_context`), and a request that does not fit costs a second one. */
export function contextBudget(model: { readonly local: boolean }, size: "full" | "small"): ContextBudget {
  return size === "small" ? CONTEXT.small : model.local ? CONTEXT.local : CONTEXT.cloud;
}

/** Characters of a file that are read to choose from. */
export const LONGEST_FILE = 2_000_000;
