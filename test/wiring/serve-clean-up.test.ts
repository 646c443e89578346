import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  cleanUpStaleContainers,
  scheduleCleanUp,
} from "../../src/application/containers/open-environments.ts";
import { DEFAULTS } from "../../src/config/config.ts";
import { openEnvironments } from "../../src/wiring/environments.ts";

test("an engine that does not run is reported in a line, not with a stack", async () => {
  const home = mkdtempSync(join(tmpdir(), "picoclaw-clean-up-"));
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const stop = scheduleCleanUp({
    cleanUp: () =>
      cleanUpStaleContainers(() =>
        openEnvironments(
          { PICOCLAW_HOME: home, HOME: home, DOCKER_HOST: `unix://${home}/none.sock` },
          { cwd: home },
        ),
      ),
    config: () => ({ ...DEFAULTS.command_executor, enabled: true }),
    onTrouble: resolve,
  });
  expect(await promise).toBe(`Docker: unix://${home}/none.sock: no such socket`);
  stop();
  rmSync(home, { recursive: true, force: true });
});
