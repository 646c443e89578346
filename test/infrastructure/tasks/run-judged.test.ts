import { afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { requirePart } from "../../require.ts";
import { buildImages, createTaskBench, type TaskBench } from "./task-kit.ts";

describe.if(requirePart("docker"))("the tests of a task file judge it as checks judge any draft", () => {
  let bench: TaskBench;
  beforeAll(() => buildImages("coding-agent-executor"), 900_000);
  beforeEach(() => {
    bench = createTaskBench();
    bench.write("code.txt", "one\n");
    bench.write("check.sh", "grep -q fixed code.txt\n");
    bench.write("Makefile", "test:\n\t@sh check.sh\n");
    bench.git("add", ".");
    bench.git("commit", "-qm", "begin");
  });
  afterEach(() => bench.end());

  const testsOf = ({ record }: Awaited<ReturnType<TaskBench["run"]>>) =>
    record.loops.flatMap(({ test: one }) => one ?? []);

  const forge = `f=$(ls | grep -i ^mak); printf 'test:\\n\\t@true\\n' > "$f"`;

  test("a build file that the worker changed until the tests pass decides nothing, and nothing of it lands", async () => {
    const before = bench.tree();
    const ran = await bench.run({ prompts: [forge], noMeta: true, test: "make test" });
    expect(bench.tree()).toEqual(before);
    const job = ran.record.loops[0]?.run?.job;
    expect([job?.outcome, job?.changes.map(({ path }) => path)]).toEqual(["staged", ["Makefile"]]);
    expect(ran.record.end?.summary).toContain(`picoclaw apply --job ${job?.number}`);
    expect(ran.record.state).toBe("FAILED");
    const [judged] = testsOf(ran);
    expect(judged).toMatchObject({ judged: { verdict: "still-red", onlyWith: ["Makefile"] } });
    expect(judged?.exitCode).not.toBe(0);
  }, 300_000);

  test("a program that git ignores and that the worker changed decides nothing either", async () => {
    bench.write(".gitignore", "node_modules\n");
    bench.write("node_modules/.bin/judge", "grep -q fixed code.txt\n");
    const ran = await bench.run({
      prompts: ["echo true > node_modules/.bin/judge; echo two >> code.txt"],
      noMeta: true,
      test: "sh node_modules/.bin/judge",
    });
    expect([ran.record.state, bench.read("code.txt")]).toEqual(["FAILED", "one\n"]);
    expect(testsOf(ran)[0]?.judged).toMatchObject({ onlyWith: ["node_modules/.bin/judge"] });
  }, 300_000);

  test("a right change passes, and judging it leaves nothing in the repository", async () => {
    const objects = () => bench.git("count-objects");
    const before = objects();
    const ran = await bench.run({
      prompts: ["echo fixed >> code.txt"],
      noMeta: true,
      test: "make test; touch made.txt; sh check.sh",
    });
    expect(ran.record.state).toBe("COMPLETE");
    expect(testsOf(ran)).toMatchObject([{ exitCode: 0, error: null, judged: { verdict: "better" } }]);
    expect(bench.git("status", "--porcelain", "--", ".", ":!.picoclaw")).toBe(" M code.txt\n");
    expect(objects()).toBe(before);
  }, 300_000);

  test("red stays a preview until a later run is green: that one lands with everything, and nothing that tests left", async () => {
    bench.write(".gitignore", "out/\n");
    const before = bench.tree();
    const seen: string[] = [];
    const ran = await bench.run({
      prompts: ["echo wrong > made.txt; echo wrong > gone.txt", "rm gone.txt; echo fixed >> code.txt"],
      test: "mkdir -p out; date > out/log; make test",
      onTested: () => seen.push(bench.read("code.txt")),
    });
    expect([ran.record.state, bench.tree()]).toEqual([
      "COMPLETE",
      { ...before, "code.txt": "one\nfixed\n", "made.txt": "wrong\n" },
    ]);
    // Judged before it landed.
    expect(seen).toEqual(["one\n", "one\n"]);
    const jobs = ran.record.loops.flatMap(({ run }) => run?.job ?? []);
    expect(jobs.map(({ outcome, changes }) => [outcome, changes.map(({ path }) => path)])).toEqual([
      ["staged", ["gone.txt", "made.txt"]],
      ["committed", ["code.txt", "made.txt"]],
    ]);
    const { workspace } = await bench.open();
    expect(workspace.archive.read(jobs[0]?.id ?? "")?.state).toBe("discarded");
    expect((await workspace.takeBack({ direction: "undo", name: "t1", force: false })).status).toBe("done");
    expect(bench.tree()).toEqual(before);
  }, 300_000);

  test("resumed, it is judged against the repository as it was when the task began", async () => {
    const stop = new AbortController();
    const first = await bench.run({
      prompts: [`${forge}; echo fixed >> code.txt`, "true"],
      test: "make test",
      signal: stop.signal,
      onRun: (loop) => void (loop === 2 && stop.abort()),
    });
    expect([first.interrupted, bench.read("Makefile")]).toEqual([true, "test:\n\t@true\n"]);
    const again = await bench.run({ prompts: ["echo broken > code.txt"], test: "make test", resume: true });
    expect(testsOf(again).at(-1)?.judged).toMatchObject({ onlyWith: ["Makefile"] });
    expect([again.record.state, bench.read("code.txt")]).toEqual(["FAILED", "one\nfixed\n"]);
  }, 300_000);
});
