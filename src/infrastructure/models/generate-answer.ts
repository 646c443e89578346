import type { ModelAnswer, ModelEvent, ModelFailure, ModelRequest } from "../../application/ports/models.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { readUpTo } from "../../domain/platform/file-bytes.ts";
import { type AnswerInProgress, createAnswer, thinkerOf } from "./answer.ts";
import { type Failures, hasImages, LONGEST_WAIT_MS } from "./failures.ts";
import {
  type ModelDeps,
  type ModelLimits,
  type ModelSettings,
  plainly,
  requestOptions,
} from "./model-settings.ts";
import { fillInImages, markImages, type Wire } from "./wire.ts";

/** A server that never ends a line must not fill the memory. */
const LONGEST_LINE = 32 * 1024 * 1024;

class FrameTooLong extends Error {}

/** Of text, thoughts and calls: four times the longest answers on offer. An endless one would be kept, masked and stored. */
const LONGEST_ANSWER = 4 * 1024 * 1024;

class AnswerTooLong extends Error {}
class AnswerInCircles extends Error {}

/** The frames that one chunk of bytes completed. `torn`: the stream ended inside this one. */
interface Batch {
  readonly frames: readonly string[];
  readonly torn?: string;
}

/** Lines of a stream, without their ends. A character may be split over chunks, a line over many of them. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Batch> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    const last = text.lastIndexOf("\n");
    if (last === -1) {
      size += text.length;
      if (size > LONGEST_LINE) throw new FrameTooLong();
      parts.push(text);
      // No line is complete, but the reader must learn that data arrived.
      yield { frames: [] };
      continue;
    }
    const lines = (parts.join("") + text.slice(0, last)).split("\n");
    parts = [text.slice(last + 1)];
    size = text.length - last - 1;
    yield { frames: lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line)) };
  }
  const rest = parts.join("") + decoder.decode();
  if (rest.trim() !== "") yield { frames: [], torn: rest };
}

/** NDJSON. */
async function* lineFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Batch> {
  for await (const batch of linesOf(chunks))
    yield { ...batch, frames: batch.frames.filter((line) => line.trim() !== "") };
}

/** Server-sent events: the data of each; names and comments do not matter, data says what it is. */
async function* eventFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Batch> {
  let data: string[] = [];
  const take = (line: string) => {
    if (line.startsWith("data:")) data.push(line.slice(line.charAt(5) === " " ? 6 : 5));
  };
  for await (const { frames: lines, torn } of linesOf(chunks)) {
    const frames: string[] = [];
    for (const line of lines) {
      take(line);
      if (line !== "" || data.length === 0) continue;
      frames.push(data.join("\n"));
      data = [];
    }
    if (torn !== undefined) take(torn);
    yield { frames };
  }
  if (data.length > 0) yield { frames: [], torn: data.join("\n") };
}

/** A server that does not stream: its whole answer is one frame. */
async function* wholeFrame(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Batch> {
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > LONGEST_LINE) throw new FrameTooLong();
    parts.push(decoder.decode(chunk, { stream: true }));
    yield { frames: [] };
  }
  yield { frames: [], torn: parts.join("") + decoder.decode() };
}

type ExpiredTimer = "connectTimeout" | "firstTokenTimeout" | "idleTimeout" | "over";

/** How long to wait for a server to close a completed stream: its connection can then be reused. */
const LINGER_MS = 200;

type StreamWatch = ReturnType<typeof startStreamWatch>;

