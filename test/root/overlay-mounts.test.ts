/** Mounts, small disks and files of others under jobs with commands; each as root and, where it differs, as a user. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type Cli, createCli, PROGRAM, type Ran, shell } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";

const NOBODY = 65534;
let cli: Cli;
const mounts: string[] = [];
beforeEach(() => {
  cli = createCli();
  chmodSync(cli.folder, 0o755);
});
afterEach(() => {
  for (const point of mounts.splice(0).reverse()) spawnSync("umount", ["-l", point]);
  spawnSync("chattr", ["-R", "-i", cli.workspace]);
  cli.remove();
});

function mount(at: string, ...args: string[]): string {
  mkdirSync(at, { recursive: true });
  const ran = spawnSync("mount", [...args, at], { encoding: "utf8" });
  if (ran.status !== 0) throw new Error(ran.stderr);
  mounts.push(at);
  return at;
}

type Who = "root" | "user";
const give = (...paths: string[]) => {
  for (const path of paths) spawnSync("chown", ["-R", `${NOBODY}:${NOBODY}`, path]);
};

/** The program as root, or as a user who owns the workspace and a home. */
function run(who: Who, args: readonly string[], input = "", env: Record<string, string> = {}): Ran {
  if (who === "root") return cli.run(args, { input, env });
  const user = ["--reuid", String(NOBODY), "--regid", String(NOBODY), "--clear-groups", PROGRAM];
  return cli.run([...user, ...args], { input, env, program: "setpriv" });
}
const apply = (who: Who, line: string, env?: Record<string, string>) =>
  run(who, ["apply", "--json"], JSON.stringify([shell(line)]), env);
const told = (ran: Ran) => JSON.stringify(cli.json(ran));

/** Without PicoClaw's own folder, which lies in a workspace that is a mount. */
const tree = () =>
  Object.fromEntries(Object.entries(cli.tree()).filter(([path]) => !path.startsWith(".picoclaw-")));

function prepare(who: Who): void {
  cli.write("kept", "kept\n");
  mkdirSync(cli.home, { recursive: true });
  if (who === "user") give(cli.workspace, cli.home, join(cli.folder, "user"));
}

const isRoot =
  process.getuid?.() === 0 && process.platform === "linux" && requirePart("bwrap") && requirePart("mount");

