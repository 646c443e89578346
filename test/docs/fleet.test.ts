import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import { createCli } from "../e2e/cli-kit.ts";

const text = readFileSync(join(import.meta.dir, "../../docs/fleet.md"), "utf8");

test("the configuration in docs/fleet.md is valid, and every command there is one", async () => {
  const cli = createCli();
  cli.write("picoclaw.yaml", /```yaml\n([\s\S]*?)```/m.exec(text)?.[1] ?? "-");
  const loaded = await loadConfig({
    env: { FLEET_DATABASE_URL: "postgres://nobody@localhost/none" },
    cwd: cli.workspace,
    configFile: join(cli.workspace, "picoclaw.yaml"),
  });
  expect(loaded).toMatchObject({ ok: true, warnings: [] });
  const named = new Set([...text.matchAll(/`picoclaw (\w+)/g)].map(([, command]) => command as string));
  expect([...named].toSorted()).toEqual(["db", "fleet", "jobs", "join", "serve"]);
  for (const command of named) expect([command, cli.run([command, "--help"]).code]).toEqual([command, 0]);
  for (const [, flag] of text.matchAll(/`picoclaw join[^`]*?(--\w+)/g))
    expect(cli.run(["join", "--help"]).out).toContain(flag as string);
  await cli.remove();
}, 300_000);
