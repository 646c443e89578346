import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Cli, create, createCli, PROGRAM, type Ran, shell } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
  cli.write("a.txt", "one\n");
});
afterEach(() => cli.remove());

const edit = (action: string, target: string, content?: string) => ({
  type: "file_edit",
  action,
  target,
  content,
});

interface Case {
  readonly name: string;
  readonly run: () => Ran;
  readonly code: number;
  /** Texts that standard output and error hold together. */
  readonly says: readonly string[];
}

const DOCUMENTS: readonly Case[] = [
  ...(
    [
      ["no type", '[{"action":"create","target":"x"}]', "command[0]: type is required"],
      ["no action", '[{"type":"file_edit","target":"x"}]', "command[0]: action is required"],
      ["no target", '[{"type":"file_edit","action":"create"}]', "command[0]: target is required"],
      [
        "content of another kind",
        '[{"type":"file_edit","action":"create","target":"x","content":7}]',
        "content",
      ],
      ["broken JSON", '[{"type": "file_edit",]', "JSON"],
      ["plain prose", "please do it", "not in a valid format"],
      ["only unknown blocks", "```mermaid\nx\n```", "not in a valid format"],
    ] as const
  ).map(([name, input, text]) => ({ name, run: () => cli.run(["apply"], { input }), code: 2, says: [text] })),
  {
    name: "a patch that is not UTF-8",
    run: () => cli.run(["apply"], { input: new Uint8Array([0x5b, 0xff, 0xfe, 0x5d]) }),
    code: 2,
    says: ["Not UTF-8 text: -"],
  },
  {
    name: "a patch file that is not there",
    run: () => cli.run(["apply", "no.json"]),
    code: 2,
    says: ["Not found: no.json"],
  },
  {
    name: "a folder as patch",
    run: () => cli.run(["apply", "."]),
    code: 2,
    says: ["The target is a directory: ."],
  },
  {
    name: "an unknown type is a failed command",
    run: () => cli.apply([{ type: "magic", action: "x", target: "y" }]),
    code: 1,
    says: ["unknown command type: magic"],
  },
  {
    name: "an unknown action is a failed command",
    run: () => cli.apply([edit("frob", "y")]),
    code: 1,
    says: ["unknown file_edit action: frob"],
  },
];

const TARGETS: readonly Case[] = [
  {
    name: "a path that leaves the workspace",
    run: () => cli.apply([create("../x", "")]),
    code: 1,
    says: ["✗ [1] file_edit create ../x (", "Security error: writing outside the workspace is not allowed."],
  },
  {
    name: "a neighbour whose name begins alike",
    run: () => cli.apply([create(`${cli.workspace}-evil/x`, "")]),
    code: 1,
    says: ["Security error: writing outside the workspace is not allowed."],
  },
  {
    name: "a target that is a directory",
    run: () => cli.apply([edit("update", "dir", "x")]),
    code: 1,
    says: ["failed to write file dir: is a directory: dir"],
  },
  {
    name: "a file that vanished before its turn",
    run: () => cli.apply([shell("rm a.txt"), edit("append", "a.txt/../gone", ""), edit("delete", "a.txt")]),
    code: 1,
    says: ["failed to delete file a.txt: no such file or directory: a.txt"],
  },
  {
    name: "a diff for a file that is not there",
    run: () => cli.run(["apply"], { input: "--- a/no\n+++ b/no\n@@ -1 +1 @@\n-x\n+y\n" }),
    code: 1,
    says: ["failed: no: No such file\n", "\n[1] Nothing of this edit was written."],
  },
  {
    name: "a diff that does not fit",
    run: () => cli.run(["apply"], { input: "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-other\n+y\n" }),
    code: 1,
    says: ["a.txt"],
  },
];

describe.each([
  ["documents", DOCUMENTS],
  ["targets", TARGETS],
] as const)("bad %s", (_what, cases) => {
  test.each(cases.map((one) => [one.name, one] as const))("%s", (_name, { run, code, says }) => {
    mkdirSync(join(cli.workspace, "dir"));
    const ran = run();
    expect(ran.code).toBe(code);
    for (const text of says) expect(`${ran.out}${ran.err}`).toContain(text);
    expect(`${ran.out}${ran.err}`).not.toMatch(/\n\s+at /);
    if (code !== 1) expect(cli.tree()).toEqual({ "a.txt": "one\n" });
  });
});

