import { describe, expect, test } from "bun:test";
import { refusedHosts } from "../../../src/domain/environments/refused-hosts.ts";

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
  ];
  for (const [what, output, allowed, found] of cases)
    test(what, async () =>
      expect(await refusedHosts(output, allowed, async () => ["93.184.216.34"])).toEqual([...found]),
    );

  test("a public name that leads to private addresses only, and is not named with its port", async () => {
    const inside = async () => ["10.1.2.3", "192.168.0.9"];
    expect(await refusedHosts(npm, ["*:*"], inside)).toEqual(["registry.example.org:443"]);
    expect(await refusedHosts(npm, ["*:*", "registry.example.org:443"], inside)).toEqual([]);
    expect(await refusedHosts(npm, ["*:*"], async () => ["10.1.2.3", "93.184.216.34"])).toEqual([]);
    expect(await refusedHosts(npm, ["*:*"], async () => [])).toEqual([]);
  });
});
