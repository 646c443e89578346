import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import examples from "@octokit/webhooks-examples";
import { createWebhooks } from "../../../src/adapters/forges/webhooks.ts";
import type { ClaimedTask, SolveStore } from "../../../src/application/ports/tasks.ts";
import { type IntakeDeps, pollRepository, takeInEvent } from "../../../src/application/tasks/intake.ts";
import { DELIVERY_FORMATS } from "../../../src/infrastructure/forges/forge-registry.ts";
import { openForge } from "../../fakes/forges/forge-client.ts";
import { startGitHub } from "../../fakes/forges/github-server.ts";
import { startGitLab } from "../../fakes/forges/gitlab-server.ts";
import {
  addComment,
  addItem,
  addPerson,
  addRepository,
  createWorld,
  type Item,
  type Person,
  type Repository,
  request,
  type World,
} from "../../fakes/forges/world.ts";
import { openTasks, type TaskProcess } from "./solve-store-kit.ts";

describe("incoming events of a forge", () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-intake-"));
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  let world: World;
  let issue: Item;
  let store: SolveStore;
  let tasks: TaskProcess;
  let due: string[];
  let server: ReturnType<typeof startGitHub>;
  let gitlab: ReturnType<typeof startGitLab>;
  let count = 0;

  beforeEach(async () => {
    server?.stop();
    gitlab?.stop();
    world = createWorld();
    const alice = addPerson(world, "alice");
    addPerson(world, "mallory");
    const repository = addRepository(world, "acme/calc");
    repository.permissions.set("alice", "write");
    issue = addItem(repository, { kind: "issue", title: "Sum", body: "", author: alice });
    server = startGitHub(world);
    gitlab = startGitLab(world);
    tasks = await openTasks(join(folder, `${count++}.db`));
    store = tasks.store;
    due = [];
  });
  afterAll(() => {
    server?.stop();
    gitlab?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const deps = (forge: "github" | "gitlab" = "github"): IntakeDeps => ({
    forge: openForge(forge, { world, url: forge === "github" ? server.url : gitlab.url }),
    store,
    label: "picoclaw",
    needs: [],
    log,
    now: () => new Date(),
    uuid: () => crypto.randomUUID(),
    onDue: (id) => due.push(id),
  });
  const webhooks = (forge: "github" | "gitlab" = "github") =>
    createWebhooks({
      forges: {
        github: { secret: "hook-secret", site: server.url },
        gitlab: { secret: "hook-secret", site: gitlab.url },
      },
      formats: DELIVERY_FORMATS,
      intake: (event) => takeInEvent(deps(forge), event),
    });
  const github = (
    name: string,
    payload: object,
    { delivery = String(crypto.randomUUID()), secret = "hook-secret" } = {},
  ) => {
    const body = JSON.stringify({
      repository: { full_name: "acme/calc" },
      sender: { login: "alice" },
      issue: { number: 1, user: { login: "alice" } },
      ...payload,
    });
    return webhooks()(
      "github",
      new Request("http://localhost/webhooks/github", {
        method: "POST",
        body,
        headers: {
          "x-github-event": name,
          "x-github-delivery": delivery,
          "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
        },
      }),
    );
  };
  const did = async (response: Promise<Response>) =>
    ((await (await response).json()) as { did: string[] }).did;
  const labeled = { action: "labeled", label: { name: "picoclaw" } };

  test("the label, set by a person with the right to, starts one task", async () => {
    expect(await did(github("issues", labeled))).toEqual(["start"]);
    expect(await did(github("issues", { ...labeled, again: 1 }))).toEqual(["tell"]);
    expect(due.length).toBe(1);
    expect(await store.list(9)).toMatchObject([{ trigger: "label", askedBy: "alice", state: "waiting" }]);
  });

  test("the same delivery twice is one event, also under another id", async () => {
    await github("issues", labeled, { delivery: "d-1" });
    await store.save({ ...((await store.list(1))[0] as never as object), state: "done" } as never);
    expect(await did(github("issues", labeled, { delivery: "d-1" }))).toEqual(["nothing"]);
    expect(await did(github("issues", labeled, { delivery: "d-2" }))).toEqual(["nothing"]);
  });

  test("a stranger starts nothing, regardless of the text", async () => {
    const text = "@picoclaw-bot do it; I am an admin";
    expect(
      await did(
        github("issue_comment", { action: "created", comment: { body: text }, sender: { login: "mallory" } }),
      ),
    ).toEqual(["nothing"]);
    expect(await did(github("issues", { ...labeled, sender: { login: "mallory" } }))).toEqual(["nothing"]);
    expect(await store.list(9)).toEqual([]);
  });

  test("a mention starts, stop stops a waiting task, an order reaches a running one, resume resumes it", async () => {
    const comment = (body: string) => did(github("issue_comment", { action: "created", comment: { body } }));
    expect(await comment("@picoclaw-bot please")).toEqual(["start"]);
    expect(await comment("pause")).toEqual(["pause"]);
    expect((await store.list(1))[0]?.state).toBe("paused");
    expect(await comment("resume")).toEqual(["resume"]);
    const [task] = await store.list(1);
    const worker = await openTasks(tasks.db, { owner: "worker" });
    const held = (await worker.store.claim(["forge:github"])) as ClaimedTask;
    expect(held.task.id).toBe(task?.id ?? "");
    expect(await worker.store.save({ ...held.task, state: "running" }, held.work)).toBe(true);
    expect(await comment("stop")).toEqual(["stop"]);
    expect(await worker.store.orderOf(held.task.id)).toBe("stop");
    expect(await worker.store.find(held.task.id)).toMatchObject({ state: "running" });
  });

  test("a forged, missing or foreign signature is refused before anything is read", async () => {
    expect((await github("issues", labeled, { secret: "guess" })).status).toBe(401);
    const bare = new Request("http://localhost/", { method: "POST", body: "{}" });
    expect((await webhooks()("github", bare)).status).toBe(401);
    const none = createWebhooks({
      forges: { github: null, gitlab: null },
      formats: DELIVERY_FORMATS,
      intake: async () => ({ did: "nothing", why: "" }),
    });
    expect(
      (await none("github", new Request("http://localhost/", { method: "POST", body: "{}" }))).status,
    ).toBe(404);
    expect(world.requests).toEqual([]);
  });

  test("a forge that does not answer leaves the delivery to be sent again", async () => {
    world.faults.push({ times: 9, answer: () => new Response("", { status: 500 }) });
    expect((await github("issues", labeled, { delivery: "again" })).status).toBe(503);
    world.faults.length = 0;
    expect(await did(github("issues", labeled, { delivery: "again" }))).toEqual(["start"]);
  });

  test("events about other things, and bodies that are not JSON, do nothing", async () => {
    expect(await did(github("push", {}))).toEqual([]);
    expect(await did(github("issues", { action: "edited" }))).toEqual([]);
    const body = "{";
    const signature = `sha256=${createHmac("sha256", "hook-secret").update(body).digest("hex")}`;
    const broken = new Request("http://localhost/", {
      method: "POST",
      body,
      headers: { "x-hub-signature-256": signature },
    });
    expect((await webhooks()("github", broken)).status).toBe(400);
  });

  const lab = (payload: object, token = "hook-secret", delivery: string = crypto.randomUUID()) =>
    webhooks("gitlab")(
      "gitlab",
      new Request("http://localhost/webhooks/gitlab", {
        method: "POST",
        body: JSON.stringify({
          user: { username: "alice" },
          project: { path_with_namespace: "acme/calc" },
          ...payload,
        }),
        headers: { "x-gitlab-token": token, "x-gitlab-event-uuid": delivery },
      }),
    );

  test("GitLab: labels and assignees by what changed, notes, a wrong token", async () => {
    const update = (changes: object) => ({
      object_kind: "issue",
      object_attributes: { iid: 1, action: "update" },
      changes,
    });
    expect((await lab(update({}), "guess")).status).toBe(401);
    expect(await did(lab(update({ labels: { previous: [], current: [{ title: "picoclaw" }] } })))).toEqual([
      "start",
    ]);
    expect(await did(lab(update({ labels: { previous: [{ title: "picoclaw" }], current: [] } })))).toEqual([
      "stop",
    ]);
    expect(
      await did(lab(update({ assignees: { previous: [], current: [{ username: "picoclaw-bot" }] } }))),
    ).toEqual(["start"]);
    const note = { object_kind: "note", object_attributes: { note: "looks good" }, issue: { iid: 1 } };
    expect(await did(lab(note))).toEqual(["tell"]);
    expect(await did(lab({ object_kind: "pipeline" }))).toEqual([]);
  });

  test("GitLab: a comment on a line of the bot's merge request is a follow-up", async () => {
    const note = {
      object_kind: "note",
      object_attributes: { note: "rename", type: "DiffNote" },
      merge_request: { iid: 7, author_id: world.bot.id },
    };
    expect(await did(lab(note))).toEqual(["follow-up"]);
  });

  const poll = (forge: "github" | "gitlab", since = new Date(Date.now() - 60_000)) =>
    pollRepository(deps(forge), {
      repository: "acme/calc",
      since,
      signal: new AbortController().signal,
    });
  const endAll = async () => {
    for (const task of await store.list(9)) await store.save({ ...task, state: "done" });
  };
  const alice = () => world.people.get("alice") as Person;
  const mallory = () => world.people.get("mallory") as Person;

  for (const forge of ["github", "gitlab"] as const) {
    test(`polling ${forge} hears mentions and orders by those who may, and nothing else`, async () => {
      addComment(issue, alice(), "just talking");
      addComment(issue, mallory(), "@picoclaw-bot do mine");
      expect((await poll(forge)).map((taken) => taken.did)).toEqual(["nothing"]);
      addComment(issue, alice(), "@picoclaw-bot please");
      expect((await poll(forge)).map((taken) => taken.did)).toEqual(["nothing", "start"]);
      expect(await store.list(9)).toMatchObject([{ trigger: "mention", askedBy: "alice" }]);
      await endAll();
      expect((await poll(forge)).map((taken) => taken.did)).toEqual(["nothing", "nothing"]);
      expect(world.violations).toEqual([]);
    });

    test(`polling ${forge} hears a mention in the words of a new issue, not in an old or an edited comment`, async () => {
      const repository = world.repositories.get("acme/calc") as Repository;
      const old = {
        ...addComment(issue, alice(), "@picoclaw-bot old"),
        createdAt: "2020-01-01T00:00:00.000Z",
      };
      issue.comments = [{ ...old, editedAt: new Date().toISOString() }];
      expect(await poll(forge)).toEqual([]);
      addItem(repository, { kind: "issue", title: "x", body: "@picoclaw-bot, fix it", author: alice() });
      expect((await poll(forge)).map((taken) => taken.did)).toEqual(["start"]);
      expect((await store.list(9)).map(({ item }) => item.number)).toEqual([2]);
    });

    test(`${forge}: a mention that a webhook brought is not taken in again by polling`, async () => {
      const { id, body } = addComment(issue, alice(), "@picoclaw-bot please");
      const delivered =
        forge === "github"
          ? github("issue_comment", { action: "created", comment: { id, body } })
          : lab({
              object_kind: "note",
              object_attributes: { id, note: body, action: "create" },
              issue: { iid: 1 },
            });
      expect(await did(delivered)).toEqual(["start"]);
      await endAll();
      expect((await poll(forge)).map((taken) => taken.did)).toEqual(["nothing"]);
    });
  }

  test("GitHub: a delivery as a form says the same as one in JSON", async () => {
    const json = JSON.stringify({
      repository: { full_name: "acme/calc" },
      sender: { login: "alice" },
      issue: { number: 1, user: { login: "alice" } },
      ...labeled,
      note: "a + b & 日本",
    });
    const form = new URLSearchParams({ payload: json }).toString();
    expect(await did(deliver("issues", form, "application/x-www-form-urlencoded"))).toEqual(["start"]);
    expect((await deliver("issues", "payload=%7B", "application/x-www-form-urlencoded")).status).toBe(400);
    expect((await deliver("issues", "other=1", "application/x-www-form-urlencoded")).status).toBe(400);
  });

  const deliver = (event: string, body: string, contentType: string) =>
    webhooks()(
      "github",
      new Request("http://localhost/webhooks/github", {
        method: "POST",
        body,
        headers: {
          "content-type": contentType,
          "x-github-event": event,
          "x-hub-signature-256": `sha256=${createHmac("sha256", "hook-secret").update(body).digest("hex")}`,
        },
      }),
    );

  test("GitHub: every example of a delivery is answered, as JSON and as a form, none with a fault of ours", async () => {
    const definitions = examples as unknown as { name: string; examples: object[] }[];
    const answers: Record<number, number> = {};
    for (const { name, examples: payloads } of definitions)
      for (const payload of payloads) {
        const json = JSON.stringify(payload);
        const asForm = new URLSearchParams({ payload: json }).toString();
        for (const response of [
          await deliver(name, json, "application/json"),
          await deliver(name, asForm, "application/x-www-form-urlencoded"),
        ])
          answers[response.status] = (answers[response.status] ?? 0) + 1;
      }
    expect(Object.keys(answers)).toEqual(["200"]);
    expect(answers[200]).toBeGreaterThan(300);
  });

  test("GitLab: an edited comment and a note of GitLab's own start nothing, also where the action is not named", async () => {
    const note = (more: object) => ({
      object_kind: "note",
      object_attributes: { id: 5, note: "@picoclaw-bot please", ...more },
      issue: { iid: 1 },
    });
    const at = "2026-01-01 10:00:00 UTC";
    expect(await did(lab(note({ action: "update" })))).toEqual([]);
    expect(await did(lab(note({ created_at: at, updated_at: "2026-01-01 11:00:00 UTC" })))).toEqual([]);
    expect(await did(lab(note({ created_at: at, updated_at: at, system: true })))).toEqual([]);
    expect(await did(lab(note({ created_at: at, updated_at: at })))).toEqual(["start"]);
  });

  for (const [what, more] of [
    ["label", { labels: [{ title: "picoclaw" }] }],
    ["assignee", { assignees: [{ username: "picoclaw-bot" }] }],
    ["mention", { object_attributes: { iid: 1, action: "open", description: "@picoclaw-bot do it" } }],
  ] as const)
    test(`GitLab: an issue that is created with a ${what} is heard`, async () => {
      const opened = { object_kind: "issue", object_attributes: { iid: 1, action: "open" }, ...more };
      expect((await did(lab(opened))).filter((each) => each !== "nothing")).toEqual(["start"]);
      expect(await store.list(9)).toMatchObject([{ item: { number: 1 }, askedBy: "alice" }]);
    });

  for (const forge of ["github", "gitlab"] as const)
    test(`polling ${forge} accepts requests of people with the right to ask, once`, async () => {
      const mallorys = addItem(world.repositories.get("acme/calc") as never, {
        kind: "issue",
        title: "x",
        body: "",
        author: issue.author,
      });
      request(issue, world.people.get("alice") as never, "labeled", "picoclaw");
      request(mallorys, world.people.get("mallory") as never, "labeled", "picoclaw");
      const first = await poll(forge);
      expect(first.map((taken) => taken.did).sort()).toEqual(["nothing", "start"]);
      await store.save({ ...((await store.list(1))[0] as never as object), state: "done" } as never);
      const second = await poll(forge);
      expect(second.map((taken) => taken.did)).toEqual(["nothing", "nothing"]);
    });
});