/** Watches one try: calls `expire` once, with the limit that was passed. */
function startStreamWatch(deps: {
  readonly limits: ModelLimits;
  readonly connects: (signal: AbortSignal) => Promise<boolean>;
  readonly expire: (which: ExpiredTimer) => void;
}) {
  const { limits, expire } = deps;
  let probing: AbortController | undefined;
  let phase: "waiting" | "answering" | "over" = "waiting";
  let since = performance.now();
  let away = false;
  let timer: ReturnType<typeof setTimeout>;

  const limit = () =>
    phase === "waiting" ? limits.firstTokenMs : phase === "over" ? LINGER_MS : limits.idleMs;
  const arm = (ms: number) => {
    timer = setTimeout(look, Math.max(1, ms));
  };
  /** Set again only when it fires, not at every piece. */
  const look = () => {
    const left = limit() - (performance.now() - since);
    if (away || left > 0) return arm(away ? limit() : left);
    expire(phase === "waiting" ? "firstTokenTimeout" : phase === "over" ? "over" : "idleTimeout");
  };
  arm(Math.min(limit(), limits.idleMs));

  // fetch does not report when it is connected, and a server may send nothing until its first token: a separate connection,
  // made only when the answer is late, distinguishes a slow model from a dead host.
  let connected = false;
  const late = setTimeout(() => {
    probing = new AbortController();
    void deps.connects(probing.signal).then((yes) => {
      if (yes) connected = true;
    });
  }, limits.connectMs / 4);
  const connecting = setTimeout(() => {
    if (!connected) expire("connectTimeout");
  }, limits.connectMs);

  /** The server answered at all. */
  const endProbe = (): void => {
    clearTimeout(late);
    clearTimeout(connecting);
    probing?.abort();
  };
  return {
    connected: endProbe,
    /** The first part of the answer arrived. */
    begun: (): void => {
      if (phase !== "waiting") return;
      phase = "answering";
      since = performance.now();
    },
    /** Some data arrived. */
    heard: (): void => {
      if (phase === "answering") since = performance.now();
    },
    over: (): void => {
      phase = "over";
      since = performance.now();
      clearTimeout(timer);
      arm(LINGER_MS);
    },
    /** No caller is waiting for the server while this is true. */
    away: (isAway: boolean): void => {
      away = isAway;
      if (!isAway && phase === "answering") since = performance.now();
    },
    stop: (): void => {
      clearTimeout(timer);
      endProbe();
    },
  };
}

/** The longest answer that a server allows, if it refused a longer one. */
export interface TokenLimit {
  readonly tokens: number;
  /** Whether it is the model's own, or only what this request leaves. */
  readonly lasting: boolean;
}

/** A shorter answer is useless: the request is too long. */
const LEAST_TOKENS = 256;

const ABOUT_ANSWER =
  /max_?(completion_|output_|new_)?tokens|maxOutputTokens|max(imum)? tokens|maximum (number of )?output|completion tokens|in the (completion|output)/i;

/** The space that the request itself leaves in the window: the window, and its used part. */
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
  // The largest number below the requested one; not one of a model's name.
  const named = [...text.matchAll(/(?<![\w.-])(\d+)(?![\w-]|\.\d)( \(exclusive\))?/g)]
    .map(([, number, exclusive]) => Number(number) - (exclusive === undefined ? 0 : 1))
    .filter((number) => number < asked);
  return fittingLimit(Math.max(0, ...named), asked, true);
}

function fittingLimit(tokens: number, asked: number, lasting: boolean): TokenLimit | undefined {
  return tokens >= LEAST_TOKENS && tokens < asked ? { tokens, lasting } : undefined;
}

/** Parts that some models do not accept, and without which the question is the same. The narrower ones are first. */
const DISPENSABLE: readonly {
  readonly name: string;
  /** The field of this part in the request, and how a server names it. Default: its name. */
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
];

/** A model that cannot see an image would answer something else, so images are never left out. */
const ABOUT_IMAGES = /image|vision|multi-?modal|mmproj/i;

const REFUSES =
  /unsupported|not support|only supported|support image|deprecated|not permitted|not allowed|unrecognized|unknown (field|parameter|name|argument|variant)|extra inputs|additional properties|cannot be used/i;

/** Which part of the request a refusal is about, when the request can do without it. */
function findRefusedPart(body: string, sent: string, without: ReadonlySet<string>): string | undefined {
  if (!REFUSES.test(body)) return undefined;
  return DISPENSABLE.find(
    ({ name, sent: isSent = new RegExp(`"${name}"`), named = new RegExp(`\\b${name}\\b`) }) =>
      !without.has(name) && isSent.test(sent) && named.test(body),
  )?.name;
}

