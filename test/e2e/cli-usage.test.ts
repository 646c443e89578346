import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { requirePart } from "../require.ts";
import { type Cli, create, createCli, PROGRAM } from "./cli-kit.ts";

let cli: Cli;
beforeAll(() => {
  cli = createCli();
});
afterAll(() => cli.remove());

const COMMANDS = ["apply", "undo", "redo", "jobs", "show", "config", "trust", "doctor", "demo"];

const APPLY_USAGE = "Usage: picoclaw apply [FILE|-]\nMore: picoclaw apply --help\n";

describe("usage", () => {
  test("--version is the package's", () => {
    const { version } = JSON.parse(readFileSync(join(import.meta.dir, "../../package.json"), "utf8"));
    expect(cli.run(["--version"])).toEqual({ code: 0, out: `${version}\n`, err: "" });
  });

  test("help lists every command; no command at all is bad usage", () => {
    const { code, out, err } = cli.run(["--help"]);
    expect([code, err]).toEqual([0, ""]);
    for (const command of COMMANDS) expect(out).toContain(`\n  ${command}`);
    expect(cli.run([])).toEqual({ code: 2, out, err: "" });
  });

  test.each(COMMANDS)("%s --help explains it and runs nothing", (command) => {
    const { code, out, err } = cli.run([command, "--help"], { cwd: "/" });
    expect([code, err]).toEqual([0, ""]);
    expect(out).toStartWith(`picoclaw ${command}`);
    for (const flag of ["--workspace", "--config", "--json", "--help"]) expect(out).toContain(flag);
  });

  test("what every command takes may stand before its name", () => {
    const before = ["--workspace", cli.workspace, "--json"];
    expect(cli.run([...before, "jobs"], { cwd: "/" })).toEqual(cli.run(["jobs", ...before], { cwd: "/" }));
    expect(cli.run([`--workspace=${cli.workspace}`, "jobs"], { cwd: "/" }).code).toBe(0);
    expect(cli.run(["--workspace"])).toMatchObject({ code: 2, err: "--workspace needs a value.\n" });
    expect(cli.run(["--force", "undo"])).toMatchObject({
      code: 2,
      err: "Options come after the command: picoclaw COMMAND --force\nAll commands: picoclaw --help\n",
    });
  });

  test("help COMMAND is the same as COMMAND --help; an unknown one is reported with the nearest", () => {
    expect(cli.run(["help", "apply"])).toEqual(cli.run(["apply", "--help"]));
    expect(cli.run(["help", "aply"])).toMatchObject({ code: 2, err: expect.stringContaining("apply?") });
  });

  test("bash completes commands, their flags and their first words", () => {
    const script = cli.run(["completion", "bash"]).out;
    const complete = (...words: string[]) => {
      const line = `COMP_WORDS=(picoclaw ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}`;
      const ran = spawnSync("bash", ["-c", `${script}\n${line}; _picoclaw; echo "\${COMPREPLY[@]}"`]);
      return String(ran.stdout).trim();
    };
    expect(complete("und")).toBe("undo");
    expect(complete("apply", "--dr")).toBe("--dry-run");
    expect(complete("config", "sh")).toBe("show");
    expect(complete("help", "doc")).toBe("doctor");
  });

  test("zsh and fish have scripts with every command, zsh's is valid; another shell is bad usage", () => {
    for (const shell of ["zsh", "fish"]) {
      const { code, out } = cli.run(["completion", shell]);
      expect(code).toBe(0);
      for (const command of COMMANDS) expect(out).toContain(command);
    }
    expect(cli.run(["completion", "tcsh"]).code).toBe(2);
    if (requirePart("zsh")) {
      const input = cli.run(["completion", "zsh"]).out;
      expect(spawnSync("zsh", ["-n"], { input }).status).toBe(0);
    }
  });

  test("the manual page names every command and is good roff", () => {
    const { code, out } = cli.run(["man"]);
    expect(code).toBe(0);
    expect(out).toStartWith(".TH PICOCLAW 1");
    for (const command of COMMANDS) expect(out).toContain(`\n.SS picoclaw ${command}`);
    expect(out.split("\n").filter((line) => /^[.'](?!TH|SH|SS|TP|B\b)/.test(line))).toEqual([]);
  });

  test.each([
    [
      "an unknown command",
      ["aply"],
      "Unknown command: aply (did you mean apply?)\nAll commands: picoclaw --help\n",
    ],
    [
      "a command of a conversation",
      ["comit"],
      "Unknown command: comit (did you mean picoclaw chat /commit?)\nAll commands: picoclaw --help\n",
    ],
    ["another name", ["lgo"], "Unknown command: lgo (did you mean log?)\nAll commands: picoclaw --help\n"],
    ["a command of Object", ["constructor"], "Unknown command: constructor\nAll commands: picoclaw --help\n"],
    [
      "an unknown flag",
      ["apply", "--dryrun"],
      `Unknown option: --dryrun (did you mean --dry-run?)\n${APPLY_USAGE}`,
    ],
    ["a flag of another command", ["jobs", "--atomic"], expect.stringMatching(/^Unknown option: --atomic/)],
    ["a flag without its value", ["apply", "--workspace"], `--workspace needs a value.\n${APPLY_USAGE}`],
    ["too many words", ["apply", "a", "b"], `Not expected here: b\n${APPLY_USAGE}`],
    [
      "a word where none goes",
      ["man", "apply"],
      "Not expected here: apply\nUsage: picoclaw man\nMore: picoclaw man --help\n",
    ],
    ["a value where none goes", ["jobs", "--json=1"], expect.stringMatching(/^--json takes no value\.\n/)],
    ["a count below one", ["jobs", "--limit", "-1"], "--limit takes a whole number from 1, not -1.\n"],
    ["a count that is none", ["jobs", "--limit", "many"], "--limit takes a whole number from 1, not many.\n"],
    [
      "a route that is none",
      ["chat", "--route", "X", "hi"],
      expect.stringMatching(/^--route takes one of CHAT, /),
    ],
    [
      "a bad verb",
      ["config", "foo"],
      expect.stringMatching(/^Not expected here: foo\nUsage: picoclaw config show\|check\n/),
    ],
  ])("%s is exit code 2", (_name, args, err) => {
    expect(cli.run(args)).toEqual({ code: 2, out: "", err });
  });

  test("a message that is not text is not sent", () => {
    const { code, out, err } = cli.run(["chat", "-"], { input: new Uint8Array([0, 255, 254, 128, 97]) });
    expect([code, out]).toEqual([2, ""]);
    expect(err).toStartWith("Standard input is not text (UTF-8), so nothing was sent.");
  });

  test.each([
    ["an unknown command", ["aply", "--json"], "unknown-command"],
    ["an unknown flag", ["apply", "--json", "--nope"], "usage"],
    ["a missing patch", ["apply", "nope.json", "--json"], "unreadable-patch"],
    ["a missing job", ["show", "job_1_a", "--json"], "unknown-job"],
  ])("%s is one JSON document under --json", (_name, args, code) => {
    const ran = cli.run(args);
    expect([ran.code, ran.err]).toEqual([2, ""]);
    expect(cli.json(ran)).toEqual({ success: false, error: { code, message: expect.any(String) } });
  });

  test("the program works from any folder and through symlinks of symlinks", () => {
    const bin = join(cli.folder, "bin");
    mkdirSync(bin);
    symlinkSync(PROGRAM, join(bin, "one"));
    symlinkSync("one", join(bin, "two"));
    const ran = cli.run(["apply", "--workspace", cli.workspace, "--json"], {
      program: join(bin, "two"),
      cwd: "/",
      input: JSON.stringify([create("linked.txt", "x")]),
    });
    expect(ran.code).toBe(0);
    expect(cli.read("linked.txt")).toBe("x");
  });
});

describe("language", () => {
  const header = (env: Readonly<Record<string, string>>) => cli.run(["--help"], { env }).out.split(":")[0];
  test.each([
    ["PICOCLAW_LOCALE over all", { PICOCLAW_LOCALE: "ja", LC_ALL: "en_US.UTF-8", LANG: "en" }, "使い方"],
    ["LC_ALL over LANG", { PICOCLAW_LOCALE: "", LC_ALL: "en_US.UTF-8", LANG: "ja_JP.UTF-8" }, "Usage"],
    ["LANG", { PICOCLAW_LOCALE: "", LANG: "en_GB.UTF-8" }, "Usage"],
    ["another LANG is English", { PICOCLAW_LOCALE: "", LANG: "fr_FR.UTF-8" }, "Usage"],
    ["C is English", { PICOCLAW_LOCALE: "", LANG: "C.UTF-8" }, "Usage"],
    ["a Japanese LANG", { PICOCLAW_LOCALE: "", LANG: "ja_JP.UTF-8" }, "使い方"],
  ])("%s", (_name, env, word) => {
    expect(header(env)).toBe(word);
  });

  test.each(["tool", "env"])("%s without a word is wrong usage, and shows its help", (name) => {
    const { code, out, err } = cli.run([name]);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toStartWith(`picoclaw ${name} `);
  });

  test("a parse error is said with its detail", () => {
    const ja = cli.run(["apply"], { input: "hello", env: { PICOCLAW_LOCALE: "ja" } });
    expect([ja.code, ja.out]).toEqual([2, ""]);
    expect(ja.err).toStartWith(
      "実行できません\npatch のフォーマットが不正だよ。JSON または Markdown で書いてね。\n詳細",
    );
    expect(cli.run(["apply"], { input: "hello" }).err).toStartWith(
      "Refused\nThe patch is not in a valid format. Write it as JSON, Markdown, a unified diff, V4A or SEARCH/REPLACE.\nDetail",
    );
  });

  test("a timeout is said with its limit", () => {
    const ran = cli.run(["apply"], {
      input: JSON.stringify([{ type: "shell_command", action: "run", target: "echo early; sleep 30" }]),
      env: { PICOCLAW_LOCALE: "ja", PICOCLAW_WORKER_COMMAND_TIMEOUT: "1" },
    });
    expect(ran.code).toBe(1);
    expect(ran.out).toContain("\n\nコマンドがタイムアウトしたよ（制限時間: 1 秒）\n\n");
    expect(ran.out).toMatch(/✗ \[1\] shell_command .*\n.*early/);
    expect(ran.out).not.toContain("終わりませんでした");
  });
});

describe("who is let in, and environments", () => {
  test("pair lists, and admits no one on an unknown channel", () => {
    expect(cli.run(["pair"])).toMatchObject({ code: 0, err: "" });
    expect(cli.run(["pair", "add", "lime:U1"])).toMatchObject({ code: 2, out: "" });
    expect(cli.run(["pair", "add", "line:U1"])).toMatchObject({ code: 0, err: "" });
    expect(cli.run(["pair", "list"]).out).toBe("line:U1  user\n");
  });

  test("env takes its flags before its action as well", () => {
    const env = { DOCKER_HOST: "unix:///none.sock" };
    expect(cli.json(cli.run(["env", "--json", "list"], { env }))).toMatchObject({
      error: { code: "engine-unreachable" },
    });
    expect(cli.run(["env", "--workspace", cli.workspace], { env })).toMatchObject({
      code: 2,
      err: "Unknown: env. Known: prepare, exec, edit, list, info, cleanup, prune\n",
    });
  });
});

test("a list of jobs speaks Japanese in every column", () => {
  cli.apply([{ type: "file_edit", action: "create", target: "a", content: "1" }]);
  const { out } = cli.run(["jobs"], { env: { PICOCLAW_LOCALE: "ja" } });
  expect(out).toContain("適用済み");
  expect(out).toContain("可能");
  expect(out).not.toContain("available");
});
