import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  cleanUpStaleContainers,
  scheduleCleanUp,
} from "../../../src/application/containers/open-environments.ts";
import { DEFAULTS } from "../../../src/config/config.ts";
import { openEnvironments } from "../../../src/wiring/environments.ts";
import { requirePart } from "../../require.ts";
import { DOCKER_HOST, docker, openRealEngine, type RealEngine } from "./real-engine.ts";

describe.if(requirePart("docker"))("serve", () => {
  let engine: RealEngine;
  beforeAll(() => {
    engine = openRealEngine();
  });
  afterAll(() => engine?.end());

  test("cleans up at its start what a dead process left, when environments are switched on", async () => {
    const child = Bun.spawn({
      cmd: [process.execPath, `${import.meta.dir}/owner-child.ts`, engine.home, "command"],
      stdout: "pipe",
      env: { ...process.env },
    });
    const { value } = await child.stdout.getReader().read();
    const id = new TextDecoder().decode(value).trim();
    child.kill("SIGKILL");
    await child.exited;
    const isThere = () => docker("ps", "-aq", "--filter", `id=${id}`) !== "";
    const troubles: unknown[] = [];
    const start = (enabled: boolean) =>
      scheduleCleanUp({
        cleanUp: () =>
          cleanUpStaleContainers(() =>
            openEnvironments(
              { PICOCLAW_HOME: engine.home, DOCKER_HOST, HOME: engine.home },
              { cwd: engine.home },
            ),
          ),
        config: () => ({ ...DEFAULTS.command_executor, enabled }),
        onTrouble: (error) => troubles.push(error),
      });
    start(false)();
    expect(isThere()).toBe(true);
    const stop = start(true);
    while (isThere() && troubles.length === 0) await Bun.sleep(20);
    stop();
    expect(troubles).toEqual([]);
    expect(isThere()).toBe(false);
  });
});
