import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { shell } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";
import { createTarget, type Target } from "./hostile-kit.ts";

let target: Target;
beforeEach(() => {
  target = createTarget();
});
afterEach(() => target.remove());

const here = process.platform === "linux" && requirePart("bwrap");

describe.if(here).each(["overlay", "copy"] as const)("a protected file that a job (%s) took away", (kind) => {
  const env = { PICOCLAW_WORKER_TRANSACTION: kind, PICOCLAW_WORKER_ENV_PASS: "OUT" };

  test.each([
    ["with its folder, putting a link to the outside there", "rm -rf d; ln -s $OUT d"],
    ["with its folder, putting a file there", "rm -rf d; echo x > d"],
    ["with its folder, putting a link to nowhere there", "rm -rf d; ln -s /nowhere d"],
    ["putting a link in its place", "rm d/deep/.env; ln -s $OUT/kept d/deep/.env"],
    ["putting a folder in its place", "rm d/deep/.env; mkdir d/deep/.env; echo x > d/deep/.env/x"],
  ])("%s, is put back in the view and nowhere else", (_, line) => {
    target.write("d/deep/.env", "SECRET=1\n");
    target.write("d/other", "o\n");
    mkdirSync(join(target.outside, "deep"));
    const ran = target.apply([shell(line)], ["--json"], { env: { ...env, OUT: target.outside } });
    expect(ran.code).toBe(1);
    expect(ran.out).toContain(".env");
    expect(target.read("d/deep/.env")).toBe("SECRET=1\n");
    expect(readdirSync(target.outside).sort()).toEqual(["deep", "kept"]);
    expect(readdirSync(join(target.outside, "deep"))).toEqual([]);
    expect(target.kept()).toBe("kept\n");
  });

  test("is not read through a link in its folder's place", () => {
    target.write("d/.env", "SECRET=1\n");
    target.put(join(target.outside, ".env"), "SECRET=1\n");
    rmSync(join(target.outside, "kept"));
    symlinkSync(".env", join(target.outside, "kept"));
    const ran = target.apply([shell("rm -r d; ln -s $OUT d")], ["--json"], {
      env: { ...env, OUT: target.outside },
    });
    expect(ran.code).toBe(1);
    expect(target.read("d/.env")).toBe("SECRET=1\n");
  });
});
