import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DoctorCheck } from "../../src/application/ports/jobs-workspace.ts";
import { type Cli, create, createCli, JOBS_HINT, jobIdIn, shell } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
  cli.write("a", "old");
});
afterEach(() => cli.remove());

const COMMANDS = [create("a", "new"), shell("echo made > b")];

describe("a preview", () => {
  test("really runs, changes nothing, and `apply --job` commits exactly it", () => {
    const ran = cli.apply(COMMANDS, ["--preview"]);
    const job = jobIdIn(ran.out);
    expect(ran.code).toBe(0);
    expect(ran.out).toStartWith("Preview, nothing applied\n");
    expect(ran.out).toContain(
      `2 changed files are staged. To apply exactly this: picoclaw apply --job ${job}`,
    );
    expect(cli.tree()).toEqual({ a: "old" });
    expect(cli.run(["show", job, "--diff"]).out).toContain("-old\n");
    const applied = cli.run(["apply", "--job", job, "--json"]);
    expect(applied.code).toBe(0);
    expect(cli.json(applied)).toMatchObject({
      job_id: cli.idOf(job),
      number: 1,
      success: true,
      executed_cmds: 2,
      failed_cmds: 0,
      results: [{ success: true }, { success: true }],
      changes: [
        { path: "a", kind: "modified" },
        { path: "b", kind: "added" },
      ],
      undo: "available",
      dry_run: false,
    });
    expect(cli.tree()).toEqual({ a: "new", b: "made\n" });
    expect(cli.run(["undo", job]).code).toBe(0);
    expect(cli.tree()).toEqual({ a: "old" });
  });

  test("without a change is not a preview: there is nothing to apply", () => {
    const { code, out } = cli.apply([create("a", "old")], ["--preview"]);
    expect(code).toBe(0);
    expect(out).toStartWith("No change\n");
    expect(out).not.toContain("apply --job");
    expect(cli.run(["jobs"]).out).not.toContain("preview");
    expect(cli.run(["discard"]).code).toBe(3);
  });

  test("that no longer fits is a conflict, and stays", () => {
    const job = jobIdIn(cli.apply(COMMANDS, ["--preview"]).out);
    cli.write("a", "mine");
    const ran = cli.run(["apply", "--job", job]);
    expect([ran.code, ran.out]).toEqual([1, ""]);
    expect(ran.err).toStartWith(
      "Preview, nothing applied\nNothing was applied, because these were changed by something else meanwhile:\n  a\n",
    );
    expect(cli.tree()).toEqual({ a: "mine" });
    expect(cli.json(cli.run(["jobs", "--json"])).jobs).toMatchObject([
      { number: Number(job), state: "staged" },
    ]);
  });

  test("is not committed by a dry run", () => {
    const job = jobIdIn(cli.apply(COMMANDS, ["--preview"]).out);
    const ran = cli.run(["apply", "--job", job], { env: { PICOCLAW_DRY_RUN: "1" } });
    expect(ran.code).toBe(0);
    expect(ran.out).toContain("  M a\n  A b\n");
    expect(cli.tree()).toEqual({ a: "old" });
  });

  test.each([
    ["an unknown job", ["apply", "--job", "job_1_aaaaaaaa"], `No such job: job_1_aaaaaaaa${JOBS_HINT}`],
    ["a path", ["apply", "--job", "../../ws"], `No such job: ../../ws${JOBS_HINT}`],
    [
      "a job and a file",
      ["apply", "--job", "job_1_aaaaaaaa", "p.json"],
      "These cannot be used together: --job, p.json\n",
    ],
    [
      "no name",
      ["apply", "--job"],
      "--job needs a value.\nUsage: picoclaw apply [FILE|-]\nMore: picoclaw apply --help\n",
    ],
  ])("of %s is bad input", (_name, args, err) => {
    expect(cli.run(args)).toEqual({ code: 2, out: "", err });
  });

  test("that was applied cannot be applied again", () => {
    const job = jobIdIn(cli.apply([create("c", "1")], ["--preview"]).out);
    expect(cli.run(["apply", "--job", job]).code).toBe(0);
    expect(cli.run(["apply", "--job", job])).toEqual({
      code: 2,
      out: "",
      err: `Refused\n#${job} is already applied; nothing was changed now.\n`,
    });
  });

  test("is thrown away by name, or when it is the only one, and never by chance", () => {
    const staged = () => jobIdIn(cli.apply(COMMANDS, ["--preview"]).out);
    expect(cli.run(["discard"])).toEqual({
      code: 3,
      out: "",
      err: "No change\nThere is no preview to discard.\n",
    });
    const [first, second] = [staged(), staged()];
    expect(cli.run(["jobs"]).out).toEndWith(
      "\n2 previews are waiting. Apply one: picoclaw apply --job JOB   Discard it: picoclaw discard JOB\n",
    );
    expect(cli.run(["discard"])).toEqual({
      code: 2,
      out: "",
      err: `There are several previews; name one:\n  #${first}\n  #${second}\n`,
    });
    expect(cli.run(["discard", first])).toEqual({
      code: 0,
      out: `The preview #${first} was discarded. Nothing else changed.\n`,
      err: "",
    });
    expect(cli.run(["discard", first]).err).toBe(
      `Refused\n#${first} is not a preview: there is nothing to apply or discard.\n`,
    );
    expect(cli.run(["show", second]).out).toEndWith(`To discard it: picoclaw discard ${second}\n`);
    expect(cli.json(cli.run(["discard", "--json"]))).toEqual({
      success: true,
      status: "discarded",
      job_id: cli.idOf(second),
    });
    expect(cli.run(["apply", "--job", second]).code).toBe(2);
    expect(cli.tree()).toEqual({ a: "old" });
  });

  test("is named by its number, too, and one of another folder with what that needs", () => {
    for (const name of ["b", "c"]) cli.apply([create(name, "x")], ["--preview"]);
    expect(cli.run(["apply", "--job", "#2"]).out).toStartWith("Applied\n");
    expect(cli.run(["discard", "1"]).out).toContain("was discarded");
    expect(cli.tree()).toEqual({ a: "old", c: "x" });
    expect(cli.run(["show", "3"]).err).toBe(`No such job: 3${JOBS_HINT}`);
    cli.apply([create("d", "x")], ["--preview"]);
    expect(cli.run(["jobs", "--all"]).out).not.toContain("--workspace");
    const other = join(cli.folder, "other");
    mkdirSync(other);
    expect(cli.run(["jobs", "--all"], { cwd: other }).out).toContain(
      "(one of another folder: add --workspace FOLDER)",
    );
  });

  test("of commands is refused where nothing stages them", () => {
    const env = { PICOCLAW_WORKER_TRANSACTION: "none" };
    const ran = cli.apply(COMMANDS, ["--preview", "--json"], { env });
    expect(ran.code).toBe(3);
    expect(cli.json(ran)).toMatchObject({ success: false, error: { code: "preview" } });
    expect(cli.tree()).toEqual({ a: "old" });
  });
});

