/** Orders between machines, reported jobs, and replies of absent machines: on a real Postgres. */
import { describe, expect, test } from "bun:test";
import { type Kysely, sql } from "kysely";
import { reportedWorks } from "../../../src/application/fleet/control.ts";
import { createOrderGiver, serveOrders } from "../../../src/application/fleet/machine-orders.ts";
import { createAwayReplies } from "../../../src/application/fleet/machine-presence.ts";
import type { OwnJobs } from "../../../src/application/fleet/viewer-jobs.ts";
import type { ControlOrder } from "../../../src/application/ports/fleet.ts";
import type { Viewer } from "../../../src/application/serve/access.ts";
import { createReplySender } from "../../../src/application/serve/send-replies.ts";
import { createBus } from "../../../src/application/serve/serve-events.ts";
import { createWorkKeeper } from "../../../src/application/serve/take-work.ts";
import { createFleetJobs } from "../../../src/infrastructure/fleet/fleet-jobs.ts";
import { createFleetStore } from "../../../src/infrastructure/fleet/fleet-store.ts";
import { createControlOrders } from "../../../src/infrastructure/fleet/order-store.ts";
import { createSortedIds } from "../../../src/infrastructure/platform/hash.ts";
import { timers } from "../../../src/infrastructure/platform/timers.ts";
import { createAccessStore } from "../../../src/infrastructure/serve/access-store.ts";
import { workspaceQueues } from "../../../src/infrastructure/serve/work-places.ts";
import type { Database } from "../../../src/infrastructure/store/schema.ts";
import { createFakeChannel, inbound } from "../../fakes/channel.ts";
import { requirePart } from "../../require.ts";
import { storedJob } from "../store/jobs-kit.ts";
import { newMessage, openMessages } from "../store/open-messages.ts";
import { useFleetDatabases } from "./fleet-databases.ts";

const { now } = timers;
const newId = createSortedIds(now);
const JOB = "job_1700000000_aaaaaaaa";
const onTrouble = (error: unknown) => {
  throw error;
};

