import { afterAll, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createWebhooks } from "../../../src/adapters/forges/webhooks.ts";
import type { Forge, ForgeAnswer, ForgeUser } from "../../../src/application/ports/forges.ts";
import type { Work } from "../../../src/application/ports/serve.ts";
import { createEventActor } from "../../../src/application/tasks/forge-service.ts";
import { DELIVERY_FORMATS } from "../../../src/infrastructure/forges/forge-registry.ts";
import { openTasks, type TaskProcess } from "./solve-store-kit.ts";

const folder = mkdtempSync(join(tmpdir(), "picoclaw-events-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SECRET = "hook-secret";
const BOT: ForgeAnswer<ForgeUser> = { ok: true, value: { id: 1, login: "picoclaw-bot" } };
const LIMITED = { ok: false, failure: { code: "rate-limited", message: "403: rate limit" } } as const;

/** A forge of which only the name of the bot is in question. */
function forgeThat(whoAmI: Forge["whoAmI"]): Forge {
  const answers = {
    whoAmI,
    permissionOf: async () => ({ ok: true, value: "write" }),
    findRequest: async () => ({ ok: true, value: null }),
  };
  return answers as unknown as Forge;
}

function act({ store, events }: TaskProcess, forge: Forge, { now = () => new Date() } = {}) {
  const lines: { event: string; error?: unknown }[] = [];
  const alarms: (() => void)[] = [];
  const write = (_: string, __: string, event: string, fields = {}) => void lines.push({ event, ...fields });
  const log = { debug: write, info: write, warn: write, error: write };
  const forges = new Map([["github", forge]] as const);
  const waited = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const actor = createEventActor({
    events,
    forges,
    intakeOf: () => ({
      forge,
      store,
      label: "picoclaw",
      needs: [],
      log,
      now,
      uuid: () => crypto.randomUUID(),
      onDue: () => started.resolve(),
    }),
    keeper: {
      hold: (_: Work) => new AbortController().signal,
      drop() {},
      end: (end) => end(),
    },
    log,
    timers: {
      now,
      after: (_, alarm) => {
        alarms.push(alarm);
        waited.resolve();
        return () => {};
      },
    },
    onTrouble: (error) => {
      throw error;
    },
  });
  const hooks = createWebhooks({
    forges: { github: { secret: SECRET, site: "https://github.com" }, gitlab: null },
    formats: DELIVERY_FORMATS,
    intake: actor.accept,
  });
  const post = (delivery: string, { number = 1, label = "picoclaw", action = "labeled" } = {}) => {
    const body = JSON.stringify({
      action,
      label: { name: label },
      repository: { full_name: "acme/calc" },
      sender: { login: "alice" },
      issue: { number, user: { login: "alice" } },
    });
    const headers = {
      "x-github-event": "issues",
      "x-github-delivery": delivery,
      "x-hub-signature-256": `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`,
    };
    return hooks(
      "github",
      new Request("http://localhost/webhooks/github", { method: "POST", body, headers }),
    );
  };
  return { ...actor, post, lines, alarms, waited: waited.promise, started: started.promise };
}

const states = async ({ store }: TaskProcess) => (await store.list(9)).map(({ state }) => state);

test("a delivery is acknowledged while the forge's API does not answer, and acted on when it does", async () => {
  const tasks = await openTasks(join(folder, "slow.db"));
  const answer = Promise.withResolvers<typeof BOT>();
  const served = act(
    tasks,
    forgeThat(() => answer.promise),
  );
  const acknowledged = await served.post("d-1");
  expect(acknowledged.status).toBe(202);
  expect(await acknowledged.json()).toEqual({ did: ["kept"] });
  expect(await (await served.post("d-1")).json()).toEqual({ did: ["nothing"] });
  expect(await states(tasks)).toEqual([]);
  answer.resolve(BOT);
  await served.started;
  await served.stop();
  expect(await states(tasks)).toEqual(["waiting"]);
  expect(await (await served.post("d-1")).json()).toEqual({ did: ["nothing"] });
  expect(await tasks.db.selectFrom("forge_events").select("id").execute()).toEqual([]);
});

test("a rate-limited forge is asked again, and a log line says that an event waits", async () => {
  const tasks = await openTasks(join(folder, "limited.db"));
  const answers = [LIMITED, LIMITED, BOT];
  const served = act(
    tasks,
    forgeThat(async () => answers.shift() as typeof BOT),
  );
  expect((await served.post("d-1")).status).toBe(202);
  await served.waited;
  expect(served.lines).toMatchObject([{ event: "solve.event_waits", error: "403: rate limit" }]);
  const ringing = setInterval(() => served.alarms.shift()?.(), 1);
  await served.started;
  clearInterval(ringing);
  await served.stop();
  expect(await states(tasks)).toEqual(["waiting"]);
  expect(answers).toEqual([]);
});

test("a server that ends while an event waits leaves it to the next one, also after a half-done act", async () => {
  const tasks = await openTasks(join(folder, "died.db"), { owner: "first" });
  const first = act(
    tasks,
    forgeThat(async () => LIMITED),
  );
  await first.post("d-1");
  await first.waited;
  await first.stop();
  // As if the process had died after it noted the delivery and before it began the task.
  expect(await tasks.events.firstSight("d-1", "d-1", new Date())).toBe(true);
  const second = act(
    tasks,
    forgeThat(async () => BOT),
  );
  second.wake();
  await second.started;
  await second.stop();
  expect(await states(tasks)).toEqual(["waiting"]);
});

test("events of one item are acted on in their order, and those of another do not wait for them", async () => {
  const tasks = await openTasks(join(folder, "order.db"));
  let limited = 1;
  const served = act(
    tasks,
    forgeThat(async () => (limited-- > 0 ? LIMITED : BOT)),
  );
  await served.post("d-1");
  await served.waited;
  await served.post("d-2", { action: "unlabeled" });
  await served.post("d-3", { number: 2 });
  await served.started;
  expect((await tasks.store.list(9)).map(({ item }) => item.number)).toEqual([2]);
  for (const alarm of served.alarms.splice(0)) alarm();
  const ended = async () => (await tasks.db.selectFrom("forge_events").select("id").execute()).length === 0;
  for (let looks = 0; looks < 10_000 && !(await ended()); looks += 1) await Bun.sleep(5);
  await served.stop();
  const first = (await tasks.store.list(9)).find(({ item }) => item.number === 1);
  expect(first?.state).toBe("stopped");
});

test("an event that its forge does not answer for a day is given up, and the log says so", async () => {
  const tasks = await openTasks(join(folder, "old.db"));
  const days = { passed: 0 };
  const now = () => new Date(Date.UTC(2026, 0, 1 + days.passed));
  const served = act(
    tasks,
    forgeThat(async () => LIMITED),
    { now },
  );
  await served.post("d-1");
  await served.waited;
  days.passed = 2;
  for (const alarm of served.alarms.splice(0)) alarm();
  const left = () => tasks.db.selectFrom("forge_events").select("id").execute();
  for (let looks = 0; looks < 10_000 && (await left()).length > 0; looks += 1) await Bun.sleep(5);
  await served.stop();
  expect(served.lines.map(({ event }) => event)).toEqual(["solve.event_waits", "solve.event_given_up"]);
});
