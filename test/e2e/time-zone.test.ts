import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../fakes/model-server/server.ts";
import { type Cli, createCli } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

/** Never the same day at once. */
test.each(["Etc/GMT+12", "Pacific/Kiritimati"])(
  "without a configured zone the days are the machine's: %s",
  async (zone) => {
    const server = await startModelServer({ script: [{ text: "Hello." }] });
    mkdirSync(cli.home);
    writeFileSync(join(cli.home, "config.yaml"), JSON.stringify(server.config()));
    const day = () => new Date().toLocaleDateString("sv", { timeZone: zone });
    const before = day();
    const ran = await cli.runAsync(["chat", "--json", "/chat hello"], { TZ: zone });
    await server.stop();
    const days = [before, day()];
    const { session_id: session } = cli.json(ran) as { session_id: string };
    expect(days.map((one) => one.replaceAll("-", ""))).toContain(session.slice(0, 8));
    const told = /\b\d{4}-\d{2}-\d{2}\b/.exec(JSON.stringify(server.requests[0]?.body))?.[0];
    expect(days).toContain(told as string);
  },
);
