/** The parts of `.ci/run` that decide what it says: counts, skips, the tree that was run. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "picoclaw-ci-run-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let checkout: string;

const git = (...args: readonly string[]) =>
  Bun.spawnSync(["git", "-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: checkout })
    .stdout.toString()
    .trim();

/** `.ci/run` of the checkout, sourced, and then these lines. */
function run(lines: string) {
  const { stdout, stderr, exitCode } = Bun.spawnSync(
    ["bash", "-c", `source "$1/.ci/run"\n${lines}`, "bash", checkout],
    { env: { PATH: process.env.PATH, HOME: folder } },
  );
  return { out: stdout.toString().trimEnd().split("\n"), err: stderr.toString(), exitCode };
}

function log(text: string): string {
  const path = join(checkout, "..", "machine.log");
  writeFileSync(path, text);
  return path;
}

beforeEach(() => {
  checkout = join(mkdtempSync(join(folder, "case-")), "checkout");
  mkdirSync(join(checkout, ".ci"), { recursive: true });
  cpSync(join(import.meta.dir, "../../.ci/run"), join(checkout, ".ci/run"));
  git("init", "--quiet");
  writeFileSync(join(checkout, ".gitignore"), "ignored\n");
  writeFileSync(join(checkout, "a.txt"), "a\n");
  git("add", "--all");
  git("commit", "--quiet", "--message=first");
});

describe("the tree that was run", () => {
  test("is the commit's, and files that git ignores do not count", () => {
    writeFileSync(join(checkout, "ignored"), "");
    const { out } = run('ran_tree=$(hash_tree "$source_tree"); finish');
    const commit = git("rev-parse", "HEAD");
    expect(out).toEqual([
      `ci: ran tree ${git("rev-parse", "HEAD^{tree}")} of commit ${commit}`,
      "0 passed, 0 failed",
    ]);
  });

  test.each([
    ["an edit", () => writeFileSync(join(checkout, "a.txt"), "b\n")],
    ["a new file", () => writeFileSync(join(checkout, "b.txt"), "b\n")],
    ["a missing file", () => rmSync(join(checkout, "a.txt"))],
  ])("is another one after %s, and nothing is written into the repository", (_, change) => {
    change();
    const before = readdirSync(join(checkout, ".git"), { recursive: true }).length;
    const { out } = run('ran_tree=$(hash_tree "$source_tree"); finish');
    expect(out[0]).toMatch(/^ci: ran tree [0-9a-f]{40}, which is not the one of commit [0-9a-f]{40}$/);
    expect(readdirSync(join(checkout, ".git"), { recursive: true }).length).toBe(before);
    git("add", "--all");
    expect(out[0]).toContain(` ${git("write-tree")},`);
  });

  test("is not named without a repository", () => {
    rmSync(join(checkout, ".git"), { recursive: true });
    expect(run('ran_tree=$(hash_tree "$source_tree"); finish').out).toEqual(["0 passed, 0 failed"]);
  });
});

test("what the full machine selected is among the last lines", () => {
  const { out } = run('selected="selected for full: 3 of 4 files"; finish');
  expect(out).toEqual(["ci: selected for full: 3 of 4 files", "0 passed, 0 failed"]);
});

describe("a machine beside the full one", () => {
  test("adds its counts, and its own last line is not the run's", () => {
    const path = log("ok   tests\n7 passed, 2 failed\n");
    const { out, exitCode } = run(`passed=10; add_machine "as root" ${path} 1 ""; finish`);
    expect({ out, exitCode }).toEqual({
      out: ["ci: as root", "ok   tests", "17 passed, 2 failed"],
      exitCode: 1,
    });
  });

  test("that ended without a count, or red with none failed, has failed once", () => {
    expect(run(`add_machine x ${log("killed\n")} 137 ""; finish`).out.at(-1)).toBe("0 passed, 1 failed");
    expect(run(`add_machine x ${log("3 passed, 0 failed\n")} 1 ""; finish`).out.at(-1)).toBe(
      "3 passed, 1 failed",
    );
  });

  test("that ran no test has failed once, also with exit code 0", () => {
    const last = (counts: string, code: number) =>
      run(`add_machine x ${log(`${counts}\n`)} ${code} ""; finish`).out.at(-1);
    expect(last("0 passed, 0 failed", 0)).toBe("0 passed, 1 failed");
    expect(last("0 passed, 0 failed", 1)).toBe("0 passed, 1 failed");
    expect(last("0 passed, 1 failed", 1)).toBe("0 passed, 1 failed");
  });

  test("may skip what it lacks by name, and nothing else", () => {
    const path = log("skipped: bwrap — install it\nskipped: git — install it\n5 passed, 0 failed\n");
    expect(run(`add_machine x ${path} 0 "bwrap zsh"; finish`).out.at(-1)).toBe("5 passed, 1 failed");
    expect(run(`add_machine x ${path} 0 "bwrap git"; finish`)).toMatchObject({ exitCode: 0 });
    expect(run(`add_machine x ${path} 0; finish`)).toMatchObject({ exitCode: 0 });
  });

  test("runs a selection by day and everything by night", () => {
    expect(run("brief root").out).toEqual(["PICOCLAW_TEST_BRIEF=root"]);
    expect(run("PICOCLAW_TEST_NIGHTLY=1; brief root").out).toEqual([""]);
  });

  test("leaves costly files of the full one to other days, unless the whole is asked for", () => {
    expect(run("daily").out).toEqual(["PICOCLAW_TEST_DAILY=1"]);
    for (const name of ["PICOCLAW_TEST_NIGHTLY", "PICOCLAW_TEST_WHOLE"])
      expect(run(`${name}=1; daily`).out).toEqual([""]);
    expect(run("PICOCLAW_TEST_WHOLE=1; brief root").out).toEqual([
      "PICOCLAW_TEST_BRIEF=root PICOCLAW_TEST_WHOLE=1",
    ]);
  });

  test("has a bubblewrap that refuses where namespaces are forbidden", () => {
    const { err, exitCode } = run(
      'make_useless_bwrap "$source_tree/programs"; "$source_tree/programs/bwrap" true',
    );
    expect({ err, exitCode }).toEqual({
      err: "bwrap: No permissions to create new namespace\n",
      exitCode: 1,
    });
  });
});
