/** The stand-in for `node --test` says of a project what Node says of it. */
import { afterAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { basename } from "node:path";
import { QUICK_NODE_PATH } from "../quick-npm.ts";
import { requirePart } from "../require.ts";
import { createCli } from "./cli-kit.ts";

const cli = createCli();
afterAll(() => cli.remove());

function tell(args: readonly string[], path: string) {
  const env = { PATH: path, HOME: cli.folder };
  const ran = spawnSync("node", args, { cwd: cli.workspace, env, encoding: "utf8", timeout: 280_000 });
  const lines = [...ran.stdout.matchAll(/^(ok|not ok) \d+ - (.*)$/gm)];
  const counts = [...ran.stdout.matchAll(/^# (tests|pass|fail) \d+$/gm)].map(([line]) => line);
  // A file that cannot be loaded is named by its whole path or not, as Node's version has it.
  return { code: ran.status, told: lines.map(([, word, name = ""]) => `${word} ${basename(name)}`), counts };
}

test.if(requirePart("node"))(
  "which tests there are, which of them fail, and a file that cannot be loaded",
  () => {
    const head = 'import { test } from "node:test";\nimport assert from "node:assert";\n';
    cli.write("package.json", '{"type":"module"}');
    cli.write("test/a.test.mjs", `${head}test("adds", () => assert.equal(1, 1));\n`);
    cli.write(
      "test/b.test.mjs",
      `${head}test("fails", () => assert.equal(1, 2));\ntest("waits", async () => { await null; throw new Error("no"); });\n`,
    );
    cli.write("test/c.test.mjs", `${head}import "../missing.mjs";\ntest("never", () => {});\n`);
    const real = tell(["--test", "--test-reporter=tap"], process.env.PATH ?? "");
    expect(real.told).toEqual(["ok adds", "not ok fails", "not ok waits", "not ok c.test.mjs"]);
    expect(tell(["--test"], QUICK_NODE_PATH)).toEqual(real);
    const named = ["test/c.test.mjs", "test/b.test.mjs"];
    const realOfTwo = tell(["--test", "--test-reporter=tap", ...named], process.env.PATH ?? "");
    expect(realOfTwo.told).toEqual(["not ok fails", "not ok waits", "not ok c.test.mjs"]);
    expect(tell(["--test", ...named], QUICK_NODE_PATH)).toEqual(realOfTwo);
  },
);
