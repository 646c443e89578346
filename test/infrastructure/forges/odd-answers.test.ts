import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Forge, ForgeAnswer } from "../../../src/application/ports/forges.ts";
import { createForgeFetch } from "../../../src/infrastructure/forges/forge-fetch.ts";
import { openForge } from "../../fakes/forges/forge-client.ts";
import { startGitHub } from "../../fakes/forges/github-server.ts";
import { startGitLab } from "../../fakes/forges/gitlab-server.ts";
import { seedRepository } from "../../fakes/forges/seed-repository.ts";
import { addComment, addItem, addPerson, addRepository, createWorld } from "../../fakes/forges/world.ts";

const NAME = "acme/tools";
const { signal } = new AbortController();

for (const [kind, start] of [
  ["github", startGitHub],
  ["gitlab", startGitLab],
] as const)
  describe(`answers of ${kind} in which one value is of another type`, () => {
    const folder = mkdtempSync(join(tmpdir(), "picoclaw-odd-answers-"));
    const world = createWorld();
    let server: ReturnType<typeof start>;
    /** The last answer that was asked for, changed before it is handed on. */
    let change: (answer: unknown) => unknown = (answer) => answer;
    let answers: unknown[] = [];
    let forge: Forge;

    beforeAll(() => {
      const alice = addPerson(world, "alice");
      const repository = addRepository(world, NAME, seedRepository(folder, { "README.md": "hello\n" }));
      repository.permissions.set("alice", "write");
      const issue = addItem(repository, {
        kind: "issue",
        title: "It breaks",
        body: "Mondays",
        author: alice,
      });
      addComment(issue, alice, "me too");
      const pull = addItem(repository, {
        kind: "pull",
        title: "A change",
        body: "",
        author: alice,
        pull: { head: "feature", headRepository: NAME, headCommit: "1".repeat(40), base: "main" },
      });
      addComment(pull, alice, "and here");
      addComment(pull, alice, "here", { path: "README.md", line: 1 });
      server = start(world);
      const altered = async (...asked: Parameters<typeof globalThis.fetch>) => {
        const response = await globalThis.fetch(...asked);
        const answer: unknown = await response.json();
        answers.push(answer);
        return Response.json(change(answer), { status: response.status });
      };
      const fetch = createForgeFetch({
        mask: (text) => text,
        fetch: altered as typeof globalThis.fetch,
        timeoutMs: 60_000,
        patienceMs: 0,
        now: Date.now,
        pause: async () => {},
      });
      forge = openForge(kind, { world, url: server.url, fetch });
    });
    afterAll(() => {
      server.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    const at = (item: "issue" | "pull", number: number) =>
      ({ forge: kind, site: server.url, repository: NAME, kind: item, number }) as const;
    const wanted = { label: "picoclaw", assignee: "bot" };
    const calls: Readonly<Record<string, () => Promise<ForgeAnswer<unknown>>>> = {
      whoAmI: () => forge.whoAmI(signal),
      readRepository: () => forge.readRepository(NAME, signal),
      listFiles: () => forge.listFiles(NAME, "main", signal),
      permissionOf: () => forge.permissionOf(NAME, "alice", signal),
      readBranch: () => forge.readBranch(NAME, "main", signal),
      "readItem, an issue": () => forge.readItem(at("issue", 1), signal),
      "readItem, a pull": () => forge.readItem(at("pull", 2), signal),
      listComments: () => forge.listComments(at("issue", 1), signal),
      listReviewComments: () => forge.listReviewComments(at("pull", 2), signal),
      findRequest: () => forge.findRequest(at("issue", 1), wanted, signal),
      listSaid: () => forge.listSaid(NAME, new Date(0), signal),
      listWork: () => forge.listWork(NAME, wanted, signal),
      findPull: () => forge.findPull(NAME, "feature", signal),
      listOpenPulls: () => forge.listOpenPulls(NAME, signal),
    };

    test("what people said of issues and of changes is listed", async () => {
      change = (answer) => answer;
      const said = await forge.listSaid(NAME, new Date(0), signal);
      const comments = said.ok ? said.value.filter(({ commentId }) => commentId !== null) : [];
      expect(comments.map(({ ref }) => ref.kind).sort()).toEqual(["issue", "pull"]);
    });

    for (const [name, call] of Object.entries(calls))
      test(`${name}: it is an answer of the right types, or a failure`, async () => {
        change = (answer) => answer;
        answers = [];
        const plain = await call();
        expect(plain.ok).toBe(true);
        const asked = answers.length;
        for (let n = 0; n < asked; n += 1)
          for (const altered of alterations(answers[n])) {
            let turn = 0;
            change = (answer) => (turn++ === n ? altered : answer);
            const got = await call();
            if (got.ok && plain.ok) expectTypes(got.value, plain.value, JSON.stringify(altered));
            else expect(got).toMatchObject({ ok: false, failure: { message: expect.any(String) } });
          }
      });

    test("a repository whose address is not on the forge's own host is a failure: git would sign in there, or clone a folder of this machine", async () => {
      const { host } = new URL(server.url);
      const named = (address: string) => {
        change = (answer) => ({ ...(answer as object), clone_url: address, http_url_to_repo: address });
        return forge.readRepository(NAME, signal);
      };
      for (const own of [`http://${host}/acme/tools.git`, `https://${host}/acme/tools.git`])
        expect(await named(own)).toMatchObject({ ok: true, value: { cloneUrl: own } });
      for (const foreign of [
        "/etc",
        "file:///etc",
        "ext::sh -c id",
        "ssh://git@host/acme/tools.git",
        "http://127.0.0.1:1/acme/tools.git",
        `http://${host}@other.test/acme/tools.git`,
        `http://user:secret@${host}/acme/tools.git`,
        `https://${host}.other.test/acme/tools.git`,
      ])
        expect(await named(foreign)).toMatchObject({
          ok: false,
          failure: { code: "invalid", message: expect.stringContaining("not on its own host") },
        });
    });
  });

/** The value with one of its members, or itself, replaced by values of other types, or left out. */
function* alterations(value: unknown): Iterable<unknown> {
  for (const other of [null, 5, "text", [], {}, [null], [5]]) yield other;
  if (Array.isArray(value)) {
    if (value.length > 0) for (const altered of alterations(value[0])) yield [altered, ...value.slice(1)];
  } else if (typeof value === "object" && value !== null)
    for (const [member, inner] of Object.entries(value)) {
      const { [member]: _, ...rest } = value as Record<string, unknown>;
      yield rest;
      for (const altered of alterations(inner)) yield { ...value, [member]: altered };
    }
}

const MAY_BE_NULL = new Set(["", "defaultBranch", "line", "lineNow"]);

/** Every text, number and list is one where it was one. */
function expectTypes(got: unknown, plain: unknown, sent: string, name = ""): void {
  const isLeftOut = got === undefined && typeof plain === "object" && !Array.isArray(plain);
  if (plain === null || plain === undefined || isLeftOut || (got === null && MAY_BE_NULL.has(name))) return;
  const type = (value: unknown) => (value === null ? "null" : Array.isArray(value) ? "list" : typeof value);
  expect([name, type(got), sent]).toEqual([name, type(plain), sent]);
  if (Array.isArray(plain)) for (const each of got as unknown[]) expectTypes(each, plain[0], sent, "each");
  else if (typeof plain === "object")
    for (const [member, inner] of Object.entries(plain))
      expectTypes((got as Record<string, unknown>)[member], inner, sent, member);
}
