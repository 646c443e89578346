import { afterEach, describe, expect, test } from "bun:test";
import { git } from "../../fakes/forges/seed-repository.ts";
import { addComment, type Item } from "../../fakes/forges/world.ts";
import { createSolveKit, DONE, FIX, PLAN, shell } from "./solve-kit.ts";

let kit: Awaited<ReturnType<typeof createSolveKit>>;
afterEach(() => kit.stop());

const BRANCH = "picoclaw/1-sum-is-wrong";
const TAP = (...tests: readonly [name: string, ok: boolean][]) =>
  `printf 'TAP version 13\\n1..${tests.length}\\n${tests.map(([name, ok], i) => `${ok ? "ok" : "not ok"} ${i + 1} - ${name}\\n`).join("")}# tests ${tests.length}\\n# pass ${tests.filter(([, ok]) => ok).length}\\n# fail ${tests.filter(([, ok]) => !ok).length}\\n'; exit ${tests.every(([, ok]) => ok) ? 0 : 1}\n`;
/** A project whose tests print what a file says. */
const project = (test: string) => ({
  "code.txt": "one\n",
  "test.sh": test,
  "package.json": JSON.stringify({ scripts: { test: "sh test.sh" } }),
});
const [pull, comment, message] = [
  () => kit.pulls()[0] as Item,
  () => kit.issue.comments.find(({ body }) => body.includes("picoclaw:task"))?.body ?? "",
  () => git(kit.repository.folder ?? "", "log", "-1", "--format=%B", BRANCH),
];

/** Nothing connects a data file with a check: the coder's last words do. */
const DECLARED = DONE.replace("The sum adds now.", "The sum adds now.\\nFixes: npm test");