test("an interrupted job is reported by `show` and `doctor` with the state of its files, until a repair", () => {
  const job = cli.idOf(jobIdIn(cli.apply([create("a", "new\n"), create("b", "b\n")]).out));
  const [journal] = [...new Bun.Glob(`**/${job}/journal.ndjson`).scanSync({ cwd: cli.home, absolute: true })];
  const jobs = dirname(dirname(journal as string));
  const intent = {
    job_id: job,
    direction: "undo",
    turn: 2,
    skip: [],
    found: [],
    doors: [],
    taking_back: true,
  };
  writeFileSync(join(dirname(jobs), "intent.json"), JSON.stringify(intent));
  rmSync(join(cli.workspace, "a"));
  const lines = [
    "Its files now:",
    "  as the job left them (1):",
    "    b",
    "  not in place; the original is kept elsewhere (1):",
    `    a: ${join(jobs, job, "slots/0.a")}`,
  ].join("\n");
  expect(cli.run(["show", job]).out).toContain(`picoclaw doctor --repair\n${lines}\n`);
  expect(cli.json(cli.run(["show", job, "--json"]))).toMatchObject({ interrupted_files: { after: ["b"] } });
  const told = cli.run(["doctor"]);
  expect([told.code, told.out.includes(`✗ Job #1 was interrupted while it was being undone.`)]).toEqual([
    1,
    true,
  ]);
  expect(told.out).toContain(lines);
  expect(cli.run(["doctor", "--repair"]).out).not.toContain(lines);
  expect(cli.run(["doctor"]).out).not.toContain("was interrupted");
});

