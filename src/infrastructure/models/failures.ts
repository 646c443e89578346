import type { ModelFailure, ModelRequest } from "../../application/ports/models.ts";
import type { ModelFacts } from "../../domain/models/model-facts.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { type ModelMessages, modelMessagesFor } from "../../domain/texts/models.ts";
import { inEveryLanguage } from "../../domain/texts/worded.ts";
import type { ServerProblem } from "./answer.ts";
import { fieldAt, type Json, textAt } from "./json-fields.ts";
import type { ModelDeps, ModelSettings } from "./model-settings.ts";

type Kind = {
  [K in keyof ModelMessages]: ModelMessages[K] extends (facts: ModelFacts) => string ? K : never;
}[keyof ModelMessages];

const CODES: Readonly<Record<Kind, readonly [ModelFailure["code"], retryable: boolean]>> = {
  unreachable: ["unreachable", true],
  unknownSigner: ["bad-request", false],
  connectTimeout: ["timeout", true],
  firstTokenTimeout: ["timeout", true],
  idleTimeout: ["timeout", true],
  rateLimited: ["rate-limited", true],
  quotaSpent: ["rate-limited", false],
  serverError: ["server-error", true],
  unauthorized: ["unauthorized", false],
  unknownModel: ["unknown-model", false],
  contextTooLong: ["context-too-long", false],
  badRequest: ["bad-request", false],
  toolsRefused: ["bad-request", false],
  redirected: ["bad-request", false],
  cutOff: ["cut-off", true],
  empty: ["empty", true],
  thoughtOnly: ["empty", false],
  answerTooLong: ["endless", false],
  inCircles: ["endless", false],
  malformed: ["malformed", true],
  aborted: ["aborted", false],
  noImages: ["no-images", false],
  imagesRefused: ["no-images", false],
};

const UNKNOWN_SIGNER = new Set([
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
]);
const LONGEST_DETAIL = 400;
/** A server that asks for more patience than this is answered by a failure that says so. */
export const LONGEST_WAIT_MS = 60_000;

export type Failures = ReturnType<typeof createFailures>;

export function createFailures(
  { provider, model, baseUrl, apiKey }: Pick<ModelSettings, "provider" | "model" | "baseUrl" | "apiKey">,
  { messages, mask }: Pick<ModelDeps, "messages" | "mask">,
) {
  const address = addressOf(baseUrl);
  const clean = (text: string) => {
    const known = apiKey === undefined || apiKey.length < 4 ? text : text.replaceAll(apiKey, "***");
    const line = mask(known).replaceAll(/\s+/g, " ").trim();
    return line.length > LONGEST_DETAIL ? `${line.slice(0, LONGEST_DETAIL)}…` : line;
  };
  const make = (
    kind: Kind,
    detail = "",
    extra: Pick<ModelFailure, "status" | "retryAfterMs" | "cause"> = {},
  ): ModelFailure => {
    const [code, retryable] = CODES[kind];
    const { retryAfterMs } = extra;
    const facts = {
      provider,
      model,
      address,
      detail: clean(detail),
      ...(retryAfterMs !== undefined &&
        retryAfterMs > LONGEST_WAIT_MS && { waitSeconds: Math.ceil(retryAfterMs / 1000) }),
    };
    return { code, ...failureText(messages, (words) => words[kind](facts)), retryable, ...extra };
  };
  return {
    make,
    /** Of a connection that failed; `reached`: the server had begun to answer. */
    ofConnection(error: unknown, reached = false): ModelFailure {
      const detail = error instanceof Error && "code" in error ? String(error.code) : String(error);
      const kind = reached ? "cutOff" : UNKNOWN_SIGNER.has(detail) ? "unknownSigner" : "unreachable";
      return make(kind, detail, { cause: error });
    },
    /** Of an answer that is not 200. */
    ofResponse({ status, headers }: Pick<Response, "status" | "headers">, body: string): ModelFailure {
      if (status >= 300 && status < 400) return make("redirected", headers.get("location") ?? "", { status });
      const json = parseErrorBody(body);
      const text = body.trimStart().startsWith("<") ? "" : body;
      const detail = messageIn(json) || text || `HTTP ${status}`;
      const kind = kindOf({ status, code: codeIn(json), message: detail });
      const retryAfterMs =
        kind === "rateLimited" || kind === "serverError" ? retryAfter(headers, json) : undefined;
      return make(kind, detail, { status, ...(retryAfterMs !== undefined && { retryAfterMs }) });
    },
    /** Of an answer that refuses the images of the request. */
    imagesRefused: ({ status }: Pick<Response, "status">, body: string) =>
      make("imagesRefused", messageIn(parseErrorBody(body)) || body, { status }),
    /** Of what a server reports in the stream. */
    ofProblem: (problem: ServerProblem) =>
      make(
        problem.unreadable === true ? "malformed" : kindOf(problem),
        problem.message,
        problem.status === undefined ? {} : { status: problem.status },
      ),
  };
}

