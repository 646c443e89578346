import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findCases, hiddenTests, readLinkedIssues } from "../../../src/application/history/find-cases.ts";
import type { PatchCommand } from "../../../src/domain/patch/patch-command.ts";
import { checkOutState, createAskGit } from "../../../src/infrastructure/history/git-log.ts";
import { openCompare } from "../../../src/wiring/compare.ts";
import { startGitHub } from "../../fakes/forges/github-server.ts";
import { startGitLab } from "../../fakes/forges/gitlab-server.ts";
import { addItem, addPerson, addRepository, createWorld } from "../../fakes/forges/world.ts";
import { createChatCli, proposal } from "../chat/chat-kit.ts";
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

async function open(more: Record<string, string> = {}) {
  const opened = await openCompare(bench.environment(more), { cwd: bench.workspace });
  if (!opened.ok) throw new Error(opened.message);
  const { workspace } = opened;
  const signal = new AbortController().signal;
  const run = async (commands: readonly PatchCommand[], request: string, groupId?: string) => {
    const patch = JSON.stringify(commands);
    const result = await workspace.execute({
      patch,
      source: "chat:cli",
      startedBy: "user",
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

test("the request of an undone job is a case, judged by the later job that solved it", async () => {
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

test("a job without its originals, and a history of one job, are reported", async () => {
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

test("the request of a job that a later job corrected is a case over the files before both, judged by the later tests", async () => {
  bench.write("price.js", PRICE);
  bench.write("other.js", "export const other = 1;\n");
  const { run, find } = await open();
  const request = "The function total must round prices to cents";
  const first = await run([update("price.js", PRICE.replace("return a", "return Math.floor(a)"))], request);
  await run([update("other.js", "export const other = 2;\n")], "The other number must be two now");
  const later = await run(
    [update("price.js", ROUNDED), update("test/price.test.js", TEST, "create")],
    "It cuts cents off, please look again",
  );
  const { cases, others } = await find();
  const corrected = cases.find(({ id }) => id === `job:${first}+${later}`);
  expect(corrected).toMatchObject({ request });
  expect(others.some(({ id }) => id.includes("+"))).toBe(false);
  if (corrected === undefined) throw new Error("no case");
  expect(corrected.files.find(({ path }) => path === "price.js")).toEqual({
    path: "price.js",
    before: PRICE,
    after: ROUNDED,
  });
  expect(await checkOut(corrected)).toMatchObject({ files: ["other.js", "price.js"], price: PRICE });
});

test("a later job that only adds beside the lines of an earlier one does not correct it", async () => {
  bench.write("price.js", PRICE);
  const { run, find } = await open();
  const floored = PRICE.replace("return a", "return Math.floor(a)");
  await run([update("price.js", floored)], "The function total must round prices to cents");
  await run(
    [update("price.js", `${floored}export const more = 1;\n`), update("test/price.test.js", TEST, "create")],
    "The file needs a constant more of value 1",
  );
  const { cases, others } = await find();
  expect([...cases, ...others].some(({ id }) => id.includes("+"))).toBe(false);
});

test("a name that another file of the project had is known, and one that came later is not", async () => {
  const body = (name: string) => PRICE.replace("return a", `return ${name}(a)`);
  const testOf = (name: string, by: string) => `${TEST}test("${by}", () => ${name});\n`;
  bench.write("price.js", PRICE);
  bench.write("lib/deep/names.js", "export const roundHalf = 1;\n");
  bench.git("init", "-q");
  const commit = (message: string) => {
    bench.git("add", "-A");
    bench.git("-c", "user.name=u", "-c", "user.email=u@x", "commit", "-qm", message);
  };
  commit("first");
  bench.write("price.js", body("roundHalf"));
  bench.write("test/price.test.js", testOf("roundHalf", "commit"));
  commit("The total of a price must be rounded, by commit one");
  bench.write("price.js", body("roundLate"));
  bench.write("test/price.test.js", testOf("roundLate", "commit"));
  commit("The total of a price must be rounded, by commit two");
  bench.write("late.js", "export const roundLate = 1;\n");
  commit("A name that came later");
  const { run, find } = await open();
  const pair = async (name: string) =>
    run(
      [update("price.js", body(name)), update("test/price.test.js", testOf(name, "job"))],
      `The total must be rounded, by job ${name.length}`,
    );
  await pair("roundHalf");
  await run([update("lib/deep/names.js", "export const roundHalf = 1, roundJob = 2;\n")], "One name more");
  await pair("roundJob");
  await pair("roundNever");
  const { cases, others } = await find();
  expect(cases.map(({ request }) => request.split(", by ")[1]).sort()).toEqual([
    "commit one",
    "job 8",
    "job 9",
  ]);
  expect(others.flatMap(({ why }) => (why.code === "unknown-names" ? [why.names] : []))).toEqual([
    ["roundNever"],
    ["roundLate"],
  ]);
});

test.each([
  [
    "GitHub",
    startGitHub,
    "#",
    { base: "PICOCLAW_FORGES_GITHUB_BASE_URL", token: "GITHUB_PERSONAL_ACCESS_TOKEN" },
  ],
  ["GitLab", startGitLab, "!", { base: "GITLAB_API_URL", token: "GITLAB_PERSONAL_ACCESS_TOKEN" }],
] as const)(
  "the text of a linked issue of %s completes the request of a commit; the words of a pull are left out",
  async (name, start, mark, variables) => {
    const world = createWorld();
    const server = start(world);
    try {
      const project = addRepository(world, "us/prices");
      const author = addPerson(world, "uma");
      const { number: issue } = addItem(project, {
        kind: "issue",
        title: "Cents are lost",
        body: "The total must be rounded by a function roundCents",
        author,
      });
      const { number: pull } = addItem(project, {
        kind: "pull",
        title: "How I did it",
        body: "roundCents multiplies by a hundred",
        author,
        pull: { head: "fix", base: "main", headRepository: "us/prices", headCommit: "0".repeat(40) },
      });
      bench.write("price.js", PRICE);
      bench.git("init", "-q");
      bench.git("remote", "add", "origin", `${server.url}/us/prices.git`);
      const commit = (message: string) => {
        bench.git("add", "-A");
        bench.git("-c", "user.name=u", "-c", "user.email=u@x", "commit", "-qm", message);
      };
      commit("first");
      bench.write("price.js", PRICE.replace("return a", "return roundCents(a)"));
      bench.write("test/price.test.js", `${TEST}test("name", () => roundCents(1));\n`);
      commit(`Fix (${mark}${pull})\n\nCloses #${issue}, see #999`);
      const { opened, find } = await open({
        [variables.base]: `${server.url}/api/${name === "GitHub" ? "v3" : "v4"}`,
        [variables.token]: world.token,
      });
      expect((await find()).others).toMatchObject([
        { why: { code: "unknown-names", names: ["roundCents"] } },
      ]);
      expect(await readLinkedIssues(opened.cases(), { commits: 20 }, opened.readIssue)).toBe(1);
      const [found] = (await find()).cases;
      expect(found?.request).toEndWith(
        "Cents are lost\n\nThe total must be rounded by a function roundCents",
      );
      expect(found?.request).not.toContain("hundred");
      const asked = world.requests.length;
      expect(await readLinkedIssues(opened.cases(), { commits: 20 }, opened.readIssue)).toBe(0);
      expect(world.requests).toHaveLength(asked);
    } finally {
      server.stop();
    }
  },
);

test("issues of a project without a forge are said to be unread", async () => {
  const { opened } = await open();
  expect(await opened.readIssue(1)).toBe(null);
});

test("a request carries the earlier messages of its chat, and no later ones", async () => {
  const patch = `\`\`\`js:price.js\n${ROUNDED}\`\`\`\n\`\`\`js:test/price.test.js\n${TEST}\`\`\``;
  const cli = createChatCli([
    { when: { message: "thanks" }, text: "Said later." },
    { when: { message: "the same" }, text: proposal("Round it.", patch) },
    { when: { message: "cents" }, text: "Math.round does it for dollars; I would round total so." },
  ]);
  try {
    cli.write("price.js", PRICE);
    cli.chat("/chat how are cents rounded here?");
    cli.chat("/code3 do the same for the function total");
    cli.chat("/chat thanks a lot");
    const opened = await openCompare(cli.environment(), { cwd: cli.workspace });
    if (!opened.ok) throw new Error(opened.message);
    const [found] = (await findCases(opened.cases(), { commits: 20 })).cases;
    const request = await found?.readRequest();
    expect(request).toStartWith("do the same for the function total");
    expect(request).toContain("> User: ");
    expect(request).toContain("how are cents rounded here?");
    expect(request).toContain("> Mio: Math.round does it for dollars");
    expect(request).not.toContain("later");
    expect(found?.producers).toEqual(["demo/demo"]);
  } finally {
    cli.remove();
  }
});
