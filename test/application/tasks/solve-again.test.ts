import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { git } from "../../fakes/forges/seed-repository.ts";
import { addComment } from "../../fakes/forges/world.ts";
import { createSolveKit, DONE, FIX, PLAIN_TEST, PLAN, PROJECT, shell } from "./solve-kit.ts";

let kit: Awaited<ReturnType<typeof createSolveKit>>;
beforeEach(async () => {
  kit = await createSolveKit(PROJECT, PLAIN_TEST);
});
afterEach(() => kit.stop());

const published = () =>
  git(kit.repository.folder ?? "", "show", "picoclaw/1-sum-is-wrong:calc.sh").includes("a + b");

describe("nothing is thrown away", () => {
  test.each<[what: string, first: Parameters<typeof kit.solve>[0], kind: string]>([
    [
      "a model that failed",
      [PLAN, shell(FIX), { code: "unauthorized", message: "wrong key", retryable: false }],
      "model",
    ],
    ["steps that were used up", [PLAN, shell(FIX), shell("true 1"), shell("true 2")], "too-many-steps"],
    [
      "a model that gave up",
      (turn) => (turn === 0 ? PLAN : turn === 1 ? shell(FIX) : '{"done": false, "summary": "cannot"}'),
      "gave-up",
    ],
  ])("after %s the next solve goes on from the change that was made", async (_what, first, kind) => {
    const ended = await kit.solve(first, { config: { maxSteps: 3 } });
    expect(ended.task).toMatchObject({ state: "failed", failure: { kind } });
    const again = await kit.solve([DONE], { config: { maxSteps: 3 } });
    expect(again.began).toBe("again");
    expect(again.task).toMatchObject({ state: "done", id: ended.task.id });
    // No second plan: the first request is the coder's, and it knows how it ended.
    expect(again.model.asked.length).toBe(1);
    expect(again.last()).toContain("You continue this task");
    expect(again.last()).toContain(`It ended earlier: ${ended.task.failure?.message.slice(0, 30)}`);
    expect(published()).toBe(true);
  });

  test("finished work is read from the steps: a stored task that lags behind loses none of it", async () => {
    const ended = await kit.solve([PLAN, shell(FIX), shell("sh test.sh"), shell("true")], {
      config: { maxSteps: 3 },
    });
    // As a process leaves it that is killed before it stored what it had noted.
    await kit.store.save({ ...ended.task, steps: 0, commands: [] });
    const again = await kit.solve([shell("true 2"), DONE], { config: { maxSteps: 3 } });
    expect(again.task).toMatchObject({ state: "done", steps: 5, stepsBefore: 3 });
    expect(again.task.commands.map(({ command }) => command)).toEqual([FIX, "sh test.sh", "true", "true 2"]);
  });

  test("what an edit changed after the last answer is kept as well", async () => {
    kit.environments.worker = async (folder) => {
      await Bun.write(`${folder}/calc.sh`, "add() { echo $((a + b)); }\n");
      return { exitCode: 1, stdout: "", stderr: "wrong key" };
    };
    const ended = await kit.solve([PLAN], { worker: "codex-cli" });
    expect(ended.task).toMatchObject({ state: "failed", failure: { kind: "gave-up" } });
    const again = await kit.solve([DONE]);
    expect(again.task.state).toBe("done");
    expect(published()).toBe(true);
  });

  test("a push that failed is only checked and pushed again: the model is not asked", async () => {
    kit.world.faults.push({
      method: "POST",
      path: /pulls$/,
      times: 1,
      answer: () => Response.json({ message: "no" }, { status: 403 }),
    });
    const ended = await kit.solve([PLAN, shell(FIX), DONE]);
    expect(ended.task).toMatchObject({ state: "failed", phase: "publish" });
    const again = await kit.solve([]);
    expect(again.task).toMatchObject({ state: "done", summary: "The sum adds now." });
    expect(again.model.asked.length).toBe(0);
    expect(kit.pulls().length).toBe(1);
  });

  test("checks that stayed red are gone on with: on the same branch, and in the same pull request", async () => {
    const red = await kit.solve((turn) =>
      turn === 0 ? PLAN : turn === 1 ? shell("echo '# tried' >> calc.sh") : DONE,
    );
    expect(red.task).toMatchObject({ state: "failed", failure: { kind: "checks-red" } });
    expect(kit.pulls().length).toBe(1);
    const again = await kit.solve([shell(FIX), DONE]);
    expect(again.task).toMatchObject({ id: red.task.id, state: "done", checks: [{ exitCode: 0 }] });
    expect(again.last()).toContain(
      "belong to what it touches or are named in the request, and are still red",
    );
    expect(kit.pulls().length).toBe(1);
    expect(published()).toBe(true);
  });

  test("who stopped it and takes it up again is not stopped by the old comment", async () => {
    const ended = await kit.solve((turn) => {
      if (turn === 0) return PLAN;
      if (turn === 1) return shell(FIX);
      addComment(kit.issue, kit.alice, "stop");
      return shell("true");
    });
    expect(ended.task.state).toBe("stopped");
    addComment(kit.issue, kit.alice, "please use bash");
    const again = await kit.solve([DONE]);
    expect(again.task.state).toBe("done");
    expect(again.last()).toContain("please use bash");
  });

  test("a base that moved against the change is reported, and the work is redone", async () => {
    await kit.solve([PLAN, shell(FIX), { code: "unauthorized", message: "", retryable: false }]);
    const { pushCommit } = await import("../../fakes/forges/seed-repository.ts");
    pushCommit(kit.repository.folder ?? "", "main", { "calc.sh": "add() { echo $((a / b)); }\n" });
    const again = await kit.solve([shell("sed -i 's|a / b|a + b|' calc.sh"), DONE]);
    expect(JSON.stringify(again.model.asked[0]?.messages)).toContain("no longer apply");
    expect(again.task.state).toBe("done");
  });

  test("--fresh starts over; so does a task that ended well", async () => {
    const ended = await kit.solve([
      PLAN,
      shell(FIX),
      { code: "unauthorized", message: "", retryable: false },
    ]);
    const fresh = await kit.solve([PLAN, shell(FIX), DONE], { fresh: true });
    expect(fresh.began).toBe("new");
    expect(fresh.task.id).not.toBe(ended.task.id);
    expect((await kit.solve([PLAN, DONE, DONE])).began).toBe("new");
  });

  test("prose instead of the closing JSON is asked for once, then accepted when files changed", async () => {
    const prose = "I mended the sum: it adds now.";
    const { task, model } = await kit.solve([PLAN, shell(FIX), prose, prose]);
    expect(model.asked.length).toBe(4);
    expect(model.asked[3]?.messages.at(-1)?.text).toContain('"done": true');
    expect(task).toMatchObject({ state: "done", summary: prose });
    expect(published()).toBe(true);
  });

  test("prose without a change is not work", async () => {
    const { task } = await kit.solve([PLAN, "I would change the sum.", "I would change the sum."]);
    expect(task).toMatchObject({ state: "failed", failure: { kind: "gave-up" } });
  });

  test("an overloaded server is waited out, a cut stream asked again", async () => {
    const waited: number[] = [];
    const overloaded = { code: "server-error", message: "overloaded", retryable: true, status: 529 } as const;
    const cut = { code: "cut-off", message: "the stream was cut", retryable: true } as const;
    const { task, live } = await kit.solve(
      [overloaded, PLAN, overloaded, overloaded, shell(FIX), cut, DONE],
      {
        deps: { pause: async (ms) => void waited.push(ms), clock: () => 0 },
      },
    );
    expect(task.state).toBe("done");
    expect(waited).toEqual([5000, 5000, 10_000, 0]);
    expect(live.filter(({ kind }) => kind === "waited").length).toBe(4);
  });

  test("a conversation that stays too long is compacted to the task, its commands and the latest", async () => {
    const tooLong = { code: "context-too-long", message: "", retryable: false } as const;
    const noise = (n: number) => shell(`seq 1 4000; true ${n}`, `look ${n}`);
    const { task, model, live } = await kit.solve([
      PLAN,
      ...[1, 2, 3, 4, 5, 6, 7, 8].map(noise),
      shell(FIX),
      tooLong,
      tooLong,
      DONE,
    ]);
    expect(task.state).toBe("done");
    const sizes = model.asked.map(({ messages }) => JSON.stringify(messages).length);
    expect(sizes.at(-1)).toBeLessThan((sizes.at(-2) ?? 0) / 2);
    const last = JSON.stringify(model.asked.at(-1)?.messages);
    expect(last).toContain("1 + 2 is -1");
    expect(last).toContain("sed -i");
    expect(live.some(({ kind }) => kind === "compacted")).toBe(true);
  });
});

