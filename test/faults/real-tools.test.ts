/** Real tools run as shell commands of a job: applied and taken back, nothing of the workspace differs. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type SpawnSyncOptions, spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Tree, treeOf } from "../contracts/tree.ts";
import { type Cli, createCli, type Ran, shell } from "../e2e/cli-kit.ts";
import { requirePart, runs } from "../require.ts";

const GIT = "git -c user.name=t -c user.email=t@t -c commit.gpgsign=false";

interface Tool {
  readonly name: string;
  readonly needs: readonly string[];
  readonly prepare?: (cli: Cli) => void;
  readonly line: string;
  /** Must be there afterwards. */
  readonly makes: string;
  readonly kinds?: readonly Kind[];
}
type Kind = "overlay" | "copy";

const sh = (cli: Cli, line: string, options: SpawnSyncOptions = {}) => {
  const ran = spawnSync("sh", ["-ec", line], { cwd: cli.workspace, encoding: "utf8", ...options });
  if (ran.status !== 0) throw new Error(`${line}: ${ran.stderr}`);
};
const repository = (cli: Cli) =>
  sh(
    cli,
    `git init -q -b main; mkdir src; for i in 1 2 3 4 5 6 7 8; do echo $i > src/f$i; done; echo x > a; ${GIT} add .; ${GIT} commit -qm one; git checkout -qb other; rm src/f1; echo y > src/f2; mkdir more; echo z > more/z; ${GIT} add -A; ${GIT} commit -qm two; git checkout -q main; echo untracked > u; echo u > .gitignore`,
  );
const localPackage = (cli: Cli) => {
  cli.write("pkgs/tiny/package.json", '{"name":"tiny","version":"1.0.0","bin":{"tiny":"cli.js"}}');
  cli.write("pkgs/tiny/cli.js", "#!/usr/bin/env node\n");
  cli.write("package.json", '{"name":"app","version":"1.0.0"}');
};
/** By night thousands everywhere; by day once, and a fifth of them otherwise. */
const MANY = runs(1) > 1 ? 2000 : 400;
const writeMany =
  (count = MANY) =>
  (cli: Cli) => {
    for (let i = 0; i < count; i++) cli.write(`many/${i % 20}/${i}.txt`, `hello ${i}\n`);
  };
const NPM = "--offline --no-audit --no-fund --install-links=true --loglevel=error";

