import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SolveStore, SolveTask } from "../../../src/application/ports/solve-store.ts";
import { solveTask } from "../../../src/application/tasks/solve-task.ts";
import { takeIn } from "../../../src/application/tasks/take-in.ts";
import { createCoderModel, type Said } from "../../fakes/coder-model.ts";
import { startGitHub } from "../../fakes/forges/github-server.ts";
import { git, pushCommit, seedRepository } from "../../fakes/forges/seed-repository.ts";
import {
  addComment,
  addItem,
  addPerson,
  addRepository,
  createWorld,
  type Item,
  type Person,
  type Repository,
  type World,
} from "../../fakes/forges/world.ts";
import { createFolderEnvironments } from "../../fakes/task-environments.ts";
import { shell, solvePartsFor } from "./solve-kit.ts";
import { openTasks } from "./solve-store-kit.ts";

const PLAN = '{"steps": ["fix"], "risk": "low", "environment": "python"}';
const DONE = '{"done": true, "summary": "Fixed."}';
const FIX = "echo fixed > a.txt";
const readComments: Said = { calls: [{ name: "issue_read_comments", arguments: {} }] };

describe("listening while a task runs", () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-listening-"));
  const environments = createFolderEnvironments(folder);
  let world: World;
  let repository: Repository;
  let alice: Person;
  let mallory: Person;
  let issue: Item;
  let server: ReturnType<typeof startGitHub> | undefined;
  let store: SolveStore;
  let count = 0;

  beforeEach(async () => {
    server?.stop();
    world = createWorld();
    alice = addPerson(world, "alice");
    mallory = addPerson(world, "mallory");
    repository = addRepository(world, "acme/calc", seedRepository(folder, { "a.txt": "broken\n" }));
    repository.permissions.set("alice", "write");
    repository.permissions.set("mallory", "read");
    issue = addItem(repository, { kind: "issue", title: "Fix it", body: "broken", author: alice });
    server = startGitHub(world);
    store = (await openTasks(join(folder, `${count++}.db`))).store;
  });
  afterAll(() => {
    server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const solve = async (
    answer: (turn: number) => Said | Promise<Said>,
    { item = issue, task, newsEveryMs = 0 }: { item?: Item; task?: SolveTask; newsEveryMs?: number } = {},
  ) => {
    const url = server?.url ?? "";
    const model = createCoderModel((_, turn) => answer(turn));
    const parts = solvePartsFor({ folder, world, url, environments, store }, () => model, {
      patienceMs: 0,
      testCommand: "true",
      newsEveryMs,
    });
    const ref = { forge: "github", site: url, repository: "acme/calc", kind: item.kind, number: item.number };
    const opened = await takeIn(
      { store, now: () => new Date(), uuid: () => crypto.randomUUID() },
      { item: ref as SolveTask["item"], askedBy: "alice", trigger: "hand", worker: null },
    );
    const { id } = task ?? opened.task;
    const signal = new AbortController().signal;
    const ended = (await solveTask(parts, id, { signal, say: () => {} })) as SolveTask;
    return { task: ended, asked: JSON.stringify(model.asked.map(({ messages }) => messages)) };
  };

  test("a stranger's comment reaches no model: not one that was there, not one that comes, not one that is asked for", async () => {
    addComment(issue, mallory, "EVIL-BEFORE");
    addComment(issue, alice, "good-before");
    const { task, asked } = await solve((turn) => {
      if (turn === 0) return PLAN;
      if (turn === 1) {
        addComment(issue, mallory, "EVIL-MIDWAY");
        addComment(issue, alice, "good-midway");
        return shell(FIX);
      }
      return turn === 2 ? readComments : DONE;
    });
    expect(task.state).toBe("done");
    expect(asked).toContain("good-before");
    expect(asked).toContain("good-midway");
    expect(asked).not.toContain("EVIL");
  });

  test("nor does a stranger's comment on a line of a pull request, or one of an account that is gone", async () => {
    const pull = addItem(repository, {
      kind: "pull",
      title: "Mine",
      body: "",
      author: alice,
      pull: { head: "main", headRepository: "acme/calc", headCommit: "", base: "main" },
    });
    addComment(pull, mallory, "EVIL-LINE", { path: "a.txt", line: 1 });
    addComment(pull, { id: 77, login: "" }, "EVIL-GHOST");
    addComment(pull, alice, "good-line", { path: "a.txt", line: 1 });
    const answers = [PLAN, readComments, shell(FIX), DONE];
    const { asked } = await solve((turn) => answers[turn] ?? DONE, { item: pull });
    expect(asked).toContain("good-line");
    expect(asked).not.toContain("EVIL");
  });

  test("`stop` ends a command that runs, and says so", async () => {
    const since = performance.now();
    const { task } = await solve(
      (turn) => {
        if (turn === 0) return PLAN;
        addComment(issue, alice, "stop");
        return shell("exec sleep 120");
      },
      { newsEveryMs: 300 },
    );
    expect(task).toMatchObject({ state: "stopped", steps: 1 });
    expect(performance.now() - since).toBeLessThan(60_000);
    expect(environments.live.size).toBe(0);
  });

  test("`pause` in the middle of a command says how to go on without serve, and is obeyed once", async () => {
    const paused = await solve(
      (turn) => {
        if (turn === 0) return PLAN;
        addComment(issue, alice, "pause");
        return shell("exec sleep 120");
      },
      { newsEveryMs: 300 },
    );
    expect(paused.task.state).toBe("paused");
    const url = `${server?.url}/acme/calc/issues/1`;
    expect(issue.comments.map(({ body }) => body).join()).toContain(`picoclaw solve ${url}`);
    const answers = [shell(FIX), DONE];
    const { task } = await solve((turn) => answers[turn] ?? DONE, { task: paused.task });
    expect(task).toMatchObject({ state: "done", id: paused.task.id });
  });

  test("an environment that says it stands on another commit is not believed", async () => {
    const bare = repository.folder ?? "";
    git(bare, "branch", "fork", "main");
    pushCommit(bare, "fork", { "evil.txt": "x" });
    const foreign = git(bare, "rev-parse", "fork");
    const { prepare } = environments;
    environments.prepare = async (request) => {
      const prepared = await prepare(request);
      return prepared.ok ? { ...prepared, baseCommit: foreign } : prepared;
    };
    const { task } = await solve((turn) => (turn === 0 ? PLAN : DONE)).finally(() => {
      environments.prepare = prepare;
    });
    expect(task).toMatchObject({ state: "failed", failure: { kind: "wrong-base" } });
    expect(environments.live.size).toBe(0);
  });

  for (const [status, kind, remedy] of [
    [401, "forge-token", "GITHUB_PERSONAL_ACCESS_TOKEN"],
    [404, "forge-missing", "Check the address"],
  ] as const)
    test(`a forge that answers ${status} comes with what to do about it`, async () => {
      world.faults.push({ times: 99, answer: () => Response.json({ message: "no" }, { status }) });
      const { task } = await solve(() => PLAN);
      expect(task.failure).toMatchObject({ kind });
      expect(task.failure?.message).toContain(remedy);
    });
});
