import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findCases, hiddenTests } from "../../../src/application/history/find-cases.ts";
import type { PatchCommand } from "../../../src/domain/patch/patch-command.ts";
import { checkOutState, createAskGit } from "../../../src/infrastructure/history/git-log.ts";
import { openCompare } from "../../../src/wiring/compare.ts";
import { createBench } from "../jobs/worker-kit.ts";

let bench = createBench();
afterEach(() => {
  bench.remove();
  bench = createBench();
});

const PRICE = "export function total(a) {\n  return a;\n}\n";
const ROUNDED = "export function total(a) {\n  return Math.round(a * 100) / 100;\n}\n";
const TEST = 'import { total } from "../price.js";\ntest("cents", () => total(1.005));\n';

const update = (target: string, content: string, action: "update" | "create" = "update"): PatchCommand => ({
  type: "file_edit",
  action,
  target,
  content,
});

async function open() {
  const opened = await openCompare(bench.environment(), { cwd: bench.workspace });
  if (!opened.ok) throw new Error(opened.message);
  const { workspace } = opened;
  const signal = new AbortController().signal;
  const run = async (commands: readonly PatchCommand[], request: string, groupId?: string) => {
    const patch = JSON.stringify(commands);
    const result = await workspace.execute({
      patch,
      source: "chat:cli",
      request,
      signal,
      ...(groupId !== undefined && { groupId }),
    });
    if (result.about !== "job" || !result.success) throw new Error(JSON.stringify(result));
    return result.jobId;
  };
  const find = () => findCases(opened.cases(), { commits: 20 });
  return { opened, workspace, run, find };
}

/** A file of the room that a case would be played in, and git's words about it. */
async function checkOut(found: Awaited<ReturnType<typeof findCases>>["cases"][number]) {
  const state = await found.openState();
  if ("code" in state) return state;
  const into = join(mkdtempSync(join(tmpdir(), "picoclaw-room-")), "project");
  const git = createAskGit(bench.workspace, process.env.PATH ?? "", tmpdir());
  await checkOutState(git, state, into);
  const objects = await git(["cat-file", "--batch-all-objects", "--batch"], { cwd: into });
  const tracked = await git(["ls-files"], { cwd: into });
  const read = (path: string) => readFileSync(join(into, path), "utf8");
  const result = {
    files: tracked.bytes.toString().split("\n").filter(Boolean),
    price: read("price.js"),
    objects: objects.bytes.toString(),
  };
  rmSync(join(into, ".."), { recursive: true });
  return result;
}

test("a landed job with tests is a case over the files before it, without a trace of it or of later commits", async () => {
  bench.write("price.js", PRICE);
  bench.write("package.json", '{ "scripts": { "test": "node --test" } }\n');
  bench.write(".gitignore", "dist/\n");
  bench.git("init", "-q");
  bench.git("add", "-A");
  bench.git("-c", "user.name=u", "-c", "user.email=u@x", "commit", "-qm", "first");
  const { run, find } = await open();
  await run(
    [update("notes.js", "export const notes = [];\n", "create")],
    "Write a file of notes",
    "chat:cli#1-aa",
  );
  const job = await run(
    [update("price.js", ROUNDED), update("test/price.test.js", TEST, "create")],
    "Prices with three decimals break the invoice: total must round to cents",
    "chat:cli#2-bb",
  );
  await run([update("price.js", `${ROUNDED}// later\n`)], "Say that this is later");
  bench.git("add", "-A");
  bench.git("-c", "user.name=u", "-c", "user.email=u@x", "commit", "-qm", "A later commit");
  bench.write("dist/price.js", ROUNDED);
  const { cases, others } = await find();
  expect(cases.map(({ id }) => id)).toEqual([`job:${job}`]);
  expect(others.map(({ why }) => why.code).sort()).toEqual(["no-tests", "no-tests", "same"]);
  const [found] = cases;
  if (found === undefined) throw new Error("no case");
  expect(found.request).toContain("round to cents");
  expect(found.request).toContain("> Write a file of notes");
  expect([...hiddenTests(found)]).toEqual([["test/price.test.js", TEST]]);
  const room = await checkOut(found);
  expect(room).toMatchObject({ files: [".gitignore", "notes.js", "package.json", "price.js"], price: PRICE });
  expect("objects" in room && /Math\.round|three|later|cents/.test(room.objects)).toBe(false);
});

test("the request of a job that was taken back is a case, judged by the later job that solved it", async () => {
  bench.write("price.js", PRICE);
  const { workspace, run, find } = await open();
  const failed = await run([update("price.js", "broken\n")], "The function total must round prices to cents");
  await workspace.takeBack({ direction: "undo", name: failed, force: false });
  const later = await run(
    [update("price.js", ROUNDED), update("test/price.test.js", TEST, "create")],
    "Again please",
  );
  const { cases, others } = await find();
  expect(cases).toMatchObject([
    { id: `job:${failed}+${later}`, request: "The function total must round prices to cents" },
  ]);
  expect(others).toMatchObject([{ id: `job:${later}`, why: { code: "no-request" } }]);
  const [found] = cases;
  if (found === undefined) throw new Error("no case");
  expect(await checkOut(found)).toMatchObject({ files: ["price.js"], price: PRICE });
});

test("a job without its originals, and a history of one, are told", async () => {
  bench.write("price.js", PRICE);
  const { workspace, run, find } = await open();
  const job = await run(
    [update("price.js", ROUNDED), update("test/price.test.js", TEST, "create")],
    "The function total must round prices to cents",
  );
  expect((await find()).cases).toHaveLength(1);
  const folder = join(workspace.storage, "jobs", job);
  rmSync(join(folder, "slots"), { recursive: true });
  const [found] = (await find()).cases;
  expect(found === undefined ? "none" : await found.openState()).toEqual({ code: "gone" });
});
