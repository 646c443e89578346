/** Parts that some models do not take, and without which the question is the same. The narrower ones come first. */
const DISPENSABLE: readonly {
  readonly name: string;
  /** How the part stands in what was sent, and how a server names it. Default: by its name. */
  readonly sent?: RegExp;
  readonly named?: RegExp;
}[] = [
  { name: "temperature" },
  { name: "max_tokens" },
  { name: "stream_options" },
  { name: "response_format" },
  { name: "cache_control" },
  { name: "truncate" },
  { name: "shift" },
  { name: "prompt_cache_key" },
  { name: "reasoning_effort" },
  { name: "include", named: /\binclude\b|encrypted content/i },
  { name: "reasoning" },
  { name: "adaptive" },
  { name: "effort", sent: /"output_config"/, named: /output_config|\beffort\b/i },
  { name: "thinking", named: /thinking/i },
  { name: "thinkingConfig", named: /thinking/i },
  { name: "think", named: /think/i },
  {
    name: "images",
    sent: /"(image|image_url|input_image|inlineData|images)"/,
    named: /image|vision|multi-?modal/i,
  },
];

const REFUSES =
  /unsupported|not support|only supported|support image|deprecated|not permitted|not allowed|unrecognized|unknown (field|parameter|name|argument|variant)|extra inputs|additional properties|cannot be used/i;

/** Which part of the request a refusal is about, when the request can do without it. */
export function findRefusedPart(
  body: string,
  sent: string,
  without: ReadonlySet<string>,
): string | undefined {
  if (!REFUSES.test(body)) return undefined;
  return DISPENSABLE.find(
    ({ name, sent: stands = new RegExp(`"${name}"`), named = new RegExp(`\\b${name}\\b`) }) =>
      !without.has(name) && stands.test(sent) && named.test(body),
  )?.name;
}
