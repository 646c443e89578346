/** Lists every address that is not public: a proxy that connects for others must not open its own network. */
export type AddressClass = "public" | "private" | "loopback" | "link-local" | "reserved";

/** Network, length of its prefix, class. The first match counts. */
const V4: readonly (readonly [string, number, AddressClass])[] = [
  ["127.0.0.0", 8, "loopback"],
  // Where clouds answer questions about the machine: credentials among them.
  ["100.100.100.200", 32, "link-local"],
  ["168.63.129.16", 32, "link-local"],
  ["169.254.0.0", 16, "link-local"],
  ["10.0.0.0", 8, "private"],
  ["100.64.0.0", 10, "private"],
  ["172.16.0.0", 12, "private"],
  ["192.168.0.0", 16, "private"],
  // Set aside for tests, examples and protocols: if they are used at all, it is in a private network.
  ["192.0.0.0", 24, "private"],
  ["192.0.2.0", 24, "private"],
  ["198.18.0.0", 15, "private"],
  ["198.51.100.0", 24, "private"],
  ["203.0.113.0", 24, "private"],
  ["192.88.99.0", 24, "reserved"],
  ["0.0.0.0", 8, "reserved"],
  ["224.0.0.0", 3, "reserved"],
];

const V6: readonly (readonly [string, number, AddressClass])[] = [
  ["::1", 128, "loopback"],
  ["fd00:ec2::254", 128, "link-local"],
  ["fe80::", 10, "link-local"],
  ["fec0::", 10, "private"],
  ["fc00::", 7, "private"],
  // Teredo, ORCHID and the like, 6to4: they hold other addresses. Documentation.
  ["2001::", 23, "reserved"],
  ["2001:db8::", 32, "private"],
  ["2002::", 16, "reserved"],
  ["3fff::", 20, "private"],
  // All the rest that is in use.
  ["2000::", 3, "public"],
];

/** Prefixes of 96 bits that are followed by an IPv4 address: mapped ones, and those of a NAT64. */
const EMBEDDING = ["::ffff:0:0", "64:ff9b::"] as const;

/** Undefined when the text is not an address; one with a zone (`fe80::1%eth0`) is not. */
export function classifyAddress(address: string): AddressClass | undefined {
  const bytes = parseAddress(address);
  if (bytes === undefined) return undefined;
  if (bytes.length === 4) return classIn(V4, bytes) ?? "public";
  const embedded = EMBEDDING.some((prefix) => isWithin(bytes, bytesOf(prefix), 96));
  if (embedded) return classIn(V4, bytes.slice(12)) ?? "public";
  return classIn(V6, bytes) ?? "reserved";
}

function classIn(table: typeof V4, bytes: readonly number[]): AddressClass | undefined {
  return table.find(([network, length]) => isWithin(bytes, bytesOf(network), length))?.[2];
}

function bytesOf(address: string): readonly number[] {
  return parseAddress(address) as readonly number[];
}

function isWithin(bytes: readonly number[], network: readonly number[], length: number): boolean {
  for (let bit = 0; bit < length; bit += 8) {
    const mask = length - bit >= 8 ? 0xff : (0xff << (8 - (length - bit))) & 0xff;
    if (((bytes[bit / 8] ?? 0) & mask) !== ((network[bit / 8] ?? 0) & mask)) return false;
  }
  return true;
}

/** Four or sixteen bytes. */
export function parseAddress(text: string): readonly number[] | undefined {
  return text.includes(":") ? parseV6(text) : parseV4(text);
}

function parseV4(text: string): readonly number[] | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part))) return undefined;
  const bytes = parts.map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : undefined;
}

function parseV6(text: string): readonly number[] | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head, tail] = [groups(halves[0] ?? "", halves.length === 1), groups(halves[1] ?? "", true)];
  if (head === undefined || tail === undefined) return undefined;
  const gap = 16 - head.length - tail.length;
  if (halves.length === 1 ? gap !== 0 : gap < 2) return undefined;
  return [...head, ...new Array<number>(gap).fill(0), ...tail];
}

/** The bytes of one side of `::`; its last group may be an IPv4 address. */
function groups(text: string, mayEndInV4: boolean): number[] | undefined {
  if (text === "") return [];
  const bytes: number[] = [];
  const parts = text.split(":");
  for (const [i, part] of parts.entries()) {
    if (mayEndInV4 && i === parts.length - 1 && part.includes(".")) {
      const v4 = parseV4(part);
      if (v4 === undefined) return undefined;
      bytes.push(...v4);
    } else {
      if (!/^[0-9a-f]{1,4}$/i.test(part)) return undefined;
      const group = Number.parseInt(part, 16);
      bytes.push(group >> 8, group & 0xff);
    }
  }
  return bytes;
}

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
 * An empty list allows nothing. A denied entry (same forms; without a port it means every port) beats an allowed one. An entry of
 * `listed` opens public addresses alone, also as an exact `host:port`: a person did not write it.
 */
