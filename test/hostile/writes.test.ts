import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { treeOf } from "../contracts/tree.ts";
import { shell } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";
import { type Attempt, CONFINE_OFF, createTarget, type Target } from "./hostile-kit.ts";

/** `free` says what happens without confinement; without it, the line is not safe to show there. */
const WAYS: readonly { name: string; line: string; free?: "writes" }[] = [
  { name: "an absolute path", line: "echo bad > $OUT/kept", free: "writes" },
  { name: "a path upwards", line: "echo bad > ../outside/kept", free: "writes" },
  { name: "a symlink", line: "ln -sfn $OUT way; echo bad > way/kept", free: "writes" },
  { name: "a hard link", line: "ln $OUT/kept also && echo bad > also" },
  { name: "a rename away", line: "mv $OUT/kept stolen && echo bad > $OUT/kept", free: "writes" },
  { name: "a new name", line: "touch $OUT/new && echo bad > $OUT/kept", free: "writes" },
  { name: "a mode", line: "chmod 777 $OUT && echo bad > $OUT/kept", free: "writes" },
  { name: "the root of process 1", line: "echo bad > /proc/1/root$OUT/kept" },
  { name: "the folder of process 1", line: "echo bad > /proc/1/cwd/../outside/kept" },
  { name: "its own root", line: "echo bad > /proc/self/root$OUT/kept", free: "writes" },
  {
    name: "a descriptor of process 1",
    line: "for f in /proc/1/fd/*; do echo bad > $f/../outside/kept; done; false",
  },
  {
    name: "an inherited descriptor",
    line: "for f in /proc/self/fd/*; do [ -d $f/. ] && echo bad > $f/../outside/kept; [ -f $f ] && echo bad > $f; done; false",
  },
  { name: "a bind mount", line: "mkdir -p m && mount --bind $OUT m && echo bad > m/kept" },
  {
    name: "a mount table of its own",
    line: "unshare -rm sh -c 'mount -o remount,rw,bind / / || mount -o remount,rw,bind $OUT $OUT; echo bad > $OUT/kept'",
  },
  {
    name: "an overlay of its own",
    line: "unshare -rm sh -c 'mkdir -p /tmp/u /tmp/w && mount -t overlay o -o lowerdir=/tmp,upperdir=$OUT,workdir=/tmp/w /mnt && echo bad > /mnt/kept'",
  },
  { name: "a change of root", line: "unshare -r chroot / sh -c 'echo bad > $OUT/kept'" },
  { name: "another user", line: "su -s /bin/sh root -c 'echo bad > $OUT/kept' </dev/null" },
  { name: "a device node", line: "mknod disk b $(stat -c '%Hd %Ld' $OUT) && echo bad > disk" },
];

const here = process.platform === "linux" && requirePart("bwrap");

describe.if(here).each(["overlay", "copy"] as const)(
  "what lies outside of a job (%s) is not written by",
  (kind) => {
    let target: Target;
    let attempts: readonly Attempt[];
    let before: unknown;

    beforeAll(() => {
      target = createTarget();
      before = treeOf(target.outside);
      const env = { PICOCLAW_WORKER_TRANSACTION: kind };
      attempts = target.attempt(
        WAYS.map(({ line }) => line),
        { env },
      );
    });
    afterAll(() => target.remove());

    test.each(WAYS.map(({ name }, i) => [name, i] as const))("%s", (_, i) => {
      expect(attempts[i]?.success).toBe(false);
      expect(treeOf(target.outside)).toEqual(before as never);
    });

    test("any of them together: nothing new appears beside the workspace", () => {
      expect(readdirSync(target.folder).sort()).toEqual(["home", "outside", "user", "ws"]);
    });
  },
);

describe.if(here)("without confinement the same line", () => {
  const shown = WAYS.filter(({ free }) => free !== undefined);
  test.each(shown.map(({ name, line }) => [name, line] as const))("by %s writes", (_, line) => {
    const open = createTarget();
    try {
      expect(open.try(line, { env: CONFINE_OFF }).success).toBe(true);
      expect(open.kept()).toBe("bad\n");
    } finally {
      open.remove();
    }
  });
});

test.if(here)("without confinement an overlay works too, over no folder that only root could make", () => {
  const open = createTarget();
  try {
    const ran = open.apply(
      [shell("grep -E ' (/run/picoclaw|/tmp/picoclaw-stage-[^ ]*) ' /proc/self/mountinfo; echo x > made")],
      ["--json"],
      { env: { ...CONFINE_OFF, PICOCLAW_WORKER_TRANSACTION: "overlay" } },
    );
    const { results, notes } = open.json(ran) as { results: { output: string }[]; notes: string[] };
    expect(notes[0]).toStartWith("Transaction: overlay");
    expect(results[0]?.output).toBe("");
  } finally {
    open.remove();
  }
});

