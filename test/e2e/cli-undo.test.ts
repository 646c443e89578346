import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type Cli, create, createCli, JOBS_HINT, jobIdIn, shell } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

const job = (content: string, args: readonly string[] = []) =>
  jobIdIn(cli.apply([create("a", content)], args).out);

describe("undo and redo", () => {
  test("undo the last job, then the one before, and redo them in turn", () => {
    const first = job("1");
    const second = job("2");
    expect(cli.run(["undo"])).toEqual({
      code: 0,
      err: "",
      out: `Undone\n\n#${second} was undone.\nChanged files: 1\n  M a\n\nTo redo it: picoclaw redo ${second}\n`,
    });
    expect(cli.tree()).toEqual({ a: "1" });
    expect(cli.run(["undo"]).out).toContain(`#${first} was undone`);
    expect(cli.tree()).toEqual({});
    expect(cli.run(["undo"])).toEqual({
      code: 3,
      out: "",
      err: "No change\nThere is no job to undo.\n",
    });
    expect(cli.run(["redo"]).out).toBe(
      `Applied\n\n#${first} was applied again.\nChanged files: 1\n  A a\n\nTo undo it: picoclaw undo ${first}\n`,
    );
    expect(cli.run(["redo"]).code).toBe(0);
    expect(cli.tree()).toEqual({ a: "2" });
    expect(cli.run(["redo"])).toEqual({ code: 3, out: "", err: "No change\nThere is no job to redo.\n" });
  });

  test("several jobs at once list each path by what became of it: made and removed again is nothing", () => {
    job("1");
    job("2");
    cli.apply([create("gone", "x"), create("kept", "x")]);
    cli.apply([{ type: "file_edit", action: "delete", target: "gone", content: "" }]);
    const undone = cli.run(["undo", "1", "2", "3", "4"]).out;
    expect(undone).toContain("Changed files: 2\n  D kept\n  D a\n");
    expect(cli.run(["redo", "1", "2", "3", "4"]).out).toContain("Changed files: 2\n  A a\n  A kept\n");
  });

  test("a parent folder that is now a link is named, and --force is not advised after it was tried", () => {
    cli.write("d/f", "in\n");
    const jobId = jobIdIn(cli.apply([create("d/f", "changed\n")]).out);
    renameSync(join(cli.workspace, "d"), join(cli.workspace, "d.real"));
    symlinkSync("d.real", join(cli.workspace, "d"));
    const { code, out, err } = cli.run(["undo", jobId, "--force"]);
    expect(code).toBe(3);
    expect(out + err).toContain("d/f (a folder above it is gone, or is a link or a file now)");
    expect(out + err).not.toContain("--force");
    expect(cli.read("d.real/f")).toBe("changed\n");
  });

  test("an older job under a newer one names it, and --force overrules", () => {
    const first = job("1");
    const second = job("2");
    const ran = cli.run(["undo", first]);
    expect([ran.code, ran.out]).toEqual([3, ""]);
    expect(ran.err).toBe(
      `Refused\nNothing was undone, because these were changed after #${first}:\n  a (changed since by #${second}; undo that first: picoclaw undo ${second})\nTo undo #2 and #1 together: picoclaw undo 2 1\nTo overwrite them: picoclaw undo ${first} --force\n`,
    );
    expect(cli.tree()).toEqual({ a: "2" });
    expect(cli.run(["undo", first, "--force"]).code).toBe(0);
    expect(cli.tree()).toEqual({});
  });

  test("what the user saved since is not overwritten", () => {
    const id = job("1");
    cli.write("a", "mine");
    const ran = cli.run(["undo", "--json"]);
    expect(ran.code).toBe(3);
    expect(cli.json(ran)).toMatchObject({
      success: false,
      error: {
        code: "conflict",
        status: "refused",
        job_id: cli.idOf(id),
        conflicts: [{ path: "a", reason: "changed" }],
      },
    });
    expect(cli.read("a")).toBe("mine");
  });

  test("a group is undone as one, newest first, and redone oldest first", () => {
    cli.write("a", "0");
    for (const content of ["1", "2", "3"]) job(content, ["--group", "turn-1"]);
    expect(cli.run(["undo", "turn-1"]).code).toBe(0);
    expect(cli.tree()).toEqual({ a: "0" });
    expect(cli.run(["undo", "turn-1"])).toMatchObject({ code: 3 });
    expect(cli.run(["redo", "turn-1"]).code).toBe(0);
    expect(cli.tree()).toEqual({ a: "3" });
  });

  test("a group that stops half-way says what went back and what did not", () => {
    cli.write("a", "0");
    const first = job("1", ["--group", "g"]);
    const second = jobIdIn(cli.apply([create("b", "1")], ["--group", "g"]).out);
    cli.write("a", "mine");
    const ran = cli.run(["undo", "g"]);
    expect(ran.code).toBe(1);
    expect(ran.out).toBe("");
    expect(ran.err).toContain(`#${second} was undone`);
    expect(ran.err).toContain(`changed after #${first}`);
    expect(cli.tree()).toEqual({ a: "mine" });
  });

  test("--list shows the paths and touches nothing", () => {
    const id = jobIdIn(cli.apply([create("a", "1"), shell("echo 2 > b")]).out);
    expect(cli.run(["undo", "--list"])).toEqual({
      code: 0,
      err: "",
      out: `Undoing #${id} restores:\n  a\n  b\n`,
    });
    expect(cli.json(cli.run(["undo", "--list", "--json"]))).toEqual({
      jobs: [
        {
          job_id: cli.idOf(id),
          changes: [
            { path: "a", kind: "added" },
            { path: "b", kind: "added" },
          ],
        },
      ],
    });
    expect(cli.tree()).toEqual({ a: "1", b: "2\n" });
  });

  test.if(process.getuid?.() !== 0)(
    "a file or folder that was shut since is told as such, and an unreadable one is restored with force",
    () => {
      cli.write("d/f", "old\n");
      cli.apply([create("d/f", "new\n")]);
      chmodSync(join(cli.workspace, "d/f"), 0);
      const changed = cli.run(["undo"]);
      expect([changed.code, changed.err]).toEqual([
        3,
        expect.stringMatching(/^Refused\n.+\n {2}d\/f\n.+--force\n$/),
      ]);
      chmodSync(join(cli.workspace, "d"), 0);
      const shut = cli.run(["undo"]);
      chmodSync(join(cli.workspace, "d"), 0o755);
      expect(shut.err).toContain("because the system does not allow it:\n  Permission denied: d/f\n");
      expect(shut.err).not.toContain("--force");
      expect(cli.run(["undo", "--force"]).code).toBe(0);
      expect(cli.tree()).toMatchObject({ "d/f": "old\n" });
    },
  );

  test.if(process.getuid?.() !== 0)("a home that cannot be made is told with what helps", () => {
    const refused = cli.apply([create("a", "x")], [], { env: { PICOCLAW_HOME: "/nope/home" } });
    expect([refused.code, refused.out + refused.err]).toEqual([
      3,
      expect.stringContaining("Set PICOCLAW_HOME to a folder that can be written to"),
    ]);
  });

  test("a name that is not a job is bad input", () => {
    expect(cli.run(["undo", "job_1_aaaaaaaa"])).toEqual({
      code: 2,
      out: "",
      err: `No such job: job_1_aaaaaaaa${JOBS_HINT}`,
    });
    expect(cli.run(["redo", "../../etc"])).toEqual({
      code: 2,
      out: "",
      err: `No such job: ../../etc${JOBS_HINT}`,
    });
  });

  test("a preview says that there is nothing to undo, and how it is applied", () => {
    const { job_id: id, number } = cli.json(cli.apply([create("p.txt", "p")], ["--preview", "--json"]));
    const { code, err } = cli.run(["undo", String(id)]);
    expect(code).toBe(3);
    expect(err).toContain(`#${number} is a preview: nothing of it is applied, so there is nothing to undo.`);
    expect(err).toContain(`picoclaw apply --job ${number}`);
  });

  test("a job that is back already says so", () => {
    const id = job("1");
    cli.run(["undo", id]);
    expect(cli.run(["undo", id])).toEqual({
      code: 3,
      out: "",
      err: `Refused\n#${id} is already undone.\nTo redo it: picoclaw redo ${id}\n`,
    });
  });

  test("a job that ran in place explains that nothing can be undone", () => {
    const env = { PICOCLAW_WORKER_TRANSACTION: "none" };
    const ran = cli.apply([shell("echo 1 > a")], [], { env });
    expect(ran.out).toContain("worker.transaction is none: the effects of shell commands cannot be undone.");
    const undone = cli.run(["undo", jobIdIn(ran.out)], { env });
    expect([undone.code, undone.out]).toEqual([3, ""]);
    expect(undone.err).toContain("There is no undo data");
  });
});

