/**
 * Surroundings that few machines have: names, modes, folders and variables that a program may take for granted. A job lands and is
 * undone in them, or one sentence says what lacks.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { proposal } from "../application/chat/chat-kit.ts";
import { startModelServer } from "../fakes/model-server/server.ts";
import { makeTestFolder } from "../left-behind.ts";
import { requirePart } from "../require.ts";
import { type Cli, create, createCli, PROGRAM, shell } from "./cli-kit.ts";

const otherDevice =
  statSync("/dev/shm", { throwIfNoEntry: false })?.dev === statSync("/tmp").dev ? undefined : "/dev/shm";

let cli: Cli;
afterEach(() => cli.remove());

/** Runs the program by a shell, which sets what no variable can. */
function run(args: readonly string[], env: Record<string, string>, before = ""): ReturnType<Cli["run"]> {
  return cli.run(["-c", `${before}\nexec "$@"`, "sh", PROGRAM, ...args], { env, program: "/bin/sh" });
}

/** What lands has the modes and names that were asked for, and is undone. */
function expectJob(env: Record<string, string> = {}, before = ""): void {
  cli.write("a.txt", "a\n");
  const patch = JSON.stringify([
    create("src/ä 日本.txt", "b\n"),
    shell('cat a.txt > out.txt && f=$(mktemp) && rm "$f"'),
  ]);
  cli.write("patch.json", patch);
  const applied = run(["apply", "patch.json"], env, before);
  expect({ ...applied, out: applied.out.split("\n")[0] }).toEqual({ code: 0, out: "Applied", err: "" });
  expect(cli.tree()).toEqual({
    "a.txt": "a\n",
    "out.txt": "a\n",
    "patch.json": patch,
    "src/ä 日本.txt": "b\n",
  });
  const undone = run(["undo"], env, before);
  expect({ code: undone.code, err: undone.err }).toEqual({ code: 0, err: "" });
  expect(cli.tree()).toEqual({ "a.txt": "a\n", "patch.json": patch });
}

