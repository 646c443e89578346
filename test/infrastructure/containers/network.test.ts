import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { ContainerNetwork } from "../../../src/application/ports/containers.ts";
import { requirePart } from "../../require.ts";
import {
  bridgeGateway,
  docker,
  installationOf,
  openRealEngine,
  type RealEngine,
  requestOf,
  specOf,
} from "./real-engine.ts";

/** Through the proxy as curl would, without curl. */
const viaProxy = (target: string) => `
exec 3<>/dev/tcp/127.0.0.1/3129
printf 'GET http://${target}/ HTTP/1.1\\r\\nHost: ${target}\\r\\nConnection: close\\r\\n\\r\\n' >&3
cat <&3`;

const directly = (host: string, port: number) => `
(exec 3<>/dev/tcp/${host}/${port} && echo reached) 2>&1`;

describe.if(requirePart("docker"))("the network of a container", () => {
  let engine: RealEngine;
  let server: Server;
  let port: number;
  let gateway: string;
  const ids = { none: "", open: "", listed: "", empty: "" };
  const bash = async (id: string, script: string) => {
    const { stdout, stderr } = await engine.sandbox.exec(id, {
      command: ["bash", "-c", script],
      timeoutMs: 120_000,
      outputLimitBytes: 64 * 1024,
    });
    return stdout + stderr;
  };

  beforeAll(async () => {
    engine = openRealEngine();
    server = createServer((request, response) =>
      response.end(request.url === "/large" ? Buffer.alloc(48 * 1024 ** 2, "x") : "hello from the host"),
    );
    await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
    port = (server.address() as AddressInfo).port;
    gateway = bridgeGateway();
    const start = async (network: ContainerNetwork) => (await engine.start({ network })).id;
    ids.none = await start({ mode: "none" });
    ids.open = await start({ mode: "open", allowedHosts: [] });
    const allowedHosts = [`host.docker.internal:${port}`];
    ids.listed = await start({ mode: "allow-list", allowedDomains: ["example.org"], allowedHosts });
    ids.empty = await start({ mode: "allow-list", allowedDomains: [], allowedHosts: [] });
  }, 300_000);
  afterAll(async () => {
    server?.close();
    await engine?.end();
  });

  test("no container has an interface but its loopback", async () => {
    for (const id of Object.values(ids))
      expect(await bash(id, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '")).toBe("lo\n");
  });

  test("its own name and its own servers are on the loopback", async () => {
    const script = `
perl -MSocket -e 'socket(S,PF_INET,SOCK_STREAM,0); bind(S,sockaddr_in(8080,INADDR_ANY)); listen(S,1); print "up\\n"; accept(C,S); print C "mine"' &
while ! (exec 3<>/dev/tcp/$(uname -n)/8080) 2>/dev/null; do :; done
echo reached`;
    expect(await bash(ids.none, script)).toContain("reached");
  });

  test("off means off: no proxy, no host, no name", async () => {
    expect(await bash(ids.none, viaProxy(`host.docker.internal:${port}`))).toContain("refused");
    expect(await bash(ids.none, directly(gateway, port))).toContain("unreachable");
    expect(await bash(ids.none, "env | grep -ic proxy")).toBe("0\n");
  });

  test("no mode reaches the host, a neighbour or a metadata address on its own", async () => {
    for (const id of [ids.open, ids.listed]) {
      for (const host of [gateway, "169.254.169.254", "192.168.1.1", "1.1.1.1"])
        expect(await bash(id, directly(host, port))).toContain("unreachable");
      // A question to a name server would need a route too.
      expect(await bash(id, "getent hosts example.org || echo unknown")).toBe("unknown\n");
    }
  });

  test("through the proxy, private and metadata addresses are refused with the reason, also when open", async () => {
    for (const target of [`${gateway}:${port}`, "169.254.169.254", "127.0.0.1:1", "10.0.0.1", "[::1]:80"]) {
      const answer = await bash(ids.open, viaProxy(target));
      expect(answer).toContain("403");
    }
    expect(await bash(ids.open, viaProxy(`host.docker.internal:${port}`))).toContain("403");
  });

  test("an exact host:port of the configuration is reached, and nothing beside it", async () => {
    const answer = await bash(ids.listed, viaProxy(`host.docker.internal:${port}`));
    expect(answer).toContain("200 OK");
    expect(answer).toContain("hello from the host");
    expect(await bash(ids.listed, viaProxy("host.docker.internal:1"))).toContain("403");
    expect(await bash(ids.listed, viaProxy("deb.debian.org"))).toContain("403");
  });

  test("a large download arrives whole", async () => {
    const script = `${viaProxy(`host.docker.internal:${port}`).replace("/ HTTP", "/large HTTP")} | tr -cd x | wc -c`;
    expect((await bash(ids.listed, script)).trim()).toBe(String(48 * 1024 ** 2));
  });

  test("an empty list allows nothing", async () => {
    for (const target of ["example.org", `host.docker.internal:${port}`])
      expect(await bash(ids.empty, viaProxy(target))).toContain("403");
  });

  test("programs get the proxy's address in both spellings", async () => {
    const told = await bash(ids.open, "env | grep -i proxy | sort");
    for (const line of ["HTTPS_PROXY=http://127.0.0.1:3129", "http_proxy=http://127.0.0.1:3129"])
      expect(told).toContain(line);
    expect(told).toContain("NODE_USE_ENV_PROXY=1");
  });

  test("containers with the same rules share a proxy, which has no port and is not root", async () => {
    const other = await engine.start({ network: { mode: "open", allowedHosts: [] } });
    const proxies = docker(
      "ps",
      "--filter",
      `label=picoclaw.role=proxy`,
      "--filter",
      `volume=${docker("inspect", "-f", '{{index .Config.Labels "picoclaw.proxy"}}', other.id)}`,
      "--format",
      "{{.Names}} {{.Ports}}",
    );
    expect(proxies.split("\n")).toHaveLength(1);
    const [name = ""] = proxies.split(" ");
    expect(docker("inspect", "-f", "{{.Config.User}} {{.HostConfig.CapDrop}}", name)).toBe(
      "65534:65534 [ALL]",
    );
  });

  test("many starts at once make one proxy, and an aborted one fails no other", async () => {
    const own = openRealEngine();
    const network = { mode: "open", allowedHosts: ["b.example:1"] } as const;
    const abort = new AbortController();
    const aborted = own.sandbox.startContainer(specOf(own.image, { network }), {
      signal: abort.signal,
      onProgress: ({ step }) => step === "network" && abort.abort(),
    });
    const started = await Promise.all(Array.from({ length: 4 }, () => own.start({ network })));
    expect(await aborted).toMatchObject({ code: "aborted" });
    const label = `label=picoclaw.installation=${installationOf(own.home)}`;
    expect(
      docker("ps", "-aq", "--filter", label, "--filter", "label=picoclaw.role=proxy").split("\n"),
    ).toHaveLength(1);
    const script = viaProxy("10.0.0.1");
    for (const { id } of started)
      expect(
        (await own.sandbox.exec(id, requestOf(`bash -c '${script.replaceAll("'", "'\\''")}'`))).stdout,
      ).toContain("403");
    await own.end();
  });

  test("a proxy that was killed is started again", async () => {
    const name = docker("inspect", "-f", '{{index .Config.Labels "picoclaw.proxy"}}', ids.listed);
    const network = {
      mode: "allow-list",
      allowedDomains: ["example.org"],
      allowedHosts: [`host.docker.internal:${port}`],
    } as const;
    docker("kill", name);
    await engine.start({ network });
    const ask = viaProxy(`host.docker.internal:${port}`);
    expect(await bash(ids.listed, ask)).toContain("hello from the host");
    // Also for a process that only comes to use a container.
    docker("stop", "-t", "1", name);
    expect(await bash(ids.listed, ask)).toContain("503");
    const later = engine.another();
    await later.exec(ids.listed, requestOf("true"));
    const answers = async () => bash(ids.listed, ask);
    while ((await answers()).includes("503"));
    expect(await answers()).toContain("hello from the host");
  });

  test("the last process takes along a proxy that no container needs", async () => {
    const own = openRealEngine();
    const { id } = await own.start({ network: { mode: "open", allowedHosts: ["a.example:1"] } });
    const name = docker("inspect", "-f", '{{index .Config.Labels "picoclaw.proxy"}}', id);
    const other = own.another();
    expect(await other.findContainer(id)).toMatchObject({ state: "running" });
    await other.close();
    const isThere = () => docker("ps", "-aq", "--filter", `name=${name}`) !== "";
    expect(isThere()).toBe(true);
    await own.sandbox.stopContainer(id, { force: true });
    expect(isThere()).toBe(true);
    await own.sandbox.close();
    expect(isThere()).toBe(false);
    expect(docker("volume", "ls", "-q", "--filter", `name=${name}`)).toBe("");
    await own.end();
  });

  test("an entry of the list that is not a host or domain is refused before anything is made", async () => {
    const failure = await engine
      .start({
        network: { mode: "allow-list", allowedDomains: ["http://example.org/x"], allowedHosts: [] },
      })
      .catch((error: Error) => error.message);
    expect(failure).toContain("bad-spec");
  });
});