export interface TryDeps extends ModelDeps {
  readonly wire: Wire;
  readonly settings: ModelSettings;
  readonly failures: Failures;
}

export type TryOutcome =
  | { readonly kind: "answer"; readonly answer: ModelAnswer }
  /** `again`: worth another try. `without`: a part that the server does not know. `limit`: the longest answer that it allows. */
  | {
      readonly kind: "failed";
      readonly failure: ModelFailure;
      readonly again: boolean;
      readonly without?: string;
      readonly limit?: TokenLimit;
    };

/** Sends one request and yields its answer as it arrives. Ends within the limits, and at once when aborted. */
export async function* tryOnce(
  deps: TryDeps,
  request: ModelRequest,
  without: ReadonlySet<string>,
): AsyncGenerator<ModelEvent, TryOutcome> {
  const { wire, settings, failures } = deps;
  if (request.signal.aborted) return failedTry(failures.make("aborted"), false);
  const ending = new AbortController();
  const abort = () => ending.abort();
  request.signal.addEventListener("abort", abort, { once: true });
  let expired: ExpiredTimer | undefined;
  let reached = false;
  const marked = markImages(request, `image_${newCallId(deps.random)}_`);
  const { url, headers, body } = wire.request(marked.request, without);
  const { firstTokenMs } = deps.limits;
  const limits = { ...deps.limits, firstTokenMs: Math.max(firstTokenMs, request.firstTokenMs ?? 0) };
  const watch = startStreamWatch({
    limits,
    connects: (signal) => deps.connects(url, signal),
    expire: (which) => {
      expired = which;
      ending.abort();
    },
  });
  const answer = createAnswer({
    newId: () => newCallId(deps.random),
    thinker: thinkerOf(settings),
    ...(WRITES_CALLS.has(settings.type) && { callsInText: new Set(request.tools?.map(({ name }) => name)) }),
  });
  const sent = JSON.stringify(body);
  try {
    const response = await deps.fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: await fillInImages(sent, marked),
      signal: ending.signal,
      ...plainly(settings),
    });
    reached = true;
    watch.connected();
    if (response.status !== 200) {
      const text = await readErrorStart(response);
      if (hasImages(request) && ABOUT_IMAGES.test(text) && REFUSES.test(text))
        return failedTry(failures.imagesRefused(response, text), false);
      const failure = failures.ofResponse(response, text);
      const { maxTokens } = requestOptions(settings, request);
      return {
        ...failedTry(failure, isPassing(failure) || failure.code === "malformed"),
        ...fixForRefusal(failure, text, { sent, without, maxTokens }),
      };
    }
    const unreadable = yield* readAnswerStream(deps, response, answer, watch, request.signal);
    if (unreadable !== undefined) return failedTry(failures.make("malformed", unreadable), false);
  } catch (error) {
    if (request.signal.aborted) return failedTry(failures.make("aborted"), false);
    if (error instanceof FrameTooLong) return failedTry(failures.make("malformed", "> 32 MiB"), false);
    if (error instanceof AnswerInCircles) return failedTry(failures.make("inCircles"), false);
    if (error instanceof AnswerTooLong) return failedTry(failures.make("answerTooLong", "4 MiB"), false);
    if (expired !== undefined && expired !== "over") return timeoutOutcome({ ...deps, limits }, expired);
    if (expired === undefined) {
      const failure = failures.ofConnection(error, reached);
      return failedTry(failure, failure.retryable && !answer.begun);
    }
  } finally {
    watch.stop();
    request.signal.removeEventListener("abort", abort);
    // With a reason, because the runtime would make an error with a stack for one that nothing reads.
    ending.abort("over");
  }
  if (request.signal.aborted) return failedTry(failures.make("aborted"), false);
  const begun = answer.begun;
  const end = answer.end();
  yield* answer.drain();
  switch (end.kind) {
    case "answer":
      return { kind: "answer", answer: withTrueEnd(end.answer, requestOptions(settings, request).maxTokens) };
    case "problem": {
      const failure = failures.ofProblem(end.problem);
      return failedTry(failure, (isPassing(failure) || end.problem.unreadable === true) && !begun);
    }
    case "cut-off":
      return failedTry(failures.make("cutOff"), !begun);
    case "empty":
      return failedTry(failures.make(end.thought ? "thoughtOnly" : "empty"), false);
  }
}

