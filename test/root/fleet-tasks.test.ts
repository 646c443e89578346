/** A task of a forge in the hand of a machine that is ended or cut off goes on at another one; one without an engine takes none. */

import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { takeInTask } from "../../src/application/tasks/intake.ts";
import { timers } from "../../src/infrastructure/platform/timers.ts";
import { openTasks } from "../application/tasks/solve-store-kit.ts";
import { requirePart } from "../require.ts";
import { hasNamespaces, type Machine } from "./fleet/machines.ts";
import { type Fleet, fleetKit } from "./fleet/open-fleet.ts";

const nightly = process.env.TEST_NIGHTLY === "1" || process.env.PICOCLAW_TEST_NIGHTLY === "1";
const FORGE_PORT = 7002;
const SITE = `http://127.0.0.1:${FORGE_PORT}`;
const MOST_MS = 20_000;
const ENGINE = process.env.DOCKER_HOST ?? "unix:///var/run/docker.sock";

describe.if(nightly && hasNamespaces() && requirePart("postgres"))("a task in hand", () => {
  const kit = fleetKit();

  /** A forge that never answers, so that the owner of a task keeps it; `asked` resolves at its first request. */
  function silentForge() {
    const folder = mkdtempSync(join(tmpdir(), "picoclaw-forge-"));
    const socket = join(folder, "forge.sock");
    const asked = Promise.withResolvers<void>();
    const paths: string[] = [];
    const server = createServer(({ url = "" }) => {
      paths.push(url);
      asked.resolve();
    }).listen(socket);
    kit.closing.push(() => {
      server.close();
      server.closeAllConnections();
      rmSync(folder, { recursive: true, force: true });
    });
    return { socket, asked: asked.promise, paths };
  }
  async function machineOf(fleet: Fleet, dockerHost: string) {
    const forge = silentForge();
    const made = await fleet.machine({
      config: `command_executor: { enabled: true }\nforges: { github: { base_url: "${SITE}" } }\n`,
      ports: { [FORGE_PORT]: forge.socket },
      env: { GITHUB_PERSONAL_ACCESS_TOKEN: "ghp_not_a_real_token", DOCKER_HOST: dockerHost },
    });
    return { ...made, forge };
  }
  async function takeInIssues({ db, url }: Fleet, count: number): Promise<void> {
    const { store, queue } = await openTasks(db, { databaseUrl: url });
    kit.closing.push(() => queue.close().catch(() => {}));
    for (let number = 1; number <= count; number += 1)
      await takeInTask(
        { store, now: timers.now, uuid: () => crypto.randomUUID() },
        {
          item: { forge: "github", site: SITE, repository: "a/b", kind: "issue", number },
          askedBy: "alice",
          trigger: "label",
          worker: null,
          needs: ["docker"],
        },
      );
  }

  const ends: [string, (machine: Machine) => void][] = [
    ["ended without a word", (machine) => machine.end()],
    ["parted from everybody", (machine) => machine.network(false)],
  ];
  test.each(ends)(
    "of a machine that is %s is begun by another within 20 seconds",
    async (what, end) => {
      const fleet = kit.open({ overNetwork: true });
      const [a, b] = [await machineOf(fleet, ENGINE), await machineOf(fleet, ENGINE)];
      await a.start();
      await takeInIssues(fleet, 1);
      await a.forge.asked;
      await b.start();
      const began = performance.now();
      end(a);
      await b.forge.asked;
      const tookMs = Math.round(performance.now() - began);
      console.log(`a task of a machine that is ${what} was begun by another after ${tookMs} ms`);
      expect(tookMs).toBeLessThan(MOST_MS);
    },
    300_000,
  );

  test.if(requirePart("docker"))(
    "is never of a machine whose engine is dead while another has one",
    async () => {
      const fleet = kit.open();
      const [dead, living] = [
        await machineOf(fleet, "unix:///nonexistent.sock"),
        await machineOf(fleet, ENGINE),
      ];
      await living.start(["join", "--concurrency", "8"]);
      await dead.start(["join", "--concurrency", "8"]);
      await takeInIssues(fleet, 6);
      const all = [1, 2, 3, 4, 5, 6];
      const begun = () => all.filter((n) => living.forge.paths.some((path) => path.endsWith(`/issues/${n}`)));
      while (begun().length < all.length) await Bun.sleep(20);
      expect(dead.forge.paths).toEqual([]);
      // The others learn that it has no engine now.
      const labels = async () => {
        const { rows } = await sql<{ labels: string }>`select labels from machine_processes`.execute(
          fleet.db,
        );
        return rows.filter((row) => row.labels.includes("docker")).length;
      };
      while ((await labels()) > 1) await Bun.sleep(50);
      expect(await labels()).toBe(1);
    },
    300_000,
  );
});
