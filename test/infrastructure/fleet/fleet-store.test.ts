/** Machines that share a store: which are present, their ids, and which chats learn that a machine is absent. */

import { describe, expect, test } from "bun:test";
import { cpSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { type Kysely, sql } from "kysely";
import { createWaitingNotifier, enterFleet } from "../../../src/application/fleet/machine-presence.ts";
import type { Timers } from "../../../src/application/ports/platform.ts";
import { serveMessagesFor } from "../../../src/domain/texts/serve.ts";
import { createFleetStore, openFleet } from "../../../src/infrastructure/fleet/fleet-store.ts";
import { readMachineId } from "../../../src/infrastructure/fleet/workspace-name.ts";
import { createOwnerNames } from "../../../src/infrastructure/platform/process-table.ts";
import { type Database, migrate } from "../../../src/infrastructure/store/schema.ts";
import { inbound } from "../../fakes/channel.ts";
import { requirePart } from "../../require.ts";
import { newMessage, openMessages } from "../store/open-messages.ts";
import { useFleetDatabases } from "./fleet-databases.ts";

const now = () => new Date();
/** Steps take no time. */
const timers: Timers = {
  now,
  after: (_, run) => {
    queueMicrotask(run);
    return () => {};
  },
};
const idle = { busy: 0, draining: false };

describe("the machine's id", () => {
  test("is made once, however many ask, and stays", () => {
    const home = mkdtempSync(join(tmpdir(), "picoclaw-home-"));
    try {
      const ids = new Set(Array.from({ length: 5 }, () => readMachineId(home)));
      expect([...ids]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});

describe.if(requirePart("postgres"))("a fleet on Postgres", () => {
  const { closing, open } = useFleetDatabases();

  async function machine(db: Kysely<Database>, url: string, name: string, incarnation = `boot of ${name}`) {
    const machineId = name.repeat(32).slice(0, 32);
    const workspace = `${machineId}:/ws`;
    const owner = `${incarnation} 1 a.1`;
    const messages = await openMessages({ db, databaseUrl: url, now, workspace, owner });
    closing.push(() => messages.queue.close());
    const labels = ["docker"];
    const fleet = createFleetStore({
      db,
      now,
      me: {
        owner,
        machineId,
        machineName: `host-${name}`,
        place: incarnation,
        incarnation,
        kind: "serve",
        workspace,
        root: "/ws",
        labels,
        lanes: 4,
        version: "1",
      },
    });
    const teller = createWaitingNotifier({
      fleet,
      store: messages.store,
      reaches: (channel) => channel === "test",
      words: () => serveMessagesFor("en"),
      uuid: () => crypto.randomUUID(),
      timers,
      onTrouble: () => {},
    });
    return { ...messages, fleet, teller, workspace };
  }

  const silent = (db: Kysely<Database>, name: string) =>
    Promise.all([
      sql`update machine_processes set beat_at = beat_at - 20000 where machine_id = ${name.repeat(32)}`.execute(
        db,
      ),
      sql`update machines set seen_at = seen_at - 20000 where id = ${name.repeat(32)}`.execute(db),
    ]);

  test("a second incarnation is refused while the first is heard of, and takes over when it is silent", async () => {
    const { db, url } = open();
    const first = await machine(db, url, "a", "boot 1");
    const second = await machine(db, url, "a", "boot 2");
    expect(await enterFleet(first.fleet, timers)).toBeNull();
    const beating = {
      enter: async (since?: number) => {
        await first.fleet.beat(idle);
        return second.fleet.enter(since);
      },
    };
    expect(await enterFleet(beating, timers)).toEqual({ takenBy: "host-a" });
    expect(await first.fleet.beat(idle)).toBe("held");
    // One that says nothing any more is taken for dead.
    expect(await enterFleet(second.fleet, timers)).toBeNull();
    expect(await first.fleet.beat(idle)).toBe("replaced");
    expect(await second.fleet.beat(idle)).toBe("held");
    // One that left is not waited for.
    await second.fleet.leave();
    expect(await first.fleet.enter()).toEqual({ status: "entered" });
  });

  test("one that an outage kept from beating is watched before its id is taken", async () => {
    const { db, url } = open();
    const first = await machine(db, url, "a", "boot 1");
    const copy = await machine(db, url, "a", "boot 2");
    expect(await enterFleet(first.fleet, timers)).toBeNull();
    await silent(db, "a");
    const looks = { count: 0 };
    const beatingAgain = {
      enter: async (since?: number) => {
        looks.count += 1;
        // The database is back: the copy comes first, and the living one is heard of after that.
        if (looks.count === 2) await first.fleet.beat(idle);
        return copy.fleet.enter(since);
      },
    };
    expect(await enterFleet(beatingAgain, timers)).toEqual({ takenBy: "host-a" });
    expect(await first.fleet.beat(idle)).toBe("held");
    await silent(db, "a");
    expect(await enterFleet(copy.fleet, timers)).toBeNull();
    expect(await first.fleet.beat(idle)).toBe("replaced");
  });

  test("a copied home of the same boot is refused while the first is heard of; one that was moved is the same", async () => {
    const { db } = open();
    await migrate(db, now);
    const folder = mkdtempSync(join(tmpdir(), "picoclaw-homes-"));
    closing.push(async () => rmSync(folder, { recursive: true }));
    const [first, copy, moved] = ["first", "copy", "moved"].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    const owners = createOwnerNames(process.pid);
    const fleetOf = (home: string) =>
      openFleet({
        db,
        home,
        place: owners.place,
        owner: owners.next(),
        workspaceName: "ws",
        root: "/ws",
        kind: "join",
        labels: [],
        lanes: 1,
        version: "1.0.0",
        now,
      });
    const one = fleetOf(first);
    expect(await enterFleet(one, timers)).toBeNull();
    cpSync(first, copy, { recursive: true });
    const beating = {
      enter: async (since?: number) => {
        await one.beat(idle);
        return fleetOf(copy).enter(since);
      },
    };
    expect(await enterFleet(beating, timers)).toEqual({ takenBy: hostname() });
    expect(await enterFleet(fleetOf(first), timers)).toBeNull();
    renameSync(first, moved);
    expect(await fleetOf(moved).enter()).toEqual({ status: "entered" });
    expect(await one.beat(idle)).toBe("held");
    // When the first is silent, the copy is where its home is now.
    const next = fleetOf(copy);
    expect(await enterFleet(next, timers)).toBeNull();
    expect([await one.beat(idle), await next.beat(idle)]).toEqual(["replaced", "held"]);
    // One that left is not waited for, though processes of the other home were heard of just now.
    await next.leave();
    expect(await fleetOf(moved).enter()).toEqual({ status: "entered" });
  });

  test("processes of one boot share their machine, and the fleet lists machines with what they do", async () => {
    const { db, url } = open();
    const [a, b] = [await machine(db, url, "a"), await machine(db, url, "b")];
    for (const one of [a, b]) await enterFleet(one.fleet, timers);
    await a.fleet.beat({ busy: 3, draining: false });
    await b.fleet.beat({ busy: 0, draining: true });
    await silent(db, "b");
    const [one, two] = await a.fleet.machines();
    expect(one).toMatchObject({ name: "host-a", here: true });
    expect(one?.processes).toMatchObject([
      { kind: "serve", root: "/ws", labels: ["docker"], lanes: 4, busy: 3 },
    ]);
    expect(two).toMatchObject({ name: "host-b", here: false, processes: [] });
  });

  test("a message waits for the machine that holds its workspace; its chat is informed once, and again when it is back", async () => {
    const { db, url } = open();
    const [a, b] = [await machine(db, url, "a"), await machine(db, url, "b")];
    for (const { fleet } of [a, b]) {
      await enterFleet(fleet, timers);
      await fleet.beat(idle);
    }
    const at = now().toISOString();
    const stored = [1, 2].map((n) => newMessage(inbound(n), `msg_${n}`, at));
    await a.store.addAll(stored);
    expect(await b.store.claimMessage({})).toBeNull();
    await b.teller.tellAway();
    expect(await b.store.claimReply()).toBeNull();
    await silent(db, "a");
    await b.teller.tellAway();
    await b.teller.tellAway();
    const told = await b.store.claimReply();
    expect(told?.reply).toMatchObject({ chatId: "chat-1", content: { kind: "notice" } });
    expect(JSON.stringify(told?.reply.content)).toContain("host-a");
    if (told !== null) await b.store.endReply(told.work, { state: "sent", at, reason: null });
    expect(await b.store.claimReply()).toBeNull();
    expect(await b.store.claimMessage({})).toBeNull();
    expect(await b.fleet.queues()).toEqual([
      { machineId: "a".repeat(32), root: "/ws", waiting: 2, working: 0, replies: 0 },
    ]);
    await a.fleet.beat(idle);
    await a.teller.tellBack();
    await a.teller.tellBack();
    const back = await a.store.claimReply();
    expect(JSON.stringify(back?.reply.content)).toContain("back");
    if (back !== null) await a.store.endReply(back.work, { state: "sent", at, reason: null });
    expect(await a.store.claimReply()).toBeNull();
    expect((await a.store.claimMessage({}))?.message.id).toBe("msg_1");
  });
});
