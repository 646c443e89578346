/** Parts that some models do not take, and without which the question is the same. */
const DISPENSABLE = [
  "temperature",
  "max_tokens",
  "stream_options",
  "response_format",
  "cache_control",
  "truncate",
  "shift",
] as const;

const REFUSES =
  /unsupported|not support|deprecated|not permitted|not allowed|unrecognized|unknown (field|parameter|name|argument)|extra inputs|additional properties|cannot be used/i;

/** Which part of the request a 400 is about, when the request can do without it. */
export function partRefusedBy(body: string, without: ReadonlySet<string>): string | undefined {
  if (!REFUSES.test(body)) return undefined;
  return DISPENSABLE.find((name) => !without.has(name) && new RegExp(`\\b${name}\\b`).test(body));
}