describe("a file that is not UTF-8", () => {
  test("keeps its other bytes through a diff and through undo", () => {
    const bytes = new Uint8Array([0xff, 0x0a, 0x6f, 0x6c, 0x64, 0x0a, 0xfe, 0x0a]);
    cli.write("latin.txt", bytes);
    const ran = cli.run(["apply"], {
      input: "latin.txt\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n",
    });
    expect(ran.code).toBe(0);
    expect(Buffer.from(cli.readBytes("latin.txt"))).toEqual(
      Buffer.from([0xff, 0x0a, 0x6e, 0x65, 0x77, 0x0a, 0xfe, 0x0a]),
    );
    cli.run(["undo"]);
    expect(Buffer.from(cli.readBytes("latin.txt"))).toEqual(Buffer.from(bytes));
  });
});

test("no word of a model steers the terminal behind a pipe of jobs", () => {
  const input = "```bash\ntrue \u001b]52;c;cm0=\u0007\u001b[2J\u202e\n```\n";
  expect(cli.run(["apply"], { input }).code).toBe(0);
  const { out } = cli.run(["jobs"]);
  expect(out).toContain("true ]52;c;cm0=[2J");
  expect(out).not.toMatch(/[\u001b\u0007\u202e]/);
});

describe("a bad place", () => {
  test("a workspace that is not there, or no folder, is refused with the remedy", () => {
    for (const [args, text] of [
      [["apply", "--workspace", "/no/where"], "The workspace does not exist: /no/where"],
      [["jobs", "--workspace", "a.txt"], `The workspace is not a folder: ${cli.workspace}/a.txt`],
    ] as const)
      expect(cli.run(args, { input: "[]" })).toEqual({
        code: 3,
        out: "",
        err: `${text}\nCreate the folder, or name another one with --workspace.\n`,
      });
  });

  test("a folder whose name is not UTF-8 is refused with one sentence", () => {
    const script = `cd "$1" && mkdir "$(printf 'caf\\351')" && cd "$(printf 'caf\\351')" && exec "$2" jobs`;
    const { code, out, err } = cli.run(["-c", script, "sh", cli.folder, PROGRAM], { program: "/bin/sh" });
    expect([code, out]).toEqual([3, ""]);
    expect(err).toMatch(/^The folder you are in cannot be opened: .*\/caf\ufffd\n.*UTF-8.*\n$/);
  });

  test("auto-commit outside a repository is refused with the remedy", () => {
    expect(cli.apply([create("x", "")], ["--auto-commit"])).toEqual({
      code: 3,
      out: "",
      err: `Refused\nThe commit before the patch failed, so nothing was run: Not a git repository: ${cli.workspace}\nMake a repository with \`git init\`, or turn auto_commit off.\n`,
    });
    expect(cli.tree()).toEqual({ "a.txt": "one\n" });
  });

  test("auto-commit without git is refused with the remedy; so is a git operation, as a failed command", () => {
    const bin = join(cli.folder, "bin");
    mkdirSync(bin);
    for (const name of ["sh", "bash", "cp", "rm", "readlink", "env"])
      symlinkSync(`/usr/bin/${name}`, join(bin, name));
    const env = { PATH: bin };
    const refused = cli.apply([create("x", "")], ["--auto-commit"], { env });
    expect([refused.code, refused.err]).toEqual([
      3,
      "Refused\nThe commit before the patch failed, so nothing was run: git was not found.\nInstall git (for example: apt install git).\n",
    ]);
    const failed = cli.apply([{ type: "git_operation", action: "add", target: "." }], [], { env });
    expect(failed.code).toBe(1);
    expect(failed.out).toContain("[1] git was not found. Install git (for example: apt install git).");
  });

  test("a bad configuration is exit code 2 and names key, value and the expected form", () => {
    const ran = cli.apply([create("x", "")], [], { env: { PICOCLAW_WORKER_COMMAND_TIMEOUT: "soon" } });
    expect([ran.code, ran.out]).toEqual([2, ""]);
    expect(ran.err).toContain("PICOCLAW_WORKER_COMMAND_TIMEOUT (worker.command_timeout)");
    expect(cli.run(["jobs", "--config", "no.yaml"]).code).toBe(2);
  });

  test.if(process.getuid?.() !== 0)(
    "a workspace that may not be written applies nothing and says why",
    () => {
      // On the file system of the home: elsewhere the job itself would need a place in the workspace.
      const shut = join(cli.folder, "shut");
      mkdirSync(shut, { mode: 0o555 });
      const ran = cli.run(["apply", "--workspace", shut], {
        input: JSON.stringify([create("x", "1")]),
      });
      expect(ran.code).toBe(1);
      expect(ran.out).toContain("failed to write file x: permission denied: x");
    },
  );

  test("a home that cannot be made is refused with the remedy: an unregistered place could belong to a stranger", () => {
    const env = { PICOCLAW_HOME: "/proc/none/home" };
    const { code, err } = cli.apply([create("x", "1")], [], { env });
    expect([code, err.split("\n")[0]]).toEqual([3, "Refused"]);
    expect(err).toContain("/proc/none/home");
    expect(err).toContain("Set PICOCLAW_HOME to a folder that can be written to");
    expect(cli.tree()).toEqual({ "a.txt": "one\n" });
  });
});

