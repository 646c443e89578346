/** Every example does what it says. They are compiled with everything else. */

import { afterEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeTree } from "../src/infrastructure/platform/remove-tree.ts";
import { DOCKER_HOST, realImage, removeInstallation } from "./infrastructure/containers/real-engine.ts";
import { requirePart } from "./require.ts";

const EXAMPLES = join(import.meta.dir, "../examples");
const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await removeTree(folder);
});

function run(example: string, argument?: string) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "picoclaw-example-")));
  folders.push(folder);
  const [workspace, home] = [join(folder, "ws"), join(folder, "home")];
  for (const each of [workspace, home, join(folder, "user")]) mkdirSync(each);
  writeFileSync(join(workspace, "kept.txt"), "kept\n");
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--no-env-file", join(EXAMPLES, example), argument ?? workspace],
    {
      cwd: workspace,
      env: {
        PATH: process.env.PATH ?? "",
        HOME: join(folder, "user"),
        PICOCLAW_HOME: home,
        PICOCLAW_LOCALE: "en",
        DOCKER_HOST,
      },
      encoding: "utf8",
      timeout: 280_000,
    },
  );
  return { said: stdout + stderr, left: readdirSync(workspace).sort(), workspace, home };
}

test("apply-a-patch-safely.ts", () => {
  const { said, left } = run("apply-a-patch-safely.ts");
  expect(said.split("\n")).toEqual([
    "stopped: 0 changes",
    "✓ [1] file_edit update hello.txt",
    "✓ [2] shell_command run wc -c < hello.txt",
    "added hello.txt",
    "undo: done",
    "refused: not-a-patch",
    "",
  ]);
  expect(left).toEqual(["kept.txt"]);
});

test("give-my-agent-tools.ts", () => {
  const { said, left } = run("give-my-agent-tools.ts");
  expect(said.split("\n")).toEqual([
    "10 tools",
    "write_file: success",
    "text_editor: success",
    "read_file: OUTSIDE_WORKSPACE",
    "execute_command: success",
    "undo_job: success",
    "undo_job: success",
    "undo_job: success",
    "",
  ]);
  expect(left).toEqual(["kept.txt"]);
});

test.if(requirePart("bwrap"))("a-draft-judged-by-tests.ts", () => {
  const { said, left, workspace } = run("a-draft-judged-by-tests.ts");
  expect(said).toMatch(/^discarded: the answer is wrong\nlanded as job_\d+_\w{8}\n$/);
  expect(left).toEqual(["answer.txt", "kept.txt"]);
  expect(readFileSync(join(workspace, "answer.txt"), "utf8")).toBe("42\n");
});

describe.if(requirePart("docker"))("with Docker", () => {
  test("run-in-a-container.ts", () => {
    const { said, home } = run("run-in-a-container.ts", realImage());
    try {
      expect(said.split("\n")).toEqual(["exited: hello from 10001", "timed-out: ", "exited: lo", ""]);
    } finally {
      removeInstallation(home);
    }
  }, 300_000);
});

test("each example is named on their page", () => {
  const page = readFileSync(join(EXAMPLES, "README.md"), "utf8");
  const names = readdirSync(EXAMPLES).filter((name) => name.endsWith(".ts"));
  expect(names.filter((name) => !page.includes(`(${name})`))).toEqual([]);
});
