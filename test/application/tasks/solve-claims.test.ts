import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Kysely, sql } from "kysely";
import type { ClaimedTask, SolveTask } from "../../../src/application/ports/tasks.ts";
import { takeInTask } from "../../../src/application/tasks/intake.ts";
import { timers } from "../../../src/infrastructure/platform/timers.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { openPostgres } from "../../../src/infrastructure/store/postgres.ts";
import type { Database } from "../../../src/infrastructure/store/schema.ts";
import { type PostgresServer, startPostgres } from "../../infrastructure/store/postgres-server.ts";
import { requirePart } from "../../require.ts";
import { openTasks, type TaskProcess } from "./solve-store-kit.ts";

function describeClaims(name: string, open: () => Kysely<Database>, url: () => string | undefined): void {
  describe(`tasks as work of the queue: ${name}`, () => {
    let db: Kysely<Database>;
    const opened: TaskProcess[] = [];
    let count = 0;
    const start = async (owner: string, gone: readonly string[] = []) => {
      const process = await openTasks(db, { owner, gone, databaseUrl: url() });
      opened.push(process);
      return process;
    };
    beforeAll(() => {
      db = open();
    });
    afterAll(async () => {
      for (const { queue } of opened) await queue.close();
      await db.destroy();
    });

    const ask = async ({ store }: TaskProcess, trigger: SolveTask["trigger"] = "label") => {
      count += 1;
      const { task } = await takeInTask(
        { store, now: timers.now, uuid: () => crypto.randomUUID() },
        {
          item: { forge: "github", site: "https://forge", repository: "a/b", kind: "issue", number: count },
          askedBy: "alice",
          trigger,
          worker: null,
          needs: [`test-${count}`],
        },
      );
      return { task, has: ["forge:github", `test-${count}`] };
    };
    const silence = async (owner: string) => {
      await sql`update work_owners set beat_at = beat_at - 20000 where owner = ${owner}`.execute(db);
      await sql`update work_claims set claimed_at = claimed_at - 20000 where owner = ${owner}`.execute(db);
    };

    test("the work of a silent process continues elsewhere, and its late writes are ignored", async () => {
      const [late, next] = [await start("late"), await start("next")];
      const { task, has } = await ask(late);
      await late.queue.beat();
      const held = (await late.store.claim(has)) as ClaimedTask;
      expect(await late.store.save({ ...held.task, state: "running", title: "one" }, held.work)).toBe(true);
      await late.store.note(task.id, { kind: "phase", phase: "plan", at: "t" }, held.work);
      await silence("late");
      await next.queue.beat();
      expect(await late.store.save({ ...held.task, state: "done", title: "late" }, held.work)).toBe(false);
      const taken = (await next.store.claim(has)) as ClaimedTask;
      expect([taken.task.title, taken.work.attempt]).toEqual(["one", 2]);
      expect(await late.store.save({ ...held.task, state: "done", title: "late" }, held.work)).toBe(false);
      await late.store.note(task.id, { kind: "phase", phase: "work", at: "t" }, held.work);
      expect(await late.store.finish(held.work)).toBe("lost");
      expect(await late.store.handBack(held.work, { begun: true })).toBe("lost");
      expect(await next.store.find(task.id)).toMatchObject({ state: "running", title: "one" });
      expect(await next.store.steps(task.id)).toHaveLength(1);
      expect(await next.store.save({ ...taken.task, state: "done" }, taken.work)).toBe(true);
      expect(await next.store.finish(taken.work)).toBe("done");
      expect(await next.store.claim(has)).toBeNull();
    });

    test("a task requested by hand waits for its own process, and passes to others when that is dead", async () => {
      const [hand, serve] = [await start("hand"), await start("serve", ["hand"])];
      const { task, has } = await ask(hand, "hand");
      expect(await serve.store.claim(has)).toBeNull();
      const held = await hand.store.claimOwn(task.id);
      expect(held?.task.id).toBe(task.id);
      expect(await serve.store.claimOwn(task.id)).toBeNull();
      await serve.queue.beat();
      expect((await serve.store.claim(has))?.task.id).toBe(task.id);
    });

    test("a task that was done when its process died does not hold its item", async () => {
      const [dying, next] = [await start("dying"), await start("after", ["dying"])];
      const { task } = await ask(dying, "hand");
      const held = (await dying.store.claimOwn(task.id)) as ClaimedTask;
      expect(await dying.store.save({ ...task, state: "done" }, held.work)).toBe(true);
      const again = { ...task, id: crypto.randomUUID() };
      await next.store.open(again);
      expect(await next.store.claimOwn(again.id)).toBeNull();
      await next.queue.beat();
      const claimed = (await next.store.claimOwn(again.id)) as ClaimedTask;
      expect(claimed.task.id).toBe(again.id);
      expect(await next.store.finish(claimed.work)).toBe("done");
      expect(await next.store.find(task.id)).toMatchObject({ state: "done" });
    });

    test("a task that waits is halted at once; one in hand is not, and resumed it waits again", async () => {
      const one = await start("one");
      const { task, has } = await ask(one);
      expect(await one.store.halt(task, "paused")).toBe(true);
      expect(await one.store.claim(has)).toBeNull();
      expect(await one.store.find(task.id)).toMatchObject({ state: "paused" });
      await one.store.save({ ...task, state: "waiting" });
      const held = (await one.store.claim(has)) as ClaimedTask;
      expect(await one.store.halt(held.task, "stopped")).toBe(false);
      expect(await one.store.handBack(held.work, { begun: false })).toBe("done");
      expect(await one.store.halt(held.task, "stopped")).toBe(true);
      expect(await one.store.claim(has)).toBeNull();
      expect(await one.store.reopen({ ...held.task, state: "waiting" })).toBe(true);
      expect((await one.store.claim(has))?.task.id).toBe(task.id);
    });

    test("resumed before its last process was through, it is carried out again", async () => {
      const one = await start("first");
      const { has } = await ask(one);
      const held = (await one.store.claim(has)) as ClaimedTask;
      await one.store.save({ ...held.task, state: "paused" }, held.work);
      await one.store.save({ ...held.task, state: "waiting" });
      expect(await one.store.claim(has)).toBeNull();
      expect(await one.store.save({ ...held.task, state: "paused" }, held.work)).toBe(false);
      expect(await one.store.finish(held.work)).toBe("done");
      expect((await one.store.claim(has))?.task.state).toBe("waiting");
    });

    test("work that was given up is retried on request, unless its item has another task", async () => {
      const one = await start("giver");
      const { task, has } = await ask(one);
      const held = (await one.store.claim(has)) as ClaimedTask;
      const giveUp = async ({ work }: ClaimedTask) => {
        await one.store.save({ ...task, state: "failed" }, work);
        await one.store.finish(work, "three deaths");
        expect(await one.queue.retryDead(work.id)).toBe(true);
      };
      await giveUp(held);
      const again = (await one.store.claim(has)) as ClaimedTask;
      expect([again.task.state, again.work.attempt]).toEqual(["waiting", 1]);
      await giveUp(again);
      await one.store.open({ ...task, id: crypto.randomUUID(), trigger: "hand" });
      expect(await one.store.claim(has)).toBeNull();
      expect(await one.store.find(task.id)).toMatchObject({ state: "failed" });
    });

    test("tasks that came without work get it, once", async () => {
      const one = await start("adopter");
      const { task, has } = await ask(one);
      const held = (await one.store.claim(has)) as ClaimedTask;
      await one.store.finish(held.work);
      expect(await one.store.claim(has)).toBeNull();
      await one.store.adopt();
      await one.store.adopt();
      const taken = (await one.store.claim(has)) as ClaimedTask;
      expect(taken.task.id).toBe(task.id);
      await one.store.save({ ...task, state: "done" }, taken.work);
      await one.store.finish(taken.work);
      expect(await one.store.claim(has)).toBeNull();
    });
  });
}

const folder = mkdtempSync(join(tmpdir(), "picoclaw-claims-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
describeClaims(
  "SQLite",
  () => openSqlite(join(folder, "store.db")),
  () => undefined,
);

describe.if(requirePart("postgres"))("postgres", () => {
  let server: PostgresServer;
  let url: string;
  beforeAll(() => {
    server = startPostgres();
    url = server.newDatabase();
  }, 300_000);
  afterAll(() => server?.stop());
  describeClaims(
    "Postgres",
    () => openPostgres(url),
    () => url,
  );
});
