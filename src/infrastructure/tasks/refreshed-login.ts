/** What becomes of a login that a CLI had inside a container, on the machine it was copied from. */
export type LoginVerdict =
  /** It was not refreshed. */
  | "same"
  /** It was, and the one it was copied from is none any more: it must go back. */
  | "refreshed"
  /** Both were. */
  | "host-changed"
  /** It is something else than a refreshed login: project code may write there too. */
  | "unlike";

export interface LoginCopies {
  readonly placed: string;
  readonly inside: string;
  /** Null when it is gone. */
  readonly host: string | null;
}

/** Only these may differ from what was placed. */
const REFRESHABLE = /token|expir|refresh/i;
/** A token may grow a little. */
const LONGER_BY = 16_384;

export function validateLogin({ placed, inside, host }: LoginCopies): LoginVerdict {
  if (inside === placed || inside === host) return "same";
  if (inside.length > placed.length + LONGER_BY) return "unlike";
  const [before, after] = [parseLogin(placed), parseLogin(inside)];
  if (!isObject(before) || !isObject(after) || !isRefreshed(before, after)) return "unlike";
  return host === placed ? "refreshed" : "host-changed";
}

/** The same keys, and the same values but for tokens; a token that names a person names the same one. */
function isRefreshed(before: LoginJson, after: LoginJson): boolean {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].every((name) => {
    const [old, now] = [before[name], after[name]];
    if (isObject(old) && isObject(now)) return isRefreshed(old, now);
    if (JSON.stringify(old) === JSON.stringify(now)) return true;
    if (!REFRESHABLE.test(name) || isObject(old) || isObject(now)) return false;
    if (old !== undefined && old !== null && typeof old !== typeof now) return false;
    return personIn(old) === personIn(now) || personIn(old) === null;
  });
}

/** Whose token it is, as far as it says so. */
function personIn(token: unknown): string | null {
  const middle = typeof token === "string" ? /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(token)?.[1] : undefined;
  if (middle === undefined) return null;
  const claims = parseLogin(atobOrEmpty(middle));
  return isObject(claims) && typeof claims.sub === "string" ? claims.sub : null;
}

function atobOrEmpty(text: string): string {
  try {
    return atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return "";
  }
}

type LoginJson = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is LoginJson {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseLogin(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
