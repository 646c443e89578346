import { expect, test } from "bun:test";
import { describeJob } from "../../../src/adapters/cli/show.ts";
import type { OpenedWorkspace } from "../../../src/application/ports/jobs-workspace.ts";
import { messagesFor } from "../../../src/domain/texts/jobs.ts";
import { archiveOf, storedJob } from "../../infrastructure/store/jobs-kit.ts";

test("a job without commands has no line about commands, and no second blank line", () => {
  const job = storedJob(1, {
    state: "committed",
    outcome: "answered",
    changes: [],
    totalCmds: 0,
    executedCmds: 0,
  });
  const opened = {
    messages: messagesFor("en"),
    workspace: { archive: archiveOf([job]), isAlive: () => false },
  };
  const text = describeJob(opened as unknown as OpenedWorkspace, job, { all: false });
  expect(text).not.toMatch(/\n\n\n|succeeded: 0/);
  expect(text).toContain("\n\nChanged files: 0\n");
});
