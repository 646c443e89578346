import { SESSION_MS, type SignIn } from "../../application/serve/access.ts";
import type { Viewer } from "../../application/serve/viewer.ts";
import type { WebSession } from "../../application/ports/access.ts";
import { isTimeZone } from "../../config/time-zone.ts";
import { isLocale, type Locale } from "../../domain/texts/locale.ts";
import type { Theme } from "./context.ts";
import type { ServerAddress } from "./host.ts";

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
  const secret = cookiesOf(request).get(cookieName(place));
  if (secret === undefined) return null;
  const found = await signIn.session(secret);
  return found === null ? null : { ...found, secret };
}

/** Who a program with a bearer token is; null without one, or with one that is not known. */
export async function viewerOfToken(
  { signIn }: { readonly signIn: SignIn },
  request: Request,
): Promise<Viewer | null> {
  const given = /^Bearer +(\S{10,200}) *$/i.exec(request.headers.get("authorization") ?? "")?.[1];
  return given === undefined ? null : signIn.token(given);
}

export function sessionCookie(place: ServerAddress, secret: string | null): string {
  return cookie(place, cookieName(place), secret ?? "", {
    seconds: secret === null ? 0 : SESSION_MS / 1_000,
    httpOnly: true,
  });
}

export function preferenceCookie(place: ServerAddress, name: "lang" | "theme", value: string): string {
  return cookie(place, `picoclaw_${name}`, value, { seconds: 365 * 24 * 3_600, httpOnly: true });
}

function cookie(
  place: ServerAddress,
  name: string,
  value: string,
  { seconds, httpOnly }: { readonly seconds: number; readonly httpOnly: boolean },
): string {
  const secure = place.publicUrl?.startsWith("https:") === true;
  return [
    `${name}=${value}`,
    "Path=/",
    `Max-Age=${seconds}`,
    "SameSite=Strict",
    httpOnly ? "HttpOnly" : "",
    secure ? "Secure" : "",
  ]
    .filter((part) => part !== "")
    .join("; ");
}

/** What the visitor chose, else what the browser asks for, else what the server speaks. */
export function localeOf(request: Request, fallback: Locale): Locale {
  const chosen = cookiesOf(request).get("picoclaw_lang");
  if (isLocale(chosen)) return chosen;
  for (const part of (request.headers.get("accept-language") ?? "").split(",")) {
    const language = part.trim().slice(0, 2).toLowerCase();
    if (isLocale(language)) return language;
  }
  return fallback;
}

/** The zone of whoever reads, as their browser told it; else the given one. */
export function zoneOf(request: Request, fallback: string): string {
  const told = cookiesOf(request).get("picoclaw_zone") ?? "";
  return isTimeZone(told) ? told : fallback;
}

export function themeOf(request: Request): Theme {
  const chosen = cookiesOf(request).get("picoclaw_theme");
  return chosen === "light" || chosen === "dark" ? chosen : "auto";
}

function cookiesOf(request: Request): Map<string, string> {
  const pairs = (request.headers.get("cookie") ?? "").split(";").map((pair) => pair.trim().split("=", 2));
  return new Map(pairs.map(([name = "", value = ""]) => [name, value]));
}
