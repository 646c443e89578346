import type { Kysely, RawBuilder } from "kysely";
import type { FleetStore, MachineProcess, ProcessKind } from "../../application/ports/fleet.ts";
import { DEAD_AFTER_MS } from "../../application/ports/work-queue.ts";
import { distinctMachineName } from "../../domain/fleet/machine-label.ts";
import type { ProcessRow } from "../store/fleet-tables.ts";
import type { Database } from "../store/schema.ts";
import { parseWorkspaceName } from "./workspace-name.ts";

type FleetViews = Pick<FleetStore, "machines" | "queues" | "waitingForAway" | "repliesOfAway">;

const MOST_AWAY = 1_000;

/** What is known of all machines, by the database's clock. */
export function createFleetViews(db: Kysely<Database>, clock: () => RawBuilder<number>): FleetViews {
  const heardOf = () =>
    db.selectFrom("machine_processes").where("beat_at", ">", (is) => is(clock(), "-", DEAD_AFTER_MS));

  return {
    async machines() {
      const machines = await db.selectFrom("machines").selectAll().orderBy("name").orderBy("id").execute();
      const living = await heardOf().selectAll().where("state", "!=", "left").orderBy("started_at").execute();
      const last = await db
        .selectFrom("machine_processes")
        .select(({ fn }) => ["machine_id", fn.max("beat_at").as("at")])
        .groupBy("machine_id")
        .execute();
      const heard = new Map(last.map(({ machine_id: id, at }) => [id, Number(at)]));
      return machines.map(({ id, name, seen_at: seenAt }) => {
        const processes = living.filter((row) => row.machine_id === id).map(toProcess);
        const seen = new Date(Math.max(Number(seenAt), heard.get(id) ?? 0));
        return { id, name, here: processes.length > 0, seenAt: seen, processes };
      });
    },
    async queues() {
      const messages = await db
        .selectFrom("messages")
        .select(({ fn }) => ["workspace", "state", fn.countAll<number>().as("count")])
        .where("state", "in", ["received", "working"])
        .groupBy(["workspace", "state"])
        .execute();
      const replies = await db
        .selectFrom("replies")
        .select(({ fn }) => ["workspace", fn.countAll<number>().as("count")])
        .where("state", "in", ["waiting", "sending"])
        .groupBy("workspace")
        .execute();
      const count = (rows: readonly { workspace: string; count: number }[], workspace: string) =>
        rows.filter((row) => row.workspace === workspace).reduce((sum, row) => sum + Number(row.count), 0);
      const workspaces = new Set([...messages, ...replies].map(({ workspace }) => workspace));
      return [...workspaces].sort().map((workspace) => ({
        ...parseWorkspaceName(workspace),
        waiting: count(
          messages.filter(({ state }) => state === "received"),
          workspace,
        ),
        working: count(
          messages.filter(({ state }) => state === "working"),
          workspace,
        ),
        replies: count(replies, workspace),
      }));
    },
    repliesOfAway: () =>
      db
        .selectFrom("replies")
        .select(["workspace", "channel", "user_id as userId"])
        .distinct()
        .where("state", "in", ["waiting", "sending"])
        .where("workspace", "like", "%:%")
        .where("workspace", "not in", heardOf().select("workspace"))
        .limit(MOST_AWAY)
        .execute(),
    async waitingForAway(limit) {
      const rows = await db
        .selectFrom("messages")
        .select(["workspace", "channel", "chat_id as chatId", "user_id as userId"])
        .distinct()
        .where("state", "in", ["received", "working"])
        .where("workspace", "like", "%:%")
        .where("workspace", "not in", heardOf().select("workspace"))
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("told_away")
                .select("told_away.chat_id")
                .whereRef("told_away.workspace", "=", "messages.workspace")
                .whereRef("told_away.channel", "=", "messages.channel")
                .whereRef("told_away.chat_id", "=", "messages.chat_id"),
            ),
          ),
        )
        .limit(limit)
        .execute();
      const machines = await db.selectFrom("machines").select(["id", "name"]).execute();
      const names = new Map(machines.map((machine) => [machine.id, distinctMachineName(machine, machines)]));
      return rows.flatMap((row) => {
        const machineName = names.get(parseWorkspaceName(row.workspace).machineId ?? "");
        return machineName === undefined ? [] : [{ ...row, machineName }];
      });
    },
  };
}

function toProcess(row: ProcessRow): MachineProcess {
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