describe("the steps of a task", () => {
  test("are kept in the order in which they happened, over all its runs", async () => {
    const first = await kit.solve([
      PLAN,
      shell(FIX),
      { code: "unauthorized", message: "no", retryable: false },
    ]);
    const second = await kit.solve([DONE]);
    const steps = await kit.store.steps(first.task.id);
    expect(steps).toEqual([...first.live, ...second.live]);
    expect(steps.map(({ kind }) => kind).filter((kind) => kind !== "phase")).toEqual([
      "taken-up",
      "planned",
      "prepared",
      "said",
      "command",
      "kept",
      "ended",
      "taken-up",
      "prepared",
      "said",
      "checked",
      "judged",
      "published",
      "ended",
    ]);
    expect(steps.find(({ kind }) => kind === "command")).toMatchObject({ command: FIX, exitCode: 0 });
    expect(steps.at(-1)).toMatchObject({ kind: "ended", state: "done", code: null });
  });
});

describe("what a coder is shown of a result", () => {
  test("head and tail of a long output, and how much is missing", async () => {
    const { task, last } = await kit.solve([
      PLAN,
      shell("echo FIRST; seq 1 20000; echo LAST", "look"),
      shell(FIX),
      DONE,
    ]);
    expect(task.state).toBe("done");
    expect(last()).toContain("FIRST");
    expect(last()).toContain("LAST");
    expect(last()).toMatch(/\d+ characters cut/);
  });

  test("a call that failed twice in the same way is not run a third time", async () => {
    const { task } = await kit.solve((turn) => (turn === 0 ? PLAN : shell("false", "again")));
    expect(task.failure?.kind).toBe("stuck");
    expect(task.commands.length).toBe(2);
  });

  test("a summary of half a million characters is published, cut", async () => {
    const long = JSON.stringify({ done: true, summary: `Adds now. ${"x".repeat(500_000)}` });
    const { task } = await kit.solve([PLAN, shell(FIX), long]);
    expect(task).toMatchObject({ state: "done", failure: null });
    expect(published()).toBe(true);
  });

  test("a secret that the model writes is neither kept nor shown, and its commands run as written", async () => {
    const { token } = kit.world;
    const { task, live } = await kit.solve([
      PLAN,
      shell(`echo ${token} | wc -c; ${FIX}`, `It is ${token}.`),
      DONE,
    ]);
    expect(task).toMatchObject({ state: "done", failure: null });
    for (const place of [task, live, await kit.store.find(task.id)])
      expect(JSON.stringify(place)).not.toContain(token);
    expect(JSON.stringify(live)).toContain(`"output":"${token.length + 1}`);
  });
});
