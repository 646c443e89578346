/** A file that a job rewrote with the same bytes is not a change. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type Cli, createCli, shell } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";

const here = process.platform === "linux" && requirePart("bwrap");
let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

describe.if(here).each(["overlay", "copy"] as const)("a file rewritten with the same bytes (%s)", (kind) => {
  test("is not among the changes", () => {
    cli.write("same.txt", "one\n");
    cli.write("other.txt", "one\n");
    const env = { PICOCLAW_WORKER_TRANSACTION: kind };
    const ran = cli.apply([shell("sleep 0.05; echo one > same.txt; echo two > other.txt")], [], { env });
    expect(ran.out).toContain("Changed files: 1\n  M other.txt");
  });
});
