import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRealEngine, type RealEngine, specOf } from "../infrastructure/containers/real-engine.ts";
import { requirePart } from "../require.ts";

const SCRIPT = join(import.meta.dir, "../real/docker-engine.sh");

/** An engine of its own, so that it may be stopped. */
describe.if(requirePart("dockerd") && process.getuid?.() === 0)("an engine that goes away", () => {
  let folder: string;
  const control = (what: "start" | "stop") => {
    const { status, stderr } = spawnSync("bash", [SCRIPT, what, folder], {
      encoding: "utf8",
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env },
    });
    if (status !== 0) throw new Error(stderr);
  };
  let engine: RealEngine;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "picoclaw-engine-"));
    control("start");
    engine = openRealEngine({ host: `unix://${folder}/docker.sock`, image: "picoclaw-debian:bookworm" });
  }, 300_000);
  afterAll(async () => {
    await engine?.sandbox.close();
    control("stop");
    for (const one of [folder, engine?.home]) if (one) rmSync(one, { recursive: true, force: true });
  }, 300_000);

  test("a command under way is disconnected, calls fail by name, and afterwards all works again", async () => {
    const { id, name } = await engine.start();
    const started = Promise.withResolvers<void>();
    const running = engine.run(id, "echo on; sleep 300", {
      timeoutMs: 120_000,
      onOutput: () => started.resolve(),
    });
    await started.promise;
    control("stop");
    const result = await running;
    expect([result.outcome, result.exitCode, result.stdout]).toEqual(["disconnected", null, "on\n"]);
    const spec = specOf(engine.image);
    expect(await engine.sandbox.startContainer(spec)).toMatchObject({ code: "engine-unreachable" });
    expect(await engine.sandbox.cleanupStaleContainers({ thresholdMs: -1 })).toMatchObject({
      code: "engine-unreachable",
    });
    const removal = await engine.sandbox.stopContainer(id);
    expect(removal).toMatchObject({ removed: false, leftovers: [{ kind: "container" }] });
    control("start");
    // The script clears what a run left; the manager finds nothing of its own and starts afresh.
    expect(await engine.sandbox.findContainer(name)).toBeUndefined();
    const again = await engine.start();
    expect((await engine.run(again.id, "echo back")).stdout).toBe("back\n");
    expect(await engine.sandbox.stopContainer(again.id)).toEqual({ removed: true, leftovers: [] });
  }, 300_000);
});
