import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  allowCommand,
  canonicalHost,
  classifyAddress,
  createNetworkPolicy,
  isNetworkEntry,
  mayDial,
  parseAddress,
} from "../../../src/domain/policy/network.ts";

describe("an address", () => {
  test.each([
    ["93.184.216.34", "public"],
    ["1.1.1.1", "public"],
    ["172.15.255.255", "public"],
    ["172.32.0.0", "public"],
    ["100.63.255.255", "public"],
    ["11.0.0.0", "public"],
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["10.1.2.3", "private"],
    ["172.16.0.1", "private"],
    ["172.31.255.255", "private"],
    ["192.168.0.1", "private"],
    ["100.64.0.1", "private"],
    ["169.254.169.254", "link-local"],
    ["100.100.100.200", "link-local"],
    ["168.63.129.16", "link-local"],
    ["0.0.0.0", "reserved"],
    ["0.1.2.3", "reserved"],
    ["224.0.0.1", "reserved"],
    ["255.255.255.255", "reserved"],
    ["198.18.0.1", "private"],
    ["203.0.113.80", "private"],
    ["192.0.2.1", "private"],
    ["192.88.99.1", "reserved"],
    ["2606:4700:4700::1111", "public"],
    ["::1", "loopback"],
    ["::", "reserved"],
    ["fd00:ec2::254", "link-local"],
    ["fd12:3456::1", "private"],
    ["fc00::1", "private"],
    ["fe80::1", "link-local"],
    ["fec0::1", "private"],
    ["ff02::1", "reserved"],
    ["2001:db8::1", "private"],
    ["2001:0:4136:e378:8000:63bf:3fff:fdd2", "reserved"],
    ["2002:7f00:1::", "reserved"],
    ["::ffff:127.0.0.1", "loopback"],
    ["::ffff:7f00:1", "loopback"],
    ["::ffff:169.254.169.254", "link-local"],
    ["::ffff:93.184.216.34", "public"],
    ["64:ff9b::10.0.0.1", "private"],
    ["64:ff9b::a9fe:a9fe", "link-local"],
    ["64:ff9b::5db8:d822", "public"],
    ["64:ff9b:1::1", "reserved"],
    ["::127.0.0.1", "reserved"],
    ["::7f00:1", "reserved"],
  ] as const)("%s is %s", (address, kind) => {
    expect(classifyAddress(address)).toBe(kind);
  });

  test.each([
    "",
    "127.1",
    "0x7f.0.0.1",
    "010.0.0.1",
    "256.1.1.1",
    "1.2.3.4.5",
    "fe80::1%eth0",
    ":::",
    "1:2:3:4:5:6:7:8:9",
    "1::2::3",
    "12345::",
    "::1.2.3",
    "1.2.3.4::",
    "[::1]",
    "example.org",
  ])("is not %p", (text) => {
    expect(classifyAddress(text)).toBeUndefined();
  });

  const byte = fc.integer({ min: 0, max: 255 });
  const v4 = fc.tuple(byte, byte, byte, byte);
  const hex = (high: number, low: number) => ((high << 8) | low).toString(16);

  test("is the same place in every form that holds an IPv4 address", () => {
    fc.assert(
      fc.property(v4, ([a, b, c, d]) => {
        const plain = classifyAddress(`${a}.${b}.${c}.${d}`);
        for (const prefix of ["::ffff:", "0:0:0:0:0:ffff:", "64:ff9b::", "0064:FF9B::"]) {
          expect(classifyAddress(`${prefix}${a}.${b}.${c}.${d}`)).toBe(plain);
          expect(classifyAddress(`${prefix}${hex(a, b)}:${hex(c, d)}`)).toBe(plain);
        }
      }),
    );
  });

  test("of a network that must not be reachable is never public", () => {
    const inside: ((x: number, y: number, z: number) => string)[] = [
      (x, y, z) => `127.${x}.${y}.${z}`,
      (x, y, z) => `10.${x}.${y}.${z}`,
      (x, y, z) => `172.${16 + (x % 16)}.${y}.${z}`,
      (x, y) => `192.168.${x}.${y}`,
      (x, y) => `169.254.${x}.${y}`,
      (x, y, z) => `100.${64 + (x % 64)}.${y}.${z}`,
      (x, y, z) => `0.${x}.${y}.${z}`,
      (x, y, z) => `${224 + (x % 32)}.${y}.${z}.1`,
      (x, y, z) => `f${"cd"[x % 2]}${hex(0, y).padStart(2, "0")}::${hex(x, z)}`,
      (x, y, z) => `fe${"89ab"[x % 4]}0::${hex(y, z)}`,
      (x, y, z) => `ff${hex(0, x).padStart(2, "0")}::${hex(y, z)}`,
      (x, y, z) => `2002:${hex(x, y)}::${hex(0, z)}`,
    ];
    fc.assert(
      fc.property(byte, byte, byte, fc.constantFrom(...inside), (x, y, z, make) => {
        const address = make(x, y, z);
        expect(parseAddress(address)).toBeDefined();
        expect(classifyAddress(address)).not.toBe("public");
        expect(mayDial(address, "public")).toBe(false);
      }),
    );
  });

  test("of IPv6 is read as the platform reads it", () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        fc.pre(URL.canParse(`http://[${text}]/`));
        const canonical = new URL(`http://[${text}]/`).hostname.slice(1, -1);
        expect(parseAddress(text)).toEqual(parseAddress(canonical));
      }),
    );
  });
});

