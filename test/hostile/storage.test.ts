/** A stranger's records of jobs, laid where PicoClaw would look for its own. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "../e2e/cli-kit.ts";
import { forge } from "./forged-job.ts";
import { createTarget, type Target } from "./hostile-kit.ts";

let target: Target;
let elsewhere: string;
beforeEach(() => {
  target = createTarget();
  elsewhere = existsSync("/dev/shm") ? mkdtempSync("/dev/shm/picoclaw-home-") : "";
  chmodSync(target.outside, 0o700);
});
afterEach(() => {
  chmodSync(target.folder, 0o700);
  target.remove();
  if (elsewhere !== "") rmSync(elsewhere, { recursive: true });
});

const otherDevice = existsSync("/dev/shm") && statSync("/dev/shm").dev !== statSync(tmpdir()).dev;
const modeOf = (path: string) => statSync(path).mode & 0o777;

/** The name that earlier versions gave the storage beside a workspace. */
function guessedName(workspace: string): string {
  return `.ws-${createHash("sha256").update(workspace).digest("hex").slice(0, 10)}.picoclaw`;
}

describe.if(otherDevice)("where the jobs cannot be kept in PicoClaw's home", () => {
  const env = () => ({ PICOCLAW_HOME: join(elsewhere, "home") });

  test("a folder that a stranger made beside the workspace is not taken for the storage", () => {
    forge(join(target.folder, guessedName(target.workspace)), target.outside);
    const ran = target.apply([create("a.txt", "a\n")], [], { env: env() });
    expect(ran.code).toBe(0);
    expect(modeOf(target.outside)).toBe(0o700);
    const mine = readdirSync(target.folder).filter((name) => /^\.ws-.*-[0-9a-f]{16}\.picoclaw$/.test(name));
    expect(mine.map((name) => modeOf(join(target.folder, name)))).toEqual([0o700]);
    expect(target.run(["undo"], { env: env() }).code).toBe(0);
    expect(existsSync(join(target.workspace, "a.txt"))).toBe(false);
  });

  test.if(process.getuid?.() !== 0)(
    "nor is a .picoclaw that came with the workspace, where nothing can be written beside it",
    () => {
      forge(join(target.workspace, ".picoclaw"), target.outside);
      chmodSync(target.folder, 0o500);
      expect(target.apply([create("a.txt", "a\n")], [], { env: env() }).code).toBe(0);
      expect(modeOf(target.outside)).toBe(0o700);
      expect(target.run(["undo"], { env: env() }).code).toBe(0);
      expect(existsSync(join(target.workspace, "a.txt"))).toBe(false);
    },
  );

  test("a storage of its own that others could write to since is not trusted any more", () => {
    expect(target.apply([create("a.txt", "a\n")], [], { env: env() }).code).toBe(0);
    const name = readdirSync(target.folder).find((one) => one.endsWith(".picoclaw")) as string;
    forge(join(target.folder, name), target.outside);
    for (const args of [["undo"], ["jobs"], ["doctor", "--repair"], ["apply"]]) {
      const ran = target.run(args, { env: env(), input: JSON.stringify([create("b.txt", "b\n")]) });
      expect([args[0], ran.code]).toEqual([args[0], 3]);
      expect(ran.err + ran.out).toContain(join(target.folder, name));
      expect(modeOf(target.outside)).toBe(0o700);
    }
    expect(existsSync(join(target.workspace, "b.txt"))).toBe(false);
  });

  test("one whose outer folder was opened to others is refused with the command that closes it", () => {
    expect(target.apply([create("a.txt", "a\n")], [], { env: env() }).code).toBe(0);
    const name = readdirSync(target.folder).find((one) => one.endsWith(".picoclaw")) as string;
    chmodSync(join(target.folder, name), 0o777);
    const { err } = target.run(["undo"], { env: env() });
    expect(err).not.toContain("doctor --repair");
    const [, command = ""] = /: (chmod .+)$/m.exec(err) ?? [];
    expect(command).toContain(join(target.folder, name));
    expect(Bun.spawnSync(["sh", "-c", command]).exitCode).toBe(0);
    expect(target.run(["undo"], { env: env() }).code).toBe(0);
    expect(existsSync(join(target.workspace, "a.txt"))).toBe(false);
  });
});

test("a storage in PicoClaw's home that a job opened to others is closed by doctor --repair, and no advice says to delete it", () => {
  expect(target.apply([create("a.txt", "a\n")]).code).toBe(0);
  const workspaces = join(target.home, "workspaces");
  const storage = join(workspaces, readdirSync(workspaces)[0] as string);
  for (const folder of [target.home, storage]) chmodSync(folder, 0o777);
  const refused = target.run(["undo"]);
  expect(refused.code).toBe(3);
  expect(refused.err).toContain("picoclaw doctor --repair");
  expect(refused.err).not.toContain("Remove it");
  target.run(["doctor", "--repair"]);
  expect([target.home, storage].map(modeOf)).toEqual([0o700, 0o700]);
  expect(target.run(["undo"]).code).toBe(0);
  expect(existsSync(join(target.workspace, "a.txt"))).toBe(false);
});

test("a plan whose roots are not the workspace's own is not carried out, in any place", () => {
  expect(target.apply([create("a.txt", "a\n")]).code).toBe(0);
  const workspaces = join(target.home, "workspaces");
  const storage = join(workspaces, readdirSync(workspaces)[0] as string);
  forge(storage, target.outside);
  chmodSync(storage, 0o700);
  expect(target.run(["doctor", "--repair"]).out).toContain("../outside");
  const refused = target.apply([create("b.txt", "b\n")]);
  expect(refused.code).not.toBe(0);
  expect(refused.out).toMatch(
    /Job (?:#\d+|job_\S+) was interrupted half-way and cannot be completed.*\n +\.\.\/outside/,
  );
  expect(refused.out).toContain("picoclaw doctor --repair");
  expect(modeOf(target.outside)).toBe(0o700);
  expect(existsSync(join(target.workspace, "b.txt"))).toBe(false);
});
