/** A task of a forge in the hand of a machine that is ended or cut off goes on at another one. */
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { takeIn } from "../../src/application/tasks/take-in.ts";
import { timers } from "../../src/infrastructure/runtime/timers.ts";
import { openTasks } from "../application/tasks/solve-store-kit.ts";
import { requirePart } from "../require.ts";
import { hasNamespaces, type Machine } from "./fleet/machines.ts";
import { fleetKit } from "./fleet/open-fleet.ts";

const nightly = process.env.TEST_NIGHTLY === "1" || process.env.PICOCLAW_TEST_NIGHTLY === "1";
const FORGE_PORT = 7002;
const SITE = `http://127.0.0.1:${FORGE_PORT}`;
const MOST_MS = 20_000;

describe.if(nightly && hasNamespaces() && requirePart("postgres"))("a task in hand", () => {
  const kit = fleetKit();

  /** A forge that never answers, so that whoever has a task keeps it; `asked` resolves at its first request. */
  function silentForge() {
    const folder = mkdtempSync(join(tmpdir(), "picoclaw-forge-"));
    const socket = join(folder, "forge.sock");
    const asked = Promise.withResolvers<void>();
    const server = Bun.serve({
      unix: socket,
      idleTimeout: 0,
      fetch: () => {
        asked.resolve();
        return new Promise<Response>(() => {});
      },
    });
    kit.closing.push(async () => {
      await server.stop(true);
      rmSync(folder, { recursive: true, force: true });
    });
    return { socket, asked: asked.promise };
  }

  const ends: [string, (machine: Machine) => void][] = [
    ["ended without a word", (machine) => machine.end()],
    ["parted from everybody", (machine) => machine.network(false)],
  ];
  test.each(ends)(
    "of a machine that is %s is begun by another within 20 seconds",
    async (what, end) => {
      const fleet = kit.open({ overNetwork: true });
      const machine = async () => {
        const forge = silentForge();
        const made = await fleet.machine({
          config: `command_executor: { enabled: true }\nforges: { github: { base_url: "${SITE}" } }\n`,
          ports: { [FORGE_PORT]: forge.socket },
          env: { GITHUB_PERSONAL_ACCESS_TOKEN: "ghp_not_a_real_token" },
        });
        return { ...made, forge };
      };
      const [a, b] = [await machine(), await machine()];
      await a.start();
      const { store, queue } = await openTasks(fleet.db, { databaseUrl: fleet.url });
      kit.closing.push(() => queue.close().catch(() => {}));
      await takeIn(
        { store, now: timers.now, uuid: () => crypto.randomUUID() },
        {
          item: { forge: "github", site: SITE, repository: "a/b", kind: "issue", number: 1 },
          askedBy: "alice",
          trigger: "label",
          worker: null,
          needs: ["docker"],
        },
      );
      await a.forge.asked;
      await b.start();
      const began = performance.now();
      end(a);
      await b.forge.asked;
      const tookMs = Math.round(performance.now() - began);
      console.log(`a task of a machine that is ${what} was begun by another after ${tookMs} ms`);
      expect(tookMs).toBeLessThan(MOST_MS);
    },
    120_000,
  );
});