describe("a host", () => {
  test.each([
    ["Example.ORG", "example.org"],
    ["example.org.", "example.org"],
    ["日本語.example", "xn--wgv71a119e.example"],
    ["0x7f.1", "127.0.0.1"],
    ["2130706433", "127.0.0.1"],
    ["[::1]", "::1"],
    ["[0:0:0:0:0:FFFF:7f00:1]", "::ffff:7f00:1"],
    ["a_b.example", "a_b.example"],
  ])("%s is one with %s", (text, canonical) => {
    expect(canonicalHost(text)).toBe(canonical);
  });

  test.each([
    "",
    ".",
    "..",
    "a b",
    "a/b",
    "a@b",
    "a%41",
    "a:80",
    "::1",
    "[::1",
    "a\0b",
    "a..",
    "x".repeat(301),
  ])("is not %p", (text) => {
    expect(canonicalHost(text)).toBeUndefined();
  });
});

describe("a network policy", () => {
  const judge = (allowed: string[], host: string, port: number, denied: string[] = []) => {
    const verdict = createNetworkPolicy({ allowed, denied }).judgeHost({ host, port });
    return verdict.ok ? verdict.opens : verdict.reason;
  };

  test.each([
    [["example.org"], "example.org", 443, "public"],
    [["example.org"], "EXAMPLE.org.", 80, "public"],
    [["example.org"], "example.org", 22, "port"],
    [["example.org"], "www.example.org", 443, "not-allowed"],
    [["example.org"], "evilexample.org", 443, "not-allowed"],
    [["example.org"], "example.org.evil", 443, "not-allowed"],
    [["*.example.org"], "www.example.org", 443, "public"],
    [["*.example.org"], "a.b.example.org", 443, "public"],
    [["*.example.org"], "example.org", 443, "not-allowed"],
    [["*.example.org"], "evilexample.org", 443, "not-allowed"],
    [["example.org:8443"], "example.org", 8443, "private"],
    [["example.org:8443"], "example.org", 443, "port"],
    [["*.example.org:8443"], "www.example.org", 8443, "public"],
    [["example.org:*"], "example.org", 22, "public"],
    [["*"], "anything.example", 443, "public"],
    [["*"], "anything.example", 25, "port"],
    [["*:*"], "127.0.0.1", 25, "public"],
    [["10.0.0.5:8080"], "10.0.0.5", 8080, "literal"],
    [["10.0.0.5:8080"], "0xa000005", 8080, "literal"],
    [["10.0.0.5"], "10.0.0.5", 80, "public"],
    [["[fd00::1]:443"], "[FD00:0::1]", 443, "literal"],
    [["日本語.example"], "xn--wgv71a119e.example", 443, "public"],
    [[], "example.org", 443, "not-allowed"],
    [["*"], "a/b", 443, "bad-host"],
    [["*:*"], "example.org", 0, "bad-host"],
    [["*:*"], "example.org", 70_000, "bad-host"],
  ] as const)("that allows %p answers %s:%i with %s", (allowed, host, port, answer) => {
    expect(judge([...allowed], host, port)).toBe(answer);
  });

  test("denies before it allows, on every port where none is named", () => {
    expect(judge(["*"], "bad.example", 443, ["bad.example"])).toBe("denied");
    expect(judge(["bad.example:9"], "bad.example", 9, ["bad.example"])).toBe("denied");
    expect(judge(["*.example"], "a.bad.example", 443, ["*.bad.example"])).toBe("denied");
    expect(judge(["bad.example", "bad.example:9"], "bad.example", 443, ["bad.example:9"])).toBe("public");
    expect(judge(["*"], "any.example", 443, ["*"])).toBe("denied");
  });

  test("with nothing in it allows nothing", () => {
    fc.assert(
      fc.property(fc.domain(), fc.integer({ min: 1, max: 65_535 }), (host, port) => {
        expect(judge([], host, port)).toBe("not-allowed");
      }),
    );
  });

  test("allows a name only to an entry that is it, or a parent with a star", () => {
    fc.assert(
      fc.property(fc.domain(), fc.domain(), (name, other) => {
        expect(judge([name], name, 443)).toBe("public");
        if (other !== name) expect(judge([name], other, 443)).toBe("not-allowed");
        expect(judge([`*.${name}`], `x.${name}`, 443)).toBe("public");
        expect(judge([`*.${name}`], `x${name}`, 443)).toBe("not-allowed");
      }),
    );
  });

  test("opens private networks to an exact entry alone, and metadata to its own address alone", () => {
    const opened = (address: string) =>
      (["public", "private", "literal"] as const).map((opens) => mayDial(address, opens));
    expect(opened("93.184.216.34")).toEqual([true, true, true]);
    expect(opened("10.0.0.1")).toEqual([false, true, true]);
    expect(opened("::1")).toEqual([false, true, true]);
    expect(opened("169.254.169.254")).toEqual([false, false, true]);
    expect(opened("0.0.0.0")).toEqual([false, false, false]);
    expect(opened("no address")).toEqual([false, false, false]);
  });

  test.each([
    "",
    "a b",
    "*.*",
    "*.",
    "a.*",
    "http://a",
    "a/b",
    "a:0",
    "a:65536",
    "::1",
    "a:b",
    "*.10.0.0.1",
    "*.*.a",
  ])("takes %p for no entry", (text) => {
    expect(isNetworkEntry(text)).toBe(false);
    expect(judge([text], "a", 80)).toBe("not-allowed");
  });
});

