import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { type Cli, create, createCli, shell } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

const FORMATS: readonly (readonly [name: string, patch: string])[] = [
  ["JSON", JSON.stringify([{ type: "file_edit", action: "update", target: "a.txt", content: "new\n" }])],
  ["Markdown", "## ファイル編集\n\n```txt:a.txt\nnew\n```\n"],
  ["a unified diff", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n"],
  ["V4A", "*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n*** End Patch\n"],
  ["SEARCH/REPLACE", "a.txt\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n"],
];

describe("apply", () => {
  test.each(FORMATS)("carries out %s from standard input, and undo takes it back", (_name, patch) => {
    cli.write("a.txt", "old\n");
    expect(cli.run(["apply"], { input: patch })).toMatchObject({ code: 0, err: "" });
    expect(cli.tree()).toEqual({ "a.txt": "new\n" });
    expect(cli.run(["undo"]).code).toBe(0);
    expect(cli.tree()).toEqual({ "a.txt": "old\n" });
  });

  test("reads a file named from the current folder, and `-` as standard input", () => {
    cli.write("p.json", JSON.stringify([create("a.txt", "1")]));
    expect(cli.run(["apply", "p.json"]).code).toBe(0);
    expect(cli.apply([create("b.txt", "2")], ["-"]).code).toBe(0);
    expect([cli.read("a.txt"), cli.read("b.txt")]).toEqual(["1", "2"]);
  });

  test("says the result in its documented form", () => {
    cli.write("b.txt", "b");
    const ran = cli.apply(
      [create("a.txt", "x"), { type: "file_edit", action: "delete", target: "b.txt" }, create("/etc/x", "")],
      [],
      { env: { PICOCLAW_LOCALE: "ja" } },
    );
    expect({ ...ran, out: ran.out.replace(/\(\d+ms\)/g, "(0ms)") }).toEqual({
      code: 1,
      err: "",
      out: `適用済み、1 件のコマンドが失敗

セキュリティエラー: workspace 外への書き込みは許可されていないよ。

実行: 3 件, 成功: 2 件, 失敗: 1 件

詳細:
✓ [1] file_edit create a.txt (0ms)
✓ [2] file_edit delete b.txt (0ms)
✗ [3] file_edit create /etc/x (0ms)
    エラー: file path outside workspace: /etc/x

変更されたファイル: 2 件
  A a.txt
  D b.txt

取り消すには: picoclaw undo 1
`,
    });
  });

  test("prints one JSON document of the agreed shape and nothing else", () => {
    // Confined or not is said by a note of its own; here neither.
    const env = { PICOCLAW_WORKER_CONFINE: "off" };
    const ran = cli.apply([create("a.txt", "x"), shell("exit 4")], ["--json"], { env });
    expect([ran.code, ran.err]).toEqual([1, ""]);
    const result = cli.json(ran);
    // A machine without bubblewrap says so in a note of its own.
    const notes = (result.notes as string[]).filter((note) => !note.startsWith("Transaction: copy"));
    expect<Record<string, unknown>>({ ...result, notes }).toEqual({
      job_id: expect.stringMatching(/^job_\d+_[0-9a-z]{8}$/),
      number: 1,
      group_id: expect.stringMatching(/^group_\d+_[0-9a-z]{8}$/),
      status: "partly",
      success: false,
      executed_cmds: 1,
      failed_cmds: 1,
      results: [
        {
          command: { type: "file_edit", action: "create", target: "a.txt", content: "x" },
          success: true,
          output: "File a.txt written successfully (1 bytes)",
          error: "",
          duration: expect.any(Number),
          changes: [{ path: "a.txt", kind: "added" }],
        },
        {
          command: { type: "shell_command", action: "run", target: "exit 4", content: "" },
          success: false,
          output: "",
          error: "command failed: exit status 4",
          duration: expect.any(Number),
          changes: [],
        },
      ],
      summary: "Run: 2, succeeded: 1, failed: 1",
      changes: [{ path: "a.txt", kind: "added" }],
      undo: "available",
      dry_run: false,
      notes: [expect.stringContaining("Undo does not cover:")],
    });
  });

  test.each([
    ["--dry-run", ["--dry-run"], {}],
    ["PICOCLAW_DRY_RUN", [], { PICOCLAW_DRY_RUN: "true" }],
  ] as const)("%s lists the commands and runs none", (_name, args, env) => {
    const commands = [create("a.txt", "x"), shell("touch b")];
    const said = cli.apply(commands, args, { env });
    expect(said).toMatchObject({ code: 0, err: "" });
    expect(said.out).toBe(
      "Preview, nothing applied\n\nDry run: 2 commands (nothing was run)\nAbout to run: 2 (file_edit: 1, shell_command: 1, git_operation: 0)\n[1] file_edit create a.txt\n[2] shell_command run touch b\n",
    );
    expect(cli.json(cli.apply(commands, [...args, "--json"], { env }))).toMatchObject({
      success: true,
      executed_cmds: 0,
      dry_run: true,
      undo: "none",
      changes: [],
    });
    expect(cli.tree()).toEqual({});
  });

  test("--dry-run shows a script whole", () => {
    const script = "~~~bash\necho one\n\necho two && rm -r x\n~~~\n";
    const said = cli.run(["apply", "--dry-run"], { input: script });
    expect(said.out).toEndWith("\n[1] shell_command run echo one\n    \n    echo two && rm -r x\n");
  });

  test("--stop-on-error keeps finished commands and names those not run", () => {
    const ran = cli.apply([create("a", "1"), shell("false"), create("b", "2")], ["--stop-on-error"]);
    expect(ran.code).toBe(1);
    expect(ran.out).toStartWith(
      "Applied, 1 command failed\n\nThe command failed: exit status 1\n\nRun: 3, succeeded: 1, failed: 1",
    );
    expect(ran.out).toContain("\nNot run: 1 (stopped at the first failure)\n");
    expect(cli.tree()).toEqual({ a: "1" });
  });

  test("--atomic takes everything back when anything fails", () => {
    cli.write("a", "old");
    const ran = cli.apply([create("a", "new"), shell("echo x > c; false"), create("b", "2")], ["--atomic"]);
    expect(ran.code).toBe(1);
    expect(ran.out).toStartWith(
      "Stopped, nothing changed\n\nFailed: exit status 1. Every change was undone; the workspace is as it was before.",
    );
    expect(cli.tree()).toEqual({ a: "old" });
    expect(cli.run(["undo"])).toEqual({
      code: 3,
      out: "",
      err: "No change\nThere is no job to undo.\n",
    });
  });

  test("an empty patch is a success without commands, in a file and on standard input", () => {
    cli.write("empty.md", "");
    const ways = ["", " \n\t\n", "\ufeff\n"].map((input) => cli.run(["apply", "-"], { input }));
    for (const ran of [...ways, cli.run(["apply", "empty.md"])]) {
      expect(ran).toMatchObject({ code: 0, err: "" });
      expect(ran.out).toStartWith("No change\n");
    }
  });

  test("an empty list of commands is a success without commands", () => {
    expect(cli.json(cli.run(["apply", "--json"], { input: "[]" }))).toMatchObject({
      success: true,
      executed_cmds: 0,
      results: [],
      undo: "none",
    });
  });

  test("a long error is cut on the screen, with head and tail, and whole in the JSON document", () => {
    const commands = [shell("seq 1 20000; exit 1")];
    const { out } = cli.apply(commands);
    expect(out.length).toBeLessThan(5000);
    expect(out).toContain("    Error: command failed: exit status 1 (output: 1\n2\n3\n");
    expect(out).toMatch(/19999\n20000\)\n/);
    expect(cli.apply(commands, ["--json"]).out.length).toBeGreaterThan(200_000);
  });

  test("what a program prints does not steer the terminal", () => {
    const { out } = cli.apply([shell("printf '\\033]0;evil\\007\\033[2Jx'; exit 1")]);
    expect(out).toContain("    Error: command failed: exit status 1 (output: ]0;evil[2Jx)\n");
  });

  test("an unknown block is skipped with a warning on standard error", () => {
    const ran = cli.run(["apply"], { input: "```txt:a\n1\n```\n\n```mermaid\ngraph\n```\n" });
    expect([ran.code, cli.tree()]).toEqual([0, { a: "1\n" }]);
    expect(ran.err).toStartWith("Warning: ");
  });
});

/** Root may write anywhere. */
test.if(process.getuid?.() !== 0).each(["auto", "copy"])(
  "a command changes a file in an unwritable folder, as an edit does, and it can be undone (%s)",
  (transaction) => {
    const env = { PICOCLAW_WORKER_TRANSACTION: transaction };
    cli.write("closed/a.txt", "one\n");
    chmodSync(join(cli.workspace, "closed"), 0o555);
    const ran = cli.apply([shell("echo two >> closed/a.txt")], [], { env });
    expect(ran.err + ran.out).not.toContain(cli.home);
    expect([ran.code, cli.read("closed/a.txt")]).toEqual([0, "one\ntwo\n"]);
    expect(lstatSync(join(cli.workspace, "closed")).mode & 0o777).toBe(0o555);
    expect(cli.run(["undo"]).code).toBe(0);
    expect(cli.read("closed/a.txt")).toBe("one\n");
    expect(lstatSync(join(cli.workspace, "closed")).mode & 0o777).toBe(0o555);
  },
);
