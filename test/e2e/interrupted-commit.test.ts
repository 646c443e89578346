/** A commit or an undo that a crash cut off, as lists and reports tell it. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { type Cli, create, createCli, jobIdIn } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
  cli.write("a.txt", "one\n");
});
afterEach(() => cli.remove());

/** Dies after its first exchange. */
function cutOff(action: "commit" | "undo", jobId: string): void {
  const child = join(import.meta.dir, "../faults/crash-child.ts");
  const args = ["--no-env-file", child, cli.folder, action, jobId, "4"];
  const ran = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect(ran.stdout.trim().split("\n").at(-1)).toMatch(/^(exchange|in) /);
}

function expectInterrupted(jobId: string, doing: "being applied" | "being undone"): void {
  const [, row = ""] = cli.run(["jobs"]).out.split("\n");
  expect(row).toMatch(new RegExp(` Interrupted \\(while it was ${doing}\\) +\\d+ +available `));
  expect(cli.json(cli.run(["jobs", "--json"]))).toMatchObject({
    jobs: [{ job_id: jobId, status: "interrupted", undo: "available" }],
  });
  const { out } = cli.run(["show", jobId]);
  expect(out).toStartWith("Interrupted\n");
  expect(out).toContain(`was interrupted while it was ${doing}. `);
  expect(out).toContain("picoclaw doctor --repair");
}

test("a commit that was cut off is interrupted until it is repaired, not a preview", () => {
  const jobId = cli.idOf(
    jobIdIn(cli.apply([create("a.txt", "two\n"), create("b.txt", "b\n")], ["--preview"]).out),
  );
  cutOff("commit", jobId);
  expectInterrupted(jobId, "being applied");
  expect(cli.run(["doctor", "--repair"]).out).toContain("Job #1 was interrupted");
  expect(cli.run(["show", jobId]).out).toStartWith("Applied\n");
  expect(cli.read("a.txt")).toBe("two\n");
});

test("an interrupted commit can be undone at once, as the list says", () => {
  const jobId = cli.idOf(
    jobIdIn(cli.apply([create("a.txt", "two\n"), create("b.txt", "b\n")], ["--preview"]).out),
  );
  cutOff("commit", jobId);
  expectInterrupted(jobId, "being applied");
  expect(cli.run(["undo", jobId]).code).toBe(0);
  expect(cli.tree()).toEqual({ "a.txt": "one\n" });
});

test("so is an undo that was cut off", () => {
  const jobId = cli.idOf(jobIdIn(cli.apply([create("a.txt", "two\n")]).out));
  cutOff("undo", jobId);
  expectInterrupted(jobId, "being undone");
  expect(cli.run(["doctor", "--repair"]).out).toContain("Job #1 was interrupted");
  expect(cli.run(["show", jobId]).out).toStartWith("Undone\n");
  expect(cli.run(["show", jobId]).out).toContain(
    "was interrupted while it was being undone; that was completed",
  );
  expect(cli.read("a.txt")).toBe("one\n");
});

describe("a file that was edited after the crash", () => {
  const files = ["f0", "f1", "f2"];
  let cut: string;
  beforeEach(() => {
    for (const path of files) cli.write(path, "old\n");
    cli.apply([create("first.txt", "1\n")]);
    const edits = files.map((path) => create(path, "new\n"));
    cut = cli.idOf(jobIdIn(cli.apply(edits, ["--preview"]).out));
    cutOff("commit", cut);
  });
  const texts = () => files.map((path) => cli.read(path));

  test("blocks no job: the next one finishes the rest, keeps the file and says so", () => {
    cli.write("f2", "mine\n");
    const next = cli.apply([create("next.txt", "n\n")]);
    expect([next.code, texts()]).toEqual([0, ["new\n", "new\n", "mine\n"]]);
    expect(next.err).toContain(
      `Job #2 was interrupted while it was being applied; that was completed since.`,
    );
    expect(next.err).toContain("Left out, because they were changed after the interruption:\n  f2");
    for (const list of [
      ["jobs", "--ids"],
      ["jobs", "--all"],
    ])
      expect(cli.run(list).out).toMatch(
        new RegExp(`${cut} .* Applied \\(completed after an interruption\\) +2 `),
      );
    expect(cli.json(cli.run(["show", cut, "--json"]))).toMatchObject({
      changes: [{ path: "f0" }, { path: "f1" }],
      interruptions: [{ direction: "commit", outcome: "finished", left: ["f2"] }],
    });
    const shown = cli.run(["show", cut, "--diff"]).out;
    expect(shown).toContain("Left out, because they were changed after the interruption:\n  f2");
    expect(shown).not.toContain("+++ b/f2");
    expect([cli.run(["undo", cut]).code, texts()]).toEqual([0, ["old\n", "old\n", "mine\n"]]);
    expect([cli.run(["redo", cut]).code, texts()]).toEqual([0, ["new\n", "new\n", "mine\n"]]);
  });

  test("lets undo name the job that was cut off, not the one before", () => {
    cli.write("f2", "mine\n");
    const undone = cli.run(["undo"]);
    expect([undone.code, texts()]).toEqual([0, ["old\n", "old\n", "mine\n"]]);
    expect(undone.out).toContain("#2 was undone.");
    expect(cli.run(["undo"]).out).toContain("#1 was undone.");
  });

  test("is reported by doctor --repair with its reason", () => {
    cli.write("f2", "mine\n");
    expect(cli.run(["doctor", "--repair"]).out).toMatch(/Left out, because .*\n +f2/);
  });
});
