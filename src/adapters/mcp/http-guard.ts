import { createHash, timingSafeEqual } from "node:crypto";

/** Why a request is turned away before anything of it is read. */
export interface Refusal {
  readonly status: 401 | 403 | 404;
  readonly message: string;
}

const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);

/**
 * Only programs of this machine that know the token. `Host` must be a loopback name with our port, so that a web page
 * whose name was pointed here (DNS rebinding) is refused; so is a page from elsewhere, by its `Origin`.
 */
export function refuseRequest({ url, headers }: Request, port: number, token: string): Refusal | null {
  const origin = headers.get("origin");
  if (!isOurHost(headers.get("host"), port))
    return { status: 403, message: "Forbidden: the Host is not this server" };
  if (origin !== null && !isLoopback(origin))
    return { status: 403, message: "Forbidden: the Origin is not of this machine" };
  if (!sameSecret(bearerOf(headers.get("authorization")), token))
    return { status: 401, message: "Unauthorized: send the bearer token of this server" };
  if (new URL(url).pathname !== "/mcp") return { status: 404, message: "Not found: the endpoint is /mcp" };
  return null;
}

function isOurHost(host: string | null, port: number): boolean {
  if (host === null) return false;
  const name = host.toLowerCase();
  return [...LOOPBACK].some((ours) => name === `${ours}:${port}` || (port === 80 && name === ours));
}

function isLoopback(origin: string): boolean {
  try {
    const { protocol, hostname } = new URL(origin);
    return (protocol === "http:" || protocol === "https:") && LOOPBACK.has(hostname);
  } catch {
    return false;
  }
}

function bearerOf(authorization: string | null): string {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1] ?? "";
}

/** Takes the same time whatever is wrong. */
function sameSecret(given: string, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
