import { expect, test } from "bun:test";
import type { TaskMessages } from "../../../src/domain/texts/tasks.ts";
import { taskMessagesFor } from "../../../src/domain/texts/tasks.ts";

const said = (texts: TaskMessages): readonly string[] => [
  texts.totalTime(60),
  texts.maxLoops(10),
  texts.metaFailed("REASON"),
  texts.metaMalformed("REASON"),
  texts.conflict("job_1_a", ["a", "b"]),
  texts.testFailed(2),
  texts.allCriteria,
  texts.workerDone,
  texts.engineDown("unix:///x"),
  texts.engineForbidden("unix:///x"),
  texts.imageMissing("agent-runner-codex + python", "DETAIL", "agent-runner-codex"),
  texts.cannotRun("pytest", "agent-runner-codex + node"),
  texts.failingTest("make test", 2, "1 failed"),
  texts.unknownEnvironment({ asked: "rubi", available: ["python", "node"] }),
  texts.keysOutside("DETAIL"),
  texts.loginReadable("codex-cli", [".codex/auth.json"]),
  ...(["host-changed", "unlike", "unwritable"] as const).map((why) =>
    texts.loginKept(".codex/auth.json", why),
  ),
  texts.containerFailed("DETAIL"),
  texts.remoteEngine("tcp://x"),
  ...(["pulling", "building", "starting", "copying"] as const).map((step) => texts.setup(step, "WHAT")),
  texts.workerTimedOut(60),
  texts.workerEnded(1),
  texts.workerKilled("SIGKILL"),
  texts.workerLost("DETAIL"),
  texts.workerAborted,
  texts.unauthorized("codex-cli", ["A", "B"]),
  texts.unreachable("codex-cli", "DETAIL"),
  texts.noCredentials("codex-cli", ["A", "B"]),
  texts.typeTask,
  texts.noTaskFile,
  texts.unknownTask("t1"),
  texts.taskBusy("t1"),
  texts.taskDone("t1"),
  texts.prdUnreadable("prd.md"),
  texts.taskInvalid("task.yaml"),
  texts.previewNeedsNoMeta,
  texts.noModel({ code: "not-configured", detail: "REASON" }),
  texts.noModel({ code: "over-budget", detail: "$0.25 / $0.01" }),
  texts.noModel({ code: "no-price", detail: "MODEL" }),
  texts.progress({
    state: "RUNNING",
    loop: 1,
    maxLoops: 10,
    figures: { elapsedMs: 60_000, inputTokens: 1, outputTokens: 2, costUsd: 0.5 },
    last: "LAST",
  }),
  texts.ended({ state: "COMPLETE", id: "t1", summary: "S", note: "n.md", jobs: ["job_1_a"] }),
  texts.ended({ state: "FAILED", id: "t1", summary: "S", note: "n.md", jobs: [] }),
  texts.interrupted("t1"),
];

test("everything is said in both languages, each in its own", () => {
  const [ja, en] = [said(taskMessagesFor("ja")), said(taskMessagesFor("en"))];
  for (const [index, text] of en.entries()) {
    expect(text).not.toContain("undefined");
    expect(ja[index]).not.toBe(text);
    expect(ja[index]).toMatch(/[ぁ-んァ-ン一-龠]/);
  }
});

test("a missing image names the command that makes it", () => {
  const { imageMissing } = taskMessagesFor("en");
  expect(imageMissing("agent-runner-codex + python", "x", "agent-runner-codex")).toContain(
    "picoclaw images build agent-runner-codex",
  );
});

test("a task file whose budget excludes its planning model is refused in words", () => {
  for (const locale of ["en", "ja"] as const) {
    const { noModel } = taskMessagesFor(locale);
    expect(noModel({ code: "over-budget", detail: "$0.25 / $0.01" })).toMatch(
      /budget is spent|予算を使い切り/,
    );
    expect(noModel({ code: "no-price", detail: "gpt-x" })).toMatch(
      /price .* gpt-x is unknown|gpt-x の料金が不明/,
    );
  }
});
