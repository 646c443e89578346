import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { VERSION } from "../../src/version.ts";
import { type Cli, create, createCli, PROGRAM } from "./cli-kit.ts";

let cli: Cli;
let mark: string;
beforeEach(() => {
  cli = createCli();
  mark = join(cli.folder, "mark");
});
afterEach(() => cli.remove());

const MARKING = () =>
  `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(mark)}, "");\n`;

/** Files by which a stranger's repository may reach into the program that is run in it. */
const TRAPS: readonly (readonly [name: string, set: () => void])[] = [
  [
    "bunfig.toml with a preload",
    () => {
      cli.write("bunfig.toml", 'preload = ["./evil.ts"]\n[run]\npreload = ["./evil.ts"]\n');
      cli.write("evil.ts", MARKING());
    },
  ],
  [
    ".env with PicoClaw's variables",
    () => {
      cli.write(".env", "PICOCLAW_DRY_RUN=true\nPICOCLAW_LOCALE=ja\nBUN_OPTIONS=--preload=./evil.ts\n");
      cli.write(".env.local", "PICOCLAW_DRY_RUN=true\n");
    },
  ],
  [
    "tsconfig.json with paths",
    () => {
      cli.write(
        "tsconfig.json",
        JSON.stringify({
          compilerOptions: { baseUrl: ".", paths: { "*": ["./evil.ts"], "node:fs": ["./evil.ts"] } },
        }),
      );
      cli.write("evil.ts", MARKING());
    },
  ],
  [
    "node_modules with a runtime and libraries of its own",
    () => {
      cli.write("node_modules/.bin/bun", `#!/bin/sh\ntouch ${mark}\n`);
      chmodSync(join(cli.workspace, "node_modules/.bin/bun"), 0o755);
      for (const name of ["picomatch", "zod", "yaml"]) {
        cli.write(`node_modules/${name}/index.js`, MARKING());
        cli.write(`node_modules/${name}/package.json`, JSON.stringify({ name, version: "9.9.9" }));
      }
    },
  ],
  [
    "package.json that is a link to what is no JSON",
    () => {
      writeFileSync(join(cli.folder, "secret"), "the first line of a secret\n");
      symlinkSync("../secret", join(cli.workspace, "package.json"));
    },
  ],
  ["package.json that is a pipe", () => void spawnSync("mkfifo", [join(cli.workspace, "package.json")])],
  [
    "package.json with a type and imports",
    () =>
      cli.write(
        "package.json",
        '{"type":"commonjs","imports":{"#x":"./evil.ts"},"bun":{"preload":["./evil.ts"]}}',
      ),
  ],
];

describe("a stranger's workspace does not reach into the program", () => {
  test.each(TRAPS)("%s", (_name, set) => {
    set();
    const ran = cli.apply([create("done.txt", "x")], [], { env: { PICOCLAW_WORKER_GIT_TIMEOUT: "20" } });
    expect([ran.code, ran.err]).toEqual([0, ""]);
    expect(ran.out).toStartWith("Applied\n");
    expect(cli.read("done.txt")).toBe("x");
    expect(existsSync(mark)).toBe(false);
  });

  test("its picoclaw.yaml cannot take protection away, run hooks or leave the folder until it is trusted", () => {
    cli.write(
      "picoclaw.yaml",
      "worker:\n  protected_patterns: []\n  run_hooks: true\n  workspace: /\n  action_on_protected_file: log\n",
    );
    cli.write("a.key", "secret");
    const ran = cli.apply([create("a.key", "stolen")]);
    expect(ran.code).toBe(1);
    expect(ran.err).toContain("worker.run_hooks");
    expect(cli.read("a.key")).toBe("secret");
  });

  test("a picoclaw.yaml, a home inside the workspace and the job's records are not a job's to edit", () => {
    const env = { PICOCLAW_HOME: join(cli.workspace, "state") };
    const ran = cli.apply(
      [create("picoclaw.yaml", "worker: {}"), create(".picoclaw/x", ""), create("state/config.yaml", "")],
      ["--json"],
      { env },
    );
    expect(cli.json(ran)).toMatchObject({
      executed_cmds: 0,
      results: [
        { error: "PicoClaw's own files cannot be modified: picoclaw.yaml" },
        { error: "PicoClaw's own files cannot be modified: .picoclaw/x" },
        { error: "PicoClaw's own files cannot be modified: state/config.yaml" },
      ],
    });
  });
});

