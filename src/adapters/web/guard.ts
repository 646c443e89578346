import type { ServerAddress } from "./host.ts";

/** Nothing inline, nothing from elsewhere. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=(), interest-cohort=()",
};

/** What every answer carries; pages and data are not kept by anybody on the way. */
export function secured(response: Response, place: ServerAddress): Response {
  for (const [name, value] of Object.entries(HEADERS))
    if (!response.headers.has(name)) response.headers.set(name, value);
  if (!response.headers.has("cache-control")) response.headers.set("cache-control", "no-store");
  if (place.publicUrl?.startsWith("https:"))
    response.headers.set("strict-transport-security", "max-age=31536000");
  return response;
}

const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/;

/**
 * Whether `Host` names this server. A page whose own name was pointed at our address (DNS rebinding) is turned away: a
 * name must be one that was configured, an address cannot be rebound.
 */
export function isOurHost(given: string | null, { host, publicUrl }: ServerAddress): boolean {
  if (given === null) return false;
  const name = given.toLowerCase().replace(/:\d+$/, "");
  if (publicUrl !== null && new URL(publicUrl).hostname.toLowerCase() === name) return true;
  if (LOOPBACK.has(name) || name === host.toLowerCase()) return true;
  return !isLoopback(host) && ADDRESS.test(name);
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

/** Whether a change was asked for by a page of ours. A browser always says where it comes from; programs need not. */
export function isOurOrigin(request: Request): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none") return false;
  const origin = request.headers.get("origin");
  if (origin === null) return true;
  try {
    return new URL(origin).host === (request.headers.get("host") ?? "").toLowerCase();
  } catch {
    return false;
  }
}
