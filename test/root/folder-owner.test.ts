/** A folder's owner that root's job changed is committed where a copy can tell it, and undone. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { lstatSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Cli, createCli, shell } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";

const isRoot = process.getuid?.() === 0 && process.platform === "linux" && requirePart("bwrap");
let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

describe.if(isRoot)("root's job in a copy that gives a folder away", () => {
  test("gives it away, and takes it back", () => {
    mkdirSync(join(cli.workspace, "d"));
    const env = { PICOCLAW_WORKER_TRANSACTION: "copy", PICOCLAW_WORKER_CONFINE: "off" };
    const ran = cli.apply([shell("chown 12345 d && echo a > d/a")], [], { env });
    expect(ran.code).toBe(0);
    expect(lstatSync(join(cli.workspace, "d")).uid).toBe(12345);
    expect(ran.out).not.toContain("keeps its owner");
    expect(cli.run(["undo"], { env }).code).toBe(0);
    expect(lstatSync(join(cli.workspace, "d")).uid).toBe(0);
  });
});
