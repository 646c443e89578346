/**
 * A fleet under fire. A machine is a network and a pid namespace with a home and a workspace of its own; all share one
 * Postgres, reached by its socket. Processes are killed at random moments and started again. Each
 * message is answered once, in its chat's order, and its changes happen once.
 */
import { describe, expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { until } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";
import { checkLine, checkStore, settled, working } from "./fleet/check-store.ts";
import { checkWorkspace } from "./fleet/check-workspace.ts";
import { hasNamespaces, type Machine, type Started, signalTree } from "./fleet/machines.ts";
import { fleetKit } from "./fleet/open-fleet.ts";

const nightly = process.env.TEST_NIGHTLY === "1" || process.env.PICOCLAW_TEST_NIGHTLY === "1";
const KILLS = Number(process.env.PICOCLAW_TEST_KILLS ?? (nightly ? 500 : 50));
/** To each workspace: about two for each death. */
const MESSAGES = 2 * Math.ceil(KILLS / 2);
const [SERVE, JOIN] = [["serve", "--port", "0"], ["join"]];

describe.if(hasNamespaces() && requirePart("postgres"))("machines in namespaces", () => {
  const kit = fleetKit();

  test(`${KILLS} deaths: each message is answered once, in order, and changes what it changes once`, async () => {
    const fleet = kit.open();
    const { db, line } = fleet;
    const [a, b] = [await fleet.machine(), await fleet.machine()];
    const before = a.cli.tree();
    const places: { readonly on: Machine; readonly args: readonly string[]; living: Started }[] = [];
    for (const on of [a, b])
      for (const args of [SERVE, JOIN]) places.push({ on, args, living: await on.start(args) });
    // Each takes the other for a stranger.
    const { rows } = await sql`select distinct incarnation from machines`.execute(db);
    expect(rows).toHaveLength(2);
    await fleet.say({ machine: a, name: "a", count: MESSAGES, chats: 6 });
    await fleet.say({ machine: b, name: "b", count: MESSAGES, chats: 6, channel: "line" });
    const left = { kills: KILLS };
    await Promise.all(
      places.map(async (place) => {
        while (left.kills > 0) {
          left.kills -= 1;
          await Bun.sleep(Math.random() * 600);
          signalTree(place.living.child, "SIGKILL");
          place.living = await place.on.start(place.args);
        }
      }),
    );
    console.log(`answered ${Math.round(await settled(db))} ms after the last of ${KILLS} deaths`);
    const told = await checkStore(db);
    await checkLine(db, line.shown);
    for (const { cli } of [a, b])
      await checkWorkspace(
        cli,
        told.filter(({ chat }) => chat.includes(cli.workspace)),
        before,
      );
  }, 1_800_000);

  const stoppedForLong: Parameters<typeof test> = [
    "a process that was stopped for a minute changes nothing under those who took its work, when it goes on",
    async () => {
      const fleet = kit.open();
      const { db } = fleet;
      const a = await fleet.machine();
      const before = a.cli.tree();
      const stopped = await a.start();
      await fleet.say({ machine: a, name: "a", count: 20, chats: 4 });
      while ((await working(db)) === 0) await Bun.sleep(5);
      signalTree(stopped.child, "SIGSTOP");
      await a.start();
      const tookMs = await settled(db);
      console.log(`a stopped process's work was done after ${Math.round(tookMs)} ms`);
      await Bun.sleep(Math.max(0, 60_000 - tookMs));
      signalTree(stopped.child, "SIGCONT");
      await fleet.say({ machine: a, name: "later", count: 20, chats: 4 });
      await settled(db);
      await checkWorkspace(a.cli, await checkStore(db), before);
    },
    240_000,
  ];
  if (nightly) test(...stoppedForLong);

  test("a copied home is refused while the first is there, and takes over when that is silent", async () => {
    const fleet = kit.open();
    const [a, copy] = [await fleet.machine(), await fleet.machine()];
    const first = await a.start();
    expect(first.child.exitCode).toBeNull();
    copyFileSync(join(a.cli.home, "machine-id"), join(copy.cli.home, "machine-id"));
    const second = await copy.start();
    await until(() => second.child.exitCode !== null);
    expect(second.child.exitCode).toBe(3);
    expect(second.said.err + second.said.out).toContain("machine id");
    // Ended without a word, the first is taken for dead, and its place may be taken.
    a.end();
    const began = performance.now();
    const third = await copy.start();
    expect(third.child.exitCode).toBeNull();
    console.log(`a machine's next boot worked after ${Math.round(performance.now() - began)} ms`);
    const { rows } = await sql<{ count: string }>`select count(*) from machines`.execute(fleet.db);
    expect(Number(rows[0]?.count)).toBe(1);
  }, 300_000);
});