describe("a job lands and is undone", () => {
  test("in a folder whose name has spaces, quotes, a dollar sign and Japanese", () => {
    const under = join(makeTestFolder("odd"), `it's "a" $HOME 日本`);
    mkdirSync(under);
    cli = createCli(under);
    expectJob();
  });

  test("with a umask that lets nobody else in", () => {
    cli = createCli();
    expectJob({}, "umask 077");
    expect(statSync(cli.home).mode & 0o077).toBe(0);
  });

  test.each([
    ["without HOME", {}, "unset HOME"],
    ["where HOME does not exist", { HOME: "/nonexistent/home" }, ""],
    ["in the C locale", { LANG: "C", LC_ALL: "C" }, "unset PICOCLAW_LOCALE"],
    ["where TMPDIR does not exist", { TMPDIR: "/nonexistent" }, ""],
    ["where TMPDIR takes no file", { TMPDIR: "/proc/self" }, ""],
  ])("%s", (_name, env, before) => {
    cli = createCli();
    expectJob(env, before);
  });

  test.if(otherDevice !== undefined)("where TMPDIR is on another device", () => {
    const folder = mkdtempSync(join(otherDevice ?? "", "picoclaw-tmp-"));
    try {
      cli = createCli();
      expectJob({ TMPDIR: folder });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("one sentence says what helps", () => {
  test("where the home takes no folder: of a job, and of a server", () => {
    cli = createCli();
    const env = { HOME: "/proc/self" };
    const before = "unset PICOCLAW_HOME";
    cli.write("patch.json", JSON.stringify([create("b.txt", "b\n")]));
    for (const args of [
      ["apply", "patch.json"],
      ["serve", "--port", "0"],
    ]) {
      const { code, out, err } = run(args, env, before);
      expect({ args, code, out }).toEqual({ args, code: 3, out: "" });
      expect(err).toContain("/proc/self/.picoclaw");
      expect(err).toMatch(/\bset PICOCLAW_HOME to a folder that can be written to/i);
    }
  });

  test.each([["/nonexistent"], ["/proc/self"]])(
    "where the demo has no room for its project in TMPDIR (%s)",
    (folder) => {
      cli = createCli();
      const { code, out, err } = run(["demo"], { TMPDIR: folder });
      expect({ code, out }).toEqual({ code: 3, out: "" });
      expect(err).toMatch(
        new RegExp(
          `^Not found: ${folder}/picoclaw-demo-\\w+\nSet TMPDIR to a folder that can be written to: .*\n$`,
        ),
      );
    },
  );
});

/** A proxy that opens every connection with a certificate of its own signer, and the model behind it. */
async function startProxy() {
  const folder = makeTestFolder("proxy");
  const openssl = (...args: string[]) => {
    const ran = spawnSync("openssl", args, { cwd: folder, encoding: "utf8" });
    expect({ args, code: ran.status, err: ran.status === 0 ? "" : ran.stderr }).toEqual({
      args,
      code: 0,
      err: "",
    });
  };
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl("req", "-x509", ...key, "-subj", "/CN=signer", "-keyout", "ca.key", "-out", "ca.pem");
  openssl("req", ...key, "-subj", "/CN=models.example", "-keyout", "key", "-out", "request");
  writeFileSync(join(folder, "names"), "subjectAltName=DNS:models.example\n");
  const signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names"];
  openssl("x509", "-req", "-in", "request", ...signing, "-out", "crt");
  const create =
    "```json\n" +
    JSON.stringify([{ type: "file_edit", action: "create", target: "b.txt", content: "b\n" }]) +
    "\n```";
  const model = await startModelServer({ script: [{ text: proposal("Do it", create) }] });
  const inside = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: { key: readFileSync(join(folder, "key")), cert: readFileSync(join(folder, "crt")) },
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      return fetch(model.url + pathname, { method: request.method, body: await request.text() });
    },
  });
  const asked: string[] = [];
  const proxy = createServer().on("connect", ({ url = "" }, client, head) => {
    asked.push(url);
    const there = connect(Number(inside.port), "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      there.write(head);
      there.pipe(client).pipe(there);
    });
    for (const end of [there, client]) end.on("error", () => {});
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    env: { https_proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` },
    signer: join(folder, "ca.pem"),
    asked,
    async stop() {
      proxy.closeAllConnections();
      await Promise.all([inside.stop(true), model.stop(), new Promise((resolve) => proxy.close(resolve))]);
    },
  };
}

describe.if(requirePart("openssl"))("behind a proxy with its own certificate", () => {
  test("the program starts, the demo runs and a job lands without asking it anything, its signer named or not", async () => {
    cli = createCli();
    const proxy = await startProxy();
    try {
      const known = { NODE_EXTRA_CA_CERTS: proxy.signer, npm_config_cafile: proxy.signer };
      for (const signer of [{}, known]) {
        const env = { ...proxy.env, ...signer };
        expect(await cli.runAsync(["--version"], env)).toMatchObject({ code: 0, err: "" });
        expect(await cli.runAsync(["demo"], env)).toMatchObject({ code: 0, err: "" });
        expectJob(env);
      }
      expect(proxy.asked).toEqual([]);
    } finally {
      await proxy.stop();
    }
  });

  test("a model in the cloud answers if its signer is named, and otherwise the reply says what lacks", async () => {
    cli = createCli();
    mkdirSync(cli.home);
    const cloud = {
      type: "openai-compatible",
      base_url: "https://models.example/v1",
      model: "m",
      api_key: "env:CLOUD_KEY",
    };
    const config = { providers: { cloud }, roles: { coder3: { provider: "cloud" } } };
    writeFileSync(join(cli.home, "config.yaml"), JSON.stringify(config));
    const proxy = await startProxy();
    const env = { ...proxy.env, CLOUD_KEY: "sk-of-the-cloud" };
    try {
      const refused = await cli.runAsync(["chat", "/code3 write b.txt"], env);
      expect(refused).toMatchObject({ code: 3 });
      expect(refused.out + refused.err).toContain("UNABLE_TO_VERIFY_LEAF_SIGNATURE");
      expect(refused.out + refused.err).toContain("NODE_EXTRA_CA_CERTS");
      const done = await cli.runAsync(["chat", "/code3 write b.txt"], {
        ...env,
        NODE_EXTRA_CA_CERTS: proxy.signer,
      });
      expect(done.out + done.err).toContain("Applied");
      expect(cli.tree()).toEqual({ "b.txt": "b\n" });
      expect(new Set(proxy.asked)).toEqual(new Set(["models.example:443"]));
    } finally {
      await proxy.stop();
    }
  });
});
