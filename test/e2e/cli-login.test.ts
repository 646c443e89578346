import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { openPty } from "../application/chat/pty-kit.ts";
import { startModelServer } from "../fakes/model-server/server.ts";
import { type Cli, createCli, NO_LOCAL_SERVERS, PROGRAM } from "./cli-kit.ts";
import { startProgram } from "./terminal-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

const KEY = "sk-AAAABBBBCCCCDDDD";
const ALONE = {
  ...NO_LOCAL_SERVERS,
  DOCKER_HOST: "unix:///none.sock",
  OLLAMA_HOST: "127.0.0.1:9",
};
const keysFile = () => join(cli.home, "keys.env");

describe("login", () => {
  test("a pasted key is tested, kept for its owner alone, used by what follows, and forgotten", async () => {
    const server = await startModelServer({
      script: [{ text: "Hello there" }],
      offered: ["claude-haiku-6", "claude-sonnet-6-20261101", "claude-sonnet-6", "claude-sonnet-5-5"],
    });
    const env = { ...ALONE, ANTHROPIC_BASE_URL: server.baseUrl("anthropic") };
    try {
      const at = openPty([PROGRAM, "login", "anthropic"], { cwd: cli.workspace, env: cli.environment(env) });
      await at.expect("API key for claude (not shown): ");
      at.type(`${KEY}\r`);
      await at.expect("claude-sonnet-6 is the\r\n  newest that fits. The key is kept in");
      await at.expect(`${keysFile()},`);
      expect(await at.exited).toBe(0);
      expect(at.seen()).not.toContain(KEY);
      expect(readFileSync(keysFile(), "utf8")).toBe(`ANTHROPIC_API_KEY=${KEY}\n`);
      expect(statSync(keysFile()).mode & 0o777).toBe(0o600);
      // A key alone works: questions wait for one word, code does not.
      const asked = await cli.runAsync(["chat", "what is this?"], env);
      expect(asked.code).toBe(3);
      expect(asked.out).toContain("picoclaw chat /cloud on");
      // Shiro's questions name the way as Mio's do.
      const analysed = await cli.runAsync(["chat", "/analyze what is slow?"], env);
      expect([analysed.code, analysed.out.includes("picoclaw chat /cloud on")]).toEqual([3, true]);
      const on = await cli.runAsync(["chat", "/cloud on what is this?"], env);
      expect(on.out).toStartWith("Hello there\n");
      expect(readFileSync(join(cli.home, "config.yaml"), "utf8")).toContain("local_only: false");
      expect((await cli.runAsync(["chat", "what is this?"], env)).out).toStartWith("Hello there\n");
      expect((await cli.runAsync(["chat", "/cloud off"], env)).code).toBe(0);
      expect((await cli.runAsync(["chat", "what is this?"], env)).code).toBe(3);
      expect((await cli.runAsync(["login", "claude", "--forget"], env)).code).toBe(0);
      expect(readFileSync(keysFile(), "utf8")).toBe("");
    } finally {
      await server.stop();
    }
  });

  test("at a terminal one key lets the coder's model answer the question that could not be answered", async () => {
    const server = await startModelServer({
      script: [{ text: "Hello there" }],
      offered: ["claude-sonnet-5-5"],
    });
    const env = { ...ALONE, ANTHROPIC_BASE_URL: server.baseUrl("anthropic"), ANTHROPIC_API_KEY: KEY };
    const at = startProgram(cli, { args: ["chat"], env });
    try {
      await at.until("talks: no local model (/cloud on: the coder's model)");
      await at.say("/chat hello");
      await at.until("Use claude for questions too? y/n");
      at.type("y");
      await at.until("Hello there");
    } finally {
      await at.close();
      await server.stop();
    }
  });

  /** The first key of a test's server; only that one is accepted. */
  const VENDOR_KEY = "sk-ant-api03-AAAABBBBCCCCDDDD";

  test("a mistake is asked again, no typed key is shown, and none reaches a vendor that is not meant", async () => {
    const given: string[] = [];
    const serve = (vendor: string) =>
      Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch(request) {
          const key = request.headers.get("x-api-key") ?? request.headers.get("authorization") ?? "";
          if (key !== "") given.push(`${vendor} ${key.replace("Bearer ", "")}`);
          return key === VENDOR_KEY
            ? Response.json({ data: [{ id: "claude-sonnet-5-5", type: "model" }] })
            : new Response("", { status: 401 });
        },
      });
    const [claude, openai] = [serve("claude"), serve("openai")];
    const env = {
      ...ALONE,
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${claude.port}`,
      OPENAI_BASE_URL: `http://127.0.0.1:${openai.port}/v1`,
    };
    const at = openPty([PROGRAM, "login"], { cwd: cli.workspace, env: cli.environment(env) });
    try {
      await at.expect("Whose API key?");
      await at.expect("Enter: none)");
      at.type("nobody\r");
      await at.expect("Unknown provider: nobody.");
      await at.expect("Enter: none)");
      // A form of several vendors is asked for; nothing was sent before.
      at.type(`${KEY}\r`);
      await at.expect("Whose is it?");
      expect(given).toEqual([]);
      at.type("openai\r");
      await at.expect(/refuses\s+this\s+key/);
      expect(given).toEqual([`openai ${KEY}`]);
      await at.expect("Enter: none)");
      // A key under the wrong name is not sent there.
      at.type("openai\r");
      await at.expect("API key for openai (not shown): ");
      at.type(`${VENDOR_KEY}\r`);
      await at.expect(/has the form of claude's\s+keys/);
      expect(given).toHaveLength(1);
      await at.expect("Enter: none)");
      // One vendor's own form says whose it is.
      at.type(`${VENDOR_KEY}\r`);
      await at.expect("claude accepts the key");
      expect(await at.exited).toBe(0);
      expect(given.slice(1).every((one) => one === `claude ${VENDOR_KEY}`)).toBe(true);
      expect(at.seen()).not.toContain("AAAABBBB");
      expect(at.seen()).not.toContain("ANTHROPIC_API_KEY");
      expect(readFileSync(keysFile(), "utf8")).toBe(`ANTHROPIC_API_KEY=${VENDOR_KEY}\n`);
    } finally {
      at.signal("SIGKILL");
      await Promise.all([claude.stop(true), openai.stop(true)]);
    }
    const argued = cli.run(["login", VENDOR_KEY], { env });
    expect(argued).toMatchObject({ code: 2, out: "" });
    expect(argued.err).not.toContain(VENDOR_KEY);
  });

  test("/login at a terminal takes a key without showing it, and the same conversation continues with it", async () => {
    const server = await startModelServer({
      script: [{ text: "Hello there" }],
      offered: ["claude-sonnet-5-5"],
    });
    const env = { ...ALONE, ANTHROPIC_BASE_URL: server.baseUrl("anthropic") };
    const at = startProgram(cli, { args: ["chat", "--name", "one"], env });
    try {
      await at.until("talks:");
      await at.say("/login sk-AAAABBBBCCCCDDDD");
      await at.until("A key never belongs in a message");
      await at.say("/login gemini");
      await at.until("API key for gemini (not shown):");
      at.type("\x03");
      await at.until(/Nothing was kept\.\s+a new chat/);
      await at.say("/login");
      await at.until("Whose API key?");
      at.type("claude\r");
      await at.until("API key for claude (not shown):");
      at.type("sk-EEEEFFFFGGGGHHHH\r");
      await at.until("claude accepts the key");
      await at.until(/codes:\s+claude\/claude-sonnet-5-5/);
      // The last redraw follows the notice.
      await at.until(() => at.screen().match(/Say what to change/g)?.length === 1);
      await at.say("/cloud on hello");
      await at.until("Hello there");
      expect(at.sent.raw).not.toContain("sk-EEEE");
      expect(readFileSync(keysFile(), "utf8")).toBe("ANTHROPIC_API_KEY=sk-EEEEFFFFGGGGHHHH\n");
      at.type("\x04");
      await at.until("picoclaw chat --name one");
      expect(await at.child.exited).toBe(0);
    } finally {
      await at.close();
      await server.stop();
    }
  });

  test("a key that cannot be written is reported and left nowhere, and the conversation continues", async () => {
    const server = await startModelServer({ script: [], offered: ["claude-sonnet-5-5"] });
    const env = { ...ALONE, ANTHROPIC_BASE_URL: server.baseUrl("anthropic"), PICOCLAW_LOCALE: "ja" };
    mkdirSync(keysFile(), { recursive: true });
    const at = startProgram(cli, { args: ["/login claude"], env, columns: 200 });
    try {
      await at.until("claude の API キー（画面には表示しません）:");
      at.type("sk-EEEEFFFFGGGGHHHH\r");
      await at.until("対象はディレクトリです");
      await at.until("コード:");
      await at.say("/config");
      await at.until("picoclaw config show");
      expect(at.all()).toContain(`対象はディレクトリです: ${keysFile()}\n`);
      // The conversation before the question no longer names its models.
      expect(at.all().match(/コード:/g)).toHaveLength(1);
      expect(readdirSync(cli.home).filter((name) => name.startsWith("keys.env"))).toEqual(["keys.env"]);
      at.type("\x04");
      expect(await at.child.exited).toBe(0);
    } finally {
      await at.close();
      await server.stop();
    }
  });

  test("a key that is refused, cannot be tested or is malformed is not kept", async () => {
    const refusing = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response("", { status: 401 }),
    });
    const env = { ...ALONE, ANTHROPIC_BASE_URL: `http://127.0.0.1:${refusing.port}` };
    const give = async (text: string, more: Record<string, string>) => {
      writeFileSync(join(cli.folder, "key"), text);
      const child = Bun.spawn([PROGRAM, "login", "claude"], {
        cwd: cli.workspace,
        env: cli.environment(more),
        stdin: Bun.file(join(cli.folder, "key")),
        stderr: "pipe",
      });
      return { err: await new Response(child.stderr).text(), code: await child.exited };
    };
    expect(await give(KEY, env)).toMatchObject({ code: 3, err: expect.stringContaining("refuses this key") });
    expect(await give(KEY, { ...env, ANTHROPIC_BASE_URL: "http://127.0.0.1:9" })).toMatchObject({
      code: 3,
      err: expect.stringContaining("cannot be reached"),
    });
    expect(await give("two words", env)).toMatchObject({ code: 2 });
    expect(existsSync(keysFile())).toBe(false);
    await refusing.stop(true);
  });

  test("a file that others can read is not used, and that is said", () => {
    cli.run(["jobs"]);
    writeFileSync(keysFile(), `ANTHROPIC_API_KEY=${KEY}\n`);
    chmodSync(keysFile(), 0o644);
    expect(cli.run(["jobs"]).err).toContain(`${keysFile()} is not used`);
    expect(cli.run(["login", "nobody"])).toMatchObject({ code: 2 });
  });
});
