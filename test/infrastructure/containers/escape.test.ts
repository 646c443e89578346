/**
 * Actions that a task's user must not be able to take, tried as that user. The script for each prints one word at the end:
 * anything but what is expected is a way out.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeTestFolder } from "../../left-behind.ts";
import { requirePart } from "../../require.ts";
import { docker, openRealEngine, type RealEngine } from "./real-engine.ts";

const SECRET = `secret-${randomUUID()}`;

/** [what is tried, script, what it prints at the end] */
const ATTEMPTS: readonly (readonly [string, string, string])[] = [
  ["a file of the host is read by its path", 'cat "$HOST_FILE" 2>/dev/null || echo unseen', "unseen"],
  [
    "the host's root is entered by /proc/1/root",
    'cat "/proc/1/root$HOST_FILE" 2>/dev/null || echo unseen',
    "unseen",
  ],
  [
    "the engine's socket is found",
    "find / -xdev -name 'docker.sock' 2>/dev/null | grep . || echo none",
    "none",
  ],
  ["a disk of the host is opened", "find /dev -type b | grep . || echo none", "none"],
  [
    "kernel memory is opened",
    "for f in mem kmem kmsg port; do test -e /dev/$f && echo $f; done; echo none",
    "none",
  ],
  ["a device is made", "mknod /workspace/tmp/disk b 8 0 2>/dev/null && echo made || echo refused", "refused"],
  [
    "root is gained by a setuid program",
    "su -c id root </dev/null >/dev/null 2>&1 && echo root || echo refused",
    "refused",
  ],
  [
    "root is gained by a setuid copy",
    "cp /usr/bin/id /workspace/tmp/i && chmod 6755 /workspace/tmp/i && /workspace/tmp/i -u",
    "10001",
  ],
  [
    "powers are gained in a user namespace",
    "unshare -Ur true 2>/dev/null && echo gained || echo refused",
    "refused",
  ],
  [
    "something is mounted",
    "mount -t tmpfs none /workspace/tmp 2>/dev/null && echo mounted || echo refused",
    "refused",
  ],
  [
    "a raw socket is opened",
    "perl -MSocket -e 'print socket(S, PF_INET, SOCK_RAW, 1) ? q(opened) : q(refused)'",
    "refused",
  ],
  [
    "a packet socket is opened",
    "perl -e 'print socket(S, 17, 3, 0x300) ? q(opened) : q(refused)'",
    "refused",
  ],
  ["the first process is killed", "kill -9 1; sleep 0.1; test -d /proc/1 && echo stays", "stays"],
  [
    "a limit is raised",
    "(ulimit -f unlimited) 2>/dev/null && echo raised; for f in /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max; do (echo 9999 >$f) 2>/dev/null && echo raised; done; echo kept",
    "kept",
  ],
  [
    "the kernel is changed",
    "for f in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /sys/kernel/uevent_helper /proc/self/oom_score_adj; do (echo -1 >$f) 2>/dev/null && echo written; done; echo kept",
    "kept",
  ],
  [
    "tracing programs are loaded",
    "perl -e 'print syscall(321, 5, 0, 0) < 0 ? q(refused) : q(loaded)'",
    "refused",
  ],
  [
    "the key ring of the host is read",
    "perl -e 'print syscall(250, 0, -3, 0) < 0 ? q(refused) : q(read)'",
    "refused",
  ],
  [
    "the way to the proxy is taken over",
    "rm -f /run/picoclaw-proxy/proxy.sock 2>/dev/null; test -S /run/picoclaw-proxy/proxy.sock && echo stays",
    "stays",
  ],
  [
    "files of root are changed",
    "(echo x >>/etc/passwd) 2>/dev/null && echo changed || echo refused",
    "refused",
  ],
  ["a core of a process is written", "ulimit -c", "0"],
];

describe.if(requirePart("docker"))("from inside a task's container", () => {
  let engine: RealEngine;
  let id: string;
  const folder = makeTestFolder("escape");
  const hostFile = join(folder, "host-file");

  beforeAll(async () => {
    writeFileSync(hostFile, SECRET);
    process.env.PICOCLAW_ESCAPE_SECRET = SECRET;
    engine = openRealEngine();
    id = (await engine.start({ network: { mode: "open", allowedHosts: [] } })).id;
  }, 300_000);
  afterAll(async () => {
    delete process.env.PICOCLAW_ESCAPE_SECRET;
    rmSync(folder, { recursive: true, force: true });
    await engine?.end();
  });

  test.each(ATTEMPTS.map((attempt) => [...attempt] as const))(
    "it fails that %s",
    async (_, script, expected) => {
      const { stdout } = await engine.run(id, script, { env: { HOST_FILE: hostFile } });
      expect(stdout.trim().split("\n").at(-1)).toBe(expected);
      expect(stdout).not.toContain(SECRET);
    },
  );

  test("no environment and no argument of any process holds a secret of ours", async () => {
    await engine.run(id, "true", { env: { TOKEN: SECRET } });
    const { stdout } = await engine.run(
      id,
      "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'",
    );
    expect(stdout).toContain("NODE_USE_ENV_PROXY=1");
    expect(stdout).not.toContain(SECRET);
    expect(docker("inspect", id)).not.toContain(SECRET);
  });

  test("another task's servers and files are out of reach", async () => {
    const other = await engine.start({ network: { mode: "open", allowedHosts: [] } });
    const server = `perl -MSocket -e 'socket(S,PF_INET,SOCK_STREAM,0); bind(S,sockaddr_in(8081,INADDR_ANY)); listen(S,1); accept(C,S)' & echo ${SECRET} >mine`;
    await engine.run(other.id, server);
    const tried = await engine.run(
      id,
      "bash -c 'exec 3<>/dev/tcp/127.0.0.1/8081' 2>&1; ls -A /workspace/project; cat /proc/*/cmdline | tr '\\0' ' ' | grep -c 8081,INADDR",
    );
    expect(tried.stdout).toContain("refused");
    expect(tried.stdout).not.toContain("mine");
    await engine.sandbox.stopContainer(other.id, { force: true });
  });
});
