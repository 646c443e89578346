import { mkdirSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { createOrderGiver } from "../src/application/fleet/machine-orders.ts";
import { createControlOrders } from "../src/infrastructure/fleet/order-store.ts";
import { readMachineId } from "../src/infrastructure/fleet/workspace-name.ts";
import { createSortedIds } from "../src/infrastructure/platform/hash.ts";
import { timers } from "../src/infrastructure/platform/timers.ts";
import { createAccessStore } from "../src/infrastructure/serve/access-store.ts";
import { workspaceQueues } from "../src/infrastructure/serve/work-places.ts";
import { openPostgres } from "../src/infrastructure/store/postgres.ts";
import { create, createCli, jobIdIn, until } from "../test/e2e/cli-kit.ts";
import { openMessages } from "../test/infrastructure/store/open-messages.ts";
import type { Row } from "./measure.ts";

const ORDERS = 300;
const TARGET_MS = 200;
const { now } = timers;
const newId = createSortedIds(now);

/** Orders of this process to a `join` of another machine, one after the other: from asking to the answer in hand. */
export async function orderRows(url: string): Promise<Row[]> {
  const cli = createCli();
  const db = openPostgres(url);
  const closing: (() => unknown)[] = [() => cli.remove(), () => db.destroy()];
  try {
    mkdirSync(cli.home, { recursive: true });
    writeFileSync(join(cli.home, "config.yaml"), `database_url: "${url}"\n`);
    const jobId = jobIdIn(cli.apply([create("a.txt", "a line\n".repeat(100))]).out);
    const child = cli.start(["join", "--json"]);
    closing.push(() => void child.kill("SIGKILL"));
    let out = "";
    child.stdout?.on("data", (data) => {
      out += String(data);
    });
    child.stderr?.resume();
    await until(() => out.includes("\n"), 60_000);
    const workspace = `${"f".repeat(32)}:/near`;
    const { queue } = await openMessages({ db, databaseUrl: url, now, workspace, owner: "bench" });
    closing.push(() => queue.close());
    await signIn(db);
    const queueOf = (name: string) => workspaceQueues(name).control;
    const orders = createControlOrders({ db, queue, now, workspace, queueOf });
    const giver = createOrderGiver({ orders, queue, newId, timers, onTrouble: () => {} });
    const far = `${readMachineId(cli.home)}:${cli.workspace}`;
    const asker = { channel: "web", userId: "bench", role: "operator" } as const;
    const took: number[] = [];
    for (let n = 0; n < ORDERS + 20; n += 1) {
      const began = performance.now();
      const given = await giver.give({ workspace: far, jobId, verb: n % 2 === 0 ? "show" : "diff", asker });
      if (given.status !== "answered") throw new Error(`an order was ${given.status}`);
      // Compiling and opening for the first ones is not counted.
      if (n >= 20) took.push(performance.now() - began);
    }
    took.sort((x, y) => x - y);
    const at = (share: number) => (took[Math.floor(took.length * share)] ?? 0).toFixed(1);
    const name = `an order to another process, p50 / p99 of ${ORDERS} (load ${(loadavg()[0] ?? 0).toFixed(0)})`;
    return [
      {
        name,
        figure: `${at(0.5)} / ${at(0.99)} ms`,
        target: `p99 ${TARGET_MS} ms`,
        ok: Number(at(0.99)) <= TARGET_MS,
      },
    ];
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

async function signIn(db: ReturnType<typeof openPostgres>): Promise<void> {
  const access = await createAccessStore(db, now);
  const expiresAt = new Date(now().getTime() + 3_600_000).toISOString();
  const session = { hash: "bench", userId: "bench", role: "operator", csrf: "" } as const;
  await access.saveSession({ ...session, createdAt: now().toISOString(), expiresAt });
}