describe.if(requirePart("postgres"))("a fleet on Postgres", () => {
  const { closing, open } = useFleetDatabases();

  async function machine(
    { db, url }: { readonly db: Kysely<Database>; readonly url: string },
    name: string,
    isGone: (owner: string) => boolean = () => false,
    pid = 1,
  ) {
    const machineId = name.repeat(32);
    const workspace = `${machineId}:/ws`;
    const owner = `boot-${name} ${pid} a.1`;
    const messages = await openMessages({ db, databaseUrl: url, now, workspace, owner, isGone });
    closing.push(() => messages.queue.close());
    const { queue } = messages;
    const place = { machineId, machineName: `host-${name}` };
    const me = { owner, ...place, incarnation: `boot-${name}`, kind: "serve" as const, workspace };
    const fleet = createFleetStore({
      db,
      now,
      me: { ...me, place: me.incarnation, root: "/ws", labels: [], lanes: 1, version: "1" },
    });
    const keeper = createWorkKeeper({ queue, timers, onTrouble });
    const orders = createControlOrders({
      db,
      queue,
      now,
      workspace,
      queueOf: (name) => workspaceQueues(name).control,
    });
    const jobs = createFleetJobs({ db, now, workspace, ...place });
    return { ...messages, fleet, keeper, orders, jobs, workspace };
  }

  /** One that has as much time as a crowded machine needs. */
  const giverOf = ({ orders, queue }: Awaited<ReturnType<typeof machine>>) =>
    createOrderGiver({ orders, queue, newId, timers, onTrouble, limitMs: 50_000 });

  const orderTo = (workspace: string, more: Partial<ControlOrder> = {}): ControlOrder => ({
    id: newId(),
    workspace,
    jobId: JOB,
    verb: "undo",
    asker: { channel: "web", userId: "alice", role: "operator" },
    ...more,
  });

  test("a record that another machine wrote in another shape is listed as one that cannot be read, and hides no other", async () => {
    const store = open();
    const near = await machine(store, "a");
    const far = await machine(store, "b");
    const [odd, sound] = [storedJob(1), storedJob(2)];
    for (const job of [odd, sound]) await far.jobs.write({ job, alive: false, events: [], tail: "" });
    const put = (changed: Partial<Record<"record" | "events", string>>) =>
      store.db.updateTable("fleet_jobs").set(changed).where("job_id", "=", odd.jobId).execute();
    const shapes: unknown[] = [null, {}, [], 5, "text", { ...odd, jobId: sound.jobId }];
    for (const member of ["changes", "notes", "title", "createdAt", "groupId"] as const)
      for (const value of [null, -1, {}, [null], [5], [{}], [{ path: null, kind: "added" }]])
        shapes.push({ ...odd, [member]: value });
    for (const record of ["", "no JSON", ...shapes.map((shape) => JSON.stringify(shape))]) {
      await put({ record });
      const listed = await near.jobs.others({ limit: 10 });
      expect(listed.map(({ job }) => job.jobId)).toEqual([odd.jobId, sound.jobId]);
      expect(listed[0]?.job).toMatchObject({ damaged: "fleet_jobs.record", changes: [], notes: [] });
      expect(listed[1]?.job).toEqual(sound);
      expect((await near.jobs.read(odd.jobId))?.job.damaged).toBe("fleet_jobs.record");
    }
    const line = { at: "2026-01-01T00:00:00.000Z", event: { type: "committed", changes: 1 } } as const;
    for (const events of ["", "no JSON", "null", "{}", JSON.stringify([5, null, {}, { at: 1 }, line])]) {
      await put({ record: JSON.stringify(odd), events });
      const read = await near.jobs.read(odd.jobId);
      expect(read?.job).toEqual(odd);
      expect(read?.events).toEqual(events.includes("committed") ? [line] : []);
    }
  });

  test("an order is carried out once, and never when it is withdrawn, too late, or begun by a process that died", async () => {
    const store = open();
    const near = await machine(store, "a");
    const far = await machine(store, "b");
    const gone = new Set<string>();
    const other = await machine(store, "b", (owner) => gone.has(owner), 2);
    const [once, withdrawn, late, cut] = [1, 2, 3, 4].map((n) =>
      orderTo(far.workspace, { jobId: `job_170000000${n}_aaaaaaaa` }),
    ) as [ControlOrder, ControlOrder, ControlOrder, ControlOrder];
    // The same order twice is one.
    for (const order of [once, once, withdrawn, late]) await near.orders.place(order, 60_000);
    expect(await near.orders.withdraw(withdrawn.id)).toBe(true);
    await sql`update control_orders set deadline_at = deadline_at - 70000 where id = ${late.id}`.execute(
      store.db,
    );
    const taken = await far.orders.take();
    expect(taken?.order).toEqual({ ...once, force: false });
    expect(await far.orders.take()).toBeNull();
    expect(await near.orders.withdraw(once.id)).toBe(false);
    // No piece is above 64 KiB, and none ends within a character.
    const long = JSON.stringify("🦀é".repeat(60_000));
    expect(await far.orders.answer(taken!.work, long)).toBe("done");
    const { rows } = await sql<{
      bytes: number;
    }>`select octet_length(body) as bytes from order_answers`.execute(store.db);
    expect(rows.every(({ bytes }) => bytes <= 65_536)).toBe(true);
    expect(await near.orders.collect(once.id)).toBe(long);
    expect(await far.orders.answer(taken!.work, "late")).toBe("lost");

    await near.orders.place(cut, 60_000);
    expect((await far.orders.take())?.order.id).toBe(cut.id);
    gone.add("boot-b 1 a.1");
    await other.queue.beat();
    expect(await other.orders.take()).toBeNull();
    expect(await near.orders.look([withdrawn.id, late.id, cut.id])).toEqual(
      new Map([
        [withdrawn.id, "withdrawn"],
        [late.id, "waiting"],
        [cut.id, "cut-off"],
      ]),
    );
  }, 300_000);

  test("a caller that waits for an order learns when the machine that took it leaves", async () => {
    const store = open();
    const [near, far] = [await machine(store, "a"), await machine(store, "b")];
    await far.fleet.enter();
    await far.fleet.beat({ busy: 0, draining: false });
    const { id: _, ...order } = orderTo(far.workspace);
    const given = giverOf(near).give({ ...order, verb: "undo" });
    while ((await far.orders.take()) === null) await Bun.sleep(20);
    await sql`update machine_processes set beat_at = beat_at - 20000`.execute(store.db);
    expect(await given).toEqual({ status: "gone" });
  }, 300_000);

  test("the process that serves an order asks the store for its sender's rights", async () => {
    const store = open();
    const [near, far] = [await machine(store, "a"), await machine(store, "b")];
    const access = await createAccessStore(store.db, now);
    const asked: Viewer[] = [];
    const jobs = {
      output: async () => "all of it",
      read: async (viewer: Viewer) => {
        asked.push(viewer);
        return null;
      },
    } as unknown as OwnJobs;
    const { orders, keeper } = far;
    const runsElsewhere = async () => false;
    const tell = async () => {};
    const parts = { orders, jobs, access, runsElsewhere, tell, keeper, timers, onTrouble };
    const serving = serveOrders(parts);
    closing.push(serving.stop);
    far.queue.onWork(serving.look);
    const giver = giverOf(near);
    const { id: _, ...order } = orderTo(far.workspace, { verb: "output" });
    const give = (asker = order.asker) => giver.give({ ...order, asker, verb: "output" });
    expect(await give()).toEqual({ status: "answered", answer: "" });
    await access.saveSession({
      hash: "h",
      userId: "alice",
      role: "operator",
      csrf: "c",
      createdAt: now().toISOString(),
      expiresAt: new Date(now().getTime() + 600_000).toISOString(),
    });
    await give();
    const viewers = () => asked.splice(0).map(({ userId, role }) => `${userId} ${role}`);
    expect(viewers()).toEqual([" user", "alice operator"]);
    // In a chat: while a message of theirs is being answered, and never more than a chat may.
    const speaker = { channel: "test", userId: "user-1", role: "user" } as const;
    await near.store.addAll([newMessage(inbound(1), "msg_1", now().toISOString())]);
    await give(speaker);
    expect(await near.store.claimMessage({})).not.toBeNull();
    for (const asker of [
      speaker,
      { ...speaker, role: "operator" as const },
      { ...speaker, userId: "user-2" },
    ])
      await give(asker);
    expect(viewers()).toEqual([" user", "user-1 user", " user", " user"]);
  }, 300_000);

  test("a job is ended by the server that carries it out, whichever of its machine takes the order", async () => {
    const store = open();
    const near = await machine(store, "a");
    const servers = [await machine(store, "b", undefined, 1), await machine(store, "b", undefined, 2)];
    const access = await createAccessStore(store.db, now);
    const ended: number[] = [];
    for (const [n, { orders, queue, keeper }] of servers.entries()) {
      const jobs = {
        act: async (_viewer: unknown, verb: string) => {
          if (verb === "stop") ended.push(n);
          return { code: "done" };
        },
      } as unknown as OwnJobs;
      const runsElsewhere = async () => n === 0;
      const tell = async () => {};
      const serving = serveOrders({ orders, jobs, access, runsElsewhere, tell, keeper, timers, onTrouble });
      closing.push(serving.stop);
      queue.onWork(serving.look);
    }
    const giver = giverOf(near);
    for (let n = 0; n < 4; n += 1) {
      const { id: _, ...order } = orderTo(servers[0]!.workspace);
      expect(await giver.give({ ...order, verb: "stop" })).toMatchObject({ status: "answered" });
    }
    expect(ended).toEqual([1, 1, 1, 1]);
  }, 300_000);

  test("a chat's card shows the command and the last lines of a job that another process runs for its message", async () => {
    const store = open();
    const here = await machine(store, "a", undefined, 1);
    const elsewhere = await machine(store, "a", undefined, 2);
    const at = now().toISOString();
    const owner = { channel: "web", userId: "alice", messageId: "msg_1", at };
    const command = { type: "shell_command", action: "run", target: "make\nall", content: "" } as const;
    const started = { at, event: { type: "command_started" as const, index: 0, command } };
    const finished = (index: number) => ({ at, event: { type: "command_finished", index } as never });
    const job = storedJob(1, { state: "running" });
    await elsewhere.store.noteJob({ ...owner, jobId: job.jobId });
    const look = async () => (await reportedWorks(here.jobs, ["msg_1", "msg_2"])).get("msg_1");
    expect(await look()).toBeUndefined();
    await elsewhere.jobs.write({ job, alive: true, events: [started], tail: "one\ntwo\n" });
    expect(await look()).toMatchObject({
      trail: [{ kind: "run", detail: "make …", state: "runs" }],
      lines: "one\ntwo\n",
      event: { type: "job-started", jobId: job.jobId },
    });
    await elsewhere.jobs.write({ job, alive: true, events: [started, finished(0)], tail: "one\ntwo\n" });
    expect(await look()).toMatchObject({ trail: [], lines: "" });
    await elsewhere.jobs.write({ job, changeCount: 3_412, alive: false, events: [], tail: "" });
    expect(await look()).toBeUndefined();
    expect(await here.jobs.read(job.jobId)).toMatchObject({ job, changeCount: 3_412 });
  }, 300_000);

  test("a reply of a machine that is away is sent by one that reaches its channel, and no other reply is", async () => {
    const store = open();
    const [near, far] = [await machine(store, "a"), await machine(store, "b")];
    const load = { busy: 0, draining: false };
    for (const { fleet } of [near, far]) {
      await fleet.enter();
      await fleet.beat(load);
    }
    const post = (channel: string, text: string) =>
      far.store.post({
        key: crypto.randomUUID(),
        messageId: null,
        channel,
        chatId: "c",
        userId: "u",
        content: { kind: "notice", text },
        since: now().toISOString(),
        at: now().toISOString(),
      });
    await post("elsewhere", "nobody here speaks there");
    await post("test", "at last");
    const { channel, shown } = createFakeChannel();
    const sent = Promise.withResolvers<void>();
    const bus = createBus();
    bus.subscribe(({ type }) => type === "delivered" && sent.resolve());
    const away = createAwayReplies({
      fleet: near.fleet,
      reaches: (name) => name === "test",
      onFound: () => sending.look(),
      timers,
      onTrouble,
    });
    const sending = createReplySender({
      mask: (text) => text,
      store: near.store,
      channel: (name) => (name === "test" ? channel : undefined),
      present: (reply) => reply,
      away: away.list,
      bus,
      keeper: near.keeper,
      timers,
      chance: () => 0.5,
      onTrouble,
    });
    await away.look();
    expect(away.list()).toEqual([]);
    await sql`update machine_processes set beat_at = beat_at - 20000 where machine_id = ${"b".repeat(32)}`.execute(
      store.db,
    );
    await away.look();
    await sent.promise;
    await sending.stop(0);
    expect(shown.map(({ text }) => text)).toEqual(["at last"]);
    const left = await store.db.selectFrom("replies").select(["channel", "state", "attempts"]).execute();
    expect(left.toSorted((x, y) => (x.channel < y.channel ? -1 : 1))).toEqual([
      { channel: "elsewhere", state: "waiting", attempts: 0 },
      { channel: "test", state: "sent", attempts: 1 },
    ]);
  }, 300_000);
});
