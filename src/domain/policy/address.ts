/**
 * What kind of place an IP address is. Whatever is not plainly a public host is named, so that a proxy that dials for
 * somebody else is no way into the network it stands in.
 */
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
  // Set aside for tests, examples and protocols: where they are in use after all, it is behind somebody's own door.
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

/** Prefixes of 96 bits behind which stands an IPv4 address: mapped ones, and those of a NAT64. */
const EMBEDDING = ["::ffff:0:0", "64:ff9b::"] as const;

/** Undefined when the text is no address; one with a zone (`fe80::1%eth0`) is none. */
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