test("settings and a git directory that are pipes or devices are not waited for, and not read without end", () => {
  const source = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).pathname);
  const git = join(cli.workspace, ".git");
  mkdirSync(git);
  for (const set of [
    (path: string) => void spawnSync("mkfifo", [path]),
    // The rest of its bytes is never read: a sixteenth of a gigabyte is more than either file may have.
    (path: string) => {
      writeFileSync(path, "");
      truncateSync(path, 64 * 1024 ** 2);
    },
  ]) {
    for (const path of [join(cli.workspace, "picoclaw.yaml"), join(git, "HEAD")]) {
      rmSync(path, { force: true });
      set(path);
    }
    const looked = spawnSync(
      process.execPath,
      [
        "--no-env-file",
        "-e",
        `import { findGit } from ${source("infrastructure/platform/git-roots.ts")};
         import { trustSubject } from ${source("config/trust.ts")};
         console.log(JSON.stringify([findGit(process.argv[1]), trustSubject(process.argv[1]).text]));`,
        cli.workspace,
      ],
      { encoding: "utf8", timeout: 20_000 },
    );
    expect(JSON.parse(looked.stdout || '"nothing"')).toEqual([null, null]);
  }
});

test.each(["sh", "bash"])(
  "called by %s in a folder that was removed, it does not work in its own",
  (shell) => {
    cli.write("p.md", "```txt:x.txt\n1\n```\n");
    const gone = 'mkdir "$0/gone" && cd "$0/gone" && rmdir "$0/gone" && exec "$@"';
    const env = { PATH: process.env.PATH, HOME: cli.home, PICOCLAW_HOME: cli.home, PICOCLAW_LOCALE: "en" };
    const run = (...args: string[]) =>
      spawnSync("sh", ["-c", gone, cli.workspace, shell, PROGRAM, ...args], { env, encoding: "utf8" });
    const ran = run("apply", "--dry-run", join(cli.workspace, "p.md"));
    expect(ran.stderr).toContain("The folder you are in cannot be opened: ");
    expect(ran).toMatchObject({ status: 3, stdout: "" });
    expect(run("--version").stdout).toBe(`${VERSION}\n`);
    expect(run("undo", "--help").stdout).toStartWith("picoclaw undo ");
    expect(run("ps", "start", "--", "true", "--help").status).toBe(3);
    expect(run("apply", "--group", "a --help b", join(cli.workspace, "p.md")).status).toBe(3);
  },
);

test.each(["apply", "run"])(
  "%s reads a file, a pipe or a device only as far as a bound, and says so",
  (command) => {
    const text = command === "apply" ? JSON.stringify([create("piped.txt", "x")]) : "";
    cli.write("large", "");
    truncateSync(join(cli.workspace, "large"), 64 * 1024 ** 2 + 1);
    symlinkSync("large", join(cli.workspace, "linked"));
    expect(cli.run([command, "linked"])).toEqual({
      code: 2,
      out: "",
      err: "The file is larger than 64 MiB, or has no end: linked\n",
    });
    const pipe = join(cli.workspace, "pipe");
    spawnSync("mkfifo", [pipe]);
    const feed = (script: string) => spawn("sh", ["-c", `${script} > "$0"`, pipe], { stdio: "ignore" });
    feed("head -c 80000000 /dev/zero");
    expect(cli.run([command, "pipe"])).toMatchObject({
      code: 2,
      err: "The file is larger than 64 MiB, or has no end: pipe\n",
    });
    feed(`printf %s '${text}'`);
    if (command === "apply") expect(cli.run([command, "pipe"])).toMatchObject({ code: 0 });
    else expect(cli.run([command, "pipe"]).err).not.toContain("64 MiB");
  },
);

test.each(["apply", "run -", "tool read_file -", "chat -"])(
  "standard input without an end is read only as far as a bound (%s)",
  (line) => {
    const endless = join(cli.folder, "endless");
    writeFileSync(endless, `#!/bin/sh\nexec "${PROGRAM}" "$@" < /dev/zero\n`, { mode: 0o755 });
    const { code, out, err } = cli.run(line.split(" "), { program: endless });
    expect(code).toBe(2);
    expect(out + err).toMatch(/larger than 64 MiB/);
  },
);

test("what a job printed or named cannot steer the terminal that shows it", () => {
  const at = createCli();
  try {
    at.apply([
      { type: "file_edit", action: "create", target: "e\u001b[31mvil.txt", content: "\u001b[2Jx\r\n" },
      { type: "shell_command", action: "run", target: "printf '\\033[2Jboo\\007\\n'" },
    ]);
    const { code, out } = at.run(["show", "--diff"]);
    expect(code).toBe(0);
    expect(out).toContain("boo");
    // The ends of lines stay, so that the diff applies.
    for (const shown of [out, at.run(["diff"]).out]) expect(shown).toContain("+[2Jx\r\n");
    expect(out).not.toContain("\u001b");
    expect(out).not.toContain("\u0007");
    expect(at.run(["undo", "--list"]).out).not.toContain("\u001b");
    at.write("e\u001b[31mvil.txt", "mine");
    const conflict = at.run(["undo"]);
    expect(conflict.code).toBe(3);
    expect(conflict.err).toContain("e\\x1b[31mvil.txt");
  } finally {
    at.remove();
  }
});
