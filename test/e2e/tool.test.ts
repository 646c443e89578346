import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Cli, createCli, PROGRAM } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

describe("picoclaw tool", () => {
  test("prints the envelope, and exits by its status", () => {
    cli.write("a.txt", "one\n");
    const CALLS: readonly (readonly [args: readonly string[], code: number, error: string | undefined])[] = [
      [["read_file", '{"path":"a.txt"}'], 0, undefined],
      [["tree"], 0, undefined],
      [["read_file", '{"path":"none"}'], 1, "NOT_FOUND"],
      [["read_file", "{}"], 2, "INVALID_ARGUMENT"],
      [["read_file", '{"path":1}'], 2, "INVALID_ARGUMENT"],
      [["read_file", "{"], 2, "INVALID_ARGUMENT"],
      [["nothing", "{}"], 2, "UNKNOWN_TOOL"],
      [["read_file", '{"path":"/etc/passwd"}'], 3, "OUTSIDE_WORKSPACE"],
      [["write_file", '{"path":".env","content":""}'], 3, "PROTECTED_FILE"],
    ];
    const seen = CALLS.map(([args]) => {
      const ran = cli.run(["tool", ...args]);
      const envelope = cli.json(ran) as { error?: { code: string } };
      return [args, ran.code, envelope.error?.code, ran.err];
    });
    expect(seen).toEqual(CALLS.map(([args, code, error]) => [args, code, error, ""]));
  });

  test("reads its arguments from standard input, as UTF-8 only", () => {
    const args = JSON.stringify({ path: "日本.txt", content: "語\n" });
    expect(cli.run(["tool", "write_file", "-"], { input: args }).code).toBe(0);
    expect(cli.tree()).toEqual({ "日本.txt": "語\n" });
    const broken = Buffer.concat([
      Buffer.from('{"path":"a","content":"'),
      Buffer.from([0xff]),
      Buffer.from('"}'),
    ]);
    const ran = cli.run(["tool", "write_file", "-"], { input: broken });
    expect([ran.code, cli.json(ran)]).toEqual([
      2,
      {
        status: "failure",
        reason: "arguments",
        message: "standard input is not UTF-8 text",
        error: { code: "INVALID_ARGUMENT" },
      },
    ]);
    expect(cli.tree()).toEqual({ "日本.txt": "語\n" });
  });

  test("100 MB of arguments are refused, and nothing is written", () => {
    const input = JSON.stringify({ path: "a.txt", content: "x".repeat(100 * 1024 ** 2) });
    const ran = cli.run(["tool", "write_file", "-"], { input });
    expect([ran.code, cli.json(ran).error]).toEqual([2, { code: "ARGUMENT_TOO_LARGE" }]);
    expect(cli.tree()).toEqual({});
  });

  test("its jobs are the workspace's jobs", () => {
    cli.write("a.txt", "old\n");
    const patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n";
    const ran = cli.run(["tool", "apply_patch", JSON.stringify({ filePath: "a.txt", patch })]);
    expect([ran.code, cli.read("a.txt")]).toEqual([0, "new\n"]);
    expect(cli.run(["jobs"]).out).toContain("apply_patch a.txt");
    expect(cli.run(["undo", String(cli.json(ran).job_id)]).code).toBe(0);
    expect(cli.read("a.txt")).toBe("old\n");
  });

  test("without a name it says how it is used", () => {
    const ran = cli.run(["tool"]);
    expect([ran.code, ran.out]).toEqual([2, ""]);
    expect(ran.err).toStartWith("picoclaw tool NAME");
  });

  test("a workspace's own file may make the tools stricter, not laxer", () => {
    cli.write("picoclaw.yaml", "tools:\n  write_scope: read-only\n  policy: {deny: [tree]}\n");
    expect([cli.run(["tool", "tree"]).code, cli.run(["tool", "undo_job"]).code]).toEqual([3, 3]);
    cli.write("picoclaw.yaml", "tools:\n  write_scope: unrestricted\n");
    const ran = cli.run(["tool", "read_file", '{"path":"/etc/passwd"}']);
    expect([ran.code, ran.err]).toEqual([3, expect.stringContaining("tools.write_scope")]);
  });
});

describe("picoclaw tools", () => {
  test("lists the tools", () => {
    const names = cli
      .run(["tools"])
      .out.trimEnd()
      .split("\n")
      .map((line) => line.split(" ", 1)[0]);
    expect(names).toEqual([
      "apply_patch",
      "text_editor",
      "execute_command",
      "read_file",
      "write_file",
      "tree",
      "search",
      "git_status_summary",
      "explain_line",
      "undo_job",
    ]);
  });

  test.each(["openai", "anthropic", "mcp"])("--format %s prints the golden file", (form) => {
    const golden = readFileSync(join(import.meta.dir, `../tools/golden/${form}.json`), "utf8");
    const ran = cli.run(["tools", "--format", form]);
    expect(JSON.parse(ran.out)).toEqual(JSON.parse(golden));
  });

  test("another format is bad usage", () => {
    expect(cli.run(["tools", "--format", "xml"])).toEqual({
      code: 2,
      out: "",
      err: "--format takes one of openai, anthropic, mcp, not xml.\n",
    });
  });
});

test("the commands of docs/tools.md print what it shows", () => {
  const text = readFileSync(join(import.meta.dir, "../../docs/tools.md"), "utf8");
  const shown = /^```console\n([\s\S]*?)^```$/m.exec(text)?.[1] ?? "";
  const steady = (printed: string) => printed.replace(/job_\d+_\w{8}/g, "JOB");
  let printed = "";
  for (const [, command = ""] of shown.matchAll(/^\$ (.*)$/gm)) {
    const line = command.replaceAll("picoclaw ", `'${PROGRAM}' `);
    printed += `$ ${command}\n${cli.run(["-c", line], { program: "bash" }).out}`;
  }
  expect(steady(printed)).toBe(steady(shown));
});
