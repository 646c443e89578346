import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeTestFolder } from "../left-behind.ts";

const LOAD = join(import.meta.dir, "../../src/config/load.ts");

/** Which libraries a fresh process has loaded after reading its configuration. */
async function librariesAfter(setting: { readonly file?: string; readonly env?: Record<string, string> }) {
  const home = makeTestFolder("start");
  mkdirSync(join(home, "ws"));
  if (setting.file !== undefined) writeFileSync(join(home, "config.yaml"), setting.file);
  const script = `
    const { loadConfig } = await import(${JSON.stringify(LOAD)});
    const { ok } = await loadConfig({ cwd: ${JSON.stringify(join(home, "ws"))} });
    const files = Object.keys(require.cache);
    console.log(JSON.stringify({ ok, libraries: ["zod", "yaml"].filter((name) => files.some((file) => file.includes("/node_modules/" + name + "/"))) }));`;
  const child = Bun.spawn([process.execPath, "--no-env-file", "-e", script], {
    env: { PICOCLAW_HOME: home, HOME: home, ...setting.env },
    stderr: "inherit",
  });
  return JSON.parse(await new Response(child.stdout).text());
}

test("without a file and a variable no library is loaded", async () => {
  const env = { PICOCLAW_LOCALE: "en", PICOCLAW_TEST_REQUIRE: "x", DOCKER_HOST: "unix:///x" };
  expect(await librariesAfter({ env })).toEqual({ ok: true, libraries: [] });
});

test("good variables load none either, a good file only yaml", async () => {
  expect(await librariesAfter({ env: { PICOCLAW_WORKER_AUTO_COMMIT: "true" } })).toEqual({
    ok: true,
    libraries: [],
  });
  expect(await librariesAfter({ file: "worker: { copy_limit: 1GiB }\n" })).toEqual({
    ok: true,
    libraries: ["yaml"],
  });
});

test("a wrong file is refused and explained without zod: the walk over the schema is the one validator", async () => {
  expect(await librariesAfter({ file: "wrker: 1\n" })).toEqual({ ok: false, libraries: ["yaml"] });
});
