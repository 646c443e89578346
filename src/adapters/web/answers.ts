import type { Hono } from "hono";
import type { Viewer } from "../../application/serve/viewer.ts";
import type { Scope } from "../../application/ports/access.ts";
import { readBodyText, TooSlow } from "./body.ts";

export interface ApiEnv {
  Variables: { readonly viewer: Viewer };
}

export const RETRY_SECONDS = "5";

export type Api = Hono<ApiEnv>;

export function apiFailure(status: number, code: string, message: string, facts: object = {}): Response {
  return Response.json({ error: { code, message, ...facts } }, { status });
}

/** Nothing was done, and the same request will do later. */
export function answerStoreAway(): Response {
  const answer = apiFailure(503, "store-away", "the store cannot be reached now; nothing was done");
  answer.headers.set("retry-after", RETRY_SECONDS);
  return answer;
}

/** Parts of the program are gone: until it is started again nothing else will be answered. */
export function answerReplaced(): Response {
  return apiFailure(503, "replaced", "PicoClaw was replaced or moved while it ran: restart it");
}

/** Null when the viewer may. */
export function refuseWithoutScope(
  viewer: Viewer,
  scope: Scope,
  options: { operator?: boolean } = {},
): Response | null {
  if (!viewer.scopes.includes(scope))
    return apiFailure(403, "missing-scope", `this token lacks the scope ${scope}`);
  if (options.operator === true && viewer.role !== "operator")
    return apiFailure(403, "operators-only", "this needs an operator's token");
  return null;
}

/** The body as an object; a response that says what is wrong with it otherwise. */
export async function readJsonBody(request: Request): Promise<Record<string, unknown> | Response> {
  try {
    const text = await readBodyText(request);
    const value: unknown = text.trim() === "" ? {} : JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch (error) {
    if (error instanceof TooSlow) return apiFailure(408, "too-slow", error.message);
  }
  return apiFailure(400, "bad-json", "the body is not a JSON object");
}
