/** The records of jobs, and how long they are kept. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Cli, create, createCli, jobIdIn, shell } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

const storage = () => {
  const workspaces = join(cli.home, "workspaces");
  return join(workspaces, readdirSync(workspaces)[0] as string);
};
const folderOf = (jobId: string) => join(storage(), "jobs", jobId);

test("the diff of a job is known after the user has edited its files", () => {
  cli.write("a.txt", "one\n");
  const jobId = cli.idOf(jobIdIn(cli.apply([create("a.txt", "two\n"), create("d/new.txt", "new\n")]).out));
  cli.write("a.txt", "mine\n");
  cli.write("d/new.txt", "mine as well\n");
  const { out } = cli.run(["show", jobId, "--diff"]);
  expect(out).toContain("-one\n+two\n");
  expect(out).toContain("+new\n");
  expect(out).not.toContain("no longer known");
});

test("the quota counts outputs and journals, and takes the oldest undo data and then the oldest stories", () => {
  const env = { PICOCLAW_WORKER_UNDO_QUOTA: "300000", PICOCLAW_WORKER_TRANSACTION: "copy" };
  const noise = shell("head -c 200000 /dev/zero | tr '\\0' x; date +%N >a.txt");
  const jobs = [1, 2, 3, 4].map(() => cli.json(cli.apply([noise], ["--json"], { env })).job_id as string);
  const kept = jobs.filter((jobId) => existsSync(folderOf(jobId)));
  expect(kept.length).toBeLessThan(4);
  expect(kept.at(-1)).toBe(jobs.at(-1) as string);
  expect(cli.run(["undo"], { env }).code).toBe(0);
});

test("a job without undo data is forgotten after worker.journal_days, one with undo data is not", () => {
  const dropped = cli.idOf(jobIdIn(cli.apply([create("a.txt", "a\n"), shell("false")], ["--atomic"]).out));
  const kept = cli.idOf(jobIdIn(cli.apply([create("b.txt", "b\n")]).out));
  for (const jobId of [dropped, kept]) {
    const path = join(folderOf(jobId), "state.json");
    const state = JSON.parse(readFileSync(path, "utf8"));
    writeFileSync(path, JSON.stringify({ ...state, at: "2020-01-01T00:00:00.000Z" }));
  }
  const sweep = (days: string) => {
    Bun.spawnSync(["rm", "-f", join(storage(), "swept"), join(storage(), "kept.json")]);
    cli.apply([create("c.txt", days)], [], { env: { PICOCLAW_WORKER_JOURNAL_DAYS: days } });
  };
  sweep("0");
  expect(existsSync(folderOf(dropped))).toBe(true);
  sweep("90");
  expect([existsSync(folderOf(dropped)), existsSync(folderOf(kept))]).toEqual([false, true]);
});
