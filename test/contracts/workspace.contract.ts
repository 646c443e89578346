/** The contract of every workspace, in a folder or in a container. */

import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import type { JobRequest, Workspace } from "../../src/application/ports/jobs-workspace.ts";
import { newJobId } from "../../src/domain/jobs/result.ts";

export interface WorkspaceBench {
  readonly workspace: Workspace;
  /** Runs a shell line where the files are, outside of every job. */
  shell(line: string): string;
}

/** `bench` is asked when a test runs; its workspace has a protected file `.env`. */
export function describeWorkspace(name: string, bench: () => WorkspaceBench): void {
  describe(`a workspace: ${name}`, () => {
    const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    const request = (commands: readonly object[], more: Partial<JobRequest> = {}): JobRequest => ({
      patch: JSON.stringify(commands),
      source: "test",
      startedBy: "user",
      signal: new AbortController().signal,
      ...more,
    });
    const create = (target: string, content: string) => ({
      type: "file_edit",
      action: "create",
      target,
      content,
    });
    async function ran(commands: readonly object[], more: Partial<JobRequest> = {}) {
      const result = await bench().workspace.execute(request(commands, more));
      if (result.about !== "job") throw new Error(JSON.stringify(result));
      return result;
    }
    const jobId = () => newJobId(new Date(), (bytes) => crypto.getRandomValues(new Uint8Array(bytes)));

    test("files are read as they stand, and no symlink is followed", () => {
      const { workspace, shell } = bench();
      shell("mkdir -p read/real && printf abcdef > read/real/f && ln -sfn real read/linked");
      const { files } = workspace;
      expect(files.look("read/real/f")).toMatchObject({ kind: "file", size: 6 });
      expect(decode(files.read("read/real/f"))).toBe("abcdef");
      expect(decode(files.readPart("read/real/f", 2, 3))).toBe("cde");
      expect(decode(files.readPart("read/real/f", 4, 30))).toBe("ef");
      expect(files.list("read").sort()).toEqual(["linked", "real"]);
      expect(files.look("read/linked")).toEqual({ kind: "symlink", target: "real" });
      expect(() => files.read("read/linked/f")).toThrow();
      expect(files.look("read/nothing")).toEqual({ kind: "missing" });
    });

    test("a job needs a patch and a source; everything else is the workspace's settings", async () => {
      const { workspace, shell } = bench();
      const result = await ran([create("made.txt", "made\n")]);
      expect({ outcome: result.outcome, success: result.success }).toEqual({
        outcome: "committed",
        success: true,
      });
      expect(shell("cat made.txt")).toBe("made");
      expect(workspace.archive.read(result.jobId)).toMatchObject({
        jobId: result.jobId,
        workspace: workspace.root,
        source: "test",
        state: "committed",
      });
    });

    test("what a request says overrules the settings", async () => {
      const { workspace, shell } = bench();
      const { outcome } = await ran([create("dry.txt", "dry\n")], { dryRun: true });
      expect(outcome).toBe("dry-run");
      expect(shell("ls")).not.toContain("dry.txt");
      expect(await workspace.execute(request([], { patch: "no patch at all" }))).toMatchObject({
        why: { kind: "not-a-patch" },
      });
    });

    test("a protected file stays as it is, by any of the root's names", async () => {
      const { workspace, shell } = bench();
      const before = shell("cat .env");
      expect(workspace.protection.protects(".env")).not.toBeNull();
      expect(workspace.rootNames[0]).toBe(workspace.root);
      for (const root of workspace.rootNames) {
        const result = await ran([create(`${root}/.env`, "MINE=1\n")]);
        expect(result.success).toBe(false);
      }
      expect(shell("cat .env")).toBe(before);
    });

    test("undo and redo restore the earlier entries; a second undo changes nothing", async () => {
      const { workspace, shell } = bench();
      shell("printf before > back.txt");
      const result = await ran([
        { type: "file_edit", action: "update", target: "back.txt", content: "after" },
      ]);
      const back = (direction: "undo" | "redo") =>
        workspace.takeBack({ direction, name: result.jobId, force: false });
      expect((await back("undo")).status).toBe("done");
      expect(shell("cat back.txt")).toBe("before");
      expect(await back("undo")).toMatchObject({ status: "refused", reason: "wrong-state" });
      expect(shell("cat back.txt")).toBe("before");
      expect((await back("redo")).status).toBe("done");
      expect(shell("cat back.txt")).toBe("after");
      expect(await workspace.takeBack({ direction: "undo", name: "job_1_nothing0", force: false })).toEqual({
        status: "unknown",
        name: "job_1_nothing0",
      });
    });

    test("a finished job is not a preview, and cannot be stopped", async () => {
      const { workspace } = bench();
      const result = await ran([create("over.txt", "over\n")]);
      expect(await workspace.commitPreview(result.jobId)).toMatchObject({ status: "not-a-preview" });
      expect(await workspace.stop(result.jobId)).toEqual({ status: "not-running", state: "committed" });
      expect(await workspace.commitPreview("job_1_nothing0")).toEqual({ status: "unknown" });
      expect(await workspace.stop("job_1_nothing0")).toEqual({ status: "unknown" });
    });

    test("a transaction stays open while other jobs go on, and leaves nothing when it is discarded", async () => {
      const { workspace, shell } = bench();
      shell("printf kept > open.txt");
      const begun = await workspace.begin({ startedBy: "user", jobId: jobId(), kind: "direct" });
      if (!begun.ok) throw new Error(begun.refusal.message);
      const { view } = begun.transaction;
      view.write("open.txt", new TextEncoder().encode("first"));
      const { outcome } = await ran([create("beside.txt", "beside\n")]);
      expect(outcome).toBe("committed");
      view.write("open/second.txt", new TextEncoder().encode("second"));
      expect(decode(view.read("open.txt"))).toBe("first");
      await begun.transaction.discard();
      expect(shell("cat open.txt beside.txt; ls open 2>/dev/null || true")).toBe("keptbeside");
    });

    test("a job whose process died is closed once, and nothing of it was applied", async () => {
      const { workspace } = bench();
      const id = jobId();
      const begun = await workspace.begin({ jobId: id, startedBy: "user", kind: "direct" });
      if (!begun.ok) throw new Error(begun.refusal.message);
      const dead = spawnSync("true").pid;
      expect(workspace.isAlive({ jobId: id, pid: dead })).toBe(false);
      expect(workspace.isAlive({ jobId: id, pid: process.pid })).toBe(true);
      const at = new Date().toISOString();
      workspace.archive.save({
        jobId: id,
        groupId: id,
        workspace: workspace.root,
        source: "test",
        title: "died",
        createdAt: at,
        finishedAt: at,
        kind: "direct",
        outcome: "running",
        pid: dead,
        success: false,
        totalCmds: 1,
        executedCmds: 0,
        failedCmds: 0,
        changes: [],
        notes: [],
      });
      expect(await workspace.closeDeadJobs()).toEqual([id]);
      expect(workspace.archive.read(id)).toMatchObject({
        state: "discarded",
        outcome: "aborted",
        reason: "its process died",
      });
      expect(await workspace.closeDeadJobs()).toEqual([]);
    });

    test("a draft takes patches one after the other and ends as one job, or as nothing", async () => {
      const { workspace, shell } = bench();
      shell("printf before > draft.txt");
      const open = async () => {
        const signal = new AbortController().signal;
        const opened = await workspace.openDraft({
          source: "test",
          startedBy: "user",
          checked: false,
          signal,
        });
        if (!opened.ok) throw new Error(opened.refusal.message);
        return opened.draft;
      };
      const edits = [create("draft.txt", "edited"), { type: "file_edit", action: "delete", target: "none" }];
      const [kept, dropped] = [await open(), await open()];
      await dropped.run({ attempt: 1, work: { patch: JSON.stringify([create("dropped.txt", "x")]) } });
      await dropped.discard("not wanted");
      expect(shell("ls")).not.toContain("dropped.txt");
      const first = await kept.run({ attempt: 1, work: { patch: JSON.stringify(edits) } });
      expect(first).toMatchObject({ about: "attempt", results: [{ success: true }, { success: false }] });
      const wait = { type: "shell_command", action: "run", target: "sleep 60" };
      const work = { patch: JSON.stringify([wait]) };
      const ended = await kept.run({ attempt: 2, work, signal: AbortSignal.abort() });
      expect(ended).toMatchObject({ aborted: true, warnings: [], ended: [] });
      const run = { type: "shell_command", action: "run", target: "cat draft.txt > seen.txt" };
      await kept.run({ attempt: 3, work: { patch: JSON.stringify([run]) } });
      expect(decode(kept.files.read("seen.txt"))).toBe("edited");
      expect(await kept.commit()).toMatchObject({
        outcome: "committed",
        executedCmds: 2,
        failedCmds: 0,
      });
      expect(shell("cat draft.txt seen.txt")).toBe("editededited");
      expect(workspace.archive.read(kept.id)).toMatchObject({ state: "committed", success: true });
    });

    test("nothing interrupted is nothing to repair", async () => {
      expect(await bench().workspace.repair()).toBeNull();
    });

    test("masking a masked text changes nothing", () => {
      const { mask } = bench().workspace;
      const masked = mask("token ghp_0123456789abcdefghijklmnopqrstuvwxyz and AKIAIOSFODNN7EXAMPLE");
      expect(masked).not.toContain("ghp_0123456789abcdefghijklmnopqrstuvwxyz");
      expect(mask(masked)).toBe(masked);
    });
  });
}
