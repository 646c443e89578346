import { type AddressClass, classifyAddress } from "./address.ts";

/**
 * Which hosts a job may reach. An entry is
 *
 *   `example.org`          this name, on ports 80 and 443
 *   `*.example.org`        every name below it, not itself
 *   `example.org:8443`     this port instead; `:*` is any port
 *   `*`                    every name
 *   `10.0.0.5:8080`, `[fd00::1]:443`, `gitlab.local:443`
 *                          an exact `host:port` also opens private and loopback addresses
 *
 * An empty list allows nothing. A denied entry (same forms; without a port it means every port) beats an allowed one.
 */
export interface NetworkRules {
  readonly allowed: readonly string[];
  readonly denied: readonly string[];
}

export interface Destination {
  readonly host: string;
  readonly port: number;
}

export type RefusedDestination = "bad-host" | "not-allowed" | "port" | "denied" | "address";

/** `opens`: how far the entry that allowed a host reaches beyond public addresses. */
export type HostVerdict =
  | { readonly ok: true; readonly host: string; readonly opens: "public" | "private" | "literal" }
  | { readonly ok: false; readonly reason: RefusedDestination };

interface NetworkEntry {
  /** Null is every name. */
  readonly name: string | null;
  readonly below: boolean;
  readonly port: number | "any" | null;
}

const USUAL_PORTS = [80, 443];

/** Compiles the rules; entries that are none (see `isNetworkEntry`) match nothing. */
export function createNetworkPolicy({ allowed, denied }: NetworkRules): {
  /** Judged before anything is looked up. */
  readonly judgeHost: (destination: Destination) => HostVerdict;
} {
  const allow = allowed.map(parseEntry).filter((entry) => entry !== undefined);
  const deny = denied.map(parseEntry).filter((entry) => entry !== undefined);
  return {
    judgeHost({ host: given, port }) {
      const host = canonicalHost(given);
      if (host === undefined || !isPort(port)) return { ok: false, reason: "bad-host" };
      if (deny.some((entry) => isNamed(entry, host) && fitsPort(entry.port ?? "any", port)))
        return { ok: false, reason: "denied" };
      const named = allow.filter((entry) => isNamed(entry, host));
      const fitting = named.filter((entry) => fitsPort(entry.port, port));
      if (fitting.length === 0) return { ok: false, reason: named.length > 0 ? "port" : "not-allowed" };
      const exact = fitting.some((entry) => entry.name === host && !entry.below && entry.port === port);
      const opens = !exact ? "public" : classifyAddress(host) === undefined ? "private" : "literal";
      return { ok: true, host, opens };
    },
  };
}

/**
 * Judged for each address that a name turned out to have, which is then the one that is dialled. An exact entry opens
 * private networks; what is local to the link (a cloud's metadata) opens only to an entry that is the address itself.
 */
export function mayDial(address: string, opens: "public" | "private" | "literal"): boolean {
  const kind = classifyAddress(address);
  return kind !== undefined && OPEN_CLASSES[opens].includes(kind);
}

const OPEN_CLASSES: Readonly<Record<"public" | "private" | "literal", readonly AddressClass[]>> = {
  public: ["public"],
  private: ["public", "private", "loopback"],
  literal: ["public", "private", "loopback", "link-local"],
};

export function isNetworkEntry(text: string): boolean {
  return parseEntry(text) !== undefined;
}

const NETWORK_ENTRY = /^(\*\.)?(\*|\[[^\]]+\]|[^:*[\]]+)(?::(\*|\d{1,5}))?$/;

function parseEntry(text: string): NetworkEntry | undefined {
  const [, below, name = "", portText] = NETWORK_ENTRY.exec(text) ?? [];
  if (name === "") return undefined;
  const port = portText === undefined ? null : portText === "*" ? "any" : Number(portText);
  if (typeof port === "number" && !isPort(port)) return undefined;
  if (name === "*") return below === undefined ? { name: null, below: false, port } : undefined;
  const host = canonicalHost(name);
  if (host === undefined || (below !== undefined && classifyAddress(host) !== undefined)) return undefined;
  return { name: host, below: below !== undefined, port };
}

function isNamed({ name, below }: NetworkEntry, host: string): boolean {
  if (name === null) return true;
  return below ? host.endsWith(`.${name}`) : host === name;
}

function fitsPort(entry: NetworkEntry["port"], port: number): boolean {
  return entry === "any" || (entry === null ? USUAL_PORTS.includes(port) : entry === port);
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port > 0 && port < 65_536;
}

/**
 * One spelling per host: lower case, punycode, no final dot, no brackets, addresses in their usual form (`0x7f.1` is
 * 127.0.0.1). Undefined when it is no host.
 */
export function canonicalHost(text: string): string | undefined {
  if (text === "" || text.length > 300 || /[\s/\\@?#%\0]/.test(text)) return undefined;
  const plain = text.replace(/\.$/, "");
  if (plain.includes(":") && !/^\[.*\]$/.test(plain)) return undefined;
  if (!URL.canParse(`http://${plain}/`)) return undefined;
  const { hostname } = new URL(`http://${plain}/`);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  return host === "" || host.endsWith(".") || host.length > 253 ? undefined : host;
}