const TOO_LONG = new RegExp(
  [
    /context[ _-]?(length|window|limit|size)|maximum context|context the overflows|model_max_length|max_seq_len/,
    /(prompt|input|request|message)s? (is |are )?too (long|large for)|too many (input )?tokens|tokens? (of request )?too long/,
    /input token count|prompt token count|maximum prompt length|(input|prompt) length (should|must|of)|exceeds? max(imum)? length/,
    /exceed(s|ed)? the (maximum|max|limit)( allowed)? (number of tokens|input length|of \d+)/,
    /exceed(s|ed)? (the )?(model|max(imum)?)? ?tokens? limit|token limit (was |is )?exceeded|tokens? exceeds?/,
    /inputs?`? (tokens \+|must have less than)|reduce the length of|current length is \d+ while limit|request_too_large|total number of tokens/,
    /tokens? in (the |your )?(request|prompt|input|messages?) (is |are )?(more|greater|larger|higher|longer) than|more than (the )?max(imum)? tokens/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "i",
);
/** More than a minute's share: waiting does not help. */
const NEVER_FITS = /request too large for/i;
const NO_MODEL =
  /model_not_found|not_found_error model:|unknown model|invalid model|valid model id|no such model|models?\b.{0,120}\b(not found|does not exist|not exist|not supported|is not available)/i;
const NO_CREDIT =
  /insufficient_quota|insufficient balance|credit balance is too low|requires more credits|payment required|billing_error/i;
/** The model wrote a call that its server cannot read. */
const UNREADABLE_CALL = /tool_use_failed/i;
/** Some text of the request is longer than a field may be: not a matter of the model's window. */
const FIELD_TOO_LONG = /string_above_max_length/i;
/** llama.cpp without its templates calls it an error of the server; Ollama names the model. */
const NO_TOOLS = /requires --jinja|does not support tools/i;
const WRONG_KEY = /api[ _]?key not valid|invalid[ _]api[ _]?key|invalid x-api-key|authentication/i;

function kindOf({ status, code = "", message }: ServerProblem): Kind {
  const said = `${code} ${message}`;
  if (status === 402 || NO_CREDIT.test(said)) return "quotaSpent";
  if (NEVER_FITS.test(said)) return "contextTooLong";
  if (status === 429 || /rate_limit|resource_exhausted|too many requests/i.test(said)) return "rateLimited";
  if (status === 401 || status === 403) return "unauthorized";
  if (FIELD_TOO_LONG.test(said)) return "badRequest";
  if (NO_TOOLS.test(said)) return "toolsRefused";
  if (UNREADABLE_CALL.test(said)) return "malformed";
  if (status === 413 || TOO_LONG.test(said)) return "contextTooLong";
  if (status !== undefined && status >= 500) return "serverError";
  if (WRONG_KEY.test(said) && (status === 400 || status === undefined)) return "unauthorized";
  if (NO_MODEL.test(said)) return "unknownModel";
  if (status === undefined || /overloaded|server_error|api_error|internal|unavailable/i.test(code))
    return "serverError";
  return "badRequest";
}

/** Each provider has its own shape: `{error: {message}}`, `{error: "…"}`, `[{error: …}]`, `{message}`, `{detail}`. */
function messageIn(json: Json): string {
  const body = Array.isArray(json) ? json[0] : json;
  return (
    textAt(body, "error", "message") ||
    textAt(body, "error") ||
    textAt(body, "message") ||
    textAt(body, "detail")
  );
}

function codeIn(json: Json): string {
  const body = Array.isArray(json) ? json[0] : json;
  return [fieldAt(body, "error", "code"), fieldAt(body, "error", "type"), fieldAt(body, "error", "status")]
    .filter((one) => typeof one === "string")
    .join(" ");
}

/** The header in seconds or as a date, OpenAI's in milliseconds, Google's in the body. */
function retryAfter(headers: Headers, body: Json): number | undefined {
  const ms = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (ms >= 0) return ms;
  const header = headers.get("retry-after");
  if (header !== null) {
    const seconds = Number(header);
    if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
    const date = Date.parse(header);
    if (!Number.isNaN(date)) return Math.max(0, date - Date.now());
  }
  const google = /"retryDelay"\s*:\s*"([\d.]+)s"/.exec(body === undefined ? "" : JSON.stringify(body));
  return google === null ? undefined : Number(google[1]) * 1000;
}

function parseErrorBody(body: string): Json {
  return attemptOr(undefined, () => JSON.parse(body));
}

export function hasImages({ messages }: Pick<ModelRequest, "messages">): boolean {
  return messages.some((message) => message.role === "user" && (message.images?.length ?? 0) > 0);
}

/** The model does not see what it would be asked about, so it is not asked. */
export function noImagesFailure(
  messages: ModelMessages,
  { provider, model }: Pick<ModelSettings, "provider" | "model">,
): ModelFailure {
  const facts = { provider, model, address: "", detail: "" };
  return lastingFailure("no-images", messages, (words) => words.noImages(facts));
}

/** A failure that another try would meet again. */
export function lastingFailure(
  code: ModelFailure["code"],
  messages: ModelMessages,
  word: (words: ModelMessages) => string,
): ModelFailure {
  return { code, ...failureText(messages, word), retryable: false };
}

function failureText(messages: ModelMessages, word: (words: ModelMessages) => string) {
  return { message: word(messages), texts: inEveryLanguage((locale) => word(modelMessagesFor(locale))) };
}

export function addressOf(url: string): string {
  return attemptOr(url, () => new URL(url).host || url);
}
