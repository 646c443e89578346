import type { Hono } from "hono";
import type { Viewer } from "../../../application/inbox/viewer.ts";
import type { Scope } from "../../../application/ports/access.ts";
import { TooSlow, textOf } from "../body.ts";

export interface ApiEnv {
  Variables: { readonly viewer: Viewer };
}

export const RETRY_SECONDS = "5";

export type Api = Hono<ApiEnv>;

export function failure(status: number, code: string, message: string, facts: object = {}): Response {
  return Response.json({ error: { code, message, ...facts } }, { status });
}

/** Nothing was done, and the same request will do later. */
export function storeAway(): Response {
  const answer = failure(503, "store-away", "the store cannot be reached now; nothing was done");
  answer.headers.set("retry-after", RETRY_SECONDS);
  return answer;
}

/** Parts of the program are gone: until it is started again nothing else will be answered. */
export function replaced(): Response {
  return failure(503, "replaced", "PicoClaw was replaced or moved while it ran: restart it");
}

/** Null when the viewer may. */
export function lacks(viewer: Viewer, scope: Scope, options: { operator?: boolean } = {}): Response | null {
  if (!viewer.scopes.includes(scope))
    return failure(403, "missing-scope", `this token lacks the scope ${scope}`);
  if (options.operator === true && viewer.role !== "operator")
    return failure(403, "operators-only", "this needs an operator's token");
  return null;
}

/** The body as an object; a response that says what is wrong with it otherwise. */
export async function bodyOf(request: Request): Promise<Record<string, unknown> | Response> {
  try {
    const text = await textOf(request);
    const value: unknown = text.trim() === "" ? {} : JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch (error) {
    if (error instanceof TooSlow) return failure(408, "too-slow", error.message);
  }
  return failure(400, "bad-json", "the body is not a JSON object");
}