/** An answer of exactly as many tokens as were allowed was cut, even if the server calls it complete. */
function withTrueEnd(answer: ModelAnswer, maxTokens: number | null): ModelAnswer {
  const { finish, usage, toolCalls } = answer;
  const isFull = maxTokens !== null && usage?.outputTokens === maxTokens;
  return finish === "stop" && toolCalls.length === 0 && isFull ? { ...answer, finish: "length" } : answer;
}

/** How the same request may still be accepted. */
function fixForRefusal(
  { code }: ModelFailure,
  text: string,
  asked: {
    readonly sent: string;
    readonly without: ReadonlySet<string>;
    readonly maxTokens: number | null;
  },
): Pick<Extract<TryOutcome, { kind: "failed" }>, "without" | "limit"> {
  if (code !== "bad-request" && code !== "context-too-long") return {};
  const limit = tokenLimitIn(text, asked.maxTokens);
  if (limit !== undefined) return { limit };
  const without = code === "bad-request" ? findRefusedPart(text, asked.sent, asked.without) : undefined;
  return without === undefined ? {} : { without };
}

/** Feeds the answer; returns the beginning of what cannot be read. */
async function* readAnswerStream(
  { wire }: TryDeps,
  response: Response,
  answer: AnswerInProgress,
  watch: StreamWatch,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent, string | undefined> {
  if (response.body === null) return undefined;
  const type = response.headers.get("content-type") ?? "";
  if (type.includes("text/html")) return `${type} ${await readErrorStart(response)}`;
  const whole = wire.framing === "sse" && type.includes("application/json");
  const frames = whole ? wholeFrame : wire.framing === "sse" ? eventFrames : lineFrames;
  const take = wire.reader(answer);
  for await (const batch of frames(response.body)) {
    watch.heard();
    for (const frame of batch.frames) {
      const parsed = parseFrame(frame);
      if (parsed === undefined) return frame.slice(0, 200);
      if (parsed !== DONE) take(parsed.value);
      else answer.over("stop");
      if (answer.size > LONGEST_ANSWER) throw new AnswerTooLong();
    }
    const last = batch.torn === undefined ? undefined : parseFrame(batch.torn);
    if (last === DONE) answer.over("stop");
    else if (last !== undefined) take(last.value);
    else if (whole && batch.torn !== undefined) return batch.torn.slice(0, 200);
    if (answer.size > LONGEST_ANSWER) throw new AnswerTooLong();
    if (answer.circles && answer.state === "open") throw new AnswerInCircles();
    if (answer.begun) watch.begun();
    if (answer.state === "over") watch.over();
    watch.away(true);
    yield* answer.drain();
    watch.away(false);
    if (answer.state === "broken" || signal.aborted) break;
    // One document without an answer: the server speaks another protocol.
    if (whole && batch.torn !== undefined && answer.isUnknown) return batch.torn.slice(0, 200);
  }
  return undefined;
}

/** Servers on which small models run. */
const WRITES_CALLS: ReadonlySet<ModelSettings["type"]> = new Set(["ollama", "openai-compatible"]);

const DONE = Symbol("done");

function parseFrame(frame: string): { readonly value: unknown } | typeof DONE | undefined {
  if (frame === "[DONE]") return DONE;
  return attemptOr(undefined, () => ({ value: JSON.parse(frame) }));
}

function timeoutOutcome({ failures, limits }: TryDeps, which: Exclude<ExpiredTimer, "over">): TryOutcome {
  const ms = {
    connectTimeout: limits.connectMs,
    firstTokenTimeout: limits.firstTokenMs,
    idleTimeout: limits.idleMs,
  };
  return failedTry(failures.make(which, String(ms[which] / 1000)), which === "connectTimeout");
}

function failedTry(failure: ModelFailure, again: boolean): Extract<TryOutcome, { kind: "failed" }> {
  return { kind: "failed", failure, again };
}

/** Whether the failure may pass: 429 and 5xx, and their equivalents in a stream. */
function isPassing({ code, retryable }: ModelFailure): boolean {
  return retryable && (code === "rate-limited" || code === "server-error");
}

const LONGEST_ERROR = 64 * 1024;

/** A failing server may also never end its error page: the limits of the try apply here, too. */
async function readErrorStart(response: Response): Promise<string> {
  return new TextDecoder().decode((await readUpTo(response.body, LONGEST_ERROR)).bytes);
}

function newCallId(random: () => number): string {
  return `call_${Math.floor(random() * 2 ** 48).toString(36)}`;
}

const FIRST_WAIT_MS = 500;
/** An overloaded cloud takes longer to recover than one with a single failure. */
const FIRST_WAIT_OF_CROWD_MS = 2000;
const LONGEST_OWN_WAIT_MS = 30_000;
/** Waiting does not help with the user's own server. */
const MOST_AT_HOME = 3;
/** The user is waiting to learn that the server is not running. */
const FIRST_WAIT_AT_HOME_MS = 100;

interface RetriedServer {
  readonly local?: boolean;
  readonly without?: Set<string>;
  /** Whether it has ever answered. */
  readonly answered?: () => boolean;
}

/**
 * Tries until there is an answer, a permanent failure, or no try left. A part of the request that the server refuses is
 * left out from then on, which costs no try. Between tries it waits as long as the server asks, else twice as long each
 * time, with jitter, so that many callers do not retry at the same moment.
 */
export async function* generateWithRetries(
  attempt: (request: ModelRequest) => AsyncGenerator<ModelEvent, TryOutcome>,
  { limits, random, pause }: Pick<ModelDeps, "limits" | "random" | "pause">,
  request: ModelRequest,
  { local = false, without = new Set(), answered = () => false }: RetriedServer = {},
): AsyncGenerator<ModelEvent, void> {
  for (let tries = 1; ; ) {
    const tried = yield* attempt(request);
    if (tried.kind === "answer") return yield { type: "finished", answer: tried.answer };
    if (tried.without !== undefined && !without.has(tried.without)) {
      without.add(tried.without);
      continue;
    }
    const { failure } = tried;
    const ownMs = Math.min(LONGEST_OWN_WAIT_MS, firstWait(failure, local) * 2 ** (tries - 1));
    const most = local ? Math.min(mostAtHome(failure, answered()), limits.retries) : limits.retries;
    const waitMs = failure.retryAfterMs ?? Math.round(ownMs * (0.5 + random() / 2));
    if (!tried.again || tries > most || waitMs > LONGEST_WAIT_MS) return yield { type: "failed", failure };
    yield { type: "retrying", attempt: tries, waitMs, failure };
    await pause(waitMs, request.signal);
    tries += 1;
  }
}

function firstWait({ code, status }: ModelFailure, local: boolean): number {
  if (local) return code === "unreachable" ? FIRST_WAIT_AT_HOME_MS : FIRST_WAIT_MS;
  return code === "rate-limited" || status === 503 || status === 529 ? FIRST_WAIT_OF_CROWD_MS : FIRST_WAIT_MS;
}

/** If the user's own server refuses the connection, it is restarting if it has answered before, and else not running. */
function mostAtHome({ cause }: ModelFailure, answered: boolean): number {
  const isRefused = cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED";
  if (!isRefused) return MOST_AT_HOME;
  return answered ? 1 : 0;
}