const TOOLS: readonly Tool[] = [
  {
    name: "npm install of a local package",
    needs: ["npm"],
    prepare: localPackage,
    line: `npm install ${NPM} ./pkgs/tiny`,
    makes: "node_modules/tiny/cli.js",
  },
  {
    name: "npm ci from a lock file",
    needs: ["npm"],
    prepare: (cli) => {
      localPackage(cli);
      sh(
        cli,
        `npm install ${NPM} ./pkgs/tiny && rm -rf node_modules && mkdir -p node_modules/old && echo x > node_modules/old/x`,
        {
          env: { PATH: process.env.PATH, HOME: join(cli.folder, "user") },
        },
      );
    },
    line: `npm ci ${NPM}`,
    makes: "node_modules/tiny/cli.js",
  },
  {
    name: "git checkout of another branch",
    needs: ["git"],
    prepare: repository,
    line: "git checkout -q other",
    makes: "more/z",
  },
  {
    name: "git commit",
    needs: ["git"],
    prepare: repository,
    line: `echo n > n; git add n; ${GIT} commit -qm three`,
    makes: "n",
  },
  {
    name: "git stash",
    needs: ["git"],
    prepare: (cli) => {
      repository(cli);
      cli.write("a", "changed");
    },
    line: `${GIT} stash -q && test "$(cat a)" = x`,
    makes: ".git/refs/stash",
  },
  {
    name: "git merge, tag and branch -d",
    needs: ["git"],
    prepare: repository,
    line: `${GIT} merge -q other && git tag t && git branch -d other`,
    makes: ".git/refs/tags/t",
  },
  {
    name: "python3 -m venv",
    needs: ["/usr/bin/python3"],
    line: "/usr/bin/python3 -m venv --without-pip .venv",
    makes: ".venv/pyvenv.cfg",
  },
  {
    name: "make",
    needs: ["make"],
    prepare: (cli) => cli.write("Makefile", "all: out/a out/b\nout/%:\n\tmkdir -p out && echo $* > $@\n"),
    line: "make -s -j2",
    makes: "out/b",
  },
  {
    name: "sed -i over 2,000 files",
    needs: [],
    prepare: writeMany(2000),
    line: "sed -i s/hello/bye/ many/*/*.txt && touch done",
    makes: "done",
    kinds: ["overlay"],
  },
  {
    name: `sed -i over ${MANY} files`,
    needs: [],
    prepare: writeMany(),
    line: "sed -i s/hello/bye/ many/*/*.txt && touch done",
    makes: "done",
    kinds: ["copy"],
  },
  {
    name: `chmod -R over ${MANY} files`,
    needs: [],
    prepare: writeMany(),
    line: "chmod -R go-rwx many && touch done",
    makes: "done",
  },
  { name: "mv of a folder", needs: [], prepare: writeMany(), line: "mv many other", makes: "other/7/7.txt" },
  {
    name: "cp -a with hard links, links and FIFOs",
    needs: [],
    prepare: (cli) => sh(cli, "mkdir d; echo x > d/a; ln d/a d/b; ln -s a d/l; mkfifo d/pipe; chmod 640 d/a"),
    line: "cp -a d e && rm d/b && ln e/a hard",
    makes: "e/l",
  },
  {
    name: "tar",
    needs: ["tar"],
    prepare: (cli) =>
      sh(
        cli,
        "mkdir -p t/x; echo 1 > t/x/y; chmod 755 t/x/y; tar cf t.tar t; rm -r t; mkdir t; echo old > t/x",
      ),
    line: "rm t/x && tar xf t.tar",
    makes: "t/x/y",
  },
  {
    name: "a rename over what stands, and a folder in the place of a file",
    needs: [],
    prepare: (cli) => sh(cli, "echo 1 > a; echo 2 > b; echo 3 > c; mkdir -p d/e; echo 4 > d/e/f"),
    line: "mv a b; rm c; mkdir c; echo 5 > c/g; rm -r d; echo 6 > d",
    makes: "c/g",
  },
  {
    name: "a socket and a FIFO that stay behind",
    needs: ["/usr/bin/python3"],
    line: `mkfifo pipe; /usr/bin/python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.bind("sock")'; echo x > made`,
    makes: "made",
  },
];

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => {
  spawnSync("chmod", ["-R", "u+rwx", cli.folder]);
  cli.remove();
});

const settings = (kind: Kind) => ({ PICOCLAW_WORKER_TRANSACTION: kind });
const apply = (line: string, kind: Kind): Ran =>
  cli.apply([shell(line)], ["--json"], { env: settings(kind) });
/** Objects stay; the stat cache of an index and the folder's own times are git's business. */
const tree = (): Tree =>
  Object.fromEntries(
    Object.entries(
      treeOf(cli.workspace, { without: (path) => /(^|\/)\.git\/(objects\/|index$)/.test(path) }),
    ).filter(([path]) => !/(^|\/)\.git\/(logs|ORIG_HEAD)/.test(path)),
  );

const CASES = TOOLS.flatMap((tool) =>
  (tool.kinds ?? (["overlay", "copy"] as const)).map((kind) => [tool.name, kind, tool] as const),
);

describe.if(process.platform === "linux" && requirePart("bwrap"))("apply and undo leave nothing of", () => {
  test.each(CASES)("%s (%s)", (_, kind, { needs, prepare, line, makes }) => {
    if (!needs.every((part) => (part.startsWith("/") ? existsSync(part) : requirePart(part)))) return;
    prepare?.(cli);
    const before = tree();
    const ran = apply(line, kind);
    expect({ code: ran.code, said: ran.code === 0 ? "" : ran.out }).toEqual({ code: 0, said: "" });
    expect(lstatSync(join(cli.workspace, makes), { throwIfNoEntry: false })).toBeDefined();
    const after = tree();
    expect(cli.run(["undo"]).err).toBe("");
    expect(tree()).toEqual(before);
    expect(cli.run(["redo"]).err).toBe("");
    expect(Object.keys(tree())).toEqual(Object.keys(after));
  });
});

