import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { toListedJob } from "../../../src/application/jobs/job-facts.ts";
import { toJobStatus } from "../../../src/domain/jobs/result.ts";
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
    ["words", "It is fine as it is.", "/code look at it", "no-change", "answered: unexplained"],
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

const PATCH = "## Plan\nWrite\n## Patch\n```txt:a.txt\nx\n```\n## Risk\nlow\n";
const UNREADABLE = '## Plan\nWrite\n## Patch\n[{"type": "file_edit",\n## Risk\nlow\n';

/** The worker's lines of the log: level and event. */
async function logged(): Promise<string[]> {
  const text = readFileSync(join(at.home, "logs/picoclaw.log"), "utf8");
  const lines = text.split("\n").filter((line) => line !== "");
  return lines
    .map((line) => JSON.parse(line) as { level: number; event: string; component: string })
    .filter(({ component }) => component === "worker")
    .map(({ level, event }) => `${level} ${event}`);
}

test("a job that begins in a chat is logged as one of apply is", async () => {
  at = await openConversation(() => PATCH);
  expect((await at.send("/code write a.txt")).ok).toBe(true);
  expect(await logged()).toEqual([
    "30 worker.patch_parse",
    "30 worker.execution_summary",
    "30 worker.execution_started",
    "30 worker.command_executed",
    "30 worker.execution_completed",
  ]);
});

test("a patch that cannot be read is answered with the specified sentence, in one language, and is an error of the log", async () => {
  at = await openConversation(() => UNREADABLE, { locale: "ja" });
  const reply = await at.send("/code write a.txt");
  expect(reply.text).toStartWith("patch のフォーマットが不正だよ。JSON または Markdown で書いてね。\n");
  expect(reply.text).not.toMatch(/parse|error/i);
  const notices = at.events.flatMap((event) => (event.type === "notice" ? [event.text] : []));
  expect(notices.join("\n")).not.toMatch(/parse|error/i);
  expect(new Set(await logged())).toEqual(new Set(["50 worker.execution_failed"]));
});
