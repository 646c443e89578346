/** Workspaces, homes and machines that trap overlays: handled, or said before anything runs. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { findProgram } from "../../src/infrastructure/platform/find-program.ts";
import { type Cli, createCli, PROGRAM, shell, treeOf } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";

let cli: Cli;
const others: string[] = [];
beforeEach(() => {
  cli = createCli();
});
afterEach(() => {
  cli.remove();
  for (const folder of others.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const JOB = [shell("cat kept; echo made > made; echo more >> kept; rm gone")];
const here = process.platform === "linux" && requirePart("bwrap");

/** Applies and takes back a job in a folder; says what it was staged as. */
function roundTrip(workspace: string, env: Record<string, string> = {}): string {
  // The runtime would make a home that is missing, to keep a cache there.
  const withoutCache = { BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0", ...env };
  mkdirSync(workspace, { recursive: true });
  for (const name of ["kept", "gone"]) writeFileSync(join(workspace, name), `${name}\n`);
  const mine = () => {
    const { kept, gone, made } = treeOf(workspace);
    return { kept, gone, made };
  };
  const ran = cli.apply(JOB, ["--workspace", workspace, "--json"], { cwd: cli.folder, env: withoutCache });
  expect({ code: ran.code, said: ran.code === 0 ? "" : ran.out + ran.err }).toEqual({ code: 0, said: "" });
  expect(mine()).toEqual({ kept: "kept\nmore\n", gone: undefined, made: "made\n" } as never);
  const [job] = cli.json(
    cli.run(["jobs", "--json", "--workspace", workspace], { cwd: cli.folder, env: withoutCache }),
  ).jobs as {
    kind: string;
  }[];
  expect(cli.run(["undo", "--workspace", workspace], { cwd: cli.folder, env: withoutCache }).code).toBe(0);
  expect(mine()).toEqual({ kept: "kept\n", gone: "gone\n", made: undefined } as never);
  return job?.kind ?? "";
}

describe.if(here)("an overlay works over a workspace", () => {
  test.each([
    ["with commas, colons and equals signs", "a,b:c=d"],
    ["with quotes and a dollar", `it's "$HOME" \`x\``],
    ["with spaces and a tab", " two  words\t"],
    ["with a newline", "one\ntwo"],
    ["with letters of many scripts", "プロジェクト-дом-🙂"],
    ["with backslashes and hashes", "a\\040b#c\\"],
    ["that looks like an option", "--bind"],
    ["with a very long path", Array.from({ length: 6 }, (_, i) => `${i}`.repeat(200)).join("/")],
  ])("%s", (_, name) => {
    expect(roundTrip(join(cli.folder, name))).toBe("overlay");
  });

  test("that is named through a symlink", () => {
    mkdirSync(join(cli.folder, "real"));
    symlinkSync("real", join(cli.folder, "link"));
    expect(roundTrip(join(cli.folder, "link"))).toBe("overlay");
  });

  test("that is the user's home", () => {
    expect(roundTrip(cli.workspace, { HOME: cli.workspace })).toBe("overlay");
  });

  test("that holds the user's home, or lies in it", () => {
    expect(roundTrip(cli.folder, { PICOCLAW_HOME: join(cli.folder, "home") })).toBe("overlay");
    expect(roundTrip(join(cli.folder, "user", "deep", "project"))).toBe("overlay");
  });

  test("in PicoClaw's own home, beside which nothing of it shows", () => {
    const workspace = join(cli.home, "chats", "one");
    mkdirSync(join(cli.home, "chats", "two"), { recursive: true });
    writeFileSync(join(cli.home, "chats", "two", "theirs"), "theirs");
    expect(roundTrip(workspace)).toBe("overlay");
    const ran = cli.apply([shell("ls .. ../..; cat ../two/theirs")], ["--workspace", workspace, "--json"]);
    expect(ran.out).not.toContain('"theirs');
    expect(ran.out).toContain("No such file");
  });

  test.each([
    ["is missing", "missing"],
    ["is the root", "/"],
    ["is a file", "/etc/passwd"],
  ])("when the home %s", (_, HOME) => {
    expect(roundTrip(cli.workspace, { HOME: resolve(cli.folder, HOME) })).toBe("overlay");
  });

  test("when the home may not be read", () => {
    const user = join(cli.folder, "user");
    chmodSync(user, 0o000);
    try {
      expect(["overlay", "copy"]).toContain(roundTrip(cli.workspace));
    } finally {
      chmodSync(user, 0o700);
    }
  });

  test("when PicoClaw's home is on another file system, and its storage does not show", () => {
    if (!existsSync("/dev/shm")) return;
    const PICOCLAW_HOME = mkdtempSync("/dev/shm/picoclaw-home-");
    others.push(PICOCLAW_HOME);
    expect(roundTrip(cli.workspace, { PICOCLAW_HOME })).toBe("overlay");
    const storage = readdirSync(cli.folder).find((name) => name.endsWith(".picoclaw"));
    expect(storage).toBeDefined();
    const ran = cli.apply([shell(`find ../${storage} -mindepth 1 2>/dev/null; true`)], ["--json"], {
      env: { PICOCLAW_HOME },
    });
    expect(cli.json(ran)).toMatchObject({ results: [{ output: "" }] });
  });

  test("with files that may not be read, and folders that may not be entered", () => {
    cli.write("shut/in", "x");
    cli.write("blind", "x");
    chmodSync(join(cli.workspace, "blind"), 0o000);
    chmodSync(join(cli.workspace, "shut"), 0o000);
    try {
      const ran = cli.apply([shell("echo made > made; mv blind other")], ["--json"]);
      expect(ran.code).toBe(0);
      expect(cli.run(["undo"]).code).toBe(0);
      expect(readdirSync(cli.workspace).sort()).toEqual(["blind", "shut"]);
    } finally {
      chmodSync(join(cli.workspace, "shut"), 0o700);
    }
  });
});

describe.if(here)("doctor", () => {
  test("tries every part and states what it therefore promises", () => {
    const { checks } = cli.json(cli.run(["doctor", "--json"])) as {
      checks: { name: string; ok: boolean; text: string }[];
    };
    const found = Object.fromEntries(checks.map(({ name, ok }) => [name, ok]));
    expect(found).toMatchObject({
      bubblewrap: true,
      setpriv: true,
      "user-namespaces": true,
      overlay: true,
      "file-systems": true,
      "promise-undo": true,
      "promise-confined": true,
      "promise-preview-offline": true,
    });
    expect(checks.find(({ name }) => name === "promise-loopback-reachable")?.text).toContain(
      "127.0.0.1 and abstract sockets",
    );
    expect(cli.run(["doctor"]).code).toBe(0);
  });

  test("says what confinement that is off, and staging that is off, do not promise", () => {
    const open = { PICOCLAW_WORKER_CONFINE: "off", PICOCLAW_WORKER_TRANSACTION: "copy" };
    const off = cli.run(["doctor"], { env: open });
    expect(off.out).toContain("! Commands are NOT confined");
    expect(off.out).toContain("! A preview is NOT cut off from the network");
    const none = cli.run(["doctor"], { env: { PICOCLAW_WORKER_TRANSACTION: "none" } });
    expect(none.out).toContain("✗ Undo does NOT cover what commands do");
  });
});

/** Applies commands while something else is mounted at `m`. */
function applyWithMount([how = "", ...places]: readonly string[], commands: readonly object[]) {
  for (const folder of ["m", "other"]) mkdirSync(join(cli.workspace, folder), { recursive: true });
  const inside = places.map((place) => join(cli.workspace, place));
  const args = ["--dev-bind", "/", "/", how, ...inside, "--chdir", cli.workspace, PROGRAM, "apply", "--json"];
  return cli.run(args, {
    program: findProgram("bwrap", process.env.PATH ?? "") ?? "",
    input: JSON.stringify(commands),
  });
}

const TMPFS = ["--tmpfs", "m"];
const SAME_DISK = ["--bind", "other", "m"];
const create = (target: string) => ({ type: "file_edit", action: "create", target, content: "b\n" });

describe.if(here).each([
  ["of another file system", TMPFS],
  ["of the same file system", SAME_DISK],
])("a mount in the workspace, %s", (_, mount) => {
  test.each([
    ["a cache", "mkdir -p m/c && date > m/c/x && : > m/c/empty && echo ok > made && rm gone none", "m/c/x"],
    ["a link", "ln -s a m/c && echo ok > made && rm gone none", "m/c"],
    [
      "a file that is changed as well",
      "cp gone m/c && echo more >> m/c && echo ok > made; rm gone none",
      "m/c",
    ],
  ])("keeps no job from landing that leaves %s there, and the report says so", (_name, command, left) => {
    cli.write("gone", "gone\n");
    cli.write("none", "");
    const ran = applyWithMount(mount, [shell(command)]);
    expect([ran.code, cli.tree()]).toEqual([0, { made: "ok\n" }]);
    const notes = (cli.json(ran).notes as string[]).join("\n");
    expect(notes).toMatch(new RegExp(`not applied, because it is on another mount.*${left}`));
    expect(cli.run(["undo"]).code).toBe(0);
    expect(cli.tree()).toEqual({ gone: "gone\n", none: "" });
  });

  test("takes no edit that names it: the command fails, and the others land", () => {
    cli.write("a", "only copy\n");
    const rename = { type: "file_edit", action: "rename", target: "a", content: "m/a" };
    const ran = applyWithMount(mount, [shell("echo ok > made"), create("m/b"), rename, create("c")]);
    expect([ran.code, cli.tree()]).toEqual([1, { a: "only copy\n", made: "ok\n", c: "b\n" }]);
    expect(cli.json(ran)).toMatchObject({
      results: [true, false, false, true].map((success) => ({ success })),
    });
    expect(ran.out).toContain("on another mount");
  });
});

describe.if(here)("a file that a job moves where nothing of it can land stays where it was", () => {
  test.each([
    ["another mount", TMPFS, "mv a m/ && cat m/a", "m/a"],
    ["another mount of the same file system", SAME_DISK, "mv a m/ && cat m/a", "m/a"],
    ["a link", TMPFS, "mv link m/a", "m/a"],
    ["in a folder", TMPFS, "mkdir -p f/g; mv a f/g/; mv f m/", "m/f/g/a"],
    ["with its folder, which is there before", TMPFS, "mv dir m/", "m/dir/in/a"],
  ])("%s", (_, mount, command, left) => {
    cli.write("a", "only copy\n");
    cli.write("dir/in/a", "deep\n");
    symlinkSync("target", join(cli.workspace, "link"));
    const before = treeOf(cli.workspace);
    const ran = applyWithMount(mount, [shell(command), create("b")]);
    expect([ran.code, treeOf(cli.workspace)]).toEqual([1, before]);
    expect(ran.out).toContain(`moved to another mount, or to a folder that the job cannot see`);
    expect(ran.out).toContain(`can be committed: ${left}`);
    expect(cli.run(["undo"]).err).toContain("There is no job to undo");
  });

  test.if(process.getuid?.() !== 0)("a folder that may not be read", () => {
    const env = { PICOCLAW_WORKER_TRANSACTION: "copy" };
    cli.write("a", "only copy\n");
    cli.write("shut/in", "x\n");
    chmodSync(join(cli.workspace, "shut"), 0o000);
    const ran = cli.apply([shell("chmod 700 shut; mv a shut/")], [], { env });
    chmodSync(join(cli.workspace, "shut"), 0o700);
    expect([ran.code, treeOf(cli.workspace)]).toEqual([1, { a: "only copy\n", "shut/in": "x\n" }]);
    expect(ran.out + ran.err).toContain("shut/a");
  });
});

describe.if(process.platform === "linux")("where an overlay cannot stand, a copy serves and says why", () => {
  /** A PATH with what jobs need, and the bubblewrap that is given. */
  function path(bwrap: string | null): string {
    const bin = join(cli.folder, "bin");
    mkdirSync(bin);
    for (const tool of [
      "sh",
      "bash",
      "env",
      "find",
      "cat",
      "rm",
      "cp",
      "git",
      "readlink",
      "mount",
      "setpriv",
      "setsid",
      "sleep",
    ]) {
      const found = ["/usr/bin", "/bin"].map((folder) => join(folder, tool)).find(existsSync);
      if (found !== undefined) symlinkSync(found, join(bin, tool));
    }
    if (bwrap !== null) writeFileSync(join(bin, "bwrap"), `#!/bin/sh\n${bwrap}\n`, { mode: 0o755 });
    return bin;
  }
  const notes = (PATH: string) => {
    const ran = cli.apply([shell("echo x > made")], ["--json"], { env: { PATH } });
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
    return (cli.json(ran).notes as string[]).join("\n");
  };

  test("without bubblewrap", () => {
    const PATH = path(null);
    expect(notes(PATH)).toContain("bubblewrap");
    const doctor = cli.run(["doctor"], { env: { PATH } });
    expect(doctor.out).toContain("! bubblewrap");
    expect(doctor.out).toContain("Install bubblewrap");
    expect(doctor.code).toBe(0);
  });

  test.each([
    ["confinement", { PICOCLAW_WORKER_CONFINE: "on" }],
    ["a network that is off", { PICOCLAW_WORKER_NETWORK_MODE: "off" }],
  ])("without bubblewrap, and %s insisted on, doctor fails", (_name, insisted) => {
    const { code, out } = cli.run(["doctor"], { env: { PATH: path(null), ...insisted } });
    expect(code).toBe(1);
    expect(out).toContain("✗ bubblewrap");
    expect(out).toMatch(/✗ Commands are (NOT|limited, not) confined/);
  });

  test("where user namespaces are forbidden: once, and remembered until the machine changes", () => {
    const PATH = path(
      'echo run >> "$0.log"; echo "bwrap: setting up uid map: Permission denied" >&2; exit 1',
    );
    const said = notes(PATH);
    expect(said).toContain("copy");
    expect(said).toContain("user namespaces");
    const [id] = readdirSync(join(cli.home, "workspaces"));
    const memory = JSON.parse(
      readFileSync(join(cli.home, "workspaces", id as string, "no-overlay.json"), "utf8"),
    );
    expect(memory).toMatchObject({ reason: "no-user-namespaces" });
    const tries = readFileSync(join(cli.folder, "bin/bwrap.log"), "utf8").length;
    expect(notes(PATH)).not.toContain("user namespaces");
    const more = readFileSync(join(cli.folder, "bin/bwrap.log"), "utf8").length - tries;
    expect(more).toBeLessThanOrEqual("run\n".length);
    const doctor = cli.run(["doctor"], { env: { PATH } }).out;
    expect(doctor).toContain("AppArmor");
    expect(doctor).toContain("setting up uid map: Permission denied");
    expect(doctor).toMatch(/! Commands are (NOT|limited, not) confined/);
  });

  test.if(here).each([
    ["on", {}],
    [
      "allow_list",
      { PICOCLAW_WORKER_NETWORK_MODE: "allow_list", PICOCLAW_WORKER_NETWORK_ALLOWED_DOMAINS: "example.com" },
    ],
  ])("but not for a mount that went while the first sandbox was made (network: %s)", (_mode, network) => {
    const real = findProgram("bwrap", process.env.PATH ?? "");
    const gone = `echo "bwrap: Can't find source path /mnt/gone: No such file or directory" >&2; exit 1`;
    const bin = path(`[ -e "$0.log" ] || { echo run > "$0.log"; ${gone}; }\nexec ${real} "$@"`);
    const env = { PATH: `${bin}:${process.env.PATH}`, ...network };
    const ran = cli.apply([shell("echo x > made")], ["--json"], { env });
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
    expect(existsSync(join(cli.folder, "bin/bwrap.log"))).toBe(true);
    expect((cli.json(ran).notes as string[]).join("\n")).not.toContain("copy");
    const kept = readdirSync(cli.home, { recursive: true, encoding: "utf8" });
    expect(kept.filter((name) => name.endsWith("no-overlay.json"))).toEqual([]);
    expect(cli.tree()).toEqual({ made: "x\n" });
  });

  /** The processes that still have one of these words among theirs. */
  const left = (...words: string[]) =>
    readdirSync("/proc").filter((pid) => {
      try {
        const line = /^\d+$/.test(pid) ? readFileSync(`/proc/${pid}/cmdline`, "utf8") : "";
        return words.some((word) => line.includes(word));
      } catch {
        return false;
      }
    });

  test("if bubblewrap is killed and leaves a child that waits without end: nothing hangs, no process stays", () => {
    const PATH = path('if [ "$1" = stuck ]; then while :; do :; done; fi; "$0" stuck "$@" & kill -9 $$');
    const began = performance.now();
    expect(notes(PATH)).toContain("copy");
    expect(performance.now() - began).toBeLessThan(120_000);
    expect(left(cli.folder)).toEqual([]);
  });

  const SECONDS = `${process.pid}271828`;
  test.each([
    ["is another program by then", `sleep ${SECONDS} & kill -9 $$`],
    ["is born late", `(sleep 0.2; exec sleep ${SECONDS}) & kill -9 $$`],
    ["has neither environment nor session of it", `env -i setsid sleep ${SECONDS} & kill -9 $$`],
    ["begins again and again", 'if [ "$1" = stuck ]; then sleep 0.02; fi; "$0" stuck "$@" & kill -9 $$'],
    // The time that a start may take passes twice.
    ...(process.env.PICOCLAW_TEST_NIGHTLY
      ? [["is stopped, as it is itself", `sleep ${SECONDS} & kill -STOP $!; kill -STOP $$`]]
      : []),
  ])("if bubblewrap leaves a child that %s: nothing hangs, no process stays", (_name, script) => {
    const PATH = path(script);
    expect(notes(PATH)).toContain("copy");
    expect(left(cli.folder, SECONDS)).toEqual([]);
  });

  test("if bubblewrap leaves a child without any mark of its job: it may stay, and holds up nothing", () => {
    const PATH = path(`bash -c 'ulimit -R unlimited; exec env -i sleep ${SECONDS}' & kill -9 $$`);
    expect(notes(PATH)).toContain("copy");
    for (const pid of left(SECONDS)) process.kill(Number(pid), "SIGKILL");
  });

  test("and where commands must be confined, nothing runs", () => {
    const PATH = path('echo "bwrap: No permissions to create new namespace" >&2; exit 1');
    const env = { PATH, PICOCLAW_WORKER_CONFINE: "on" };
    const ran = cli.apply([shell("echo x > made")], [], { env });
    expect(ran.code).toBe(3);
    expect(ran.err).toContain("No permissions to create new namespace");
    expect(cli.tree()).toEqual({});
    const none = cli.apply([shell("echo x > made")], [], {
      env: { ...env, PATH: PATH.replace(/bin$/, "none") },
    });
    expect(none.code).toBe(3);
  });
});