describe.if(process.platform === "linux" && requirePart("bwrap"))("a job", () => {
  test("that writes a sparse file of 5 GB costs nothing, and neither does its undo", () => {
    const ran = apply("truncate -s 5G big; echo x >> big", "overlay");
    expect(ran.code).toBe(0);
    const stats = statSync(join(cli.workspace, "big"));
    expect(stats.size).toBe(5 * 2 ** 30 + 2);
    expect(stats.blocks * 512).toBeLessThan(1_000_000);
    expect(cli.run(["undo"]).code).toBe(0);
    expect(tree()).toEqual({});
    const disk = spawnSync("du", ["-sk", cli.folder], { encoding: "utf8" }).stdout;
    expect(Number(disk.split("\t")[0])).toBeLessThan(50_000);
  });

  test.each(["overlay", "copy"] as const)("that deletes the whole workspace is undone (%s)", (kind) => {
    repository(cli);
    cli.write("deep/er/file", "x");
    const before = treeOf(cli.workspace, { without: (path) => path === ".git/index" });
    expect(apply("find . -mindepth 1 -delete", kind).code).toBe(0);
    expect(treeOf(cli.workspace)).toEqual({});
    expect(cli.run(["undo"]).code).toBe(0);
    expect(treeOf(cli.workspace, { without: (path) => path === ".git/index" })).toEqual(before);
    expect(cli.git("status", "--short")).toBe("?? .gitignore\n?? deep/\n");
  });

  test("that renames a folder with git does so as root, and is refused with advice elsewhere", () => {
    repository(cli);
    const before = treeOf(cli.workspace, { without: (path) => path === ".git/index" });
    const ran = cli.apply([shell("git mv src lib")], [], { env: settings("overlay") });
    expect(ran.code).toBe(process.getuid?.() === 0 ? 0 : 1);
    if (ran.code !== 0) {
      expect(ran.out).toContain("worker.transaction: copy");
      expect(apply("git mv src lib", "copy").code).toBe(0);
    }
    expect(existsSync(join(cli.workspace, "lib/f1"))).toBe(true);
    expect(existsSync(join(cli.workspace, "src"))).toBe(false);
    expect(cli.git("status", "--short")).toContain("R  src/f1 -> lib/f1");
    expect(cli.run(["undo"]).code).toBe(0);
    expect(treeOf(cli.workspace, { without: (path) => path === ".git/index" })).toEqual(before);
  });

  test("that clones by hard links is refused with advice where an overlay cannot do it", () => {
    repository(cli);
    const ran = cli.apply([shell("git clone -q . c")], [], { env: settings("overlay") });
    if (ran.code !== 0) expect(ran.out).toContain("--no-hardlinks");
    expect(apply("git clone -q --no-hardlinks . d", "overlay").code).toBe(0);
  });

  test("does not replace a database under the server that holds it", async () => {
    if (!requirePart("sqlite3")) return;
    sh(cli, "sqlite3 app.db 'create table t(x); insert into t values(1)'");
    const server = Bun.spawn(["sqlite3", "app.db"], { cwd: cli.workspace, stdin: "pipe", stdout: "pipe" });
    const answers = server.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const ask = async (sql: string) => {
      server.stdin.write(`${sql};\nselect 'said';\n`);
      server.stdin.flush();
      let text = "";
      while (!text.includes("said")) text += (await answers.read()).value ?? "said";
      return text.replace("said\n", "");
    };
    await ask("insert into t values(2)");
    const ran = apply("sqlite3 app.db 'delete from t'", "overlay");
    expect(ran.code).toBe(1);
    expect(ran.out).toContain("app.db");
    await ask("insert into t values(3)");
    server.kill();
    await server.exited;
    const rows = spawnSync("sqlite3", ["app.db", "select x from t"], {
      cwd: cli.workspace,
      encoding: "utf8",
    });
    expect(rows.stdout).toBe("1\n2\n3\n");
  });

  test("beside which the user works on is refused where both wrote, and kept as a preview", () => {
    mkdirSync(join(cli.workspace, "d"));
    writeFileSync(join(cli.workspace, "d/f"), "one\n");
    const ran = cli.apply([shell("echo job >> d/f")], ["--preview", "--json"]);
    writeFileSync(join(cli.workspace, "d/f"), "mine\n");
    const job = String(cli.json(ran).job_id);
    expect(cli.run(["apply", "--job", job]).code).not.toBe(0);
    expect(cli.read("d/f")).toBe("mine\n");
  });
});
