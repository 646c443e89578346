import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { git } from "../../fakes/forges/seed-repository.ts";
import { createSolveKit, DONE, FIX, PLAIN_TEST, PLAN, PROJECT, shell } from "./solve-kit.ts";

let kit: Awaited<ReturnType<typeof createSolveKit>>;
beforeEach(async () => {
  kit = await createSolveKit(PROJECT, PLAIN_TEST);
});
afterEach(() => kit.stop());

describe("several candidates", () => {
  test("work in environments of their own; the green one is published, the others are named", async () => {
    const ways = ["echo 1 > one.txt", FIX, "echo 3 > three.txt"];
    let begun = 0;
    const lived: number[] = [];
    const { task, live } = await kit.solve(
      (turn, { messages, tools }) => {
        if (turn === 0) return PLAN;
        lived.push(kit.environments.live.size);
        expect(tools?.some(({ name }) => name === "issue_comment")).toBe(false);
        return messages.some(({ role }) => role === "assistant") ? DONE : shell(ways[begun++] ?? "true");
      },
      { candidates: 3 },
    );
    expect(task.state).toBe("done");
    expect(Math.max(...lived)).toBe(3);
    expect(kit.environments.live.size).toBe(0);
    expect(task.checks).toMatchObject([{ exitCode: 0 }]);
    const published = git(kit.repository.folder ?? "", "ls-tree", "--name-only", "picoclaw/1-sum-is-wrong");
    expect(published).not.toContain("one.txt");
    expect(git(kit.repository.folder ?? "", "show", "picoclaw/1-sum-is-wrong:calc.sh")).toContain("a + b");
    expect(task.notes.join()).toMatch(/Of 3 candidates, number \d was kept/);
    expect(task.notes.join()).toContain("checks green");
    expect(task.notes.join()).toContain("1 of 1 checks red");
    const chosen = live.find(({ kind }) => kind === "chosen");
    expect(chosen).toMatchObject({ kind: "chosen", discarded: expect.any(Array), by: "checks" });
    expect(new Set(live.flatMap(({ candidate }) => candidate ?? [])).size).toBe(3);
  });

  test("if none finishes, the next run continues from the best of them", async () => {
    const failure = { code: "unauthorized", message: "wrong key", retryable: false } as const;
    let begun = 0;
    const ended = await kit.solve(
      (turn, { messages }) => {
        if (turn === 0) return PLAN;
        if (messages.some(({ role }) => role === "assistant")) return failure;
        return begun++ === 0 ? failure : shell(FIX);
      },
      { candidates: 2 },
    );
    expect(ended.task).toMatchObject({ state: "failed", failure: { kind: "model" } });
    expect(kit.environments.live.size).toBe(0);
    const again = await kit.solve([DONE]);
    expect(again.task).toMatchObject({ state: "done", id: ended.task.id });
    expect(git(kit.repository.folder ?? "", "show", "picoclaw/1-sum-is-wrong:calc.sh")).toContain("a + b");
  });
});
