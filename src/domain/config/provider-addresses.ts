/** The protocols of model servers: the types of a provider that the configuration, the wires and their settings share. */
export const WIRE_TYPES = ["anthropic", "openai", "google", "openai-compatible", "ollama"] as const;
export type WireType = (typeof WIRE_TYPES)[number];

/**
 * `OLLAMA_HOST` as Ollama reads it: a host, `host:port`, a URL; every address means this machine. Null for what cannot be
 * asked over HTTP, and for one with a name or a password in it.
 */
export function ollamaAddress(given: string | undefined): string | null {
  const text = given?.trim() ?? "";
  if (text === "") return null;
  try {
    const isBare = !text.includes("://");
    const url = new URL(isBare ? `http://${text}` : text);
    if (!/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") return null;
    if (/^(0\.0\.0\.0|\[::\])$/.test(url.hostname)) url.hostname = "127.0.0.1";
    if (url.port === "" && isBare) url.port = "11434";
    return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
  } catch {
    return null;
  }
}

export const OPENROUTER = "https://openrouter.ai/api/v1";

/** Any other server of this kind speaks chat completions, not OpenAI's own responses. */
export function isOpenAi(address: string): boolean {
  return /^https:\/\/api\.openai\.com\b/.test(address);
}
