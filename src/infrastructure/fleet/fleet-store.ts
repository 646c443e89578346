import { hostname } from "node:os";
import { type Kysely, PostgresAdapter, type RawBuilder, sql } from "kysely";
import type { FleetStore, MachineProcess, ProcessKind } from "../../application/ports/fleet.ts";
import { distinctMachineName } from "../../domain/fleet/machine-label.ts";
import { DEAD_AFTER_MS } from "../../domain/store/store-trouble.ts";
import { databaseClock } from "../store/liveness.ts";
import {
  type Database,
  deleteRows,
  insertRows,
  queryRows,
  type StoreTransaction,
  selectRows,
  updateRows,
  upsertRow,
} from "../store/schema.ts";
import { homeMark, parseWorkspaceName, readMachineId } from "./workspace-name.ts";

type FleetViews = Pick<FleetStore, "machines" | "queues" | "waitingForAway" | "repliesOfAway">;

const MOST_AWAY = 1_000;

/** Facts about all machines, by the database's clock. */
export function createFleetViews(db: Kysely<Database>, clock: () => RawBuilder<number>): FleetViews {
  const isHeardOf = () => sql`beat_at > ${clock()} - ${sql.lit(DEAD_AFTER_MS)}`;
  /** Of machines that are away: a workspace without a machine has no colon in its name. */
  const isOfAway = () => sql`workspace like '%:%'
    and workspace not in (select workspace from machine_processes where ${isHeardOf()})`;

  return {
    async machines() {
      const machines = await selectRows(db, "machines", {}, sql`order by name, id`);
      const isLiving = sql`where ${isHeardOf()} and state <> 'left' order by started_at`;
      const living = await selectRows(db, "machine_processes", {}, isLiving);
      const last = await queryRows<{ machine_id: string; at: number }>(
        db,
        sql`select machine_id, max(beat_at) as at from machine_processes group by machine_id`,
      );
      const heard = new Map(last.map(({ machine_id: id, at }) => [id, Number(at)]));
      return machines.map(({ id, name, seen_at: seenAt }) => {
        const processes = living.filter((row) => row.machine_id === id).map(toProcess);
        const seen = new Date(Math.max(Number(seenAt), heard.get(id) ?? 0));
        return { id, name, here: processes.length > 0, seenAt: seen, processes };
      });
    },
    async queues() {
      const rows = await queryRows<{ workspace: string; state: string; count: number }>(
        db,
        sql`select workspace, state, count(*) as count from messages
          where state in ('received', 'working') group by workspace, state
          union all select workspace, 'reply' as state, count(*) as count from replies
          where state in ('waiting', 'sending') group by workspace`,
      );
      const count = (workspace: string, state: string) =>
        Number(rows.find((row) => row.workspace === workspace && row.state === state)?.count ?? 0);
      return [...new Set(rows.map(({ workspace }) => workspace))].sort().map((workspace) => ({
        ...parseWorkspaceName(workspace),
        waiting: count(workspace, "received"),
        working: count(workspace, "working"),
        replies: count(workspace, "reply"),
      }));
    },
    repliesOfAway: () =>
      queryRows(
        db,
        sql`select distinct workspace, channel, user_id as "userId" from replies
          where state in ('waiting', 'sending') and ${isOfAway()} limit ${MOST_AWAY}`,
      ),
    async waitingForAway(limit) {
      const rows = await queryRows<
        Omit<Awaited<ReturnType<FleetViews["waitingForAway"]>>[number], "machineName">
      >(
        db,
        sql`select distinct workspace, channel, chat_id as "chatId", user_id as "userId" from messages
          where state in ('received', 'working') and ${isOfAway()} and not exists (select 1 from told_away
            where told_away.workspace = messages.workspace and told_away.channel = messages.channel
              and told_away.chat_id = messages.chat_id) limit ${limit}`,
      );
      const machines = await selectRows(db, "machines", {});
      const names = new Map(machines.map((machine) => [machine.id, distinctMachineName(machine, machines)]));
      return rows.flatMap((row) => {
        const machineName = names.get(parseWorkspaceName(row.workspace).machineId ?? "");
        return machineName === undefined ? [] : [{ ...row, machineName }];
      });
    },
  };
}

function toProcess(row: Database["machine_processes"]): MachineProcess {
  return {
    kind: row.kind as ProcessKind,
    root: row.root,
    labels: row.labels === "" ? [] : row.labels.split(","),
    lanes: Number(row.lanes),
    busy: Number(row.busy),
    version: row.version,
    draining: row.state === "drains",
    startedAt: new Date(Number(row.started_at)),
  };
}

export interface FleetStoreDeps {
  readonly db: Kysely<Database>;
  readonly now: () => Date;
  readonly me: ProcessHere;
}

/** This process and the machine it runs on. */
export interface ProcessHere extends Pick<MachineProcess, "kind" | "root" | "labels" | "lanes" | "version"> {
  /** Begins with the place. */
  readonly owner: string;
  readonly machineId: string;
  readonly machineName: string;
  /** The boot and the pid namespace. */
  readonly place: string;
  /** The place and the home. */
  readonly incarnation: string;
  /** The workspace as the store names it, and its path. */
  readonly workspace: string;
}

/** Instead of the time at which a machine was heard of last. */
const LEFT = 0;
const FORGET_PROCESS_MS = 24 * 3_600_000;
const BEATS_TO_FORGET = 100;