describe("a store that cannot be opened", () => {
  test("is reported with advice: a damaged file is moved away, an unwritable place is another matter", () => {
    mkdirSync(cli.home);
    writeFileSync(join(cli.home, "picoclaw.db"), "this is no database, whatever its name says ".repeat(50));
    const damaged = cli.run(["pair"]);
    expect(damaged).toMatchObject({ code: 3, out: "" });
    expect(damaged.err).toContain("If the file is damaged, move it away");
    rmSync(join(cli.home, "picoclaw.db"));
    mkdirSync(join(cli.home, "picoclaw.db"));
    const inTheWay = cli.run(["pair"]);
    expect(inTheWay).toMatchObject({ code: 3, out: "" });
    expect(inTheWay.err).not.toContain("damaged");
    expect(inTheWay.err).toContain("set PICOCLAW_HOME to a folder that can be written");
  });
});

test.each([
  ["brackets that nobody closes", "[".repeat(20_000)],
  ["keys that nobody knows", Array.from({ length: 5000 }, (_, i) => `k${i}: 1\n`).join("")],
])("a file with thousands of mistakes (%s) is told by its first ones", (_, text) => {
  const file = join(cli.folder, "many.yaml");
  writeFileSync(file, text);
  cli.write("picoclaw.yaml", text);
  for (const args of [["run", file], ["--config", file, "jobs"], ["jobs"]]) {
    const { code, err, out } = cli.run(args);
    expect(err.trim().split("\n").length).toBeLessThan(14);
    expect(err).toContain(".yaml:");
    expect([code, out]).toEqual([2, ""]);
    const json = cli.json(cli.run([...args, "--json"])) as { error: { problems: unknown[] } };
    expect(json.error.problems.length).toBeLessThanOrEqual(100);
  }
});

test("a known secret leaves on no stream, as the name of a file or folder either", () => {
  const secret = "s3cret-of-a-variable";
  const env = { DEPLOY_TOKEN: secret };
  cli.write(`${secret}/${secret}.txt`, "x\n");
  const runs = [
    cli.run(["apply", `${secret}.md`], { env }),
    cli.run(["apply"], { input: JSON.stringify([create(`new-${secret}.txt`, secret)]), env }),
    cli.run(["apply", "--json"], { input: JSON.stringify([create(`new-${secret}.txt`, secret)]), env }),
    cli.run(["show", secret], { env }),
    cli.run(["jobs"], { env }),
    cli.run([secret], { env }),
  ];
  for (const ran of runs) expect(`${ran.out}${ran.err}`).not.toContain(secret);
  expect(runs[0]?.err).toContain("****.md");
});