/** The files of a job's undo data. */
function undoRecords(job: string): { readonly plan: string; readonly stands: string } {
  const find = (name: string) =>
    [...new Bun.Glob(`**/${job}/${name}`).scanSync({ cwd: cli.home, absolute: true })][0] as string;
  return { plan: find("plan.ndjson"), stands: find("stands.1.ndjson") };
}

test("a damaged plan is named by `jobs`, `show` and `doctor`, and `undo` rebuilds it and restores everything", () => {
  const job = cli.idOf(jobIdIn(cli.apply([create("a", "new\n"), create("b/c", "new\n")]).out));
  const { plan } = undoRecords(job);
  truncateSync(plan, 20);
  for (const args of [["jobs"], ["show", job], ["doctor"]]) {
    const { out } = cli.run(args);
    expect(out).toContain(`damaged or gone: ${plan}`);
    expect(out).toContain("All of the job can still be undone");
  }
  const undone = cli.run(["undo", job]);
  expect([undone.code, undone.out]).toEqual([0, expect.stringContaining(`kept: ${plan}.damaged`)]);
  expect(existsSync(join(cli.workspace, "b"))).toBe(false);
  expect(cli.run(["show", job]).out).toContain("was rebuilt; nothing is lost.");
  expect(cli.run(["redo", job]).code).toBe(0);
});

test("paths that nothing tells any more are named by `doctor --repair`, `jobs` and `undo`, and the rest is undone", () => {
  const job = cli.idOf(jobIdIn(cli.apply([create("one", "new\n"), create("two", "new\n")]).out));
  const { plan, stands } = undoRecords(job);
  truncateSync(plan, 0);
  const lines = readFileSync(stands, "utf8").split("\n");
  writeFileSync(stands, `${lines.slice(0, 2).join("\n")}\n`);
  expect(cli.run(["doctor"]).out).toContain("restores all but these:");
  for (const args of [["doctor", "--repair"], ["jobs"], ["show", job], ["undo", job]])
    expect(cli.run(args).out).toMatch(/can no longer be undone or applied again:\n +two$/m);
  expect(["one", "two"].map((name) => existsSync(join(cli.workspace, name)))).toEqual([false, true]);
});

test("a job with no record of its undo data is refused, with what can be done", () => {
  const job = cli.idOf(jobIdIn(cli.apply([create("a", "new\n")]).out));
  const { plan, stands } = undoRecords(job);
  for (const file of [plan, stands]) truncateSync(file, 0);
  for (const args of [["doctor"], ["doctor", "--repair"]]) {
    const { out } = cli.run(args);
    expect(out).toContain("The job can be neither undone nor applied again.");
    expect(out).toContain(`are in ${join(dirname(plan), "slots")}: copy what you need.`);
  }
  expect(cli.run(["undo", job]).code).not.toBe(0);
});

test("a record that cannot be read has no result in `jobs` and `show`, and its file in the JSON", () => {
  const job = cli.idOf(jobIdIn(cli.apply([create("a", "new\n")]).out));
  const [record] = [...new Bun.Glob(`**/${job}/job.json`).scanSync({ cwd: cli.home, absolute: true })];
  truncateSync(record as string, 20);
  expect(cli.run(["jobs", "--ids"]).out).toMatch(new RegExp(`^#1 +${job} .+ Record unreadable  0`, "m"));
  expect(cli.run(["show", job]).out).toStartWith("Record unreadable\n");
  expect(cli.json(cli.run(["show", job, "--json"]))).toMatchObject({ damaged: record });
  expect(cli.json(cli.run(["jobs", "--json"]))).toMatchObject({ jobs: [{ status: "unreadable" }] });
});

