import { afterEach, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import {
  bisectJobs,
  findPlace,
  openDraftBefore,
  walkStates,
} from "../../../src/application/history/earlier-draft.ts";
import { findRemoved, findWhy } from "../../../src/application/history/find-why.ts";
import type { PatchCommand } from "../../../src/domain/patch/patch-command.ts";
import { createHistory } from "../../../src/wiring/history.ts";
import { openWorkspace } from "../../../src/wiring/workspace.ts";
import { requirePart } from "../../require.ts";
import { createBench } from "../jobs/worker-kit.ts";

let bench = createBench();
/** Another workspace in the place of the last one. */
const clear = () => {
  bench.remove();
  bench = createBench();
};
afterEach(clear);

const CONFINED = { PICOCLAW_WORKER_TRANSACTION: "auto", PICOCLAW_WORKER_CONFINE: "auto" };
const signal = new AbortController().signal;

async function open() {
  const opened = await openWorkspace(bench.environment(CONFINED), { cwd: bench.workspace });
  if (!opened.ok) throw new Error(opened.message);
  const { workspace } = opened;
  const history = createHistory(workspace, bench.environment());
  const run = async (
    commands: readonly PatchCommand[],
    more: { request?: string; groupId?: string } = {},
  ) => {
    const result = await workspace.execute({
      patch: JSON.stringify(commands),
      source: "test",
      startedBy: "user",
      signal,
      ...more,
    });
    if (result.about !== "job" || !result.success) throw new Error(JSON.stringify(result));
    return result.jobId;
  };
  const edit = (target: string, content: string, more = {}) =>
    run([{ type: "file_edit", action: existsSync(at(target)) ? "update" : "create", target, content }], more);
  return { workspace, history, run, edit };
}

const at = (path: string) => join(bench.workspace, path);
const save = (path: string, text: string) => {
  mkdirSync(join(at(path), ".."), { recursive: true });
  writeFileSync(at(path), text);
};

/** Every file of the workspace with its text. */
function readAll(folder = bench.workspace, below = ""): Record<string, string> {
  const all: Record<string, string> = {};
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name.startsWith(".")) continue;
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) Object.assign(all, readAll(join(folder, entry.name), path));
    else all[path] = readFileSync(join(folder, entry.name), "utf8");
  }
  return all;
}

function readState(
  files: {
    list(path: string): string[];
    look(path: string): { kind: string };
    read(path: string): Uint8Array;
  },
  folder = "",
) {
  const all: Record<string, string> = {};
  for (const name of files.list(folder)) {
    if (name.startsWith(".")) continue;
    const path = folder === "" ? name : `${folder}/${name}`;
    if (files.look(path).kind === "directory") Object.assign(all, readState(files, path));
    else all[path] = new TextDecoder().decode(files.read(path));
  }
  return all;
}

const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant("edit" as const), file: fc.nat(3), line: fc.nat(6) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("remove" as const), file: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("rename" as const), file: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("undo" as const), file: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("remove-folder" as const), file: fc.nat(3) }) },
  ),
  { minLength: 3, maxLength: 10 },
);
const FILES = ["a.txt", "lib/b.txt", "lib/deep/c.txt", "d.txt"] as const;