export interface NetworkRules {
  readonly allowed: readonly string[];
  readonly listed?: readonly string[];
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
  readonly isListed?: true;
}

const USUAL_PORTS = [80, 443];

/** Compiles the rules; invalid entries (see `isNetworkEntry`) match nothing. */
export function createNetworkPolicy({ allowed, listed = [], denied }: NetworkRules): {
  /** Judged before anything is looked up. */
  readonly judgeHost: (destination: Destination) => HostVerdict;
} {
  const allow = [
    ...allowed.map(parseEntry).filter((entry) => entry !== undefined),
    ...listed.map(parseEntry).flatMap((entry) => (entry ? [{ ...entry, isListed: true as const }] : [])),
  ];
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
      const exact = fitting.some(
        (entry) => entry.name === host && !entry.below && entry.port === port && entry.isListed !== true,
      );
      const opens = !exact ? "public" : classifyAddress(host) === undefined ? "private" : "literal";
      return { ok: true, host, opens };
    },
  };
}

/** Judged for each address of a name. What is local to the link (a cloud's metadata) opens only to an entry that is the address. */
export function mayDial(address: string, opens: "public" | "private" | "literal"): boolean {
  const kind = classifyAddress(address);
  return kind !== undefined && OPEN_CLASSES[opens].includes(kind);
}

const OPEN_CLASSES: Readonly<Record<"public" | "private" | "literal", readonly AddressClass[]>> = {
  public: ["public"],
  private: ["public", "private", "loopback"],
  literal: ["public", "private", "loopback", "link-local"],
};

/** The line with which a person allows a refused host to commands of a model; null where no line does. */
export function allowCommand({
  host,
  port,
  reason,
}: Readonly<{ host: string; port?: number | undefined; reason: RefusedDestination }>): string | null {
  const name = canonicalHost(host);
  if (name === undefined || port === undefined || reason === "bad-host" || reason === "denied") return null;
  const shown = name.includes(":") ? `[${name}]` : name;
  const isUsual = USUAL_PORTS.includes(port) && reason !== "address" && classifyAddress(name) === undefined;
  return `/allow ${isUsual ? shown : `${shown}:${port}`}`;
}

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

/** One spelling per host: lower case, punycode, no final dot, addresses as usual (`0x7f.1` is 127.0.0.1). Undefined: no host. */
export function canonicalHost(text: string): string | undefined {
  if (text === "" || text.length > 300 || /[\s/\\@?#%\0]/.test(text)) return undefined;
  const plain = text.replace(/\.$/, "");
  if (plain.includes(":") && !/^\[.*\]$/.test(plain)) return undefined;
  if (!URL.canParse(`http://${plain}/`)) return undefined;
  const { hostname } = new URL(`http://${plain}/`);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  return host === "" || host.endsWith(".") || host.length > 253 ? undefined : host;
}

/** The entry that opens exactly the host and port of an address; none for a text that is not one. */
export function addressEndpoint(address: string): readonly string[] {
  const url = URL.parse(address);
  return url === null ? [] : [`${url.hostname}:${url.port || (url.protocol === "https:" ? "443" : "80")}`];
}

/** What programs need that do not look at the usual variables, inside a sandbox: those on the JVM, and git over ssh. */
export function programEnvironment(port: number): Record<string, string> {
  const proxies = ["http", "https"].flatMap((one) => [
    `-D${one}.proxyHost=127.0.0.1`,
    `-D${one}.proxyPort=${port}`,
  ]);
  const more = [
    "-Dhttp.nonProxyHosts=localhost|127.0.0.1|[::1]",
    // Maven looks at the properties above only with this one.
    "-Daether.connector.http.useSystemProperties=true",
  ];
  return {
    JAVA_TOOL_OPTIONS: [...proxies, ...more].join(" "),
    GIT_SSH_COMMAND: `sh -c 'echo "picoclaw: ssh has no way out of this sandbox, only HTTP and HTTPS to listed hosts: use the https address of the repository" >&2; exit 128'`,
  };
}

/** Makes programs use a proxy, except for the loopback, which is private to a sandbox or container. */
export function proxyEnvironment(url: string): Record<string, string> {
  const env: Record<string, string> = { NODE_USE_ENV_PROXY: "1" };
  for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"])
    for (const spelled of [name, name.toLowerCase()]) env[spelled] = url;
  for (const name of ["NO_PROXY", "no_proxy"]) env[name] = "localhost,127.0.0.1,::1";
  return env;
}
