import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Forge, ForgeAnswer } from "../../src/application/ports/forges.ts";
import type { ForgeKind } from "../../src/domain/config/configured-kinds.ts";
import type { ItemRef } from "../../src/domain/forges/forge-items.ts";
import { seedRepository } from "../fakes/forges/seed-repository.ts";
import {
  addComment,
  addItem,
  addPerson,
  addRepository,
  createWorld,
  type Item,
  type Repository,
  request,
  type World,
} from "../fakes/forges/world.ts";

export interface ForgeUnderTest {
  readonly forge: Forge;
  readonly url: string;
  readonly stop: () => void;
  /** The waits that the client was asked for, in order. */
  readonly waits: number[];
}

/** GitHub has a flag for it; GitLab reads the title. */
function isDraftAt(kind: ForgeKind, { title, pull }: Item): boolean {
  return kind === "github" ? pull?.draft === true : /^\s*(?:\[draft\]|\(draft\)|draft:)/i.test(title);
}

/** The contract of every forge, tried by its client against a local server. */
export function forgeContract(kind: ForgeKind, start: (world: World) => ForgeUnderTest): void {
  describe(`the forge contract: ${kind}`, () => {
    const folder = mkdtempSync(join(tmpdir(), "picoclaw-forge-"));
    const { signal } = new AbortController();
    let world: World;
    let repository: Repository;
    let issue: Item;
    let subject: ForgeUnderTest;
    const NAME = "acme/tools";

    beforeEach(() => {
      subject?.stop();
      world = createWorld();
      const alice = addPerson(world, "alice");
      repository = addRepository(world, NAME, seedRepository(folder, { "README.md": "hello\n" }));
      issue = addItem(repository, {
        kind: "issue",
        title: "It breaks",
        body: "On **Mondays**.",
        author: alice,
      });
      subject = start(world);
    });
    afterEach(() => expect(world.violations).toEqual([]));
    afterAll(() => {
      subject?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    const ref = (item: Item): ItemRef => ({
      forge: kind,
      site: subject.url,
      repository: NAME,
      kind: item.kind,
      number: item.number,
    });
    const value = async <T>(answer: Promise<ForgeAnswer<T>>): Promise<T> => {
      const got = await answer;
      if (!got.ok) throw new Error(`${got.failure.code}: ${got.failure.message}`);
      return got.value;
    };
    const failure = async (answer: Promise<ForgeAnswer<unknown>>) => {
      const got = await answer;
      if (got.ok) throw new Error("expected a failure");
      return got.failure;
    };
    const person = (login: string) => world.people.get(login) ?? addPerson(world, login);
    const openPull = () =>
      addItem(repository, {
        kind: "pull",
        title: "A change",
        body: "",
        author: person("alice"),
        pull: { head: "feature", headRepository: NAME, headCommit: "1".repeat(40), base: "main" },
      });

    test("says whose token it has", async () => {
      expect(await value(subject.forge.whoAmI(signal))).toEqual(world.bot);
    });

    test("reads a repository: its default branch, a clean address to clone from, whether it may push", async () => {
      expect(await value(subject.forge.readRepository(NAME, signal))).toEqual({
        name: NAME,
        defaultBranch: "main",
        cloneUrl: `${subject.url}/${NAME}.git`,
        archived: false,
        canPush: true,
      });
      repository.permissions.set(world.bot.login, "read");
      expect((await value(subject.forge.readRepository(NAME, signal))).canPush).toBe(false);
    });

    test("lists the files of a branch; one that is not there is a failure", async () => {
      expect(await value(subject.forge.listFiles(NAME, "main", signal))).toEqual(["README.md"]);
      expect((await subject.forge.listFiles(NAME, "gone", signal)).ok).toBe(false);
    });

    test("reads an issue", async () => {
      issue.labels = ["bug"];
      issue.assignees = [person("alice")];
      expect(await value(subject.forge.readItem(ref(issue), signal))).toEqual({
        ref: ref(issue),
        title: "It breaks",
        body: "On **Mondays**.",
        author: "alice",
        open: true,
        labels: ["bug"],
        assignees: ["alice"],
      });
    });

    test("reads a pull with its branches", async () => {
      const { pull } = await value(subject.forge.readItem(ref(openPull()), signal));
      expect(pull).toEqual({
        sourceRepository: NAME,
        sourceBranch: "feature",
        targetBranch: "main",
      });
    });

    test("names the repository of a pull request from a fork", async () => {
      addRepository(world, "mallory/tools");
      const item = openPull();
      item.pull = { head: "main", headRepository: "mallory/tools", headCommit: "2".repeat(40), base: "main" };
      const { pull } = await value(subject.forge.readItem(ref(item), signal));
      expect(pull?.sourceRepository).toBe("mallory/tools");
    });

    test("lists comments oldest first, more than one page of them", async () => {
      for (let i = 0; i < 120; i++) addComment(issue, person("alice"), `comment ${i}`);
      const comments = await value(subject.forge.listComments(ref(issue), signal));
      expect(comments.length).toBe(120);
      expect(comments[119]).toMatchObject({ author: "alice", body: "comment 119" });
    });

    test("posts a comment and edits it in place", async () => {
      const posted = await value(subject.forge.postComment(ref(issue), { text: "working on it" }, signal));
      expect(posted.author).toBe(world.bot.login);
      await value(subject.forge.editComment(ref(issue), posted.id, { text: "done", mark: "x 1" }, signal));
      expect(issue.comments.map(({ body }) => body)).toEqual(["<!-- picoclaw:x 1 -->\n\ndone"]);
    });

    test("tells comments on lines apart from the conversation", async () => {
      const item = openPull();
      addComment(item, person("alice"), "nice");
      addComment(item, person("alice"), "rename this", { path: "src/a.ts", line: 7 });
      const lines = await value(subject.forge.listReviewComments(ref(item), signal));
      expect(lines).toMatchObject([{ body: "rename this", path: "src/a.ts", line: 7, author: "alice" }]);
      const talk = await value(subject.forge.listComments(ref(item), signal));
      expect(talk.map(({ body }) => body)).toEqual(["nice"]);
    });

    test("asks the forge for a person's rights, and gives a stranger none", async () => {
      repository.permissions.set("alice", "admin");
      expect(await value(subject.forge.permissionOf(NAME, "alice", signal))).toBe("admin");
      expect(await value(subject.forge.permissionOf(NAME, "nobody", signal))).toBe("none");
      repository.permissions.set("alice", "read");
      expect(await value(subject.forge.permissionOf(NAME, "alice", signal))).toBe("read");
    });

    test("reads a branch, or finds that it does not exist, also with a slash in its name", async () => {
      const main = await value(subject.forge.readBranch(NAME, "main", signal));
      expect(main).toMatchObject({ name: "main", protected: true });
      expect(main?.commit).toMatch(/^[0-9a-f]{40}$/);
      expect(await value(subject.forge.readBranch(NAME, "picoclaw/1-x", signal))).toBeNull();
    });

    test("lists open pulls with their words and authors", async () => {
      const alice = world.people.get("alice") as never;
      const pull = { head: "main", headRepository: NAME, headCommit: "0".repeat(40), base: "main" };
      addItem(repository, { kind: "pull", title: "Mend", body: "Fixes #1", author: alice, pull });
      addItem(repository, { kind: "pull", title: "Old", body: "", author: alice, pull, open: false });
      const found = await value(subject.forge.listOpenPulls(NAME, signal));
      expect(found).toMatchObject([{ author: "alice", title: "Mend", body: "Fixes #1" }]);
      expect(found[0]?.url).toContain(`/${NAME}/`);
    });

    test("opens a pull, finds it again by its branch, and rewords it", async () => {
      expect(await value(subject.forge.findPull(NAME, "main", signal))).toBeNull();
      const made = await value(
        subject.forge.openPull(
          { repository: NAME, head: "main", base: "main", title: "T", body: "B", closes: 1, draft: false },
          signal,
        ),
      );
      expect(await value(subject.forge.findPull(NAME, "main", signal))).toEqual(made);
      expect(repository.items.get(made.ref.number)).toMatchObject({ title: "T", body: "B\n\nCloses #1" });
      const text = { title: "T2", body: "B2", closes: null, draft: false };
      await value(subject.forge.updatePull(made.ref, text, signal));
      expect(repository.items.get(made.ref.number)).toMatchObject({ title: "T2", body: "B2" });
    });

    test("a draft is one to the forge, until it is made ready, and can be one again", async () => {
      const text = { title: "Draft: T", body: "", closes: null };
      const made = await value(
        subject.forge.openPull(
          { repository: NAME, head: "main", base: "main", ...text, draft: true },
          signal,
        ),
      );
      const isDraft = () => isDraftAt(kind, repository.items.get(made.ref.number) as Item);
      expect(isDraft()).toBe(true);
      await value(subject.forge.updatePull(made.ref, { ...text, draft: false }, signal));
      expect(isDraft()).toBe(false);
      await value(subject.forge.updatePull(made.ref, { ...text, draft: true }, signal));
      expect(isDraft()).toBe(true);
    });

    test("answers a comment on a line in its thread", async () => {
      const item = openPull();
      addComment(item, person("alice"), "rename this", { path: "src/a.ts", line: 7 });
      const [line] = await value(subject.forge.listReviewComments(ref(item), signal));
      await value(subject.forge.replyTo(ref(item), line?.thread ?? "", { text: "renamed" }, signal));
      expect(item.comments.at(-1)).toMatchObject({
        body: "renamed",
        author: world.bot,
        review: { path: "src/a.ts", line: 7, repliesTo: item.comments[0]?.id },
      });
      const lines = await value(subject.forge.listReviewComments(ref(item), signal));
      expect(lines.map(({ thread }) => thread)).toEqual([line?.thread as string, line?.thread as string]);
    });

    test("a second pull of the same branch is refused, not made twice", async () => {
      const request = {
        repository: NAME,
        head: "main",
        base: "main",
        title: "T",
        body: "B",
        closes: null,
        draft: false,
      };
      await value(subject.forge.openPull(request, signal));
      const { code } = await failure(subject.forge.openPull(request, signal));
      expect(code).toBe(kind === "github" ? "invalid" : "conflict");
    });

    test("lists what waits for it, by label and by assignee, each once", async () => {
      issue.labels = ["picoclaw"];
      issue.assignees = [world.bot];
      const item = openPull();
      item.assignees = [world.bot];
      addItem(repository, { kind: "issue", title: "not mine", body: "", author: person("alice") });
      const work = await value(
        subject.forge.listWork(NAME, { label: "picoclaw", assignee: world.bot.login }, signal),
      );
      expect(work.map(({ ref: { kind, number } }) => `${kind} ${number}`).sort()).toEqual([
        `issue ${issue.number}`,
        `pull ${item.number}`,
      ]);
    });

    test("says who asked, by label or by assignment, the newest of them", async () => {
      const wanted = { label: "picoclaw", assignee: world.bot.login };
      expect(await value(subject.forge.findRequest(ref(issue), wanted, signal))).toBeNull();
      request(issue, person("alice"), "labeled", "bug");
      request(issue, person("alice"), "labeled", "picoclaw");
      const first = await value(subject.forge.findRequest(ref(issue), wanted, signal));
      expect(first).toMatchObject({ actor: "alice", kind: "labeled" });
      await Bun.sleep(2);
      request(issue, person("bob"), "assigned", world.bot);
      const second = await value(subject.forge.findRequest(ref(issue), wanted, signal));
      expect(second).toMatchObject({ actor: "bob", kind: "assigned" });
      expect(second?.id).not.toBe(first?.id);
    });

    const answers: readonly [status: number, code: string, headers?: Record<string, string>][] = [
      [401, "unauthorized"],
      [403, "forbidden"],
      [404, "not-found"],
      [409, "conflict"],
      [422, "invalid"],
      [429, "rate-limited", { "retry-after": "86400" }],
    ];
    for (const [status, code, headers] of answers)
      test(`${status} is ${code}, and is not tried again`, async () => {
        world.faults.push({
          times: 9,
          answer: () => Response.json({ message: "no" }, { status, ...(headers && { headers }) }),
        });
        const got = await failure(subject.forge.readItem(ref(issue), signal));
        expect(got).toMatchObject({ code, status });
        expect(world.requests.length).toBe(1);
      });

    test("waits for a rate limit as long as the server says, then continues", async () => {
      world.faults.push({
        times: 1,
        answer: () => Response.json({ message: "slow" }, { status: 429, headers: { "retry-after": "7" } }),
      });
      await value(subject.forge.postComment(ref(issue), { text: "hello" }, signal));
      expect(subject.waits).toEqual([7000]);
      expect(issue.comments.length).toBe(1);
    });

    test("a read is tried again on 500 and gives up after three tries; a write is not repeated", async () => {
      world.faults.push({ times: 2, answer: () => new Response("oops", { status: 500 }) });
      await value(subject.forge.readItem(ref(issue), signal));
      world.faults.push({ times: 99, answer: () => new Response("oops", { status: 502 }) });
      expect((await failure(subject.forge.readItem(ref(issue), signal))).code).toBe("server-error");
      const before = world.requests.length;
      expect((await failure(subject.forge.postComment(ref(issue), { text: "x" }, signal))).code).toBe(
        "server-error",
      );
      expect(world.requests.length).toBe(before + 1);
    });

    test("a forge that does not answer is a timeout, one that is gone is unreachable, an abort is an abort", async () => {
      world.faults.push({ times: 99, answer: () => new Promise(() => {}) });
      expect((await failure(subject.forge.postComment(ref(issue), { text: "x" }, signal))).code).toBe(
        "timeout",
      );
      const abort = new AbortController();
      const call = failure(subject.forge.readItem(ref(issue), abort.signal));
      abort.abort();
      expect((await call).code).toBe("aborted");
      subject.stop();
      expect((await failure(subject.forge.postComment(ref(issue), { text: "x" }, signal))).code).toBe(
        "unreachable",
      );
    });

    test("the token is in no failure", async () => {
      world.faults.push({
        times: 9,
        answer: () => Response.json({ message: "bad" }, { status: 401 }),
      });
      const got = await failure(subject.forge.whoAmI(signal));
      expect(JSON.stringify(got)).not.toContain(world.token);
    });
  });
}