/** As a disk, a backup or a `sudo` leaves them. */
const UNREADABLE: Readonly<Record<string, (file: string) => void>> = {
  "a folder in its place": (file) => {
    rmSync(file, { force: true });
    mkdirSync(file);
  },
  "no permission": (file) => chmodSync(file, 0),
};

for (const [how, spoil] of Object.entries(UNREADABLE))
  test(`one file of a job's record, ${how}: the other jobs are listed and undone, and the one is named`, () => {
    for (const name of [
      "plan.ndjson",
      "stands.1.ndjson",
      "job.json",
      "state.json",
      "journal.ndjson",
      "repairs.ndjson",
    ]) {
      const path = `of-${name}`;
      const job = cli.idOf(jobIdIn(cli.apply([create(path, "new\n")]).out));
      const other = cli.idOf(jobIdIn(cli.apply([create("other", "new\n")]).out));
      const file = join(dirname(undoRecords(job).plan), name);
      if (existsSync(file) || how.startsWith("a folder")) spoil(file);
      const [listed, told] = [cli.run(["jobs", "--ids"]), cli.run(["doctor"]).out];
      expect([name, listed.code, listed.out]).toEqual([name, 0, expect.stringContaining(job)]);
      // Root reads what has no permission, and a story without its journal is still a job.
      const isNamed = how.startsWith("a folder")
        ? !/^(journal|repairs)/.test(name)
        : process.getuid?.() !== 0 && /^(plan|stands)/.test(name);
      if (isNamed) for (const text of [listed.out, told]) expect(text).toContain(file);
      expect([name, cli.run(["show", job]).code, cli.run(["undo", other]).code]).toEqual([name, 0, 0]);
      expect(existsSync(join(cli.workspace, "other"))).toBe(false);
      const undone = cli.run(["undo", job]);
      if (how.startsWith("a folder") && /^(plan|stands|journal|repairs)/.test(name))
        expect([name, undone.code]).toEqual([name, 0]);
      expect([name, existsSync(join(cli.workspace, path))]).toEqual([name, undone.code !== 0]);
      if (existsSync(file)) chmodSync(file, 0o700);
    }
  });

test("an undo names a file that was deleted since as deleted", () => {
  cli.apply([create("a", "new\n")]);
  rmSync(join(cli.workspace, "a"));
  expect(cli.run(["undo"]).err).toContain("\n  a (deleted since)\n");
});

test("originals that were kept aside are named by `doctor`, and go when exactly they are discarded", () => {
  const job = cli.idOf(jobIdIn(cli.apply(COMMANDS, ["--preview"]).out));
  const [journal] = [...new Bun.Glob(`**/${job}/journal.ndjson`).scanSync({ cwd: cli.home, absolute: true })];
  const aside = join(dirname(dirname(dirname(journal as string))), "aside", job);
  mkdirSync(join(aside, "d"), { recursive: true });
  writeFileSync(join(aside, "d/f"), "orig\n");
  const told = cli.json(cli.run(["doctor", "--json"])) as { checks: DoctorCheck[] };
  expect(told.checks.filter(({ name }) => name === "aside")).toEqual([
    {
      name: "aside",
      ok: false,
      optional: true,
      text: `Originals that could not be put back when job #1 was rolled back are kept (1 file, 5 B) in: ${aside}`,
      remedy: `Copy back what you need, then remove the rest for good: picoclaw discard 1 --aside`,
    },
  ] satisfies DoctorCheck[]);
  expect(cli.run(["discard", "--aside"]).code).toBe(2);
  expect(cli.run(["discard", job.slice(0, -1), "--aside"]).code).toBe(2);
  expect(existsSync(join(aside, "d/f"))).toBe(true);
  const gone = cli.run(["discard", job, "--aside", "--json"]);
  expect(cli.json(gone)).toEqual({ success: true, status: "removed", job_id: job, files: 1, bytes: 5 });
  expect(existsSync(aside)).toBe(false);
  // The preview of the same name is another thing.
  expect(cli.run(["apply", "--job", job]).code).toBe(0);
});
