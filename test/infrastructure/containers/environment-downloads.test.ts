import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { PrepareEvent } from "../../../src/domain/containers/preparation.ts";
import type { WiredEnvironments } from "../../../src/wiring/environments.ts";
import { requirePart } from "../../require.ts";
import {
  createEnvironmentKit,
  type EnvironmentKit,
  executor,
  makeWheel,
  serveNpm,
  servePip,
} from "./environment-kit.ts";

describe.if(requirePart("docker") && requirePart("environment-images"))(
  "packages that were fetched before",
  () => {
    let kit: EnvironmentKit;
    beforeAll(() => {
      kit = createEnvironmentKit();
    });
    afterAll(() => kit?.end());
    afterEach(() => kit.clear());

    const prepare = async ({ manager }: WiredEnvironments, repository: string) => {
      const uuid = randomUUID();
      const steps: string[] = [];
      const onEvent = (event: PrepareEvent) => {
        if (event.type === "step") steps.push(event.step);
      };
      const prepared = await manager.tryPrepare({ uuid, repository }, null, { onEvent });
      if (!prepared.ok) throw new Error(JSON.stringify(prepared));
      const run = (command: string) => manager.executeIn(prepared.container, command, null, { byHand: true });
      return { prepared, steps, run, done: () => manager.cleanup(uuid) };
    };

    test("npm: fetched once, read by the next task without its index, and not to be poisoned by a task", async () => {
      const registry = await serveNpm({
        name: "sample-thing",
        version: "1.2.3",
        index: "module.exports = 42;\n",
      });
      const manifest = { name: "x", version: "1.0.0", dependencies: { "sample-thing": "1.2.3" } };
      const { resolved, integrity } = registry;
      const packages = {
        "": manifest,
        "node_modules/sample-thing": { version: "1.2.3", resolved, integrity },
      };
      const lock = { name: "x", version: "1.0.0", lockfileVersion: 3, requires: true, packages };
      const repository = kit.repository({
        "package.json": JSON.stringify(manifest),
        "package-lock.json": JSON.stringify(lock),
        // A stranger's settings do not reach the process that fetches.
        ".npmrc": "registry=http://evil.invalid/\nhttps-proxy=http://evil.invalid:1\nstrict-ssl=false\n",
      });
      const environments = await kit.open(
        executor({
          install: { npm_registry: `http://${registry.host}/` },
          docker: { network: { allowed_hosts: [registry.host] } },
        }),
      );
      const first = await prepare(environments, repository);
      expect(first.steps).toContain("fetching");
      expect(first.prepared.installed).toMatchObject([{ success: true, file: "package-lock.json" }]);
      expect(registry.asked.filter((path) => path.endsWith(".tgz"))).toHaveLength(1);
      // The task's changes to its own copy stay there.
      await first.run("find /workspace/tmp/.downloads -type f -exec sh -c 'echo poison > \"$1\"' _ {} \\;");
      await first.done();
      registry.close();
      const kept = readdirSync(join(kit.home, "environments/downloads"));
      expect(kept).toHaveLength(1);

      const second = await prepare(environments, repository);
      expect(second.steps).not.toContain("fetching");
      expect(second.prepared.installed).toMatchObject([
        { success: true, command: "npm ci --no-audit --no-fund --no-progress" },
      ]);
      expect((await second.run(`node -p "require('sample-thing')"`)).stdout).toBe("42\n");
      await second.done();
      expect(kit.left()).toEqual([]);
    });

    test("pip: wheels of exact versions are fetched for the task", async () => {
      const wheels = join(kit.folder, "index");
      const index = await servePip(wheels, makeWheel(wheels, "sample_thing", "2.0", "VALUE = 7\n"));
      const repository = kit.repository({
        "requirements.txt": "sample_thing==2.0\n",
      });
      const environments = await kit.open(
        executor({ install: { pip_index: index.url }, docker: { network: { allowed_hosts: [index.host] } } }),
      );
      const first = await prepare(environments, repository);
      expect(index.asked.filter((path) => path.endsWith(".whl")).length).toBeGreaterThan(0);
      expect((await first.run("ls /workspace/tmp/.downloads/pip")).stdout).toBe(
        "sample_thing-2.0-py3-none-any.whl\n",
      );
      expect((await first.run("python -c 'import sample_thing; print(sample_thing.VALUE)'")).stdout).toBe(
        "7\n",
      );
      await first.done();
      index.close();
    });

    test("without the cache nothing is fetched beforehand", async () => {
      const environments = await kit.open(executor({ install: { cache: false } }));
      const task = await prepare(
        environments,
        kit.repository({ "requirements.txt": "--no-index\nnothing-there==1.0\n" }),
      );
      expect(task.steps).not.toContain("fetching");
      expect(task.prepared.notices.map(({ code }) => code)).toEqual(["detected", "install-failed"]);
      await task.done();
    });
  },
);