test.if(requirePart("bwrap"))(
  "the state before each job is the workspace as it was, through edits, deletions, renames and undo",
  async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        clear();
        for (const path of FILES) save(path, "1\n2\n3\n4\n5\n6\n7\n");
        const { history, run, workspace } = await open();
        const before: { id: string; files: Record<string, string> }[] = [];
        for (const [number, step] of list.entries()) {
          const path = FILES[step.file] as string;
          const files = readAll();
          const moved = `moved-${number}.txt`;
          const commands = ((): PatchCommand[] => {
            switch (step.kind) {
              case "edit": {
                const lines = (files[path] ?? "1\n2\n3\n").split("\n");
                lines[step.line % lines.length] = `edit ${number}`;
                return [
                  {
                    type: "file_edit",
                    action: path in files ? "update" : "create",
                    target: path,
                    content: lines.join("\n"),
                  },
                ];
              }
              case "remove":
                return path in files
                  ? [{ type: "file_edit", action: "delete", target: path, content: "" }]
                  : [];
              case "rename":
                return path in files
                  ? [{ type: "file_edit", action: "rename", target: path, content: moved }]
                  : [];
              case "remove-folder":
                return existsSync(at("lib"))
                  ? [{ type: "shell_command", action: "run", target: "rm -r lib", content: "" }]
                  : [];
              case "undo":
                return [];
            }
          })();
          if (step.kind === "undo") {
            const last = before.at(-1);
            const taken =
              last === undefined
                ? null
                : await workspace.takeBack({ direction: "undo", name: last.id, force: false });
            if (taken?.status === "done") before.pop();
            continue;
          }
          if (commands.length === 0) continue;
          before.push({ id: await run(commands), files });
        }
        const stack = history.stack();
        expect(stack.jobs.map(({ jobId }) => jobId)).toEqual(before.map(({ id }) => id));
        for (const [place, { files }] of before.entries()) {
          const state = stack.openBefore(place);
          expect(state.handEdits).toEqual([]);
          expect(readState(state.files)).toEqual(files);
        }
        expect([...walkStates(stack.openBefore(0), stack.openBefore(0))]).toEqual([]);
      }),
      { numRuns: 10 },
    );
  },
  300_000,
);

test.if(requirePart("bwrap"))(
  "a draft before a group shows the old files to commands, lands nothing and leaves no record",
  async () => {
    save("app.txt", "old\n");
    const { workspace, history, edit } = await open();
    await edit("app.txt", "new\n", { groupId: "group_1" });
    await edit("more.txt", "more\n", { groupId: "group_1" });
    await edit("last.txt", "last\n");
    const listed = workspace.archive.list().length;
    const stack = history.stack();
    const opened = await openDraftBefore(workspace, stack, findPlace(stack, "group_1"), {
      source: "test",
      signal,
    });
    if (!opened.ok) throw new Error("not opened");
    const checked = await opened.draft.check({
      commands: ["cat app.txt; ls"],
      over: "draft",
      timeoutSeconds: 60,
    });
    expect(checked.ok && checked.runs[0]?.output).toBe("old\napp.txt\n");
    await opened.close();
    expect(readAll()).toEqual({ "app.txt": "new\n", "more.txt": "more\n", "last.txt": "last\n" });
    expect(workspace.archive.list()).toHaveLength(listed);
  },
);

test.if(requirePart("bwrap"))(
  "why names the job of a line through later jobs, a rename and changes by hand",
  async () => {
    save("a.txt", "one\ntwo\nthree\n");
    spawnSync("git", ["init", "-q"], { cwd: bench.workspace });
    spawnSync("git", ["add", "."], { cwd: bench.workspace });
    spawnSync("git", ["-c", "user.name=Uma", "-c", "user.email=u@x", "commit", "-qm", "The first commit"], {
      cwd: bench.workspace,
    });
    const { history, edit, run } = await open();
    const second = await edit("a.txt", "one\nTWO\nthree\n", { request: "Shout the second line" });
    save("a.txt", "one\nTWO\nthree, by hand\n");
    const third = await edit("a.txt", "zero\none\nTWO\nthree, by hand\nfour\n");
    const moved = await run([
      { type: "shell_command", action: "run", target: "mv a.txt b.txt", content: "" },
    ]);
    save("b.txt", "zero\none\nTWO\nthree, by hand\nfour\nfive\n");
    const origin = async (line: number) => {
      const found = await findWhy(history.why(), "b.txt", line);
      return found.ok ? found : null;
    };
    const shouted = await origin(3);
    expect(shouted?.origin).toMatchObject({
      kind: "job",
      job: { jobId: second, request: "Shout the second line" },
      replaced: ["two"],
    });
    expect(shouted?.renamedFrom).toEqual(["a.txt"]);
    expect((await origin(1))?.origin).toMatchObject({ kind: "job", job: { jobId: third } });
    expect((await origin(4))?.origin).toEqual({ kind: "by-hand", after: second, before: third });
    expect((await origin(6))?.origin).toEqual({ kind: "by-hand", after: moved, before: null });
    const removed = await findRemoved(history.why(), "two");
    expect(removed).toMatchObject([
      { path: "a.txt", line: 2, text: "two", replacedBy: ["TWO"], job: { jobId: second } },
    ]);
    expect(await findWhy(history.why(), "b.txt", 7)).toEqual({ ok: false, reason: "no-line", lines: 6 });
    expect(await findWhy(history.why(), "none.txt", 1)).toEqual({ ok: false, reason: "no-file" });
  },
);

