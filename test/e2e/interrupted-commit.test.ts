/** A commit or an undo that a crash cut off, as lists and reports tell it. */
import { afterEach, beforeEach, expect, test } from "bun:test";
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

function expectInterrupted(jobId: string): void {
  const [, row = ""] = cli.run(["jobs"]).out.split("\n");
  expect(row).toMatch(/ Interrupted +\d+ +available /);
  expect(cli.json(cli.run(["jobs", "--json"]))).toMatchObject({
    jobs: [{ job_id: jobId, status: "interrupted", undo: "available" }],
  });
  const { out } = cli.run(["show", jobId]);
  expect(out).toStartWith("Interrupted\n");
  expect(out).toContain("picoclaw doctor --repair");
}

test("a commit that was cut off is interrupted until it is repaired, not a preview", () => {
  const jobId = jobIdIn(cli.apply([create("a.txt", "two\n"), create("b.txt", "b\n")], ["--preview"]).out);
  cutOff("commit", jobId);
  expectInterrupted(jobId);
  expect(cli.run(["doctor", "--repair"]).out).toContain(jobId);
  expect(cli.run(["show", jobId]).out).toStartWith("Applied\n");
  expect(cli.read("a.txt")).toBe("two\n");
});

test("a commit that was cut off can be taken back at once, as the list says", () => {
  const jobId = jobIdIn(cli.apply([create("a.txt", "two\n"), create("b.txt", "b\n")], ["--preview"]).out);
  cutOff("commit", jobId);
  expectInterrupted(jobId);
  expect(cli.run(["undo", jobId]).code).toBe(0);
  expect(cli.tree()).toEqual({ "a.txt": "one\n" });
});

test("so is an undo that was cut off", () => {
  const jobId = jobIdIn(cli.apply([create("a.txt", "two\n")]).out);
  cutOff("undo", jobId);
  expectInterrupted(jobId);
  expect(cli.run(["doctor", "--repair"]).out).toContain(jobId);
  expect(cli.run(["show", jobId]).out).toStartWith("Taken back\n");
  expect(cli.read("a.txt")).toBe("one\n");
});
