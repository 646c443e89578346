import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULTS } from "../../src/config/defaults.ts";
import { startCleanUp } from "../../src/wiring/serve-clean-up.ts";

test("an engine that is not there is told in a line, not with a stack", async () => {
  const home = mkdtempSync(join(tmpdir(), "picoclaw-clean-up-"));
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const stop = startCleanUp({
    env: { PICOCLAW_HOME: home, HOME: home, DOCKER_HOST: `unix://${home}/none.sock` },
    options: { cwd: home },
    config: () => ({ ...DEFAULTS.command_executor, enabled: true }),
    onTrouble: resolve,
  });
  expect(await promise).toBe(`Docker: unix://${home}/none.sock: no such socket`);
  stop();
  rmSync(home, { recursive: true, force: true });
});
