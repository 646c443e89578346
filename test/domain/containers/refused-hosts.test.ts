import { describe, expect, test } from "bun:test";
import { refusedHosts, refusedText } from "../../../src/domain/containers/preparation.ts";

describe("a host that our own rules refused", () => {
  const npm = "npm error code E403\nnpm error 403 403 Forbidden - GET https://registry.example.org/isarray\n";
  const pip =
    "ProxyError('Unable to connect to proxy', OSError('Tunnel connection failed: 403 Forbidden'))': /simple/six/\nHTTPSConnectionPool(host='simple.example.com', port=443): Max retries exceeded";
  const cases: readonly [
    what: string,
    output: string,
    allowed: readonly string[],
    found: readonly string[],
  ][] = [
    ["npm", npm, ["github.com"], ["registry.example.org:443"]],
    ["pip", pip, [], ["simple.example.com:443"]],
    ["a port", "proxy: http://index.example.org:8080/x", ["index.example.org"], ["index.example.org:8080"]],
    ["npm's own 403 of a host that is allowed", npm, ["*.example.org"], []],
    ["every public host", npm, ["*:*"], []],
    ["a failure of another kind", "see https://example.org/help for TS2322", [], []],
    ["its own loopback", "ECONNREFUSED http://127.0.0.1:3000/", [], []],
    ["twice the same", `${npm}${npm}`, [], ["registry.example.org:443"]],
    [
      "the proxy's own words",
      "<urlopen error Tunnel connection failed: 403 Refused by picoclaw: a.example.org:443 is not among the allowed domains>",
      [],
      ["a.example.org:443"],
    ],
    ["a bare name", "Error: getaddrinfo ENOTFOUND a.example.org", [], ["a.example.org:443"]],
    ["curl's bare name", "curl: (6) Could not resolve host: a.example.org", [], ["a.example.org:443"]],
  ];
  const asPublic = async () => ["93.184.216.34"];
  const hostsOf = async (...args: Parameters<typeof refusedHosts>) =>
    (await refusedHosts(...args)).map(({ host }) => host);
  for (const [what, output, allowed, found] of cases)
    test(what, async () =>
      expect(await hostsOf({ command: "make", output }, allowed, asPublic)).toEqual([...found]),
    );

  test("is named by the command where the program names none, or says nothing", async () => {
    const curl = "curl -fsSL https://get.example.org/install.sh | sh";
    for (const output of ["curl: (56) CONNECT tunnel failed, response 403", ""]) {
      expect(await hostsOf({ command: curl, output }, [], asPublic)).toEqual(["get.example.org:443"]);
      expect(await hostsOf({ command: curl, output }, ["get.example.org"], asPublic)).toEqual([]);
    }
    expect(await hostsOf({ command: curl, output: "sh: 1: Syntax error" }, [], asPublic)).toEqual([]);
  });

  test("is reported with the key that allows it", async () => {
    const keyFor = async (output: string, allowed: readonly string[] | null, addresses = ["93.184.216.34"]) =>
      refusedText(await refusedHosts({ command: "", output }, allowed, async () => addresses));
    const of = (host: string, key: string) =>
      `picoclaw: this environment may not reach ${host} (the user can allow it: command_executor.docker.network.${key}); the refusal is not the server's`;
    expect(await keyFor(npm, ["github.com"])).toBe(of("registry.example.org:443", "allowed_domains"));
    expect(await keyFor(npm, ["*:*"], ["10.1.2.3"])).toBe(of("registry.example.org:443", "allowed_hosts"));
    expect(await keyFor("proxy: http://10.1.2.3:8080/x", [])).toBe(of("10.1.2.3:8080", "allowed_hosts"));
    expect(await keyFor(npm, null)).toBe(of("registry.example.org:443", "external_access"));
  });

  test("a public name that leads to private addresses only, and is not named with its port", async () => {
    const inside = async () => ["10.1.2.3", "192.168.0.9"];
    expect(await hostsOf({ command: "", output: npm }, ["*:*"], inside)).toEqual([
      "registry.example.org:443",
    ]);
    expect(await hostsOf({ command: "", output: npm }, ["*:*", "registry.example.org:443"], inside)).toEqual(
      [],
    );
    expect(
      await hostsOf({ command: "", output: npm }, ["*:*"], async () => ["10.1.2.3", "93.184.216.34"]),
    ).toEqual([]);
    expect(await hostsOf({ command: "", output: npm }, ["*:*"], async () => [])).toEqual([]);
  });
});
