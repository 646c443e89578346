import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Said } from "../../fakes/coder-model.ts";
import { git, pushCommit } from "../../fakes/forges/seed-repository.ts";
import { addComment, addItem, addPerson, type Item, type Person } from "../../fakes/forges/world.ts";
import { createSolveKit, shell } from "./solve-kit.ts";

const PLAN = '{"steps": ["fix"], "risk": "low", "environment": "python"}';
const DONE = '{"done": true, "summary": "Fixed."}';
const FIX = "echo fixed > a.txt";
const readComments: Said = { calls: [{ name: "issue_read_comments", arguments: {} }] };

describe("listening while a task runs", () => {
  let kit: Awaited<ReturnType<typeof createSolveKit>>;
  let mallory: Person;
  beforeEach(async () => {
    kit = await createSolveKit({ "a.txt": "broken\n" });
    mallory = addPerson(kit.world, "mallory");
    kit.repository.permissions.set("mallory", "read");
  });
  afterEach(() => kit.stop());

  const solve = async (
    answer: (turn: number) => Said | Promise<Said>,
    { item = kit.issue, newsEveryMs = 0 }: { item?: Item; newsEveryMs?: number } = {},
  ) => {
    const config = { patienceMs: 0, testCommand: "true", newsEveryMs };
    const { task, model } = await kit.solve(answer, { item, config });
    return { task, asked: JSON.stringify(model.asked.map(({ messages }) => messages)) };
  };

  test("a stranger's comment reaches no model: neither an earlier one, nor a new one, nor one that is asked for", async () => {
    addComment(kit.issue, mallory, "EVIL-BEFORE");
    addComment(kit.issue, kit.alice, "good-before");
    const { task, asked } = await solve((turn) => {
      if (turn === 0) return PLAN;
      if (turn === 1) {
        addComment(kit.issue, mallory, "EVIL-MIDWAY");
        addComment(kit.issue, kit.alice, "good-midway");
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
    const pull = addItem(kit.repository, {
      kind: "pull",
      title: "Mine",
      body: "",
      author: kit.alice,
      pull: { head: "main", headRepository: "acme/calc", headCommit: "", base: "main" },
    });
    addComment(pull, mallory, "EVIL-LINE", { path: "a.txt", line: 1 });
    addComment(pull, { id: 77, login: "" }, "EVIL-GHOST");
    addComment(pull, kit.alice, "good-line", { path: "a.txt", line: 1 });
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
        addComment(kit.issue, kit.alice, "stop");
        return shell("exec sleep 290");
      },
      { newsEveryMs: 300 },
    );
    expect(task).toMatchObject({ state: "stopped", steps: 1 });
    expect(performance.now() - since).toBeLessThan(280_000);
    expect(kit.environments.live.size).toBe(0);
  });

  test("`pause` in the middle of a command says how to go on without serve, and is obeyed once", async () => {
    const paused = await solve(
      (turn) => {
        if (turn === 0) return PLAN;
        addComment(kit.issue, kit.alice, "pause");
        return shell("exec sleep 290");
      },
      { newsEveryMs: 300 },
    );
    expect(paused.task.state).toBe("paused");
    const url = `${kit.url}/acme/calc/issues/1`;
    expect(kit.issue.comments.map(({ body }) => body).join()).toContain(`picoclaw solve ${url}`);
    const answers = [shell(FIX), DONE];
    const { task } = await solve((turn) => answers[turn] ?? DONE);
    expect(task).toMatchObject({ state: "done", id: paused.task.id });
  });

  test("an environment that claims to be on another commit is not believed", async () => {
    const bare = kit.repository.folder ?? "";
    git(bare, "branch", "fork", "main");
    pushCommit(bare, "fork", { "evil.txt": "x" });
    const foreign = git(bare, "rev-parse", "fork");
    const { prepare } = kit.environments;
    kit.environments.prepare = async (request) => {
      const prepared = await prepare(request);
      return prepared.ok ? { ...prepared, baseCommit: foreign } : prepared;
    };
    const { task } = await solve((turn) => (turn === 0 ? PLAN : DONE)).finally(() => {
      kit.environments.prepare = prepare;
    });
    expect(task).toMatchObject({ state: "failed", failure: { kind: "wrong-base" } });
    expect(kit.environments.live.size).toBe(0);
  });

  for (const [status, kind, remedy] of [
    [401, "forge-token", "GITHUB_PERSONAL_ACCESS_TOKEN"],
    [404, "forge-missing", "Check the address"],
  ] as const)
    test(`a forge that answers ${status} is reported with advice`, async () => {
      kit.world.faults.push({ times: 99, answer: () => Response.json({ message: "no" }, { status }) });
      const { task } = await solve(() => PLAN);
      expect(task.failure).toMatchObject({ kind });
      expect(task.failure?.message).toContain(remedy);
    });
});
