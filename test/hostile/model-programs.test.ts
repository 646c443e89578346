/** Real programs of model commands behind the proxy of a sandbox. The user's own proxy is a stand-in, so that nothing leaves the machine. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createServer, type Server } from "node:http";
import { userInfo } from "node:os";
import { join } from "node:path";
import { REGISTRIES } from "../../src/domain/sandbox/registries.ts";
import { shell } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";
import { createTarget, type Target } from "./hostile-kit.ts";

let target: Target;
let proxy: Server;
let upstream: string;
/** What the user's proxy was asked for. */
const asked: string[] = [];
const FORGE = "forge.example";

const PROVIDER = [
  "providers:",
  "  scripted: { type: scripted, script: answers.json }",
  "roles:",
  ...["chat", "worker", "coder1", "coder2", "coder3"].map((role) => `  ${role}: { provider: scripted }`),
  `forges: { gitlab: { base_url: "https://${FORGE}" } }`,
  "",
].join("\n");

/** The reply to a message whose patch is one line of a shell. */
async function code(line: string): Promise<string> {
  const patch = `## Plan\nTry it.\n## Patch\n\`\`\`json\n${JSON.stringify([shell(line)])}\n\`\`\`\n`;
  target.put(join(target.home, "answers.json"), JSON.stringify({ answers: [{ text: patch }] }));
  const { out, err } = await target.runAsync(["chat", "/code1 try it"], {
    HTTPS_PROXY: `http://user:word@${upstream}`,
    RUSTUP_HOME: process.env.RUSTUP_HOME ?? join(userInfo().homedir, ".rustup"),
    PICOCLAW_WORKER_ENV_PASS: "RUSTUP_HOME",
  });
  return out + err;
}

const PROGRAMS: Readonly<Record<string, string>> = {
  npm: "npm view left-pad --fetch-retries=0",
  pip3: "pip3 download --retries 0 --no-deps -d x six",
  go: "cd m && GOFLAGS=-mod=mod GOTOOLCHAIN=local go list -m example.com/m@latest",
  cargo: "cd c && CARGO_NET_RETRY=0 cargo fetch",
  // Java takes its home from the list of users, which is another one than this test's.
  mvn: "cd j && mvn -B -q -Dmaven.repo.local=$HOME/.m2/repository org.apache.maven.plugins:maven-help-plugin:3.4.0:help",
  gradle: "cd g && gradle --no-daemon --console plain dependencies",
  curl: `curl -sS https://${REGISTRIES[0]}/x`,
  node: `node -e 'fetch("https://${REGISTRIES[0]}/x")'`,
};

describe.if(process.platform === "linux" && requirePart("bwrap"))("behind the user's own proxy", () => {
  beforeAll(async () => {
    target = createTarget();
    proxy = createServer((request, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers["proxy-authorization"]}`);
      response.end("the stand-in answers");
    });
    proxy.on("connect", (request, socket) => {
      asked.push(`CONNECT ${request.url} ${request.headers["proxy-authorization"]}`);
      socket.end("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", () => resolve()));
    const address = proxy.address();
    upstream = `127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
    target.put(join(target.home, "config.yaml"), PROVIDER);
    target.write("m/go.mod", "module example.com/here\n");
    target.write("c/Cargo.toml", '[package]\nname = "c"\nversion = "0.1.0"\n[dependencies]\nitoa = "1"\n');
    target.write("c/src/lib.rs", "");
    target.write("j/pom.xml", POM);
    target.write("g/settings.gradle", "");
    target.write("g/build.gradle", 'plugins { id "com.example.none" version "1" }\n');
  });
  beforeEach(() => {
    asked.length = 0;
  });
  afterAll(() => {
    proxy.close();
    target.remove();
  });

  for (const [name, line] of Object.entries(PROGRAMS)) {
    describe.if(requirePart(name))(name, () => {
      test("asks a registry of the list through both proxies, or its failure is explained", async () => {
        const reply = await code(line);
        const hosts = asked.map((one) => /^CONNECT ([^:]+):443 Basic dXNlcjp3b3Jk$/.exec(one)?.[1]);
        if (name === "node" && hosts.length === 0)
          // Before Node.js 22.21 its own `fetch` obeys no proxy.
          expect(reply).toContain("a program that ignores it reaches nothing");
        else expect(REGISTRIES, `${asked.join("\n")}\n${reply}`).toContain(hosts[0] ?? "");
      }, 60_000);
    });
  }

  test("a plain request is forwarded, and a host that is not listed is never asked for", async () => {
    const reply = await code(
      `curl -sS http://${FORGE}:443/a; curl -sS http://${REGISTRIES[0]}/b; curl -sS http://other.example/c; curl -sS http://10.0.0.7/d; true`,
    );
    expect(asked.map((one) => one.split(" ").slice(0, 2).join(" "))).toEqual([
      `GET http://${FORGE}:443/a`,
      `GET http://${REGISTRIES[0]}/b`,
    ]);
    expect(reply).toContain("/allow other.example");
    expect(reply).toContain("/allow 10.0.0.7:80");
  });

  test("what a workspace names counts once the user trusts the folder, as it was then", async () => {
    const line = "curl -sS https://packages.example/x https://later.example/x; true";
    target.write(".npmrc", "registry=https://packages.example/npm\n");
    await code(line);
    expect(asked).toEqual([]);
    expect(target.run(["trust"]).code).toBe(0);
    target.write(".npmrc", "registry=https://packages.example/npm\n@new:registry=https://later.example/\n");
    await code(line);
    expect(asked.map((one) => one.split(" ")[1])).toEqual(["packages.example:443"]);
  });

  test("git over https asks the user's forge, and git over ssh is refused in words", async () => {
    const reply = await code(
      `git ls-remote https://${FORGE}/a/b.git; git ls-remote git@${FORGE}:a/b.git > ssh.txt 2>&1; true`,
    );
    expect(asked.join("\n"), reply).toContain(`CONNECT ${FORGE}:443`);
    expect(target.read("ssh.txt")).toContain("picoclaw: ssh has no way out of this sandbox");
  });
});

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>a</groupId><artifactId>b</artifactId><version>1</version></project>
`;
