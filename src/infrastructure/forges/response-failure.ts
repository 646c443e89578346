import type { ForgeFailure } from "../../application/ports/forges.ts";

const MESSAGE_CHARS = 300;

/** What a refusal of GitHub or GitLab means. `now` in milliseconds, for limits that name a time of day. */
export function responseFailure(response: Response, body: string, now: number): ForgeFailure {
  const { status, headers } = response;
  const said = responseText(body);
  const message = `${status}: ${said.slice(0, MESSAGE_CHARS)}`;
  const waitMs = rateLimitWait(status, headers, said, now);
  if (waitMs !== null) return { code: "rate-limited", message, status, retryAfterMs: waitMs };
  if (status === 401) return { code: "unauthorized", message, status };
  if (status === 403) {
    const scope = missingScope(headers, body);
    return scope === null
      ? { code: "forbidden", message, status }
      : { code: "missing-scope", message, status, ...(scope !== "" && { scope }) };
  }
  if (status === 404 || status === 410) return { code: "not-found", message, status };
  if (status === 409) return { code: "conflict", message, status };
  if (status >= 500) return { code: "server-error", message, status };
  return { code: "invalid", message, status };
}

/** GitHub says "limited" with 403 as well, and tells the time by one of three headers. */
function rateLimitWait(status: number, headers: Headers, said: string, now: number): number | null {
  const exhausted = headers.get("x-ratelimit-remaining") === "0";
  const secondary = /secondary rate limit|abuse detection/i.test(said);
  if (status !== 429 && !(status === 403 && (exhausted || secondary || headers.has("retry-after"))))
    return null;
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(headers.get("retry-after") ?? "");
  if (Number.isFinite(date)) return Math.max(0, date - now);
  const reset = Number(headers.get("x-ratelimit-reset") ?? headers.get("ratelimit-reset") ?? Number.NaN);
  return Number.isFinite(reset) ? Math.max(0, reset * 1000 - now) : 60_000;
}

/** The scope the forge asks for; empty when it only says that one is missing; null when that is not the reason. */
function missingScope(headers: Headers, body: string): string | null {
  const gitlab = /"error"\s*:\s*"insufficient_scope"/.test(body);
  if (gitlab) return /"scope"\s*:\s*"([^"]*)"/.exec(body)?.[1] ?? "";
  const split = (name: string) =>
    (headers.get(name) ?? "").split(",").flatMap((scope) => (scope.trim() === "" ? [] : [scope.trim()]));
  const accepted = split("x-accepted-oauth-scopes");
  const granted = new Set(split("x-oauth-scopes"));
  if (headers.has("x-oauth-scopes") && accepted.length > 0 && !accepted.some((scope) => granted.has(scope)))
    return accepted.join(", ");
  const permissions = headers.get("x-accepted-github-permissions");
  if (/not accessible by (?:personal access token|integration)/i.test(body)) return permissions ?? "";
  return null;
}

function responseText(body: string): string {
  try {
    const { message, error_description: description, error } = JSON.parse(body) as Record<string, unknown>;
    const said = message ?? description ?? error ?? body;
    return typeof said === "string" ? said : JSON.stringify(said);
  } catch {
    return body
      .replace(/<[^>]*>/g, " ")
      .replace(/\s+/g, " ")
      .trim();
  }
}
