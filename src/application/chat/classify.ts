import { jsonInAnswer } from "../../domain/chat/json-in-answer.ts";
import { type Route, readRoute } from "../../domain/config/route.ts";
import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import { askJson, type JsonReading } from "../models/ask-json.ts";
import { completionFailure } from "../models/complete.ts";
import type { Model } from "../ports/models.ts";

export type ClassifyResult =
  | ({ readonly ok: true } & Classification)
  | { readonly ok: false; readonly error: string; readonly errorType: string };

interface Classification {
  readonly route: Route;
  readonly confidence: number;
  readonly reason: string;
}

/** Characters of a message that the classifier sees. */
const MESSAGE_CHARS = 4000;
const REASON_CHARS = 300;
const ANSWER_TOKENS = 300;

/** The classifier's prompt quotes the message as JSON, so that no quotation mark in it ends it. */
function classifierPrompt(message: string): string {
  return `以下のメッセージを分類してください:
${JSON.stringify(cutMiddle(message, MESSAGE_CHARS))}

以下のカテゴリから最も適切なものを選んでください:
- CHAT: 会話・質問応答
- CODE: コーディング
- ANALYZE: 分析
- OPS: 運用操作
- RESEARCH: 調査

JSON形式で回答してください:
{
  "route": "CHAT",
  "confidence": 0.85,
  "reason": "..."
}`;
}

/** Asks Shiro; an answer that is not what was asked for goes back once with what is wrong. Never rejects. */
export async function classify(model: Model, message: string, signal: AbortSignal): Promise<ClassifyResult> {
  const answer = await askJson(model, {
    request: {
      messages: [{ role: "user", text: classifierPrompt(message) }],
      temperature: 0,
      maxTokens: ANSWER_TOKENS,
      signal,
    },
    read: readClassification,
    again: (problem) =>
      `${problem}\nJSONだけを回答してください: {"route": "CHAT", "confidence": 0.85, "reason": "..."}`,
  });
  if (answer.kind === "read") return { ok: true, ...answer.value };
  if (answer.kind === "malformed") return { ok: false, error: answer.problem, errorType: "malformed" };
  const { message: error, code } = completionFailure(answer);
  return { ok: false, error: error || code, errorType: code };
}

/** One JSON object, bare, fenced, or with words around it. */
function readClassification(text: string): JsonReading<Classification> {
  const wrong = (problem: string) => ({ ok: false, problem }) as const;
  const value = jsonInAnswer(text);
  if (value === undefined) return wrong("the answer is not a JSON object");
  const route = typeof value.route === "string" ? readRoute(value.route) : undefined;
  if (route === undefined) return wrong(`"route" is not a category: ${JSON.stringify(value.route)}`);
  const confidence = typeof value.confidence === "string" ? Number(value.confidence) : value.confidence;
  if (typeof confidence !== "number" || !(confidence >= 0 && confidence <= 1))
    return wrong(`"confidence" is not a number from 0 to 1: ${JSON.stringify(value.confidence)}`);
  const reason = typeof value.reason === "string" ? value.reason : "";
  return { ok: true, value: { route, confidence, reason: cutMiddle(reason, REASON_CHARS) } };
}
