/** Files that root's jobs leave behind give no user root's power. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { getXattr } from "../../src/infrastructure/platform/xattr.ts";
import { type Cli, createCli, shell } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";

const isRoot = process.getuid?.() === 0 && process.platform === "linux" && requirePart("bwrap");
let cli: Cli;
beforeEach(() => {
  cli = createCli();
  chmodSync(cli.folder, 0o755);
  chmodSync(cli.workspace, 0o755);
});
afterEach(() => cli.remove());

describe.if(isRoot).each([
  ["overlay", "auto"],
  ["copy", "auto"],
  ["copy", "off"],
])("root's job (%s, confine %s)", (kind, confine) => {
  const env = { PICOCLAW_WORKER_TRANSACTION: kind, PICOCLAW_WORKER_CONFINE: confine };
  const at = (path: string) => join(cli.workspace, path);

  test("makes no program that gives root to all users", () => {
    const ran = cli.apply([shell("cp /bin/sh x; chmod 4755 x; mkdir d; chmod 7777 d")], ["--json"], { env });
    expect(ran.code).toBe(0);
    expect([statSync(at("x")).mode & 0o7777, statSync(at("d")).mode & 0o7777]).toEqual([0o755, 0o3777]);
    const nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    const who = cli.run([...nobody, at("x"), "-p", "-c", "id -u"], { program: "setpriv" });
    expect(who.out.trim()).toBe("65534");
  });

  test("keeps files that were set-user-id before, through its undo", () => {
    cli.write("was", "x\n");
    chmodSync(at("was"), 0o4755);
    const ran = cli.apply([shell("chmod 4711 was; touch -d 2001-01-01 was")], ["--json"], { env });
    expect([ran.code, statSync(at("was")).mode & 0o7777]).toEqual([0, 0o4711]);
    expect([cli.run(["undo"]).code, statSync(at("was")).mode & 0o7777]).toEqual([0, 0o4755]);
  });

  test("brings out no device and no capability", () => {
    const line = "mknod dev c 1 3 || true; cp /bin/true cap; setcap cap_setuid+ep cap || true; : > done";
    const ran = cli.apply([shell(line)], ["--json"], { env });
    expect([ran.code, existsSync(at("done")), existsSync(at("dev"))]).toEqual([0, true, false]);
    expect(getXattr(at("cap"), "security.capability").ok).toBe(false);
  });
});

test.if(isRoot)("root's job changes the mode of no device of the machine", () => {
  const devices = ["/dev/null", "/dev/zero", "/dev/tty"];
  const modes = () => devices.map((path) => statSync(path).mode & 0o7777);
  const before = modes();
  try {
    const changes = devices.map((path) => `chmod 0640 ${path}`);
    const line = [...changes, "chmod 0640 /etc/shadow", "echo x > /dev/null && head -c 3 /dev/zero > made"];
    const ran = cli.apply([shell(line.join("; "))]);
    expect([ran.code, statSync(join(cli.workspace, "made")).size, modes()]).toEqual([0, 3, before]);
  } finally {
    for (const [at, path] of devices.entries()) chmodSync(path, before[at] as number);
  }
});