describe("jobs and show", () => {
  test("list the history, newest last, as a table and as JSON", () => {
    expect(cli.run(["jobs"])).toEqual({ code: 0, err: "", out: "There are no jobs yet.\n" });
    const first = job("1");
    const second = job("2");
    cli.run(["undo"]);
    expect(cli.run(["jobs"]).out).toMatch(
      /^Job .*\n#1 .* Applied +1 +available .*\n#2 .* Undone +1 +undone .*\n$/,
    );
    expect(cli.run(["jobs", "--ids"]).out).toMatch(
      new RegExp(`\\n#1 +${cli.idOf(first)} .*\\n#2 +${cli.idOf(second)} `),
    );
    expect(cli.json(cli.run(["jobs", "--json"])).jobs).toMatchObject([
      {
        number: Number(first),
        state: "committed",
        success: true,
        undo: "available",
        changes: [{ path: "a" }],
      },
      { number: Number(second), state: "undone", undo: "undone" },
    ]);
    expect(cli.json(cli.run(["jobs", "--limit", "1", "--json"])).jobs).toHaveLength(1);
    expect(cli.run(["jobs", "--limit", "0"])).toMatchObject({ code: 2 });
  });

  test("show one job with its commands, changes and differences", () => {
    cli.write("a", "old\n");
    const id = jobIdIn(cli.apply([create("a", "new\n"), shell("echo out; exit 2")]).out);
    const { code, out } = cli.run(["show", id, "--diff"]);
    expect(code).toBe(0);
    expect(out).toStartWith("Applied, 1 command failed\n");
    expect(out).toContain("[2] shell_command run echo out; exit 2\n    ✗ ");
    expect(out).toContain("--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-old\n+new\n");
    expect(cli.json(cli.run(["show", "--json", "--diff"]))).toMatchObject({
      number: Number(id),
      diff: expect.stringContaining("+new\n"),
      events: expect.arrayContaining([expect.objectContaining({ event: { type: "committed", changes: 1 } })]),
    });
    expect(cli.run(["show", "job_1_x"])).toEqual({
      code: 2,
      out: "",
      err: `No such job: job_1_x${JOBS_HINT}`,
    });
  });
});
