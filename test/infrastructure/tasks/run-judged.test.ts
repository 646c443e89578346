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

  test("a build file that the worker changed until the tests pass decides nothing", async () => {
    const forge = `f=$(ls | grep -i ^mak); printf 'test:\\n\\t@true\\n' > "$f"`;
    const ran = await bench.run({ prompts: [forge], noMeta: true, test: "make test" });
    expect(ran.record.state).toBe("FAILED");
    const [judged] = testsOf(ran);
    expect(judged).toMatchObject({ judged: { verdict: "still-red", onlyWith: ["Makefile"] } });
    expect(judged?.exitCode).not.toBe(0);
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
});
