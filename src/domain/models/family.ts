export type Family = "claude" | "openai" | "deepseek" | "gemini" | "other";

const BY_NAME: readonly (readonly [RegExp, Family])[] = [
  [/claude/i, "claude"],
  [/deepseek/i, "deepseek"],
  [/gemini|gemma/i, "gemini"],
  [/gpt|codex|(^|\/)o[1-9](\b|-)/i, "openai"],
];

/** By the model's name, wherever it is served. */
export function familyOf(model: string): Family {
  return BY_NAME.find(([pattern]) => pattern.test(model))?.[1] ?? "other";
}
