import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createWebhooks } from "../../../src/adapters/forges/webhooks.ts";
import type { SolveStore } from "../../../src/application/ports/tasks.ts";
import { type IntakeDeps, pollRepository, takeInEvent } from "../../../src/application/tasks/intake.ts";
import { DELIVERY_FORMATS } from "../../../src/infrastructure/forges/forge-registry.ts";
import { openForge } from "../../fakes/forges/forge-client.ts";
import { startGitHub } from "../../fakes/forges/github-server.ts";
import { startGitLab } from "../../fakes/forges/gitlab-server.ts";
import {
  addItem,
  addPerson,
  addRepository,
  createWorld,
  type Item,
  type ItemEvent,
  type Person,
  request,
  type World,
} from "../../fakes/forges/world.ts";
import { openTasks } from "./solve-store-kit.ts";

const DAY_MS = 24 * 3600 * 1000;
const log = { debug() {}, info() {}, warn() {}, error() {} };

for (const kind of ["github", "gitlab"] as const)
  describe(`${kind}: a request that is heard by webhook and by polling`, () => {
    const folder = mkdtempSync(join(tmpdir(), "picoclaw-once-"));
    let world: World;
    let alice: Person;
    let issue: Item;
    let store: SolveStore;
    let server: ReturnType<typeof startGitHub>;
    let time: number;
    let count = 0;

    beforeEach(async () => {
      server?.stop();
      world = createWorld();
      alice = addPerson(world, "alice");
      const repository = addRepository(world, "acme/calc");
      repository.permissions.set("alice", "write");
      issue = addItem(repository, { kind: "issue", title: "Sum", body: "", author: alice });
      server = kind === "github" ? startGitHub(world) : startGitLab(world);
      time = Date.now();
      store = (await openTasks(join(folder, `${count++}.db`))).store;
    });
    afterAll(() => {
      server?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    const deps = (): IntakeDeps => ({
      forge: openForge(kind, { world, url: server.url }),
      store,
      label: "picoclaw",
      needs: [],
      log,
      now: () => new Date(time),
      uuid: () => crypto.randomUUID(),
      onDue: () => {},
    });
    const poll = async () => {
      const signal = new AbortController().signal;
      const since = new Date(time - DAY_MS);
      return (await pollRepository(deps(), { repository: "acme/calc", since, signal })).map(({ did }) => did);
    };
    /** The forge's delivery of an event that happened then. */
    const deliver = async (what: ItemEvent["kind"], at: string) => {
      const body = JSON.stringify(kind === "github" ? githubPayload(what, at) : gitlabPayload(what, at));
      const signature = `sha256=${createHmac("sha256", "hook-secret").update(body).digest("hex")}`;
      const headers: Record<string, string> =
        kind === "github"
          ? { "x-github-event": "issues", "x-hub-signature-256": signature }
          : { "x-gitlab-token": "hook-secret" };
      const answer = createWebhooks({
        forges: { github: null, gitlab: null, [kind]: { secret: "hook-secret", site: server.url } },
        formats: DELIVERY_FORMATS,
        intake: (event) => takeInEvent(deps(), event),
      });
      const response = await answer(
        kind,
        new Request("http://localhost/", { method: "POST", body, headers }),
      );
      return ((await response.json()) as { did: string[] }).did;
    };
    const ask = (what: ItemEvent["kind"]) => {
      const at = new Date(time).toISOString();
      request(issue, alice, what, what === "labeled" ? "picoclaw" : world.bot, at);
      return at;
    };
    const end = async () => {
      for (const task of await store.list(9)) await store.save({ ...task, state: "done" });
      // The next request is made after that one was taken in.
      time += 60_000;
    };
    const tasks = async () => (await store.list(9)).length;

    for (const what of ["labeled", "assigned"] as const) {
      test(`${what}: by webhook first, polling starts no second task`, async () => {
        const at = ask(what);
        expect(await deliver(what, at)).toEqual(["start"]);
        await end();
        expect(await poll()).toEqual(["nothing"]);
        expect(await tasks()).toBe(1);
      });

      test(`${what}: by polling first, the webhook starts no second task`, async () => {
        const at = ask(what);
        expect(await poll()).toEqual(["start"]);
        await end();
        expect(await deliver(what, at)).toEqual(["nothing"]);
        expect(await tasks()).toBe(1);
      });

      test(`${what}: a webhook arrives before the forge lists the event, and polling starts no second task`, async () => {
        expect(await deliver(what, new Date(time).toISOString())).toEqual(["start"]);
        ask(what);
        await end();
        expect(await poll()).toEqual(["nothing"]);
        expect(await tasks()).toBe(1);
      });

      test(`${what}: asked for again after the end, it starts again, whichever way brings it`, async () => {
        await deliver(what, ask(what));
        await end();
        ask(what);
        expect(await poll()).toEqual(["start"]);
        await end();
        // The forge does not list the newest event yet.
        expect(await deliver(what, new Date(time).toISOString())).toEqual(["start"]);
      });
    }

    test("a label that stays on after its task ended starts nothing a month later", async () => {
      ask("labeled");
      expect(await poll()).toEqual(["start"]);
      await end();
      time += 30 * DAY_MS;
      expect(await poll()).toEqual(["nothing"]);
      expect(await tasks()).toBe(1);
    });
  });

function githubPayload(what: ItemEvent["kind"], at: string): object {
  return {
    action: what,
    repository: { full_name: "acme/calc" },
    sender: { login: "alice" },
    issue: { number: 1, user: { login: "alice" }, updated_at: at },
    ...(what === "labeled" ? { label: { name: "picoclaw" } } : { assignee: { login: "picoclaw-bot" } }),
  };
}

function gitlabPayload(what: ItemEvent["kind"], at: string): object {
  const current = what === "labeled" ? [{ title: "picoclaw" }] : [{ username: "picoclaw-bot" }];
  return {
    object_kind: "issue",
    user: { username: "alice" },
    project: { path_with_namespace: "acme/calc" },
    object_attributes: { iid: 1, action: "update", updated_at: at.replace("T", " ").replace(/\..*/, " UTC") },
    changes: { [what === "labeled" ? "labels" : "assignees"]: { previous: [], current } },
  };
}
