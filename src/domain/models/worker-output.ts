import { readRoute } from "../config/configured-kinds.ts";
import { walkReply } from "../patch/formats/markdown/walk-reply.ts";
import { attemptOr } from "../platform/error-text.ts";

/** Shiro's answer at the end of a round. */
export type WorkerOutput = ReturnType<typeof readWorkerOutput>;

export const WORKER_CONTRACT = `When you are done, answer with one JSON object and nothing else:
{"result": "…", "needs_next_loop": false, "why": "…", "confidence": 0.9, "risk": "low", "fit": 0.85, "suggested_route": "ANALYZE"}
result: the answer for the user, Markdown allowed.
needs_next_loop: true if work is left, which continues in another round.
why: one sentence on why it ends or continues.
confidence: how sure you are of all this, 0 to 1.
risk: of what you did, low, medium or high.
fit: how well this request suits you, 0 to 1; below 0.3, and with a confidence of 0.8 or more, it is handed to suggested_route.
suggested_route: one of CHAT, PLAN, ANALYZE, OPS, RESEARCH, CODE.`;

/** Asked for once where the answer is words without the object. */
export const WORKER_FORM_AGAIN =
  "Your answer is not in the form that was asked for. Send it again as that one JSON object and nothing else; put your text into result.";

/** Whether an answer holds the object. */
export function isWorkerOutput(text: string): boolean {
  for (const value of candidates(text))
    if (typeof value === "object" && value !== null && "result" in value) return true;
  return false;
}

/** JSON alone, in a fence or after some prose. Text that is not JSON is the result unchanged. */
export function readWorkerOutput(text: string) {
  for (const value of candidates(text)) {
    if (typeof value !== "object" || value === null) continue;
    const fields = value as Readonly<Record<string, unknown>>;
    if (fields.result === undefined) continue;
    const suggestedRoute =
      typeof fields.suggested_route === "string" ? readRoute(fields.suggested_route) : undefined;
    return {
      result: typeof fields.result === "string" ? fields.result : JSON.stringify(fields.result, null, 2),
      needsNextLoop: fields.needs_next_loop === true || fields.needs_next_loop === "true",
      why: typeof fields.why === "string" ? fields.why : "",
      confidence: share(fields.confidence, 0.5),
      risk: typeof fields.risk === "string" ? fields.risk : "low",
      fit: share(fields.fit, 1),
      ...(suggestedRoute !== undefined && { suggestedRoute }),
    };
  }
  return { result: text.trim(), needsNextLoop: false, why: "", confidence: 0.5, risk: "low", fit: 1 };
}

/** Small local models write a tool call as text instead of making it; one that names a known tool is meant. */
export function readWrittenCall(text: string, known: ReadonlySet<string>) {
  for (const value of candidates(text)) {
    if (typeof value !== "object" || value === null) continue;
    const outer = value as Readonly<Record<string, unknown>>;
    const fields =
      typeof outer.function === "object" && outer.function !== null
        ? (outer.function as Readonly<Record<string, unknown>>)
        : outer;
    const name = fields.name ?? fields.tool;
    const args = fields.arguments ?? fields.parameters ?? fields.args;
    if (typeof name === "string" && known.has(name) && args !== undefined)
      return { name, arguments: typeof args === "string" ? (parse(args) ?? args) : args };
  }
  return undefined;
}

function* candidates(text: string): Generator<unknown> {
  const whole = parse(text);
  if (whole !== undefined) yield whole;
  const tagged = /<tool_call>\s*(\{.*?\})\s*<\/tool_call>/s.exec(text)?.[1];
  if (tagged !== undefined) yield parse(tagged);
  for (const piece of walkReply(text)) {
    if (piece.kind === "block") yield parse(piece.body);
  }
  const start = text.indexOf("{");
  const end = text.lastIndexOf("}");
  if (start >= 0 && end > start) yield parse(text.slice(start, end + 1));
}

function parse(text: string): unknown {
  const trimmed = text.trim();
  if (!trimmed.startsWith("{")) return undefined;
  return attemptOr(undefined, () => JSON.parse(trimmed));
}

function share(value: unknown, otherwise: number): number {
  const number = typeof value === "string" ? Number(value) : value;
  return typeof number === "number" && number >= 0 && number <= 1 ? number : otherwise;
}
