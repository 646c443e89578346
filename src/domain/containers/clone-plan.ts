import { FORGE_KINDS, type ForgeKind, forgeShape } from "../forges/forge-kinds.ts";
/** Where a project comes from, without any credential in it. */
export type RepositorySource =
  | {
      readonly kind: "remote";
      /** For git; never with a user or a password. */
      readonly url: string;
      readonly protocol: "https" | "http" | "ssh" | "git";
      /** Lower case, with the port where one is given. */
      readonly host: string;
      /** What stood before the `@` of a web address. */
      readonly embedded?: Credential;
    }
  | { readonly kind: "local"; readonly path: string };

export interface Credential {
  readonly username: string;
  readonly password: string;
}

export type ParsedSource =
  | { readonly ok: true; readonly source: RepositorySource }
  | { readonly ok: false; readonly reason: "empty" | "option" | "protocol" | "malformed" };

/** `git@host:path`, but neither `C:\path` nor `./a:b`. */
const SCP_LIKE =
  /^(?:([A-Za-z0-9._-]+)@(?=[A-Za-z0-9])|(?=[A-Za-z0-9.-]{2}))([A-Za-z0-9.-]+):(?!\/\/)([^\\].*)$/;

/** Reads what a person calls a repository: an address, git's short form for ssh, or a folder. */
export function parseRepository(given: string): ParsedSource {
  const text = given.trim();
  if (text === "") return { ok: false, reason: "empty" };
  // Git would take it for an option.
  if (text.startsWith("-")) return { ok: false, reason: "option" };
  if (/[\0\r\n]/.test(text)) return { ok: false, reason: "malformed" };
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(text)?.[1]?.toLowerCase();
  if (scheme !== undefined) return parseAddress(text, scheme);
  // `ext::sh -c …` and the like run programs.
  if (/^[A-Za-z][A-Za-z0-9+.-]*::/.test(text)) return { ok: false, reason: "protocol" };
  const scp = /^[./]/.test(text) ? null : SCP_LIKE.exec(text);
  if (scp !== null) {
    const [, user, host = "", path = ""] = scp;
    const url = `${user === undefined ? "" : `${user}@`}${host}:${path}`;
    return { ok: true, source: { kind: "remote", url, protocol: "ssh", host: host.toLowerCase() } };
  }
  return { ok: true, source: { kind: "local", path: text } };
}

function parseAddress(text: string, scheme: string): ParsedSource {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return { ok: false, reason: "malformed" };
  }
  switch (scheme) {
    case "file":
      return { ok: true, source: { kind: "local", path: decodeURIComponent(url.pathname) } };
    case "https":
    case "http": {
      if (url.hostname === "") return { ok: false, reason: "malformed" };
      const embedded = embeddedCredential(url);
      url.username = "";
      url.password = "";
      url.hash = "";
      const source = {
        kind: "remote",
        url: url.href,
        protocol: scheme,
        host: url.host.toLowerCase(),
      } as const;
      return { ok: true, source: embedded === null ? source : { ...source, embedded } };
    }
    case "ssh":
    case "git":
      if (url.host === "") return { ok: false, reason: "malformed" };
      url.password = "";
      return {
        ok: true,
        source: { kind: "remote", url: url.href, protocol: scheme, host: url.host.toLowerCase() },
      };
    default:
      return { ok: false, reason: "protocol" };
  }
}

/** A token alone is written as the user's name. */
function embeddedCredential(url: URL): Credential | null {
  const [username, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  if (username === "" && password === "") return null;
  return password === "" ? { username: "x-access-token", password: username } : { username, password };
}

export interface ForgeAccess {
  readonly token: string | null;
  /** Of a self-hosted one. */
  readonly baseUrl: string | null;
}

/**
 * The credential for a repository: what its address brought, else the token of the forge that it lies on. A token goes
 * to its own forge's host and nowhere else, and over plain http only where the forge itself is configured so.
 */
export function credentialFor(
  source: RepositorySource,
  forges: Readonly<Record<ForgeKind, ForgeAccess>>,
): Credential | null {
  if (source.kind !== "remote" || (source.protocol !== "https" && source.protocol !== "http")) return null;
  if (source.embedded !== undefined) return source.embedded;
  for (const forge of FORGE_KINDS) {
    const { token, baseUrl } = forges[forge];
    const { site, gitUser } = forgeShape(forge);
    if (token !== null && isOnForge(source, baseUrl, site)) return { username: gitUser, password: token };
  }
  return null;
}

function isOnForge(
  { host, protocol }: Extract<RepositorySource, { kind: "remote" }>,
  baseUrl: string | null,
  usual: string,
): boolean {
  try {
    const forge = new URL(baseUrl ?? usual);
    // GitHub's programming interface has a host of its own; its repositories do not lie there.
    const forgeHost = forge.host === "api.github.com" ? "github.com" : forge.host;
    return forgeHost === host && (protocol === "https" || forge.protocol === "http:");
  } catch {
    return false;
  }
}
