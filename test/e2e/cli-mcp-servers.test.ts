/** `mcp add|list|test|login|logout|remove`, as typed. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startOauthMcp } from "../fakes/oauth-mcp-server.ts";
import { createCli } from "./cli-kit.ts";

const CHILD = join(import.meta.dir, "../application/chat/mcp-server-child.ts");
let cli: ReturnType<typeof createCli>;
beforeEach(() => {
  cli = createCli();
  mkdirSync(cli.home, { recursive: true });
  writeFileSync(join(cli.home, "config.yaml"), "# mine\nlocale: en\n");
});
afterEach(() => cli.remove());
const config = () => readFileSync(join(cli.home, "config.yaml"), "utf8");

test("a program is added below the comments that were there, listed, tried and removed", () => {
  const added = cli.run([
    "mcp",
    "add",
    "sums",
    "--env",
    "A=1",
    "--env",
    "B=env:HOME",
    "--",
    process.execPath,
    CHILD,
  ]);
  expect([added.code, added.out]).toEqual([0, expect.stringContaining("Added sums")]);
  expect(config()).toStartWith("# mine\nlocale: en\n");
  expect(cli.run(["mcp", "list"]).out).toContain(`sums  ${process.execPath} ${CHILD}  (coders: read-only)`);
  const tried = cli.run(["mcp", "test", "sums"]);
  expect([tried.code, tried.out]).toEqual([
    0,
    "✓ sums: 5 tools, 2 read-only: sums_add, sums_fail, sums_where, sums_a_b_c, sums_long\n",
  ]);
  expect(cli.run(["mcp", "remove", "sums"]).code).toBe(0);
  expect(cli.run(["mcp", "list", "--json"]).out).toBe('{"success":true,"servers":[],"unavailable":[]}\n');
}, 300_000);

test("what cannot be used is said, and nothing is written that would not be accepted", () => {
  const before = config();
  for (const args of [
    ["add"],
    ["add", "x"],
    ["add", "x", "ftp://x"],
    ["add", "x", "http://127.0.0.1:1/mcp", "more"],
    ["add", "x", "http://127.0.0.1:1/mcp", "--header", "nonsense"],
    ["add", "x", "http://127.0.0.1:1/mcp", "--header", "Authorization: Bearer swordfish"],
    ["add", "x", "--header", "A: b", "--", "program"],
    ["add", "x", "--coders", "some", "--", "program"],
    ["test", "x"],
    ["remove", "x"],
    ["login"],
    ["login", "x"],
    ["logout", "x"],
    ["nonsense"],
  ])
    expect([args.join(" "), cli.run(["mcp", ...args]).code]).toEqual([args.join(" "), 2]);
  expect(config()).toBe(before);
  const header = `Authorization: Bearer \${MCP_TEST_TOKEN}`;
  expect(cli.run(["mcp", "add", "far", "http://127.0.0.1:1/mcp", "--header", header]).code).toBe(0);
  const tried = cli.run(["mcp", "test"]);
  expect([tried.code, tried.out]).toEqual([1, expect.stringMatching(/^✗ far: /)]);
}, 300_000);

test("a server behind OAuth says that it needs a login, takes it from the browser, and forgets it", async () => {
  const server = startOauthMcp();
  try {
    writeFileSync(join(cli.home, "config.yaml"), `mcp_servers: { tickets: { url: "${server.url}" } }\n`);
    const listed = await cli.runAsync(["mcp", "list"]);
    expect(listed.out).toBe(
      `tickets  ${server.url}  (coders: read-only)  login needed: picoclaw mcp login tickets\n`,
    );
    const child = cli.start(["mcp", "login", "tickets"]);
    const out: string[] = [];
    child.stdout?.on("data", (data) => out.push(String(data)));
    const address = await new Promise<string>((resolve) => {
      let err = "";
      child.stderr?.on("data", (data) => {
        err += String(data);
        const found = /http:\/\/\S+\/authorize\S+(?=\n)/.exec(err)?.[0];
        if (found !== undefined) resolve(found);
      });
    });
    const ended = new Promise((resolve) => child.once("close", resolve));
    expect(await server.browse(address)).toContain("You are logged in.");
    expect([await ended, out.join("")]).toEqual([
      0,
      "Logged in to tickets. Try it: picoclaw mcp test tickets\n",
    ]);
    const tried = await cli.runAsync(["mcp", "test"]);
    expect([tried.code, tried.out]).toEqual([
      0,
      "✓ tickets: 2 tools, 1 read-only: tickets_read, tickets_close\n",
    ]);
    expect((await cli.runAsync(["mcp", "logout", "tickets"])).out).toBe("Logged out of tickets.\n");
    expect((await cli.runAsync(["mcp", "test"])).out).toBe(
      "✗ tickets: login needed. Log in: picoclaw mcp login tickets\n",
    );
  } finally {
    server.stop();
  }
}, 300_000);
