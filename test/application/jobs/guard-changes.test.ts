import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Bench, createBench, gitOperation, said, shell } from "./worker-kit.ts";

let bench: Bench;
beforeEach(() => {
  bench = createBench();
  bench.write("a.key", "old");
  bench.write("a.txt", "1\n");
});
afterEach(() => bench.remove());

function repository(): void {
  bench.git("init", "-q", "-b", "main");
  bench.git("config", "user.name", "Jo");
  bench.git("config", "user.email", "jo@example.com");
  bench.git("add", "-A");
  bench.git("commit", "-qm", "first");
}

describe("a shell command that touches protected files", () => {
  test.each([
    ["changes", "echo evil > a.key"],
    ["deletes", "rm a.key"],
    ["moves away", "mv a.key b.txt; rm b.txt"],
    ["replaces by a link", "ln -sf /etc/passwd a.key"],
  ])("%s one: it is restored and the command fails", async (_name, line) => {
    chmodSync(bench.path("a.key"), 0o600);
    const ran = await bench.run([shell(`${line}; echo ok > b`)]);
    expect([said(ran), ran.changes]).toEqual([
      ["protected file cannot be modified: a.key (restored)"],
      [{ path: "b", kind: "added" }],
    ]);
    expect([bench.read("a.key"), statSync(bench.path("a.key")).mode & 0o777]).toEqual(["old", 0o600]);
  });

  test("its own failure is reported first", async () => {
    const ran = await bench.run([shell("echo evil > a.key; exit 3")]);
    expect(said(ran)).toEqual([
      "command failed: exit status 3\nprotected file cannot be modified: a.key (restored)",
    ]);
  });

  test("skip restores and lets the command succeed with a note", async () => {
    const settings = { PICOCLAW_WORKER_ACTION_ON_PROTECTED_FILE: "skip" };
    const result = await bench.run([shell("echo evil > a.key")], { settings });
    expect([result.success, bench.read("a.key")]).toEqual([true, "old"]);
    expect(result.commands[0]?.notes).toEqual([{ code: "protected-restored", paths: ["a.key"] }]);
  });

  test("log never restores", async () => {
    const settings = { PICOCLAW_WORKER_ACTION_ON_PROTECTED_FILE: "log" };
    const result = await bench.run([shell("echo new > a.key; echo x > b.key")], { settings });
    expect([result.success, bench.read("a.key"), bench.read("b.key")]).toEqual([true, "new\n", "x\n"]);
    expect(result.commands[0]?.notes).toEqual([{ code: "protected-logged", paths: ["a.key", "b.key"] }]);
  });

  test("a new one is reported only", async () => {
    const result = await bench.run([shell("echo x > new.pem")]);
    expect([result.success, bench.read("new.pem")]).toEqual([true, "x\n"]);
    expect(result.commands[0]?.notes).toEqual([{ code: "protected-created", paths: ["new.pem"] }]);
  });

  test("in a dependency folder it is the package manager's, where one was at work", async () => {
    bench.write("node_modules/x/cert.pem", "1");
    bench.write("node_modules/x/package.json", '{"version":"1.0.0"}');
    bench.write("a/.venv/lib/cacert.pem", "1");
    const result = await bench.run([
      shell(
        'echo 2 > node_modules/x/cert.pem; echo \'{"version":"2.0.0"}\' > node_modules/x/package.json; rm -rf a/.venv; mkdir -p vendor/y; echo > vendor/y/z.key',
      ),
    ]);
    expect(result.commands[0]).toMatchObject({ success: true, notes: [] });
    expect(bench.read("node_modules/x/cert.pem")).toBe("2\n");
  });

  test.each(["node_modules/x/cert.pem", "vendor/.env", "target/deep/a.key", "a/.venv/lib/cacert.pem"])(
    "a command that changes %s and no package there changed it",
    async (path) => {
      bench.write(path, "1");
      expect(said(await bench.run([shell(`echo 2 > ${path}`)]))).toEqual([
        `protected file cannot be modified: ${path} (restored)`,
      ]);
      expect(said(await bench.run([shell(`rm ${path}`)]))).toEqual([
        `protected file cannot be modified: ${path} (restored)`,
      ]);
      expect(bench.read(path)).toBe("1");
    },
  );

  test("PicoClaw's own files are restored even under log", async () => {
    bench.write("picoclaw.yaml", "locale: en\n");
    const settings = { PICOCLAW_WORKER_ACTION_ON_PROTECTED_FILE: "log" };
    const ran = await bench.run([shell("echo 'worker: {confine: off}' > picoclaw.yaml")], { settings });
    expect(said(ran)).toEqual(["PicoClaw's own files cannot be modified: picoclaw.yaml (restored)"]);
    expect(bench.read("picoclaw.yaml")).toBe("locale: en\n");
  });
});

