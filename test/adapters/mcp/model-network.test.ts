/** What a client starts through MCP is a model's: the list of hosts holds it. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { requirePart } from "../../require.ts";
import { call, createMcp, type Mcp } from "./mcp-kit.ts";

/** Loopback, so that the test needs no network; not 127.0.0.1, which a job takes for its own. */
const HOST = "127.0.0.2";

let mcp: Mcp;
let server: Server;
let asked: string[];
let at: string;
beforeEach(async () => {
  mcp = createMcp();
  asked = [];
  server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.end("yes");
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, () => resolve()));
  const address = server.address();
  at = `${HOST}:${typeof address === "object" ? address?.port : 0}`;
});
afterEach(async () => {
  server.close();
  await mcp.remove();
});

describe.if(process.platform === "linux" && requirePart("bwrap") && requirePart("curl"))(
  "a command of an MCP client",
  () => {
    const run = async (path: string) =>
      JSON.stringify(
        await call(await mcp.stdio(), "execute_command", {
          command: `curl -sS -m 5 http://${at}${path}; true`,
        }),
      );

    test("reaches no host that is not listed, and reads the line that allows it", async () => {
      expect(await run("/refused")).toContain(`/allow ${at}`);
      expect(asked).toEqual([]);
    });

    test("reaches a host that the user's own file lists", async () => {
      mkdirSync(mcp.home, { recursive: true });
      writeFileSync(
        join(mcp.home, "config.yaml"),
        `worker: { model_network: { allowed_domains: ["${at}"] } }\n`,
      );
      await run("/listed");
      expect(asked).toEqual(["/listed"]);
    });
  },
);
