export const OPENROUTER = "https://openrouter.ai/api/v1";

/** Any other server of this kind speaks chat completions, not OpenAI's own responses. */
export function isOpenAi(address: string): boolean {
  return /^https:\/\/api\.openai\.com\b/.test(address);
}
