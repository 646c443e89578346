/** The use cases of serve by themselves, in this process. */

import { afterEach, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { createViewerJobs, type ViewerJobsDeps } from "../../../src/application/fleet/viewer-jobs.ts";
import type { StoredJob } from "../../../src/application/ports/jobs.ts";
import type { StoreCounts } from "../../../src/application/ports/serve.ts";
import {
  createKnownPeople,
  createSignIn,
  isUserName,
  type Viewer,
} from "../../../src/application/serve/access.ts";
import {
  checkHealth,
  createServerMetrics,
  createTroubleReporter,
} from "../../../src/application/serve/health.ts";
import { createAdmission } from "../../../src/application/serve/receive-messages.ts";
import { createBus } from "../../../src/application/serve/serve-events.ts";
import { refusePatch } from "../../../src/domain/jobs/result.ts";
import { serveMessagesFor } from "../../../src/domain/texts/serve.ts";
import { hashHex } from "../../../src/infrastructure/platform/hash.ts";
import { createAccessStore } from "../../../src/infrastructure/serve/access-store.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { inbound } from "../../fakes/channel.ts";
import { replyOf } from "../../fakes/conversation.ts";
import { createManualTimers, settle } from "../../fakes/timers.ts";
import { archiveOf, storedJob } from "../../infrastructure/store/jobs-kit.ts";
import { openMessages } from "../../infrastructure/store/open-messages.ts";
import { makeTestFolder } from "../../left-behind.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function openStores() {
  const folder = makeTestFolder("serve-unit");
  const db = openSqlite(join(folder, "store.db"));
  const timers = createManualTimers();
  closing.push(async () => {
    await db.destroy();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    timers,
    store: (await openMessages({ db, now: timers.now })).store,
    access: await createAccessStore(db, timers.now),
  };
}

const operator: Viewer = { channel: "web", userId: "operator", role: "operator", scopes: ["read"] };
const alice: Viewer = { channel: "web", userId: "alice", role: "user", scopes: ["read"] };

describe("signing in", () => {
  async function open() {
    const { access, timers } = await openStores();
    const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
    const signIn = createSignIn({
      access,
      random,
      now: timers.now,
      sha256: (text) => hashHex("sha256", text),
    });
    return { access, timers, signIn };
  }

  test("a link lasts ten minutes and one visit; a session two weeks", async () => {
    const { signIn, timers } = await open();
    const late = await signIn.createLink({ userId: "alice", role: "user" });
    const link = await signIn.createLink({ userId: "alice", role: "user" });
    const opened = await signIn.openLink(link);
    expect(await signIn.openLink(link)).toBeNull();
    const secret = opened?.secret ?? "";
    expect((await signIn.session(secret))?.viewer).toMatchObject({ userId: "alice", role: "user" });
    await timers.advance(10 * 60_000);
    expect(await signIn.openLink(late)).toBeNull();
    await timers.advance(14 * 24 * 3_600_000);
    expect(await signIn.session(secret)).toBeNull();
  });

  test("a token reads on while the store takes no writes, and its use is marked when it does again", async () => {
    const { access, timers } = await openStores();
    const tried: string[] = [];
    const signIn = createSignIn({
      access: {
        ...access,
        touchToken: async (id, at) => {
          tried.push(at);
          if (tried.length === 1) await new Promise(() => {});
          if (tried.length === 2) throw new Error("locked");
          await access.touchToken(id, at);
        },
      },
      random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
      now: timers.now,
      sha256: (text) => hashHex("sha256", text),
    });
    const made = { name: "ci", userId: "bob", role: "user", scopes: ["read"] } as const;
    const { secret } = await signIn.createToken(made);
    for (let minute = 0; minute < 3; minute++) {
      for (let times = 0; times < 2; times++)
        expect(await signIn.token(secret)).toMatchObject({ userId: "bob" });
      await timers.advance(61_000);
    }
    expect(tried).toHaveLength(3);
    expect((await access.tokens())[0]?.lastUsedAt).toBe(tried[2] ?? "");
  });

  test("nothing that opens anything is kept as it is", async () => {
    const { signIn, access } = await open();
    const { secret, token } = await signIn.createToken({
      name: "ci",
      userId: "bob",
      role: "user",
      scopes: ["read"],
    });
    expect(JSON.stringify(await access.tokens())).not.toContain(secret);
    expect(await signIn.token(secret)).toEqual({
      channel: "web",
      userId: "bob",
      role: "user",
      scopes: ["read"],
      also: [],
      token: token.id,
    });
    expect((await access.tokens())[0]?.lastUsedAt).not.toBeNull();
    await access.removeToken(token.id);
    expect(await signIn.token(secret)).toBeNull();
  });

  test("finished work is forgotten", async () => {
    const { signIn, access, timers } = await open();
    const opened = await signIn.openLink(await signIn.createLink({ userId: "a", role: "user" }));
    await access.prune(new Date(timers.now().getTime() + 15 * 24 * 3_600_000).toISOString());
    expect(await signIn.session(opened?.secret ?? "")).toBeNull();
    const again = await signIn.openLink(await signIn.createLink({ userId: "a", role: "user" }));
    await signIn.closeSession(again?.secret ?? "");
    expect(await signIn.session(again?.secret ?? "")).toBeNull();
  });
});

describe("admission", () => {
  const words = serveMessagesFor("en");
  test("strangers are refused with a reason, known people have access, and no name in an event grants access", async () => {
    const { access, timers } = await openStores();
    const admit = createAdmission({
      isKnown: createKnownPeople(access, (channel) => channel === "telegram"),
      messages: () => words,
      perMinute: () => 0,
      now: timers.now,
      greet: async () => "your code is 1234",
    });
    expect(await admit(inbound(1, { channel: "line" }))).toEqual({
      status: "refused",
      reason: "stranger",
      text: "your code is 1234",
    });
    expect(await admit(inbound(1, { channel: "telegram" }))).toBeNull();
    const person = { channel: "line", userId: "user-1", name: "", role: "user" as const, addedAt: "" };
    await access.savePerson(person);
    expect(await admit(inbound(1, { channel: "line" }))).toBeNull();
    expect(await admit(inbound(1, { channel: "slack", eventId: "schedule:a:1" }))).not.toBeNull();
  });

  test("reserved names and names with a colon are not names of users", () => {
    const names = ["alice", "schedule", "operator", "a:b"];
    expect(names.filter((name) => isUserName(name, "user"))).toEqual(["alice"]);
  });

  test("a stranger who keeps writing is not answered any more", async () => {
    const { access, timers } = await openStores();
    let greeted = 0;
    const greet = async () => `greeting ${++greeted}`;
    const admit = createAdmission({
      isKnown: createKnownPeople(access, () => false),
      messages: () => words,
      perMinute: () => 2,
      now: timers.now,
      greet,
    });
    const texts: (string | undefined)[] = [];
    for (let i = 0; i < 4; i++)
      texts.push((await admit(inbound(i, { channel: "line", userId: "Ux" })))?.text);
    expect(texts).toEqual(["greeting 1", "greeting 2", "", ""]);
  });

  test("so many in a minute, each user for themselves; no message without an end", async () => {
    const { access, timers } = await openStores();
    const admit = createAdmission({
      isKnown: createKnownPeople(access, () => false),
      messages: () => words,
      perMinute: () => 2,
      now: timers.now,
      greet: async () => "",
    });
    const from = (userId: string) => admit(inbound(1, { channel: "web", userId }));
    expect([await from("a"), await from("a"), (await from("a"))?.reason, await from("b")]).toEqual([
      null,
      null,
      "too-many",
      null,
    ]);
    await timers.advance(60_001);
    expect(await from("a")).toBeNull();
    expect((await admit(inbound(1, { channel: "web", text: "x".repeat(100_001) })))?.reason).toBe("too-long");
  });
});

describe("health", () => {
  test("a silent or broken part is named, in time, and blocks no other", async () => {
    const timers = createManualTimers();
    const report = checkHealth(
      [
        { name: "well", required: true, check: async () => ({ ok: true, detail: "fine" }) },
        { name: "silent", required: false, check: () => new Promise(() => {}) },
        { name: "broken", required: false, check: () => Promise.reject(new Error("no such host")) },
      ],
      3_000,
      timers.after,
    );
    await settle();
    await timers.advance(3_000);
    expect(await report).toEqual({
      ready: true,
      checks: [
        { name: "well", required: true, ok: true, detail: "fine" },
        { name: "silent", required: false, ok: false, detail: "no answer within 3000 ms" },
        { name: "broken", required: false, ok: false, detail: "no such host" },
      ],
    });
  });

  test("without a required part nothing is ready", async () => {
    const down = { name: "store", required: true, check: async () => ({ ok: false, detail: "gone" }) };
    expect((await checkHealth([down], 10, createManualTimers().after)).ready).toBe(false);
  });
});

test("metrics count what the bus tells, with labels that cannot break the format", async () => {
  const bus = createBus();
  const counts: StoreCounts = { received: 1, working: 2, waitingReplies: 4, failedReplies: 5 };
  const now = () => new Date(0);
  const render = createServerMetrics({
    ...{ bus, now, startedAt: now(), residentBytes: () => 1 },
    ...{ gauges: () => ({ extra: 7 }), counts: async () => counts },
  });
  const message = {
    ...inbound(1, { channel: 'a"b\\c\n' }),
    id: "m",
    workspace: "/ws",
    receivedAt: "",
    state: "done" as const,
    attempts: 1,
  };
  bus.publish({ type: "received", message });
  bus.publish({ type: "answered", message, reply: replyOf("x"), ms: 700 });
  const model = { provider: "claude", model: "m", local: false };
  const usage = { inputTokens: 100, outputTokens: 20, costUsd: 0.25 };
  const said = [{ kind: "say" as const, name: "stopped" as const, with: [] }];
  for (const reply of [
    replyOf("x", { model, usage }),
    replyOf("x", { model, usage, ok: false, said }),
    replyOf("x", { ok: false }),
  ])
    bus.publish({ type: "answered", message, reply, ms: 70_000 });
  bus.publish({ type: "delivered", channel: "web", ok: true, attempt: 1, ms: 5 });
  bus.publish({ type: "chat", message, event: { type: "job-finished", jobId: "j", success: true } });
  bus.publish({ type: "job", jobId: "j" });
  const text = await render();
  expect(text).toContain('picoclaw_messages_received_total{channel="a\\"b\\\\c\\n"} 1\n');
  expect(text).toContain(
    'picoclaw_answer_seconds_bucket{le="0.5"} 0\npicoclaw_answer_seconds_bucket{le="1"} 1\n',
  );
  expect(text).toContain("extra 7\n");
  for (const line of [
    'picoclaw_tokens_total{provider="claude",model="m",direction="in"} 200',
    'picoclaw_tokens_total{provider="claude",model="m",direction="out"} 40',
    'picoclaw_cost_usd_total{provider="claude",model="m"} 0.5',
    'picoclaw_failures_total{kind="stopped"} 1',
    'picoclaw_failures_total{kind="other"} 1',
  ])
    expect(text).toContain(`${line}\n`);
  expect(text).toContain("picoclaw_replies_failed 5\n");
  expect(text).toContain('picoclaw_jobs_total{success="true"} 1');
});

test("a listener that throws is dropped, and the others hear on", () => {
  const bus = createBus();
  const heard: string[] = [];
  bus.subscribe(() => {
    throw new Error("a bug");
  });
  const stop = bus.subscribe(({ type }) => heard.push(type));
  bus.publish({ type: "job", jobId: "a" });
  bus.publish({ type: "job", jobId: "a" });
  stop();
  bus.publish({ type: "job", jobId: "a" });
  expect(heard).toEqual(["job", "job"]);
});

describe("the viewerJobs", () => {
  async function open(jobs: StoredJob[], workspace: Partial<ReturnType<ViewerJobsDeps["workspace"]>> = {}) {
    const { store, timers } = await openStores();
    const bus = createBus();
    const cancelled: string[] = [];
    const archive = {
      ...archiveOf(jobs),
      read: (id: string) => jobs.find(({ jobId }) => jobId === id) ?? null,
    };
    const viewerJobs = createViewerJobs({
      workspace: () =>
        ({
          archive,
          isAlive: () => true,
          takeBack: async () => ({ status: "nothing" }),
          commitPreview: async () => ({ status: "busy" }),
          stop: async () => ({ status: "stopped" }),
          ...workspace,
        }) as ReturnType<ViewerJobsDeps["workspace"]>,
      store,
      cancelMessage: (id) => {
        cancelled.push(id);
        return id !== "";
      },
      bus,
      isOwn: (pid) => pid === 7,
      now: timers.now,
    });
    return { viewerJobs, store, bus, cancelled };
  }
  const at = "2026-03-01T00:00:00Z";

  test("shows users their own jobs, operators all, and for other names nothing", async () => {
    const [one, two] = [storedJob(1), storedJob(2)];
    const { viewerJobs, store } = await open([one, two]);
    await store.noteJob({ jobId: one.jobId, channel: "web", userId: "alice", messageId: null, at });
    expect((await viewerJobs.list(alice, 9)).map(({ job }) => job.jobId)).toEqual([one.jobId]);
    expect((await viewerJobs.list(operator, 9)).length).toBe(2);
    expect(await viewerJobs.read(alice, two.jobId)).toBeNull();
    expect(await viewerJobs.read({ ...alice, channel: "line" }, one.jobId)).toBeNull();
    expect(await viewerJobs.read(operator, "../../etc")).toBeNull();
    expect((await viewerJobs.act(alice, "undo", two.jobId)).code).toBe("unknown-job");
    expect((await viewerJobs.act(alice, "apply", two.jobId)).code).toBe("unknown-job");
    expect((await viewerJobs.act(alice, "stop", two.jobId)).code).toBe("unknown-job");
    expect((await viewerJobs.act(alice, "undo", one.jobId)).code).toBe("nothing");
    expect((await viewerJobs.act(alice, "apply", one.jobId)).code).toBe("busy");
    expect(await viewerJobs.latest()).toContain(two.jobId);
  });

  test("stops a job of this server by its message, of another process by its process", async () => {
    const ours = storedJob(1, { state: "running", pid: 7 });
    const other = storedJob(2, { state: "running", pid: 8 });
    const done = storedJob(3);
    const { viewerJobs, store, cancelled } = await open([ours, other, done]);
    expect((await viewerJobs.act(operator, "stop", ours.jobId)).code).toBe("not-running");
    await store.noteJob({ jobId: ours.jobId, channel: "web", userId: "alice", messageId: "msg", at });
    expect((await viewerJobs.act(alice, "stop", ours.jobId)).status).toBe("stopped");
    expect(cancelled).toEqual(["", "msg"]);
    expect((await viewerJobs.act(operator, "stop", other.jobId)).status).toBe("stopped");
    expect((await viewerJobs.act(operator, "stop", done.jobId)).code).toBe("not-running");
  });

  test("keeps the output of a running job for late readers, and forgets it at its end", async () => {
    const seen: string[] = [];
    const { viewerJobs, store, bus } = await open([], {
      async execute(request) {
        request.onStart?.("job_9_aaaaaaaa");
        request.onOutput?.("one\n");
        seen.push(await viewerJobs.output("job_9_aaaaaaaa"));
        request.onEvent?.({ type: "note", text: "" });
        return refusePatch("/ws", { code: "not-a-patch", message: "" });
      },
    });
    bus.subscribe((event) => {
      if (event.type === "job") seen.push(event.output ?? "changed");
    });
    await viewerJobs.run(alice, { patch: "x", mode: "apply", source: "web" });
    expect(seen).toEqual(["changed", "one\n", "one\n", "changed", "changed"]);
    expect(await viewerJobs.output("job_9_aaaaaaaa")).toBe("");
    expect((await store.ownerOf("job_9_aaaaaaaa"))?.userId).toBe("alice");
  });
});

test("a lasting problem is reported once a minute, another one at once", () => {
  const clock = { ms: 0 };
  const told: string[] = [];
  const tell = createTroubleReporter(
    (line) => told.push(line),
    () => new Date(clock.ms),
  );
  for (const text of ["away\n  at one", "away\n  at two", "full"]) tell("serve", text);
  clock.ms = 60_000;
  tell("serve", "away\n  at three");
  expect(told).toEqual(["serve: away\n  at one", "serve: full", "serve: away\n  at three"]);
});
