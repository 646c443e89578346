import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { requirePart } from "../require.ts";
import { createCli, shell } from "./cli-kit.ts";

describe("the history of a workspace on the command line", () => {
  const cli = createCli();
  const file = join(cli.workspace, "a.txt");
  const jobs: string[] = [];
  const apply = (content: string, target = "a.txt", action = "update") => {
    const ran = cli.run(["apply", "-", "--json"], {
      input: JSON.stringify([{ type: "file_edit", action, target, content }]),
    });
    jobs.push(JSON.parse(ran.out).job_id);
  };

  beforeAll(() => {
    writeFileSync(file, "one\ntwo\n");
    apply("one\nTWO\n");
    writeFileSync(file, "one, by hand\nTWO\n");
    apply("one, by hand\nTWO\nbroken\n");
    apply("more\n", "b.txt", "create");
  });
  afterAll(() => cli.remove());

  test("diff shows the last job, a named one, and what changed between two, with changes by hand named", () => {
    expect(cli.run(["diff"]).out).toBe("--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1,1 @@\n+more\n");
    expect(cli.run(["diff", "#1"]).out).toContain("-two\n+TWO\n");
    const between = cli.run(["diff", `${jobs[0]}..`]);
    expect(between.out).toContain("+broken\n");
    expect(between.out).toContain("+++ b/b.txt");
    expect(cli.run(["diff", `..${jobs[1]}`, "a.txt"]).out).not.toContain("b.txt");
    expect(cli.run(["diff", "..", "--json"]).out).toContain('"hand_edits":["a.txt"]');
    const back = cli.run(["diff", "2..1"]);
    expect([back.code, back.err]).toEqual([0, expect.stringContaining("2 is later than 1")]);
    expect(back.out).toContain("-broken\n");
  });

  test("diff shows a changed mode as git does, alone and with changed lines", () => {
    const other = createCli();
    for (const name of ["alone", "both"])
      writeFileSync(join(other.workspace, name), "old\n", { mode: 0o755 });
    other.apply([shell("chmod 644 alone both; echo new > both")]);
    const header = (name: string, [was, is]: readonly number[]) =>
      `diff --git a/${name} b/${name}\nold mode 100${was}\nnew mode 100${is}\n`;
    const modes = [755, 644];
    const lines = "--- a/both\n+++ b/both\n@@ -1,1 +1,1 @@\n-old\n+new\n";
    const whole = `${header("alone", modes)}${header("both", modes)}${lines}`;
    for (const args of [["diff"], ["diff", "1"], ["diff", "..1"]])
      expect([args, other.run(args).out]).toEqual([args, whole]);
    expect(other.run(["show", "--diff"]).out).toEndWith(`\n${whole}`);
    other.apply([shell("chmod 755 alone")]);
    expect(other.run(["diff", "1..2"]).out).toBe(header("alone", [644, 755]));
    expect(other.run(["undo"]).code).toBe(0);
    expect(other.run(["diff", "2"]).out).toBe(header("alone", [644, 755]));
    other.remove();
  });

  test("diff between two jobs has the changes by hand that were made between them, and no later ones", () => {
    const other = createCli();
    const at = (name: string) => join(other.workspace, name);
    const job = (target: string, content: string) =>
      other.apply([{ type: "file_edit", action: "update", target, content }]);
    for (const name of ["a", "b", "c"]) writeFileSync(at(name), "old\n");
    job("a", "first\n");
    writeFileSync(at("a"), "between\n");
    job("b", "second\n");
    writeFileSync(at("b"), "later\n");
    job("c", "third\n");
    const ran = (range: string) => JSON.parse(other.run(["diff", range, "--json"]).out);
    expect(ran("1..2")).toMatchObject({ files: ["a", "b"], hand_edits: ["a"] });
    expect(ran("1..2").diff).toContain("+second\n");
    expect(ran("1..2").diff).not.toContain("later");
    expect(ran("2..3")).toMatchObject({ files: ["b", "c"], hand_edits: ["b"] });
    expect(ran("1..1")).toMatchObject({ files: [], hand_edits: [] });
    writeFileSync(at("c"), "now\n");
    expect(ran("2..3").diff).toContain("+third\n");
    expect(ran("2..3").diff).not.toContain("now");
    expect(ran("3..")).toMatchObject({ files: ["c"], hand_edits: ["c"] });
    expect(ran("..1")).toMatchObject({ files: ["a"], hand_edits: [] });
    other.remove();
  });

  test("show JOB:FILE is the file after that job", () => {
    expect(cli.run(["show", `${jobs[1]}:a.txt`]).out).toBe("one, by hand\nTWO\nbroken\n");
    expect(cli.run(["show", "#1:a.txt"]).out).toBe("one\nTWO\n");
    expect(cli.run(["show", `${jobs[1]}:b.txt`]).err).toContain("There was no file b.txt after");
  });

  test("why names the job, a change by hand, and a forgotten job; a chat answers the same", () => {
    expect(cli.run(["why", "a.txt:2"]).out).toContain("Written by #1,");
    expect(cli.run(["why", "a.txt:1"]).out).toContain("after #1 and before #2");
    expect(cli.run(["why", "--removed", "two"]).out).toContain("a.txt:2 was removed by #1,");
    expect(JSON.parse(cli.run(["why", "a.txt:3", "--json"]).out)).toMatchObject({
      origin: { kind: "job", job: { job_id: jobs[1], number: 2 } },
    });
    expect(cli.run(["chat", "/why a.txt:2"]).out).toContain("Written by #1,");
    expect(cli.run(["chat", "/why two"]).out).toContain("a.txt:2 was removed by #1,");
  });

  test.each([
    [["why"], "Name a line", 2],
    [["why", "a.txt"], "Name a line", 2],
    [["why", "a.txt:99"], "a.txt has 3 lines", 2],
    [["why", "none.txt:1"], "There is no file none.txt", 2],
    [["why", "../a.txt:1"], "There is no file ../a.txt", 2],
    [["why", "new\nline:1"], "There is no file", 2],
    [["why", "/a.txt:1"], "a.txt in the workspace", 2],
    [["diff", "job_1_none"], "job_1_none", 2],
    [["diff", "job_1_none..job_2_none"], "No such job: job_1_none", 2],
    [["diff", "1..9"], "No such job: 9", 2],
    [["show", "job_1_none:a.txt"], "job_1_none", 2],
    [["bisect"], "Give the command that fails", 2],
    [["bisect", "--at-once", "0", "--", "true"], "Give the command that fails", 2],
  ] as const)("%p is bad usage, and says what helps", (args, words, code) => {
    const ran = cli.run([...args]);
    expect([ran.err.includes(words), ran.code]).toEqual([true, code]);
  });

  test.if(requirePart("bwrap"))("bisect ends with the job and its undo, and changes nothing", () => {
    const before = readFileSync(file, "utf8");
    const ran = cli.run(["bisect", "--", "! grep -q broken a.txt"]);
    expect(ran.out).toContain("The command fails since #2 ");
    expect(ran.out).toContain("picoclaw undo 2\n");
    expect(readFileSync(file, "utf8")).toBe(before);
    expect(JSON.parse(cli.run(["jobs", "--json"]).out).jobs).toHaveLength(3);
  });
});