describe.if(isRoot).each(["root", "user"] as const)("commands of a job (%s)", (who) => {
  test("run in a copy where something is mounted below the workspace, and leave it alone", () => {
    prepare(who);
    const volume = mount(join(cli.workspace, "volume"), "-t", "tmpfs", "tmpfs");
    writeFileSync(join(volume, "data"), "data");
    if (who === "user") give(volume);
    const ran = apply(who, "echo made > made; ls volume; rm -rf volume/*");
    expect(ran.code).toBe(0);
    expect(told(ran)).toContain("copy");
    expect(readFileSync(join(volume, "data"), "utf8")).toBe("data");
    expect(cli.read("made")).toBe("made\n");
    expect(run(who, ["undo"]).code).toBe(0);
    expect(readFileSync(join(volume, "data"), "utf8")).toBe("data");
    expect(existsSync(join(cli.workspace, "made"))).toBe(false);
  });

  test("run confined where something is mounted below the home", () => {
    const user = join(cli.folder, "user");
    prepare(who);
    const remote = mount(join(user, "remote"), "-t", "tmpfs", "tmpfs");
    writeFileSync(join(remote, "data"), "data");
    mkdirSync(join(user, ".ssh"));
    writeFileSync(join(user, ".ssh/id"), "s3cret-key");
    writeFileSync(join(user, ".gitconfig"), "[user]\n\tname = me\n");
    if (who === "user") give(user);
    const ran = apply(
      who,
      "echo made > made; cat ~/.gitconfig; rev ~/.ssh/id; echo x > ~/new; echo bad > ~/remote/data; true",
    );
    expect(ran.code).toBe(0);
    expect(told(ran)).not.toContain("yek-terc3s");
    expect(told(ran)).not.toContain("not confined");
    expect(readFileSync(join(remote, "data"), "utf8")).toBe("data");
    expect(existsSync(join(user, "new"))).toBe(false);
    expect(cli.read("made")).toBe("made\n");
  });

  test("work on a workspace in memory", () => {
    mount(cli.workspace, "-t", "tmpfs", "tmpfs");
    prepare(who);
    const ran = apply(who, "echo made > made; echo more >> kept");
    expect({ code: ran.code, out: ran.code === 0 ? "" : ran.out }).toEqual({ code: 0, out: "" });
    expect(cli.read("kept")).toBe("kept\nmore\n");
    expect(run(who, ["undo"]).code).toBe(0);
    expect(tree()).toEqual({ kept: "kept\n" });
  });

  test("that fill the disk leave the workspace as it was, and say so", () => {
    mount(cli.workspace, "-t", "tmpfs", "-o", "size=4m", "tmpfs");
    prepare(who);
    const ran = run(who, ["apply", "--atomic"], JSON.stringify([shell("head -c 8000000 /dev/zero > big")]));
    expect(ran.code).toBe(1);
    expect(`${ran.out}${ran.err}`).toMatch(/No space left|no space/i);
    expect(tree()).toEqual({ kept: "kept\n" });
    expect(apply(who, "echo on > on").code).toBe(0);
  });

  test("run in a copy on a file system that cannot carry an overlay, announced once", () => {
    for (const name of ["l", "u", "w"]) mkdirSync(join(cli.folder, name));
    const options = `lowerdir=${cli.folder}/l,upperdir=${cli.folder}/u,workdir=${cli.folder}/w`;
    mount(cli.workspace, "-t", "overlay", "-o", options, "overlay");
    prepare(who);
    const first = apply(who, "echo made > made");
    expect(first.code).toBe(0);
    expect(told(first)).toContain("copy (run in a copy of the workspace)");
    expect(told(apply(who, "echo two > two"))).not.toContain("Transaction:");
    const storage = readdirSync(cli.workspace).find((name) => name.startsWith(".picoclaw-")) as string;
    const kept = readdirSync(join(cli.workspace, storage), { recursive: true, encoding: "utf8" });
    expect(kept.some((name) => name.endsWith("/no-overlay.json"))).toBe(true);
    expect(run(who, ["undo"]).code).toBe(0);
    expect(cli.tree().made).toBe("made\n");
  });

  test("get on a layered file system what doctor says, also where they must be confined", () => {
    const below = mount(join(cli.folder, "disk"), "-t", "tmpfs", "none");
    for (const name of ["l", "u", "w"]) mkdirSync(join(below, name));
    const layers = `lowerdir=${below}/l,upperdir=${below}/u,workdir=${below}/w`;
    mount(cli.workspace, "-t", "overlay", "layers", "-o", layers);
    prepare(who);
    const doctor = (env: Record<string, string> = {}) => run(who, ["doctor"], "", env);
    const before = doctor().out;
    const got = told(apply(who, "echo more >> kept"));
    for (const words of ["Transaction: copy", "limited, not confined"]) {
      expect(got).toContain(words);
      expect(before).toContain(words);
    }
    const insisted = { PICOCLAW_WORKER_CONFINE: "on" };
    const refused = apply(who, "echo more >> kept", insisted);
    const { code, out } = doctor(insisted);
    expect({ job: refused.code === 0, doctor: code === 0 }).toEqual({ job: false, doctor: false });
    expect(out).toContain("A job with a command cannot run here");
    expect(cli.json(run(who, ["jobs", "--json"])).jobs).toHaveLength(1);
  });

  test("that meet an immutable file fail there and leave it", () => {
    prepare(who);
    cli.write("fixed", "fixed\n");
    if (spawnSync("chattr", ["+i", join(cli.workspace, "fixed")]).status !== 0) return;
    expect(apply(who, "echo more >> fixed").code).toBe(1);
    const ran = apply(who, "echo made > made; rm -f fixed");
    expect(ran.code).toBe(1);
    expect(tree()).toEqual({ kept: "kept\n", fixed: "fixed\n", made: "made\n" });
  });

  test("are refused where an overlay is asked for and something is mounted below", () => {
    prepare(who);
    mount(join(cli.workspace, "volume"), "-t", "tmpfs", "tmpfs");
    const ran = apply(who, "rm -rf volume", { PICOCLAW_WORKER_TRANSACTION: "overlay" });
    expect(ran.code).toBe(3);
    expect(ran.out).toContain("mounted below the workspace");
    expect(existsSync(join(cli.workspace, "volume"))).toBe(true);
  });
});

describe.if(isRoot)("a user's commands", () => {
  const theirs = () => {
    prepare("user");
    cli.write("theirs", "theirs\n");
    chownSync(join(cli.workspace, "theirs"), 12345, 12345);
    chmodSync(join(cli.workspace, "theirs"), 0o666);
  };

  test("that change a file of another user run in a copy, and the result says what became of it", () => {
    theirs();
    const ran = run("user", ["apply"], JSON.stringify([shell("echo more >> theirs")]));
    expect(ran.code).toBe(0);
    expect(ran.out).toContain("files of another group or owner cannot be changed in an overlay");
    expect(ran.out).toContain("theirs: it has your own group now");
    expect(run("user", ["undo"], "").code).toBe(0);
    expect(lstatSync(join(cli.workspace, "theirs"))).toMatchObject({ uid: 12345, gid: 12345, size: 7 });
  });

  test("are refused with the reason if only an overlay may serve", () => {
    theirs();
    const ran = apply("user", "echo more >> theirs", { PICOCLAW_WORKER_TRANSACTION: "overlay" });
    expect(ran.code).toBe(1);
    expect(ran.out).toContain("belongs to another user");
    expect(cli.read("theirs")).toBe("theirs\n");
  });
});

describe.if(isRoot)("root's commands", () => {
  test("cannot turn the kernel's switches, and could without confinement", () => {
    const open = ": >> /proc/sys/kernel/core_pattern";
    expect(apply("root", open).code).toBe(1);
    expect(apply("root", open, { PICOCLAW_WORKER_CONFINE: "off" }).code).toBe(0);
  });

  test("read no file of others that only root's power opens", () => {
    cli.write("theirs/secret", "s3cret-key");
    chmodSync(join(cli.workspace, "theirs/secret"), 0o600);
    chownSync(join(cli.workspace, "theirs/secret"), 12345, 12345);
    const said = apply("root", "rev theirs/secret; true").out;
    expect(said).not.toContain("yek-terc3s");
  });
});