describe.if(here)("a job's command", () => {
  let free: Target;
  beforeAll(() => {
    free = createTarget();
  });
  afterAll(() => free.remove());

  test("has no capability, gains none, and sees no process but its own", () => {
    const { said } = free.try("grep -E 'Cap|NoNewPrivs' /proc/self/status; ls -d /proc/[0-9]* | wc -l");
    expect(said).toContain("CapEff:\t0000000000000000");
    expect(said).toContain("CapBnd:\t0000000000000000");
    expect(said).toContain("NoNewPrivs:\t1");
    expect(Number(said.trim().split("\n").at(-1))).toBeLessThan(10);
  });

  test("cannot have more processes than a machine bears", () => {
    if (process.getuid?.() === 0) return;
    // The kernel counts the sandbox's own threads among the job's, of which there are no more than 64.
    expect(Number(free.try("ulimit -u").said)).toBeLessThanOrEqual(8192 + 64);
  });

  test.each([
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/vm/drop_caches",
    "/sys/kernel/uevent_helper",
    "/sys/fs/cgroup/cgroup.procs",
    "/sys/fs/cgroup/unified/cgroup.procs",
    "/etc/passwd",
    "/usr/bin/env",
    "/boot/made",
  ])("cannot open %s for writing", (file) => {
    expect(free.try(`: >> ${file}`).success).toBe(false);
  });

  test("finds no disk, no memory and no other device of the machine", () => {
    const { said } = free.try("find /dev ! -type d ! -type l | sort | xargs");
    // Terminals are an instance of the sandbox's own: none of the machine's is among them.
    expect(said.trim()).toBe("/dev/full /dev/null /dev/pts/ptmx /dev/random /dev/tty /dev/urandom /dev/zero");
  });

  test.each(["umount /run/picoclaw", "umount /tmp", "umount /dev", "umount $HOME", "umount -l /proc"])(
    "cannot take a mask off with a mount table of its own: %s",
    (line) => {
      expect(free.try(`unshare -rm sh -c '${line}'`).success).toBe(false);
    },
  );

  test("reads neither memory nor descriptors nor environment of its executor", () => {
    for (const { success } of free.attempt([
      "head -c1 /proc/1/mem",
      "head -c1 /proc/1/maps",
      "readlink /proc/1/fd/3",
      "cat /proc/1/environ",
      "nsenter -t 1 -m true",
    ]))
      expect(success).toBe(false);
  });

  test("cannot end its executor or a process of the host by force", () => {
    const victim = Bun.spawn(["sleep", "60"]);
    try {
      const [one, all, host, after] = free.attempt([
        "kill -9 1; echo on",
        "kill -9 -1",
        `kill -9 ${victim.pid}; kill -9 $PPID; echo on`,
        "echo still here",
      ]);
      expect(one?.said).toContain("on");
      expect(all?.success).toBe(false);
      expect(host?.said).toContain("on");
      expect(after?.said).toBe("still here\n");
      expect(victim.exitCode).toBeNull();
    } finally {
      victim.kill();
    }
  });

  test("that plants programs in its home is not called by the set-up of the next job", () => {
    const bin = `${free.user}/.local/bin`;
    const env = { PATH: `${bin}:${process.env.PATH}`, HOME: free.user };
    const plant =
      "mkdir -p ~/.local/bin; for p in mount setpriv sh env; do printf '#!/bin/sh\\nid > '$OUT'/planted; touch /tmp/planted; exit 1\\n' > ~/.local/bin/$p; chmod +x ~/.local/bin/$p; done";
    expect(free.try(plant, { env }).success).toBe(true);
    expect(free.try("[ -x ~/.local/bin/mount ] && [ ! -e /tmp/planted ] && echo fine", { env }).said).toBe(
      "fine\n",
    );
    expect(existsSync(`${free.outside}/planted`)).toBe(false);
    expect(existsSync(bin)).toBe(false);
  });

  test("that leaves links in its home makes nothing through them in the next job", () => {
    const { user, outside } = free;
    free.put(`${user}/.config/gh/hosts.yml`, "token");
    free.put(`${user}/.cargo/credentials`, "token");
    const [first] = free.attempt([
      "rm -rf ~/.config ~/.cargo; ln -s $OUT ~/.config; ln -s $OUT/none ~/.cargo",
    ]);
    expect(first?.success).toBe(true);
    expect(free.try("ls -A $OUT; ls ~/.config/gh/hosts.yml").said).not.toContain("token");
    expect(readdirSync(outside)).toEqual(["kept"]);
    expect(free.try("rm ~/.config ~/.cargo; mkdir ~/.config; ls -A ~/.config").success).toBe(true);
    expect(free.try("ls -A ~/.config; cat ~/.config/gh/hosts.yml").said).not.toContain("token");
  });
});
