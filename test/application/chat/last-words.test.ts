import { afterEach, describe, expect, test } from "bun:test";
import { toListedJob } from "../../../src/application/jobs/job-facts.ts";
import { toJobStatus } from "../../../src/domain/jobs/job-status.ts";
import type { FakeAnswer } from "../../fakes/fake-models.ts";
import { requirePart } from "../../require.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

/** A draft is open before the coder answers, because the project's own tests are run over it. */
async function ask(answer: FakeAnswer, message: string) {
  at = await openConversation(() => answer);
  at.write("package.json", '{"type": "module", "scripts": {"test": "node --test"}}');
  at.write("a.test.js", 'import { test } from "node:test"; test("one", () => {});\n');
  await at.send(message);
  const job = at.archive.list().at(-1);
  if (job === undefined) return null;
  const dropped = at.archive.events(job.jobId).findLast(({ event }) => event.type === "rolled_back")?.event;
  return {
    status: toJobStatus(toListedJob(job), false),
    reason: dropped?.type === "rolled_back" ? dropped.reason : null,
  };
}

describe.if(requirePart("bwrap"))("a job that ends without a change says why", () => {
  test.each<[string, FakeAnswer, string, string, string]>([
    ["words", "It is fine as it is.", "/code look at it", "no-change", "answered"],
    ["a review", "It can be merged.", "/review", "no-change", "answered"],
    [
      "a refused key",
      { fails: "unauthorized", message: "invalid x-api-key" },
      "/code look at it",
      "stopped",
      "unanswered: Gin could not answer: invalid x-api-key",
    ],
  ])("%s", async (_, answer, message, status, reason) => {
    expect(await ask(answer, message)).toEqual({ status, reason } as never);
  });
});
