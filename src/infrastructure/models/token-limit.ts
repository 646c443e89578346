/** The longest answer that a server would take, where it refuses a longer one. */
export interface TokenLimit {
  readonly tokens: number;
  /** Whether it is the model's own, or only what this request leaves. */
  readonly lasting: boolean;
}

/** An answer below this is no use: the request is too long. */
const LEAST_TOKENS = 256;

const ABOUT_ANSWER =
  /max_?(completion_|output_|new_)?tokens|maxOutputTokens|max(imum)? tokens|maximum (number of )?output|completion tokens|in the (completion|output)/i;

/** What the request itself leaves of the window: the window, and what of it is taken. */
const WINDOW_LEFT: readonly RegExp[] = [
  // Anthropic: 190000 + 20000 > 200000
  /(?<taken>\d+) *\+ *\d+ *> *(?<window>\d+)/,
  // vLLM: (32000 > 32768 - 1000)
  /\d+ *> *(?<window>\d+) *- *(?<taken>\d+)/,
  // vLLM and OpenAI of old: a maximum context length of 8192 … 1000 input tokens, or (1000 in the messages, …
  /maximum context length is (?<window>\d+).*?(?<taken>\d+) (input tokens|in the messages|of text input|of the input)/s,
  // TGI: must be <= 4096. Given: 3000 `inputs` tokens
  /must be <= (?<window>\d+)\. Given: (?<taken>\d+) `inputs`/,
];

/** Reads from a refusal how many tokens may be asked for; undefined when it is about something else. */
export function tokenLimitIn(body: string, asked: number | null): TokenLimit | undefined {
  if (asked === null || !ABOUT_ANSWER.test(body)) return undefined;
  const text = body.replaceAll(/(?<=\d)[,_](?=\d{3}\b)/g, "");
  for (const pattern of WINDOW_LEFT) {
    const { window, taken } = pattern.exec(text)?.groups ?? {};
    if (window !== undefined) return fittingLimit(Number(window) - Number(taken), asked, false);
  }
  // The largest number below what was asked for; not one of a model's name.
  const named = [...text.matchAll(/(?<![\w.-])(\d+)(?![\w-]|\.\d)( \(exclusive\))?/g)]
    .map(([, number, exclusive]) => Number(number) - (exclusive === undefined ? 0 : 1))
    .filter((number) => number < asked);
  return fittingLimit(Math.max(0, ...named), asked, true);
}

function fittingLimit(tokens: number, asked: number, lasting: boolean): TokenLimit | undefined {
  return tokens >= LEAST_TOKENS && tokens < asked ? { tokens, lasting } : undefined;
}
