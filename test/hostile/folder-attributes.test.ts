/** What belongs to a folder that a job made comes with it. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { getXattr, listXattrs } from "../../src/infrastructure/runtime/xattr.ts";
import { type Cli, createCli, shell } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";

const here = process.platform === "linux" && requirePart("bwrap");
let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

describe.if(here).each(["overlay", "copy"] as const)("a folder that a job made (%s)", (kind) => {
  test("keeps its attributes, and gets none of the overlay's", () => {
    const line = `python3 -c 'import os; os.mkdir("d"); os.setxattr("d", "user.mine", b"one")'; echo a > d/a`;
    const ran = cli.apply([shell(line)], [], { env: { PICOCLAW_WORKER_TRANSACTION: kind } });
    expect(ran.code).toBe(0);
    const value = getXattr(join(cli.workspace, "d"), "user.mine");
    expect(value.ok ? Buffer.from(value.value).toString() : value).toBe("one");
    const names = listXattrs(join(cli.workspace, "d"));
    expect(names.ok ? names.value.filter((name) => name.includes("overlay")) : names).toEqual([]);
  });
});