test("why finds the writer of every line after any jobs, renames, undos and edits by people", async () => {
  /** How many lines of each sort were asked for. */
  const asked = { job: 0, hand: 0, renamed: 0, afterUndo: 0 };
  const change = fc.record({
    kind: fc.constantFrom("job", "job", "job", "hand", "rename", "undo"),
    at: fc.nat(20),
    removed: fc.nat(3),
    added: fc.integer({ min: 0, max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 3, maxLength: 10 }), async (changes) => {
      clear();
      /** Each line says who wrote it. */
      save("a0.txt", Array.from({ length: 12 }, (_, n) => `first ${n}\n`).join(""));
      const { history, workspace, edit, run } = await open();
      const jobs = new Map<string, string>();
      const order: string[] = [];
      let hasUndone = false;
      const nameNow = () => Object.keys(readAll())[0] as string;
      for (const [number, { kind, at: place, removed, added }] of changes.entries()) {
        const path = nameNow();
        if (kind === "undo") {
          const name = order.at(-1);
          if (name === undefined) continue;
          const taken = await workspace.takeBack({ direction: "undo", name, force: false });
          if (taken.status === "done") order.pop();
          hasUndone ||= taken.status === "done";
          continue;
        }
        if (kind === "rename") {
          const content = `a${number + 1}.txt`;
          order.push(await run([{ type: "file_edit", action: "rename", target: path, content }]));
          continue;
        }
        const lines = readFileSync(at(path), "utf8").split("\n").slice(0, -1);
        const from = place % (lines.length + 1);
        const mine = Array.from({ length: added }, (_, n) => `${kind} ${number} ${n}`);
        const next = [...lines.slice(0, from), ...mine, ...lines.slice(from + removed)];
        const text = next.map((line) => `${line}\n`).join("");
        if (text === readFileSync(at(path), "utf8") || next.length < 6) continue;
        if (kind === "hand") save(path, text);
        else {
          order.push(await edit(path, text));
          jobs.set(`job ${number}`, order.at(-1) ?? "");
        }
      }
      const deps = history.why();
      const path = nameNow();
      const lines = readFileSync(at(path), "utf8").split("\n").slice(0, -1);
      for (const [n, text] of lines.entries()) {
        const found = await findWhy(deps, path, n + 1);
        const origin = found.ok ? found.origin : null;
        const writer = text.split(" ").slice(0, 2).join(" ");
        asked.renamed += found.ok && found.renamedFrom.length > 0 ? 1 : 0;
        asked.afterUndo += hasUndone ? 1 : 0;
        if (text.startsWith("job")) {
          asked.job += 1;
          expect([text, origin?.kind === "job" && origin.job.jobId]).toEqual([text, jobs.get(writer) ?? ""]);
        } else {
          asked.hand += text.startsWith("hand") ? 1 : 0;
          // A change by hand before the first job is older than all of them.
          expect([text, ["by-hand", "older"].includes(origin?.kind ?? "")]).toEqual([text, true]);
        }
      }
    }),
    { numRuns: 40 },
  );
  expect(Math.min(...Object.values(asked))).toBeGreaterThanOrEqual(10);
}, 300_000);

