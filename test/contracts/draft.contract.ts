/** The contract of every draft, however its changes are staged. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Draft, DraftRequest } from "../../src/application/ports/jobs-draft.ts";
import type { HeadProcess } from "../../src/application/ports/jobs-head.ts";
import type { Workspace } from "../../src/application/ports/jobs-workspace.ts";
import { trustWorkspace } from "../../src/config/trust.ts";
import { type Bench, createBench, edit, type Settings, shell } from "../application/jobs/worker-kit.ts";
import { treeOf } from "./tree.ts";

/** A save within the tick in which a draft is opened or woken could be on either side of it, and is no base. */
function letFileClockGoOn(file: string, probe: string): void {
  const ctime = (path: string) => statSync(path, { bigint: true }).ctimeNs;
  do writeFileSync(probe, "");
  while (ctime(probe) <= ctime(file));
  rmSync(probe);
}

type Commands = readonly Readonly<Record<string, unknown>>[];

export function describeDrafts(name: string, settings: Settings): void {
  describe(`a draft: ${name}`, () => {
    let bench: Bench;
    let workspace: Workspace;
    const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    beforeEach(async () => {
      bench = createBench();
      bench.write("a.txt", "one\n");
      bench.write("lib/b.txt", "two\n");
      workspace = await bench.open(settings);
      const now = new Date(0);
      trustWorkspace({ home: bench.environment().PICOCLAW_HOME as string, workspace: bench.workspace, now });
    });
    const opened: Draft[] = [];
    // A draft that a test left open keeps its sandbox.
    afterEach(async () => {
      for (const draft of opened.splice(0)) await draft.discard("the test is over").catch(() => {});
      bench.remove();
    });

    async function open(more: Partial<DraftRequest> = {}): Promise<Draft> {
      const signal = new AbortController().signal;
      const made = await workspace.openDraft({
        source: "test",
        startedBy: "user",
        checked: true,
        signal,
        ...more,
      });
      if (!made.ok) throw new Error(JSON.stringify(made.refusal));
      opened.push(made.draft);
      return made.draft;
    }
    async function ran(draft: Draft, commands: Commands, attempt = 1) {
      const run = await draft.run({ attempt, work: { patch: JSON.stringify(commands) } });
      if (run.about !== "attempt") throw new Error(JSON.stringify(run));
      return run;
    }
    const check = (draft: Draft, command: string, more: object = {}) =>
      draft.check({ commands: [command], over: "draft", timeoutSeconds: 60, ...more });
    async function green(draft: Draft, command: string, more: object = {}) {
      const checked = await check(draft, command, more);
      if (!checked.ok) throw new Error(JSON.stringify(checked));
      return checked.runs.map(({ exitCode, output }) => ({ exitCode, output }));
    }
    const storedBytes = (id: string) =>
      readdirSync(join(workspace.storage, "jobs", id)).filter((one) =>
        /^([uw]\d|view|check|built|home)/.test(one),
      );

    test("attempts add up, checks see them, and the workspace stays as it is until the commit", async () => {
      const before = treeOf(bench.workspace);
      const draft = await open();
      const first = await ran(draft, [edit("update", "a.txt", "1\n"), shell("rm lib/b.txt && false")]);
      expect(first.results.map(({ success }) => success)).toEqual([true, false]);
      expect(await green(draft, "cat a.txt; ls lib")).toEqual([{ exitCode: 0, output: "1\n" }]);
      const second = await ran(
        draft,
        [shell("mkdir -p new/deep && echo 3 > new/deep/c"), edit("update", "a.txt", "2\n")],
        2,
      );
      expect(second.changes).toEqual([
        { path: "a.txt", kind: "modified" },
        { path: "lib/b.txt", kind: "deleted" },
        { path: "new", kind: "added" },
        { path: "new/deep", kind: "added" },
        { path: "new/deep/c", kind: "added" },
      ]);
      expect(treeOf(bench.workspace)).toEqual(before);
      expect(draft.files.list("").sort()).toEqual(["a.txt", "lib", "new"]);
      expect([draft.files.list("lib"), draft.files.look("lib/b.txt").kind]).toEqual([[], "missing"]);
      expect([decode(draft.files.read("a.txt")), decode(draft.files.readPart("new/deep/c", 0, 1))]).toEqual([
        "2\n",
        "3",
      ]);
      expect(draft.diff().map(({ path }) => path)).toEqual(["a.txt", "lib/b.txt", "new/deep/c"]);
      const done = await draft.commit();
      expect(done).toMatchObject({
        about: "job",
        outcome: "committed",
        success: true,
        executedCmds: 3,
        failedCmds: 0,
      });
      expect([bench.read("a.txt"), bench.read("new/deep/c"), existsSync(bench.path("lib/b.txt"))]).toEqual([
        "2\n",
        "3\n",
        false,
      ]);
      expect(storedBytes(draft.id)).toEqual([]);
      expect(await workspace.takeBack({ direction: "undo", force: false })).toMatchObject({
        status: "done",
        jobs: [{ job: { jobId: draft.id } }],
      });
      expect(treeOf(bench.workspace)).toEqual(before);
      const attempts = workspace.archive
        .events(draft.id)
        .flatMap(({ event }) => (event.type === "command_finished" ? [event.attempt] : []));
      expect(attempts).toEqual([1, 1, 2, 2]);
    });

    test("changes of others are merged line by line, and undo reverts the draft's lines alone", async () => {
      bench.write("m.txt", "1\n2\n3\n4\n5\n6\n7\n");
      letFileClockGoOn(bench.path("m.txt"), bench.path("tick"));
      const draft = await open();
      await ran(draft, [edit("update", "m.txt", "one\n2\n3\n4\n5\n6\n7\n"), shell("true")]);
      expect([draft.hasMoved(), await draft.rebase()]).toEqual([
        false,
        { merged: [], conflicts: [], failed: [] },
      ]);
      bench.write("m.txt", "1\n2\n3\n4\n5\n6\nseven\n");
      expect(draft.hasMoved()).toBe(true);
      expect(await draft.rebase()).toEqual({
        merged: [{ path: "m.txt", by: null }],
        conflicts: [],
        failed: [],
      });
      expect(draft.hasMoved()).toBe(false);
      expect(await green(draft, "head -1 m.txt; tail -1 m.txt")).toEqual([
        { exitCode: 0, output: "one\nseven\n" },
      ]);
      expect(await draft.commit()).toMatchObject({ outcome: "committed", conflicts: [] });
      expect(bench.read("m.txt")).toBe("one\n2\n3\n4\n5\n6\nseven\n");
      expect((await workspace.takeBack({ direction: "undo", force: false })).status).toBe("done");
      expect(bench.read("m.txt")).toBe("1\n2\n3\n4\n5\n6\nseven\n");
    });

    test("commands that wrote a moved file run again; one that does not heed its content is merged, or a conflict", async () => {
      bench.write("m.txt", "1\n2\n3\n4\n5\n6\n7\n");
      letFileClockGoOn(bench.path("m.txt"), bench.path("tick"));
      const draft = await open();
      await ran(draft, [
        shell("sed -i 's/^/+/' a.txt"),
        shell("printf 'one\\n2\\n3\\n4\\n5\\n6\\n7\\n' > m.txt"),
        shell("rm lib/b.txt"),
      ]);
      bench.write("a.txt", "one\nmine\n");
      bench.write("m.txt", "1\n2\n3\n4\n5\n6\nseven\n");
      expect(await draft.rebase()).toMatchObject({ conflicts: [], failed: [] });
      expect(await green(draft, "cat a.txt; head -1 m.txt; tail -1 m.txt")).toEqual([
        { exitCode: 0, output: "+one\n+mine\none\nseven\n" },
      ]);
      bench.write("lib/b.txt", "saved\n");
      expect((await draft.rebase()).conflicts).toMatchObject([{ path: "lib/b.txt", ours: null }]);
    });

    test("a removed file that others changed only in its mode is a conflict; a command removes it again", async () => {
      letFileClockGoOn(bench.path("lib/b.txt"), bench.path("tick"));
      const draft = await open();
      await ran(draft, [edit("delete", "a.txt", ""), shell("rm lib/b.txt")]);
      for (const path of ["a.txt", "lib/b.txt"]) chmodSync(bench.path(path), 0o755);
      letFileClockGoOn(bench.path("lib/b.txt"), bench.path("tick"));
      expect(await draft.rebase()).toMatchObject({
        conflicts: [{ path: "a.txt", why: "gone", ours: null }],
        failed: [],
      });
      await draft.giveWay(["a.txt"]);
      expect(draft.hasMoved()).toBe(false);
    });

    test("a file that a command overwrote and a formatter rewrote is merged with what others saved", async () => {
      bench.write("m.txt", "1\n2\n3\n4\n5\n6\n7\n");
      letFileClockGoOn(bench.path("m.txt"), bench.path("tick"));
      const draft = await open();
      await ran(draft, [shell("printf 'ONE\\n2\\n3\\n4\\n5\\n6\\n7\\n' > m.txt")]);
      const bytes = Buffer.from("one\n2\n3\n4\n5\n6\n7\n");
      const entry = { kind: "file", mode: 0o644, size: bytes.length } as const;
      expect(await draft.takeIn([{ path: "m.txt", entry, bytes }], null)).toBeNull();
      bench.write("m.txt", "1\n2\n3\n4\n5\n6\nseven\n");
      expect(await draft.rebase()).toMatchObject({ conflicts: [], failed: [] });
      expect(decode(draft.files.read("m.txt"))).toEndWith("\nseven\n");
    });

    test("a conflict in one file keeps no other from being brought onto the workspace", async () => {
      const draft = await open();
      await ran(draft, [edit("update", "lib/b.txt", "mine\n"), shell("sed -i 's/^/+/' a.txt")]);
      bench.write("lib/b.txt", "theirs\n");
      bench.write("a.txt", "one\nsaved\n");
      const rebased = await draft.rebase();
      expect(rebased).toMatchObject({ merged: [{ path: "a.txt" }], failed: [] });
      expect(rebased.conflicts.map(({ path }) => path)).toEqual(["lib/b.txt"]);
      expect(decode(draft.files.read("a.txt"))).toBe("+one\n+saved\n");
      expect(decode(draft.files.read("lib/b.txt"))).toBe("mine\n");
    });

    test("files of another draft that cannot all be taken in leave no trace", async () => {
      const draft = await open();
      await ran(draft, [edit("update", "a.txt", "mine\n"), shell("true")]);
      const before = draft.changes();
      const file = (path: string, text: string) => {
        const bytes = Buffer.from(text);
        return { path, entry: { kind: "file", mode: 0o644, size: bytes.length }, bytes } as const;
      };
      const edits = [file("a.txt", "theirs\n"), file("n/a", "new\n"), file("lib/b.txt/in-a-file", "no\n")];
      expect(await draft.takeIn(edits, 1)).toMatchObject({ code: "failed" });
      expect(draft.changes()).toEqual(before);
      expect(decode(draft.files.read("a.txt"))).toBe("mine\n");
      expect(await draft.takeIn(edits.slice(0, 2), 1)).toBeNull();
      expect(decode(draft.files.read("a.txt"))).toBe("theirs\n");
      expect(await draft.commit()).toMatchObject({ outcome: "committed", executedCmds: 4 });
    });

    test("the same lines, a file that both made and one that was removed are conflicts until the draft gives way", async () => {
      const draft = await open();
      await ran(draft, [
        edit("update", "a.txt", "mine\n"),
        edit("create", "both.txt", "mine\n"),
        edit("update", "lib/b.txt", "mine\n"),
        shell("true"),
      ]);
      bench.write("a.txt", "theirs\n");
      bench.write("both.txt", "theirs\n");
      rmSync(bench.path("lib/b.txt"));
      letFileClockGoOn(bench.path("both.txt"), bench.path("tick"));
      const { conflicts } = await draft.rebase();
      expect(conflicts.map(({ path }) => path).sort()).toEqual(["a.txt", "both.txt", "lib/b.txt"]);
      await draft.giveWay(["a.txt", "both.txt", "lib/b.txt"]);
      expect([draft.hasMoved(), draft.changes()]).toEqual([false, []]);
      expect(decode(draft.files.read("a.txt"))).toBe("theirs\n");
      await ran(draft, [edit("update", "a.txt", "both\n")], 2);
      expect(await draft.commit()).toMatchObject({ outcome: "committed" });
      expect([bench.read("a.txt"), bench.read("both.txt"), existsSync(bench.path("lib/b.txt"))]).toEqual([
        "both\n",
        "theirs\n",
        false,
      ]);
    });

    test("what checks write and remove never reaches the draft", async () => {
      const draft = await open();
      await ran(draft, [edit("create", "made.txt", "made\n"), shell("rm lib/b.txt")]);
      const before = draft.changes();
      expect(
        await green(
          draft,
          "mkdir coverage && echo x > coverage/y && rm -r a.txt made.txt && echo z > lib/b.txt && ls",
        ),
      ).toEqual([{ exitCode: 0, output: "coverage\nlib\n" }]);
      expect(draft.changes()).toEqual(before);
      expect(await green(draft, "cat made.txt a.txt; ls")).toEqual([
        { exitCode: 0, output: "made\none\na.txt\nlib\nmade.txt\n" },
      ]);
      await draft.commit();
      expect(readdirSync(bench.workspace).sort()).toEqual(["a.txt", "lib", "made.txt"]);
    });

    test("the baseline is the workspace without the draft", async () => {
      const draft = await open();
      await ran(draft, [edit("update", "a.txt", "1\n")]);
      expect(await green(draft, "cat a.txt; echo z > a.txt", { over: "baseline" })).toEqual([
        { exitCode: 0, output: "one\n" },
      ]);
      expect([bench.read("a.txt"), decode(draft.files.read("a.txt"))]).toEqual(["one\n", "1\n"]);
      await draft.discard("test");
    });

    test("files can be shown to a check as they were before", async () => {
      bench.write("t/old.test", "old test\n");
      const draft = await open();
      await ran(draft, [
        edit("update", "t/old.test", "weaker\n"),
        edit("create", "t/new.test", "new\n"),
        edit("update", "a.txt", "1\n"),
      ]);
      const asBefore = ["t/old.test", "t/new.test"];
      expect(await green(draft, "cat a.txt t/*", { asBefore })).toEqual([
        { exitCode: 0, output: "1\nold test\n" },
      ]);
      expect(await green(draft, "cat t/*")).toEqual([{ exitCode: 0, output: "new\nweaker\n" }]);
      const events = workspace.archive.events(draft.id).map(({ event }) => event);
      const checked = events.filter((event) => event.type === "check_finished");
      expect(checked.map(({ altered }) => altered)).toEqual([true, undefined]);
      await draft.discard("test");
    });

    test("a red check tells its exit code and its output, and a hanging one is ended", async () => {
      const draft = await open();
      const red = await check(draft, "echo out; echo err >&2; exit 3");
      expect(red).toMatchObject({
        ok: true,
        runs: [{ outcome: "exited", exitCode: 3, whole: "out\nerr\n" }],
      });
      expect(await check(draft, "echo begun; sleep 60 & sleep 60", { timeoutSeconds: 3 })).toMatchObject({
        ok: true,
        runs: [{ outcome: "timed-out", exitCode: null, output: "begun\n" }],
      });
      const events = workspace.archive.events(draft.id).map(({ event }) => event);
      expect(events.filter(({ type }) => type === "check_finished")).toMatchObject([
        { exit_code: 3 },
        { exit_code: null },
      ]);
      await draft.discard("test");
    });

    test("what a check prints keeps its order across both of its streams", async () => {
      const draft = await open();
      const pairs = Array.from({ length: 300 }, (_, at) => `out ${at}\nerr ${at}\n`).join("");
      const line = 'for at in $(seq 0 299); do echo "out $at"; echo "err $at" >&2; done';
      expect(await check(draft, line)).toMatchObject({ ok: true, runs: [{ whole: pairs }] });
      await draft.discard("test");
    });

    test("a discarded draft leaves the workspace and no layers, and says why", async () => {
      const before = treeOf(bench.workspace);
      const draft = await open();
      await ran(draft, [edit("update", "a.txt", "1\n"), shell("sleep 60 & echo x > x")]);
      await draft.discard("not wanted");
      await draft.discard("again");
      expect(treeOf(bench.workspace)).toEqual(before);
      expect(storedBytes(draft.id)).toEqual([]);
      expect(workspace.archive.read(draft.id)).toMatchObject({ state: "discarded", outcome: "rolled-back" });
      expect(workspace.archive.events(draft.id).at(-1)?.event).toEqual({
        type: "rolled_back",
        reason: "not wanted",
      });
      expect(draft.commit()).rejects.toThrow("has ended");
    });

    test("a kept draft is a preview that can be committed later", async () => {
      const draft = await open();
      await ran(draft, [shell("echo 1 > a.txt")]);
      expect(await draft.keep()).toMatchObject({ outcome: "staged", jobId: draft.id });
      expect(bench.read("a.txt")).toBe("one\n");
      expect(await workspace.commitPreview(draft.id)).toMatchObject({ status: "done" });
      expect(bench.read("a.txt")).toBe("1\n");
    });

    test("of two drafts of one file the second is a conflict, and stays as a preview", async () => {
      const [x, y] = [await open(), await open()];
      await ran(x, [shell("echo x > a.txt")]);
      await ran(y, [shell("echo y > a.txt; echo y > only-y")]);
      expect(await green(x, "cat a.txt")).toEqual([{ exitCode: 0, output: "x\n" }]);
      expect(await x.commit()).toMatchObject({ outcome: "committed" });
      expect(await y.commit()).toMatchObject({ outcome: "conflict", conflicts: [{ path: "a.txt" }] });
      expect([bench.read("a.txt"), existsSync(bench.path("only-y"))]).toEqual(["x\n", false]);
      expect(workspace.archive.read(y.id)).toMatchObject({ state: "staged" });
      const diff = workspace.archive.differences(y.id).find(({ path }) => path === "only-y");
      expect(decode(diff?.after ?? new Uint8Array())).toBe("y\n");
    });

    test("what the user edits while it is open is never overwritten", async () => {
      const draft = await open();
      await ran(draft, [edit("update", "a.txt", "draft\n")]);
      bench.write("a.txt", "user\n");
      bench.write("mine.txt", "mine\n");
      rmSync(bench.path("lib/b.txt"));
      await ran(draft, [edit("create", "c.txt", "c\n")], 2);
      expect(await draft.commit()).toMatchObject({
        outcome: "conflict",
        conflicts: [{ path: "a.txt", reason: "changed" }],
      });
      expect([bench.read("a.txt"), bench.read("mine.txt"), existsSync(bench.path("c.txt"))]).toEqual([
        "user\n",
        "mine\n",
        false,
      ]);
    });

    test("an abort ends what runs; nothing is applied from then on", async () => {
      const abort = new AbortController();
      const draft = await open({ signal: abort.signal });
      const run = draft.run({
        attempt: 1,
        work: {
          patch: JSON.stringify([
            edit("update", "a.txt", "1\n"),
            shell("echo go; sleep 60"),
            edit("create", "z", "z"),
          ]),
        },
        onOutput: () => abort.abort(),
      });
      expect(await run).toMatchObject({ about: "attempt", aborted: true, totalCmds: 3 });
      expect(await check(draft, "true")).toMatchObject({ ok: false, why: "aborted" });
      expect(await draft.commit()).toMatchObject({ outcome: "aborted", changes: [] });
      expect(bench.read("a.txt")).toBe("one\n");
      expect(storedBytes(draft.id)).toEqual([]);
    });

    test("edits without checks are staged cheaply, and go on where processes run when one is needed", async () => {
      const draft = await open({ checked: false });
      const commands = [
        edit("update", "a.txt", "1\n"),
        edit("delete", "lib/b.txt"),
        edit("create", "n/m.txt", "m\n"),
        edit("delete", "missing.txt"),
      ];
      expect((await ran(draft, commands)).results.map(({ success }) => success)).toEqual([
        true,
        true,
        true,
        false,
      ]);
      expect(workspace.archive.read(draft.id)).toMatchObject({ state: "running", kind: "direct" });
      const { results, changes } = await ran(draft, [shell("cat a.txt n/m.txt; ls lib")], 2);
      expect(results[0]?.output).toBe("1\nm\n");
      expect(changes.map(({ path }) => path)).toEqual(["a.txt", "lib/b.txt", "n", "n/m.txt"]);
      expect(await draft.commit()).toMatchObject({
        outcome: "committed",
        executedCmds: 4,
        failedCmds: 0,
      });
      expect([bench.read("a.txt"), bench.read("n/m.txt"), existsSync(bench.path("lib/b.txt"))]).toEqual([
        "1\n",
        "m\n",
        false,
      ]);
    });

    test("edits on a file that was saved since are merged when a process is needed", async () => {
      bench.write("m.txt", "1\n2\n3\n4\n5\n6\n7\n");
      letFileClockGoOn(bench.path("m.txt"), bench.path("tick"));
      const events: string[] = [];
      const draft = await open({ checked: false, onEvent: ({ type }) => events.push(type) });
      await ran(draft, [edit("update", "m.txt", "one\n2\n3\n4\n5\n6\n7\n")]);
      bench.write("m.txt", "1\n2\n3\n4\n5\n6\nseven\n");
      expect(await green(draft, "head -1 m.txt; tail -1 m.txt")).toEqual([
        { exitCode: 0, output: "one\nseven\n" },
      ]);
      const committed = await draft.commit();
      expect(committed).toMatchObject({ outcome: "committed", conflicts: [] });
      expect(committed.notes).toContainEqual({ code: "merged", path: "m.txt", by: null });
      expect(bench.read("m.txt")).toBe("one\n2\n3\n4\n5\n6\nseven\n");
      expect(events.filter((type) => type === "merged")).toHaveLength(1);
    });

    test.each([true, false])(
      "a mode that the user set since is kept by a merge, checked: %p",
      async (checked) => {
        const names = ["m.sh", "own.sh", "unsaved.sh"];
        for (const name of names) bench.write(name, "1\n2\n3\n4\n5\n6\n7\n");
        letFileClockGoOn(bench.path("own.sh"), bench.path("tick"));
        const draft = await open({ checked });
        const commands = names.map((name) => edit("update", name, "one\n2\n3\n4\n5\n6\n7\n"));
        await ran(draft, checked ? [...commands, shell("chmod 700 own.sh")] : commands);
        for (const name of ["m.sh", "own.sh"]) bench.write(name, "1\n2\n3\n4\n5\n6\nseven\n");
        for (const name of ["m.sh", "unsaved.sh"]) chmodSync(bench.path(name), 0o755);
        if (checked) expect(await draft.rebase()).toMatchObject({ conflicts: [], failed: [] });
        const modes = `755\n${checked ? 700 : 644}\n755\n`;
        expect(await green(draft, "stat -c %a m.sh own.sh unsaved.sh")).toEqual([
          { exitCode: 0, output: modes },
        ]);
        expect(await draft.commit()).toMatchObject({ outcome: "committed", conflicts: [] });
        for (const name of ["m.sh", "unsaved.sh"])
          expect([name, statSync(bench.path(name)).mode & 0o777]).toEqual([name, 0o755]);
      },
    );

    test("where both wrote the same lines no process runs, and the draft stays open", async () => {
      const draft = await open({ checked: false });
      await ran(draft, [edit("update", "a.txt", "1\n")]);
      bench.write("a.txt", "user\n");
      expect(await check(draft, "true")).toMatchObject({ ok: false, why: "unavailable" });
      expect(await draft.run({ attempt: 2, work: { patch: JSON.stringify([shell("true")]) } })).toMatchObject(
        { status: "refused", why: { refusal: { code: "failed" } } },
      );
      expect(decode(draft.files.read("a.txt"))).toBe("1\n");
      expect(await draft.commit()).toMatchObject({ outcome: "conflict", conflicts: [{ path: "a.txt" }] });
      expect(bench.read("a.txt")).toBe("user\n");
    });

    test.each([
      settings.PICOCLAW_WORKER_TRANSACTION === "copy"
        ? (["configured", {}, "which is not available here: set by worker.transaction"] as const)
        : (["unconfined", { PICOCLAW_WORKER_CONFINE: "off" }, "worker.confine is off"] as const),
    ])(
      "the user's own agent is refused with the reason why there is no confined overlay: %s",
      async (reason, more, words) => {
        workspace = await bench.open({ ...settings, ...more });
        const draft = await open();
        const head: HeadProcess = {
          title: "an agent",
          surroundings: { home: bench.path("home"), files: new Map(), readable: [], socket: null },
          command: () => ({ argv: ["true"], env: {} }),
          timeoutMs: 60_000,
          signal: new AbortController().signal,
          onStart: () => {},
          onOutput: () => {},
          onEnd: () => "",
        };
        const run = await draft.run({ attempt: 1, work: { head } });
        expect(run).toMatchObject({
          status: "refused",
          why: {
            kind: "refused",
            refusal: { code: "head", reason, message: expect.stringContaining(words) },
          },
        });
      },
    );

    test("one edit is one direct job", async () => {
      const draft = await open({ checked: false });
      await ran(draft, [edit("update", "a.txt", "1\n")]);
      expect(await draft.commit()).toMatchObject({
        outcome: "committed",
        kind: "direct",
        undo: "available",
      });
      expect(bench.read("a.txt")).toBe("1\n");
    });

    test("a text that is not a patch runs nothing and leaves the draft open", async () => {
      const draft = await open();
      expect(await draft.run({ attempt: 1, work: { patch: "hello" } })).toMatchObject({
        why: { kind: "not-a-patch" },
      });
      await ran(draft, [edit("update", "a.txt", "1\n")], 2);
      expect(await draft.commit()).toMatchObject({ outcome: "committed" });
    });

    test("a protected file stays as it is, also when a process is late", async () => {
      bench.write(".env", "SECRET=1\n");
      const draft = await open();
      const { results } = await ran(draft, [shell("echo changed > .env")]);
      expect(results[0]).toMatchObject({ success: false });
      await draft.commit();
      expect(bench.read(".env")).toBe("SECRET=1\n");
    });

    test("commits before and after are part of the one job", async () => {
      bench.git("init", "-q");
      bench.git("add", ".");
      bench.git("-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "first");
      // Objects that nothing names are left to git.
      const without = (path: string) => path.startsWith(".git/objects");
      bench.write("uncommitted.txt", "u\n");
      const before = treeOf(bench.workspace, { without });
      const draft = await open({ autoCommit: true });
      await ran(draft, [edit("update", "a.txt", "1\n")]);
      await ran(draft, [shell("echo 2 >> a.txt")], 2);
      expect(bench.git("log", "--oneline").split("\n")).toHaveLength(2);
      expect(await draft.commit()).toMatchObject({
        outcome: "committed",
        gitCommit: expect.any(String),
      });
      expect(bench.git("log", "--format=%s").trim().split("\n")).toHaveLength(3);
      expect(bench.git("status", "--porcelain")).toBe("");
      await workspace.takeBack({ direction: "undo", force: false });
      expect(treeOf(bench.workspace, { without })).toEqual(before);
    });
  });
}
