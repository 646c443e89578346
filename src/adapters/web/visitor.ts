import { parse, serialize } from "hono/utils/cookie";
import type { WebSession } from "../../application/ports/serve.ts";
import { SESSION_MS, type SignIn, type Viewer } from "../../application/serve/access.ts";
import { isTimeZone } from "../../domain/platform/days.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { isLocale, type Locale } from "../../domain/texts/locale.ts";
import type { ServerAddress } from "./host.ts";
import type { Theme } from "./page-context.ts";

export interface SignedIn {
  readonly viewer: Viewer;
  readonly session: WebSession;
  readonly secret: string;
}

/** The port is part of the name: browsers share cookies among the ports of a host. */
const cookieName = ({ port }: ServerAddress) => `picoclaw_${port}`;

export async function signedIn(
  request: Request,
  place: ServerAddress,
  signIn: SignIn,
): Promise<SignedIn | null> {
  const secret = cookiesOf(request)[cookieName(place)];
  if (secret === undefined) return null;
  const found = await signIn.session(secret);
  return found === null ? null : { ...found, secret };
}

/** The viewer that a bearer token identifies; null without a token, or with an unknown one. */
export async function viewerOfToken(
  { signIn }: { readonly signIn: SignIn },
  request: Request,
): Promise<Viewer | null> {
  const given = /^Bearer +(\S{10,200}) *$/i.exec(request.headers.get("authorization") ?? "")?.[1];
  return given === undefined ? null : signIn.token(given);
}

export function sessionCookie(place: ServerAddress, secret: string | null): string {
  return cookie(place, cookieName(place), secret ?? "", secret === null ? 0 : SESSION_MS / 1_000);
}

export function preferenceCookie(place: ServerAddress, name: "lang" | "theme", value: string): string {
  return cookie(place, `picoclaw_${name}`, value, 365 * 24 * 3_600);
}

function cookie({ publicUrl }: ServerAddress, name: string, value: string, maxAge: number): string {
  const secure = publicUrl?.startsWith("https:") === true;
  return serialize(name, value, { path: "/", maxAge, sameSite: "Strict", httpOnly: true, secure });
}

/** The visitor's chosen locale, else the browser's, else the server's. */
export function localeOf(request: Request, fallback: Locale): Locale {
  const chosen = cookiesOf(request).picoclaw_lang;
  if (isLocale(chosen)) return chosen;
  for (const part of (request.headers.get("accept-language") ?? "").split(",")) {
    const language = part.trim().slice(0, 2).toLowerCase();
    if (isLocale(language)) return language;
  }
  return fallback;
}

/** The reader's time zone as sent by the browser; else the given one. */
export function zoneOf(request: Request, fallback: string): string {
  const zone = cookiesOf(request).picoclaw_zone ?? "";
  return isTimeZone(zone) ? zone : fallback;
}

export function themeOf(request: Request): Theme {
  const chosen = cookiesOf(request).picoclaw_theme;
  return chosen === "light" || chosen === "dark" ? chosen : "auto";
}

const cookiesOf = (request: Request) => parse(request.headers.get("cookie") ?? "");

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

/** Sets the headers of every answer; no intermediary may cache pages and data. */
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

/** A page whose name was pointed at our address (DNS rebinding) is turned away: names must be configured. */
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

/** Whether a change was asked for by a page of ours. Browsers always send the origin; programs need not. */
export function isOurOrigin(request: Request): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none") return false;
  const origin = request.headers.get("origin");
  if (origin === null) return true;
  return attemptOr(false, () => new URL(origin).host === (request.headers.get("host") ?? "").toLowerCase());
}

/**
 * The source of a connection, as far as it can be distinguished: its address. A proxy on this machine appends
 * its client to `X-Forwarded-For`; no other sender is trusted. For IPv6 the network counts, since it belongs
 * to one customer.
 */
export function sourceOf(connection: string, headers: Headers): string {
  const from = connection.replace(/^::ffff:(?=\d+\.)/i, "");
  const heard = headers.get("x-forwarded-for")?.split(",").at(-1)?.trim() ?? "";
  const address = isLoopback(from) && heard !== "" ? heard : from;
  if (!address.includes(":") || address.includes(".")) return address;
  return address.split("::")[0]?.split(":").slice(0, 4).join(":") ?? address;
}