describe("what git itself checks out", () => {
  test("is the repository's content where git had it before: a checkout passes, a pull does not", async () => {
    repository();
    bench.git("checkout", "-qb", "side");
    bench.write("a.key", "side");
    bench.git("commit", "-qam", "side");
    bench.git("checkout", "-q", "main");
    bench.git("clone", "-q", ".", join(bench.folder, "upstream"));
    const ran = await bench.run([gitOperation("checkout", "-q side"), gitOperation("checkout", "-q main")]);
    expect([ran.success, said(ran), bench.read("a.key")]).toEqual([true, ["", ""], "old"]);
    bench.write("../upstream/a.key", "pulled");
    bench.git("-C", "../upstream", "-c", "user.name=u", "-c", "user.email=u@u", "commit", "-qam", "up");
    const pulled = await bench.run([shell(`git pull -q ${bench.folder}/upstream main`)]);
    expect([said(pulled), bench.read("a.key")]).toEqual([
      ["protected file cannot be modified: a.key (restored)"],
      "old",
    ]);
  });

  test("is not what the job wrote and added itself", async () => {
    repository();
    const ran = await bench.run([shell("echo evil > a.key; git add a.key; git commit -qm evil")]);
    expect(said(ran)).toEqual(["protected file cannot be modified: a.key (restored)"]);
    expect(bench.read("a.key")).toBe("old");
  });

  test("a branch without the file takes it away", async () => {
    repository();
    bench.git("checkout", "-qb", "bare");
    bench.git("rm", "-q", "a.key");
    bench.git("commit", "-qm", "gone");
    bench.git("checkout", "-q", "main");
    const ran = await bench.run([shell("git checkout -q bare")]);
    expect([said(ran), existsSync(bench.path("a.key"))]).toEqual([[""], false]);
  });

  test("passes from a subfolder of the repository too", async () => {
    bench.write("sub/b.key", "old");
    repository();
    bench.git("checkout", "-qb", "side");
    bench.write("sub/b.key", "side");
    bench.git("commit", "-qam", "side");
    bench.git("checkout", "-q", "main");
    const ran = await bench.run([shell("git checkout -q side")], { at: bench.path("sub") });
    expect([said(ran), bench.read("sub/b.key")]).toEqual([[""], "side"]);
  });
});

describe("a file that is too large to be judged", () => {
  test.each([
    ["settings", ".git/config"],
    ["steps of a rebase", ".git/rebase-merge/git-rebase-todo"],
    ["a pointer to another git directory", ".git/commondir"],
  ])("in a git directory is put back: %s", async (_name, path) => {
    repository();
    const before = bench.read(".git/config");
    const ran = await bench.run([shell(`mkdir -p .git/rebase-merge; truncate -s 3G ${path}; echo ok > b`)]);
    expect(said(ran)).toEqual([`a file of git is too large to be judged: ${path} (restored)`]);
    expect([bench.read("b"), bench.read(".git/config")]).toEqual(["ok\n", before]);
    if (path !== ".git/config") expect(existsSync(bench.path(path))).toBe(false);
  });

  test("and protected is put back", async () => {
    repository();
    const ran = await bench.run([shell("truncate -s 3G a.key; echo ok > b")]);
    expect(said(ran)).toEqual(["protected file cannot be modified: a.key (restored)"]);
    expect(bench.read("a.key")).toBe("old");
  });

  test("settings of the user's own that are too large stay as they are", async () => {
    repository();
    const long = `${bench.read(".git/config")}# ${"x".repeat(2 * 1024 ** 2)}\n`;
    bench.write(".git/config", long);
    const ran = await bench.run([shell("echo ok > b; git status > /dev/null")]);
    expect([said(ran), bench.read("b"), bench.read(".git/config") === long]).toEqual([[""], "ok\n", true]);
  });
});