export function createFleetStore({ db, now, me }: FleetStoreDeps): FleetStore {
  const clock = databaseClock(db, now);
  /** Processes of such a name that were heard of lately. */
  const livesAs = (owner: string) =>
    sql`and owner like ${owner} and state <> 'left' and beat_at > ${clock()} - ${sql.lit(DEAD_AFTER_MS)}`;
  const { machineId, machineName: name, place, incarnation, workspace } = me;
  const beats = { count: 0 };
  const isShared = db.getExecutor().adapter instanceof PostgresAdapter;

  return {
    ...createFleetViews(db, clock),
    enter: (unlessSeenSince) =>
      db.transaction().execute(async (within) => {
        await upsertRow(
          within,
          "machines",
          { id: machineId, name, incarnation, seen_at: clock() },
          ["id"],
          [],
        );
        type Machine = Database["machines"] & { now: number };
        const asked = sql`select *, ${clock()} as now from machines where id = ${machineId}`;
        const [row] = (await queryRows<Machine>(within, asked)) as [Machine];
        const seenAt = Number(row.seen_at);
        // During an outage of a shared store no machine could report; the embedded store has no outages.
        const gone = isShared ? LEFT : Number(row.now) - DEAD_AFTER_MS;
        const dead = seenAt <= (unlessSeenSince ?? gone);
        if (row.incarnation !== incarnation && !dead) return { status: "taken", name: row.name, seenAt };
        // Another process was faster and has set another time.
        const known = { id: machineId, incarnation: row.incarnation, seen_at: row.seen_at };
        const taken = await updateRows(within, "machines", known, { name, incarnation, seen_at: clock() });
        if (row.incarnation === incarnation) return { status: "entered" };
        if (taken === 0) return { status: "taken", name: row.name, seenAt };
        // Those of the one before are not waited for when this one leaves.
        await updateRows(within, "machine_processes", { machine_id: machineId }, { state: "left", busy: 0 });
        return { status: "entered" };
      }),
    async beat({ busy, draining, lacking = [] }) {
      const machine = { id: machineId, incarnation };
      if ((await updateRows(db, "machines", machine, { seen_at: clock() })) === 0) return "replaced";
      const labels = me.labels.filter((label) => !lacking.includes(label)).join(",");
      const changing = { busy, labels, state: draining ? "drains" : "works", beat_at: clock() };
      const row = { ...processRow(me), started_at: clock(), ...changing };
      await upsertRow(db, "machine_processes", row, ["owner"], ["busy", "labels", "state", "beat_at"]);
      beats.count += 1;
      if (beats.count % BEATS_TO_FORGET === 1) {
        const isOver = sql`where beat_at < ${clock()} - ${sql.lit(FORGET_PROCESS_MS)}`;
        await deleteRows(db, "machine_processes", {}, isOver);
      }
      return "held";
    },
    async leave() {
      const left = { state: "left", busy: 0, beat_at: clock() };
      await updateRows(db, "machine_processes", { owner: me.owner }, left);
      // The machine's next incarnation need not wait for this one to be silent, unless others of it still run.
      const isLast = sql`and not exists (select 1 from machine_processes
        where machine_id = ${machineId} ${livesAs(`${place} %`)})`;
      await updateRows(db, "machines", { id: machineId, incarnation }, { seen_at: LEFT }, isLast);
    },
    serves: async (pid) =>
      (await selectRows(db, "machine_processes", { machine_id: machineId }, livesAs(`${place} ${pid} %`)))
        .length > 0,
    async noteAwayNotice({ channel, chatId, userId, ...chat }, within) {
      const row = { workspace: chat.workspace, channel, chat_id: chatId, user_id: userId };
      const once = sql`on conflict do nothing`;
      return (await insertRows(within as StoreTransaction, "told_away", [row], once)) > 0;
    },
    async listAwayNotices() {
      const rows = await selectRows(db, "told_away", { workspace });
      return rows.map(({ channel, chat_id: chatId, user_id: userId }) => ({
        workspace,
        channel,
        chatId,
        userId,
        machineName: name,
      }));
    },
    async forgetAwayNotices(chat, within) {
      const noted = { workspace: chat.workspace, channel: chat.channel, chat_id: chat.chatId };
      return (await deleteRows(within as StoreTransaction, "told_away", noted)) > 0;
    },
  };
}

function processRow({ owner, machineId, kind, workspace, root, labels, lanes, version }: ProcessHere) {
  return { owner, machine_id: machineId, kind, workspace, root, labels: labels.join(","), lanes, version };
}

export interface FleetHere
  extends Omit<ProcessHere, "machineId" | "machineName" | "incarnation" | "workspace"> {
  readonly db: Kysely<Database>;
  readonly home: string;
  readonly workspaceName: string;
  readonly now: () => Date;
}

/** This process in the fleet: one machine where the store is embedded. */
export function openFleet({ db, home, workspaceName: workspace, now, ...here }: FleetHere): FleetStore {
  // The first to ask for the id makes the home.
  const machineId = readMachineId(home);
  const machine = { machineId, machineName: hostname(), incarnation: `${here.place} ${homeMark(home)}` };
  return createFleetStore({ db, now, me: { ...here, ...machine, workspace } });
}
