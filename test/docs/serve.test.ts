import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openApi } from "../../src/adapters/web/api.ts";
import { loadConfig } from "../../src/config/load.ts";
import { createCli } from "../e2e/cli-kit.ts";

const docs = join(import.meta.dir, "../../docs");
const read = (name: string) => readFileSync(join(docs, name), "utf8");

test("the configuration in docs/serve.md is valid", async () => {
  const cli = createCli();
  const yaml = /^```yaml\n([\s\S]*?)^```$/m.exec(read("serve.md"))?.[1] ?? "";
  cli.write("picoclaw.yaml", yaml);
  const loaded = await loadConfig({
    env: {},
    cwd: cli.workspace,
    configFile: join(cli.workspace, "picoclaw.yaml"),
  });
  expect(loaded.ok).toBe(true);
  cli.remove();
});

test("every command in docs/serve.md is one, and every page of the API is in docs/api.md", () => {
  const cli = createCli();
  for (const [, command] of read("serve.md").matchAll(/`picoclaw (serve (?:link|token)[^`]*)`/g)) {
    const args = (command as string).replace("NAME", "n").replace("ID", "tok_x").split(" ");
    const ran = cli.run(args);
    const known = args.includes("remove") ? ran.err.includes("no such token") : ran.code === 0;
    expect([command, known]).toEqual([command as string, true]);
  }
  cli.remove();
  const api = read("api.md");
  for (const path of Object.keys(openApi("1").paths as object)) {
    const last = path.split("/").at(-1)?.startsWith("{") ? path : `/${path.split("/").at(-1)}`;
    expect([path, api.includes(last)]).toEqual([path, true]);
  }
});