test("a line that is older than every job is git's, and one of a job without originals is said to be gone", async () => {
  save("a.txt", "one\ntwo\n");
  spawnSync("git", ["init", "-q"], { cwd: bench.workspace });
  spawnSync("git", ["add", "."], { cwd: bench.workspace });
  spawnSync("git", ["-c", "user.name=Uma", "-c", "user.email=u@x", "commit", "-qm", "The first commit"], {
    cwd: bench.workspace,
  });
  const { history, workspace, edit } = await open();
  const job = await edit("a.txt", "one\nTWO\n");
  const known = await findWhy(history.why(), "a.txt", 1);
  expect(known.ok && known.origin).toMatchObject({
    kind: "commit",
    commit: { author: "Uma", subject: "The first commit" },
  });
  const folder = join(workspace.storage, "jobs", job);
  rmSync(join(folder, "plan.ndjson"));
  writeFileSync(
    join(folder, "state.json"),
    JSON.stringify({ state: "evicted", at: "2026-01-01T00:00:00Z", turn: 1 }),
  );
  const gone = await findWhy(history.why(), "a.txt", 2);
  expect(gone.ok && gone.origin).toEqual({ kind: "gone", jobId: job });
  expect(history.stack().openBefore(0).unknown).toEqual(["a.txt"]);
});

test("a damaged index is rebuilt", async () => {
  const { history, workspace, edit } = await open();
  const job = await edit("a.txt", "one\n");
  expect(history.stack().jobs.map(({ jobId }) => jobId)).toEqual([job]);
  const index = join(workspace.storage, "history.index");
  writeFileSync(index, "{ half a line\n");
  expect(history.stack().jobs.map(({ jobId }) => jobId)).toEqual([job]);
  expect(readFileSync(index, "utf8")).toContain(job);
});

/** The same history as commits of a repository of its own, and what `git bisect run` makes of it. */
function createCommits() {
  const folder = join(bench.workspace, "../commits");
  mkdirSync(folder);
  const git = (...args: string[]) =>
    spawnSync("git", ["-c", "user.name=u", "-c", "user.email=u@x", ...args], {
      cwd: folder,
      encoding: "utf8",
    }).stdout;
  git("init", "-q");
  return {
    add(message: string) {
      for (const [path, text] of Object.entries(readAll())) writeFileSync(join(folder, path), text);
      git("add", "-A");
      git("commit", "-q", "--allow-empty", "-m", message);
    },
    bisect(good: string, command: string) {
      git("bisect", "start", "HEAD", git("log", "--format=%H", `--grep=^${good}$`).trim());
      const said = git("bisect", "run", "sh", "-c", command);
      return {
        culprit: git("log", "-1", "--format=%s", "refs/bisect/bad").trim(),
        steps: said.split("\n").filter((line) => line.startsWith("running")).length,
      };
    },
  };
}