describe("an entry that no person wrote", () => {
  const { judgeHost } = createNetworkPolicy({
    allowed: ["own.example:8443"],
    listed: ["a.example", "b.example:8443"],
    denied: ["*.a.example"],
  });

  test("opens public addresses alone, also as an exact host:port", () => {
    expect(judgeHost({ host: "b.example", port: 8443 })).toEqual({
      ok: true,
      host: "b.example",
      opens: "public",
    });
    expect(judgeHost({ host: "own.example", port: 8443 })).toEqual({
      ok: true,
      host: "own.example",
      opens: "private",
    });
  });

  test.each(["A.Example", "a.example.", "a.EXAMPLE."])("holds however the name is written: %s", (host) => {
    expect(judgeHost({ host, port: 443 })).toMatchObject({ ok: true, host: "a.example" });
  });
});

describe("the line that allows a refused host", () => {
  test.each([
    ["A.example.", 443, "not-allowed", "/allow a.example"],
    ["a.example", 8080, "not-allowed", "/allow a.example:8080"],
    ["a.example", 443, "address", "/allow a.example:443"],
    ["10.0.0.7", 80, "not-allowed", "/allow 10.0.0.7:80"],
    ["[fd00::1]", 443, "not-allowed", "/allow [fd00::1]:443"],
    ["bücher.example", 443, "not-allowed", "/allow xn--bcher-kva.example"],
    ["a.example", 443, "denied", null],
    ["a b", 443, "bad-host", null],
  ] as const)("of %s:%i (%s)", (host, port, reason, line) => {
    expect(allowCommand({ host, port, reason })).toBe(line);
  });
});