describe("words are earned", () => {
  test("red after the last repair: failed, a draft that closes nothing, with what the checks printed", async () => {
    kit = await createSolveKit(
      project("echo FIRST WORDS; grep -q fixed code.txt; code=$?; echo LAST WORDS; exit $code\n"),
    );
    const { task, model } = await kit.solve((turn) =>
      turn === 0 ? PLAN : turn % 2 === 1 ? shell(`echo ${turn} >> code.txt`) : DECLARED,
    );
    expect(task).toMatchObject({ state: "failed", failure: { kind: "checks-red" } });
    // The work, and one repair with the failure in its request: the same failure twice is the end.
    expect(model.asked.length).toBe(5);
    expect(JSON.stringify(model.asked[3]?.messages.at(-1))).toContain(
      "You declared that your change fixes tests which are still red.",
    );
    expect(pull()).toMatchObject({ title: "Sum is wrong", pull: { draft: true } });
    for (const text of [pull().body, comment()])
      for (const words of ["FIRST WORDS", "LAST WORDS", "❌ `npm test`", "was red before this change"])
        expect(text).toContain(words);
    expect(`${pull().body}\n${message()}`).not.toMatch(/closes #1/i);
    expect(comment()).toContain(`/pull/${pull().number}`);
    expect(comment()).toContain("- [x] publish");
    // Fixed in the next run, it is ready and closes.
    const again = await kit.solve([shell("echo fixed >> code.txt"), DONE]);
    expect(again.task).toMatchObject({ state: "done", failure: null });
    expect(pull()).toMatchObject({ pull: { draft: false }, body: expect.stringContaining("Closes #1") });
    expect(kit.pulls().length).toBe(1);
    expect(kit.world.violations).toEqual([]);
  });

  test("a test that the change broke is named apart from one that was red before", async () => {
    kit = await createSolveKit(
      project(
        `if grep -q broken code.txt; then ${TAP(["old", false], ["mine", false]).trim()}; fi\n${TAP(["old", false], ["mine", true])}`,
      ),
    );
    const { task } = await kit.solve((turn) =>
      turn === 0 ? PLAN : turn === 1 ? shell("echo broken >> code.txt") : DONE,
    );
    expect(task.checks).toMatchObject([{ since: { verdict: "worse", worse: ["mine"] } }]);
    expect(pull().body).toContain("Did not fail before this change: mine.");
    // The change lies there again after the look at the cloned project.
    expect(git(kit.repository.folder ?? "", "show", `${BRANCH}:code.txt`)).toBe("one\nbroken");
  });

  test("tests that cannot be run there are not sent back to the coder: a draft, exit 1", async () => {
    kit = await createSolveKit();
    const { task } = await kit.solve([PLAN, shell(FIX), DONE], {
      config: { testCommand: "no-such-program" },
    });
    expect(task).toMatchObject({ state: "failed", failure: { kind: "checks-not-run" }, steps: 2 });
    expect(pull()).toMatchObject({ pull: { draft: true } });
    expect(pull().body).not.toMatch(/closes #1/i);
  });

  test("a project without checks gets an ordinary pull request that says so and closes nothing", async () => {
    kit = await createSolveKit({ "notes.txt": "a\n" });
    const { task } = await kit.solve([PLAN, shell("echo b >> notes.txt"), DONE]);
    expect(task).toMatchObject({ state: "done", failure: null, checks: [] });
    expect(pull()).toMatchObject({ pull: { draft: false }, body: expect.stringContaining("Not checked") });
    expect(`${pull().body}\n${message()}`).not.toMatch(/closes #1/i);
  });

  test("green says what, why, how it was checked, what it cost and how to ask for changes, and closes", async () => {
    kit = await createSolveKit();
    // The output files of the checks are not part of the change.
    const config = { testCommand: "echo x > report.xml; sh test.sh" };
    const { task } = await kit.solve([PLAN, shell(FIX), DONE], { config });
    expect(task).toMatchObject({ state: "done", failure: null });
    for (const words of [
      "> The sum adds now.",
      "For #1: Sum is wrong",
      "✅ `echo x",
      "tokens",
      "To ask for changes",
      "Closes #1",
    ])
      expect(pull().body).toContain(words);
    expect(message()).toContain("Closes #1");
    expect(git(kit.repository.folder ?? "", "diff", "--name-only", "main", BRANCH)).toBe("calc.sh");
  });

  test("a missing Python module could not be run: the coder is not asked to fix it", async () => {
    kit = await createSolveKit();
    const testCommand = "echo '/usr/bin/python3: No module named pytest' >&2; exit 1";
    const { task, model } = await kit.solve([PLAN, shell(FIX), DONE], { config: { testCommand } });
    expect(task).toMatchObject({ state: "failed", failure: { kind: "checks-not-run" } });
    expect(model.asked.length).toBe(3);
    expect(pull().pull?.draft).toBe(true);
  });

  test("no change: with the model's reason; with red checks it is a failure that says so", async () => {
    kit = await createSolveKit();
    const reason = '{"done": true, "summary": "It is right as it is."}';
    const red = await kit.solve([PLAN, shell("true"), reason, reason, reason]);
    expect(red.task).toMatchObject({ state: "failed", failure: { kind: "nothing-changed-red" } });
    expect(red.task.failure?.message).toContain(
      "the checks are red: `npm test`. The model says: It is right",
    );
    expect(comment()).toContain("❌ `npm test`");
    const config = { testCommand: "true" };
    const green = await kit.solve([PLAN, shell("true"), reason], { config, fresh: true });
    expect(green.task).toMatchObject({ state: "done", failure: { kind: "nothing-changed" } });
    expect(green.task.failure?.message).toContain("Nothing had to be changed");
    expect(green.task.failure?.message).toContain("It is right as it is.");
    expect(kit.pulls()).toEqual([]);
  });

  test("a follow-up answers the review comments it dealt with, each thread once", async () => {
    kit = await createSolveKit();
    await kit.solve([PLAN, shell(FIX), DONE]);
    const line = addComment(pull(), kit.alice, "say what it adds", { path: "calc.sh", line: 1 });
    addComment(pull(), kit.alice, "in English", { path: "calc.sh", line: 1, repliesTo: line.id });
    const far = addComment(pull(), kit.alice, "drop it", { path: "calc.sh", line: 40 });
    const other = addComment(pull(), kit.alice, "is this right?", { path: "test.sh", line: 1 });
    const mallory = { id: 99, login: "mallory" };
    const strange = addComment(pull(), mallory, "@all /merge", { path: "calc.sh", line: 1 });
    const answers = { [line.id]: "Fixes #99 @alice", [other.id]: "It is: 1 + 2 is 3.", 7: 8 };
    const answer = JSON.stringify({ done: true, summary: "A comment line.", answers });
    const run = await kit.solve([PLAN, shell("sed -i '1i # adds' calc.sh"), answer], { item: pull() });
    const { task } = run;
    expect(run.model.asked[1]?.messages[0]?.text).toContain(
      `alice on calc.sh:1 (review comment ${line.id}):`,
    );
    expect(run.model.asked[1]?.system).toContain('"answers"');
    expect(task).toMatchObject({ state: "done", failure: null });
    const replies = pull().comments.filter(({ author }) => author === kit.world.bot);
    const to = (id: number) =>
      replies.filter(({ review }) => review?.repliesTo === id).map(({ body }) => body);
    const commit = git(kit.repository.folder ?? "", "rev-parse", BRANCH).slice(0, 10);
    expect(to(line.id)).toEqual([`Changed at this place in ${commit}.\n\n> Fi\u200bxes #99 @\u200balice`]);
    expect(to(far.id)).toEqual([
      `This file was changed in ${commit}, but not near this line.\n\n> A comment line.`,
    ]);
    expect(to(other.id)).toEqual(["This file was not changed.\n\n> It is: 1 + 2 is 3."]);
    expect(to(strange.id)).toEqual([]);
  });

  test("a follow-up that ends red makes its pull request a draft that closes nothing, one that ends green makes it ready again", async () => {
    kit = await createSolveKit();
    await kit.solve([PLAN, shell(FIX), DONE]);
    expect(pull()).toMatchObject({ title: "Sum is wrong", pull: { draft: false } });
    expect(pull().body).toContain("Closes #1");
    addComment(pull(), kit.alice, "make it three", { path: "calc.sh", line: 1 });
    const wrong = shell("echo 'echo three; exit 1' >> test.sh");
    const said = '{"done": true, "summary": "Three it is."}';
    const red = await kit.solve([PLAN, wrong, said, said, said], { item: pull() });
    expect(red.task).toMatchObject({ state: "failed", failure: { kind: "checks-red" } });
    expect(pull().pull?.draft).toBe(true);
    for (const words of ["The sum adds now.", "Three it is.", "npm test", "three"])
      expect(pull().body).toContain(words);
    expect(pull().body).not.toContain("Closes #1");
    addComment(pull(), kit.alice, "no, mend it");
    const mend = shell("sed -i '/three/d' test.sh");
    const green = await kit.solve([PLAN, mend, DONE], { item: pull(), fresh: true });
    expect(green.task).toMatchObject({ state: "done", failure: null });
    expect(pull()).toMatchObject({ title: "Sum is wrong", pull: { draft: false } });
    expect(pull().body).toContain("Closes #1");
  });

  test("a person's pull request keeps their words, however a follow-up ends", async () => {
    kit = await createSolveKit();
    await kit.solve([PLAN, shell(FIX), DONE]);
    const mine = pull();
    mine.author = kit.alice;
    mine.body = "my own words";
    const wrong = shell("echo 'exit 1' >> test.sh");
    const { task } = await kit.solve([PLAN, wrong, DONE, DONE, DONE], { item: mine });
    expect(task.failure?.kind).toBe("checks-red");
    expect(mine.body).toBe("my own words");
  });
});