test.if(requirePart("bwrap"))(
  "bisect names the job, or the change by hand, that git bisect names, in as few steps, also where the folder was empty at first",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 2, max: 9 }),
        fc.boolean(),
        fc.boolean(),
        fc.integer({ min: 1, max: 3 }),
        async (culprit, byHand, fromEmpty, atOnce) => {
          clear();
          if (!fromEmpty) save("value.txt", "good\n");
          const { workspace, history, edit } = await open();
          const commits = createCommits();
          const ids: string[] = [];
          let word = "good";
          for (let number = 0; number < 10; number++) {
            if (number === culprit && !byHand) word = "bad";
            ids.push(await edit("value.txt", `${word}\n${number}\n`));
            commits.add(`job ${number}`);
            if (number !== culprit || !byHand) continue;
            word = "bad";
            save("value.txt", `bad\n${number}\n`);
            commits.add(`hand ${number}`);
          }
          const before = readAll();
          const listed = workspace.archive.list().length;
          const end = await bisectJobs(workspace, history.stack(), {
            command: "grep -q good value.txt",
            timeoutSeconds: 60,
            atOnce,
            signal,
            onProbe: () => {},
          });
          expect(end).toMatchObject({
            kind: "found",
            culprit: byHand
              ? { kind: "by-hand", edits: [{ path: "value.txt", after: ids[culprit] }] }
              : { kind: "job", jobId: ids[culprit] },
          });
          const git = commits.bisect("job 0", "grep -q good value.txt");
          expect(git.culprit).toBe(`${byHand ? "hand" : "job"} ${culprit}`);
          // Both ends are run, while git is given them; if the oldest fails, a passing state is sought first.
          const most = git.steps + 2 + (fromEmpty ? 3 : 0) + (atOnce - 1) * 2;
          expect(end.kind === "found" && end.probes).toBeLessThanOrEqual(most);
          expect(readAll()).toEqual(before);
          expect(workspace.archive.list()).toHaveLength(listed);
        },
      ),
      { numRuns: 5 },
    );
  },
  300_000,
);

test.if(requirePart("bwrap"))(
  "bisect says when the command passes now, fails from the beginning, or cannot run",
  async () => {
    const { workspace, history, edit } = await open();
    await edit("a.txt", "one\n");
    await edit("a.txt", "two\n");
    const run = (command: string) =>
      bisectJobs(workspace, history.stack(), {
        command,
        timeoutSeconds: 60,
        atOnce: 2,
        signal,
        onProbe: () => {},
      });
    expect(await run("true")).toEqual({ kind: "passes-now" });
    expect(await run("false")).toEqual({ kind: "fails-before", jobs: 2 });
    expect(await run("no-such-program-here")).toMatchObject({ kind: "cannot-run" });
    await edit("run.sh", "exit 0\n");
    const broken = await edit("run.sh", "exit 1\n");
    expect(await run("sh ./run.sh")).toMatchObject({ kind: "found", culprit: { jobId: broken } });
    expect(workspace.archive.list().map(({ number }) => number)).toEqual([1, 2, 3, 4]);
  },
);

test.if(requirePart("bwrap"))(
  "bisect finds a lost mode, a lost file and a link that leads nowhere",
  async () => {
    save("run.sh", "#!/bin/sh\nexit 0\n");
    chmodSync(at("run.sh"), 0o755);
    const { workspace, history, edit, run } = await open();
    const shell = (target: string) => run([{ type: "shell_command", action: "run", target, content: "" }]);
    const bisect = (command: string) =>
      bisectJobs(workspace, history.stack(), {
        command,
        timeoutSeconds: 60,
        atOnce: 2,
        signal,
        onProbe: () => {},
      });
    await edit("a.txt", "one\n");
    await shell("ln -s a.txt link");
    const lost = await shell("chmod -x run.sh");
    await edit("a.txt", "two\n");
    expect(await bisect("./run.sh")).toMatchObject({ kind: "found", culprit: { kind: "job", jobId: lost } });
    const turned = await shell("ln -sfn nowhere link; chmod +x run.sh");
    await edit("a.txt", "three\n");
    expect(await bisect("test ! -L link || test -e link")).toMatchObject({ culprit: { jobId: turned } });
    const removed = await shell("rm run.sh");
    expect(await bisect("./run.sh")).toMatchObject({ culprit: { kind: "job", jobId: removed } });
    const made = await edit("tool.sh", "#!/bin/sh\nexit 0\n");
    await shell("chmod +x tool.sh");
    const last = await edit("tool.sh", "#!/bin/sh\nexit 0\n# more\n");
    chmodSync(at("tool.sh"), 0o644);
    expect(made).not.toBe(last);
    expect(await bisect("./tool.sh")).toMatchObject({
      culprit: { kind: "by-hand", edits: [{ path: "tool.sh", after: last }] },
    });
  },
);
