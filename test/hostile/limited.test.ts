import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chownSync, existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { LEAST_ABI, landlockAbi } from "../../src/infrastructure/platform/landlock.ts";
import { shell } from "../e2e/cli-kit.ts";
import { isRunning } from "../infrastructure/sandbox/process-kit.ts";
import { backwards, CONFINE_OFF, createTarget, type Target } from "./hostile-kit.ts";

const SECRET = "do-not-read-me-4b7d";

let target: Target;
/** A machine without bubblewrap: all of its programs but that. */
let PATH: string;

describe.if(landlockAbi() >= LEAST_ABI)("without bubblewrap a job's command", () => {
  beforeAll(() => {
    target = createTarget();
    PATH = join(target.folder, "programs");
    mkdirSync(PATH);
    for (const name of readdirSync("/usr/bin"))
      if (name !== "bwrap") symlinkSync(join("/usr/bin", name), join(PATH, name));
    target.put(join(target.user, ".bashrc"), `${SECRET}\n`);
    target.put(join(target.user, ".gitconfig"), "[user]\n\tname = me\n");
    target.put(join(target.outside, "secret"), `${SECRET}\n`);
  });
  afterAll(() => target.remove());
  const env = () => ({ PATH });

  test("writes nothing outside of its view, a private home and a private TMPDIR", () => {
    const lines = [
      "/bin/sh -c 'echo x > $OUT/new'",
      "/bin/sh -c 'echo x > $OUT/kept'",
      "/bin/sh -c ': > $OUT/kept'",
      "/bin/rm $OUT/kept",
      "/bin/ln -s x $OUT/link",
      `/bin/sh -c 'echo x > ${target.workspace}/past-the-view'`,
      "/bin/sh -c 'echo x > /tmp/picoclaw-limited-test'",
      "/bin/sh -c 'echo x > /dev/shm/picoclaw-limited-test'",
    ];
    for (const { success } of target.attempt(lines, { env: env() })) expect(success).toBe(false);
    expect(target.kept()).toBe("kept\n");
    expect(readdirSync(target.outside).sort()).toEqual(["kept", "secret"]);
    expect(existsSync("/tmp/picoclaw-limited-test")).toBe(false);
    const fine = target.attempt(
      ["echo x > made", "echo x > ~/mine", "echo x > $TMPDIR/mine", "echo x > /dev/null"],
      {
        env: env(),
      },
    );
    expect(fine.map(({ success, said }) => (success ? "" : said))).toEqual(["", "", "", ""]);
    expect(target.read("made")).toBe("x\n");
    expect(existsSync(join(target.user, "mine"))).toBe(false);
  });

  test("reads neither the home nor other folders, and finds git's settings", () => {
    const read = ["rev < $OUT/secret", `rev < ${target.user}/.bashrc`, "rev < ~/.bashrc"];
    for (const { success, said } of target.attempt(read, { env: env() })) {
      expect(success).toBe(false);
      expect(said).not.toContain(backwards(SECRET));
    }
    expect(target.try("git config user.name", { env: env() }).said).toContain("me");
  });

  test.if(process.getuid?.() === 0)("reads, as root, nothing that only root may read", () => {
    expect(target.try("cat /etc/shadow; true", { env: env() }).said).not.toContain(":/bin");
    expect(target.try("cat /etc/shadow", { env: env() }).success).toBe(false);
  });

  test("reads no environment of another process, PicoClaw's own included", () => {
    const read = `for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; done 2> /dev/null | grep -a MY_OWN_KEY= | rev; true`;
    const { said } = target.try(read, { env: { ...env(), MY_OWN_KEY: SECRET } });
    expect(said).not.toContain(backwards(SECRET));
  });

  test("changes neither the priority nor the limits of a process that it did not start", () => {
    const other = Bun.spawn(["sleep", "300"]);
    try {
      for (const line of [
        `renice -n 5 -p ${other.pid}`,
        "renice -n 5 -u $(id -u)",
        `prlimit --pid ${other.pid} --nofile=16:16`,
        `ionice -c 3 -p ${other.pid}`,
      ])
        expect({ line, success: target.try(line, { env: env() }).success }).toEqual({ line, success: false });
      expect(
        target.try("nice -n 5 true && ionice -c 3 true && bash -c 'ulimit -n 64'", { env: env() }).success,
      ).toBe(true);
    } finally {
      other.kill();
    }
  });

  test.if(process.getuid?.() === 0)("has, as root, no power over the machine", () => {
    target.put(join(target.workspace, "mine"), "mine\n");
    for (const line of [
      "chown 65534 $OUT/kept",
      "chown 65534 mine",
      "mknod device b 7 0",
      "mount -t tmpfs none .",
      "unshare --mount true",
      "hostname other",
      "setpriv --reuid 65534 true",
      "dmesg",
    ])
      expect({ line, success: target.try(line, { env: env() }).success }).toEqual({ line, success: false });
    expect(target.try("grep CapEff /proc/self/status", { env: env() }).said).toContain("0000000000000002");
  });

  test.if(process.getuid?.() === 0)("changes, as root, files of another user in its own folder", () => {
    target.put(join(target.workspace, "theirs"), "theirs\n");
    chownSync(join(target.workspace, "theirs"), 65_534, 65_534);
    expect(target.try("echo more >> theirs", { env: env() }).success).toBe(true);
    expect(target.read("theirs")).toBe("theirs\nmore\n");
  });

  test("is limited, not confined, and that is said by doctor and by the first job", () => {
    const fresh = createTarget();
    try {
      const first = fresh.apply([shell("true")], [], { env: { ...env(), LANG: "C" } });
      expect(first.out).toContain("limited, not confined");
      expect(fresh.apply([shell("true")], [], { env: { ...env(), LANG: "C" } }).out).not.toContain(
        "limited, not",
      );
      const doctor = fresh.run(["doctor"], { env: { ...env(), LANG: "C" } });
      expect(doctor.out).toContain("limited, not confined");
      expect(doctor.out).not.toContain("NOT confined");
    } finally {
      fresh.remove();
    }
  });

  test("does not run where confinement is insisted on", () => {
    const insisted = { ...env(), PICOCLAW_WORKER_CONFINE: "on" };
    expect(target.apply([shell("echo x > ran")], [], { env: insisted }).code).not.toBe(0);
    expect(existsSync(join(target.workspace, "ran"))).toBe(false);
  });
});

/** Everything a process can take off: its limits, its environment, its session, its parent, the right to look into it. */
const DAEMON = [
  "rm -f daemon shell; cp /bin/sh shell; chmod 111 shell; echo first > kept-open",
  `(env -i prlimit --rttime=$LIMIT setsid -f ./shell -c 'echo $$ > daemon; exec 9>>kept-open; while :; do echo late >&9; /bin/sleep 0.02; done' </dev/null >/dev/null 2>&1)`,
  "while [ ! -s daemon ]; do sleep 0.01; done",
].join("\n");

describe("without bubblewrap nothing of a job is left when it is sealed", () => {
  let place: Target;
  let programs: string;
  beforeAll(() => {
    place = createTarget();
    programs = join(place.folder, "programs");
    mkdirSync(programs);
    for (const name of readdirSync("/usr/bin"))
      if (name !== "bwrap") symlinkSync(join("/usr/bin", name), join(programs, name));
  });
  afterAll(() => place.remove());

  const anothersTag = String((0x5cn << 54n) | (0x1234n << 22n));
  const kinds: readonly [string, Record<string, string>, string][] = [
    ["limited, limits lowered", {}, "1000000"],
    ["limited, with the tag of a job that there is not", {}, anothersTag],
    ["not limited, limits lowered", CONFINE_OFF, "1000000"],
    ["not limited, with the tag of a job that there is not", CONFINE_OFF, anothersTag],
  ];
  test.each(kinds)("a daemon that took off every mark: %s", (_name, more, limit) => {
    const env = { PATH: programs, LIMIT: limit, PICOCLAW_WORKER_ENV_PASS: "LIMIT", ...more };
    const ran = place.apply([shell(DAEMON)], [], { env: { ...env, LANG: "C" } });
    expect(`${ran.out}${ran.err}`).toContain("Applied");
    const pid = Number(place.read("daemon"));
    expect(isRunning(pid)).toBe(false);
    const then = place.read("kept-open");
    expect(then).toStartWith("first\n");
    Bun.sleepSync(100);
    expect(place.read("kept-open")).toBe(then);
  });

  test.each([
    ["limited", {}],
    ["not limited", CONFINE_OFF],
  ])("a process that does nothing but start its successor and end: %s", (_name, more) => {
    const chain = '[ "$1" -lt 20000 ] || exit\necho $$ >> flown\n"$0" $(($1 + 1)) &\n';
    const lines = [
      `printf '#!/bin/sh\n%s' '${chain}' > chain; chmod 755 chain; rm -f flown`,
      "(env -i prlimit --rttime=1000000 setsid -f ./chain 0 </dev/null >/dev/null 2>&1)",
      'while [ "$(wc -l < flown 2>/dev/null || echo 0)" -lt 20 ]; do sleep 0.01; done',
    ].join("\n");
    const ran = place.apply([shell(lines)], [], { env: { PATH: programs, LANG: "C", ...more } });
    if (ran.code !== 0) {
      expect(`${ran.out}${ran.err}`).toContain("could not be ended");
      return;
    }
    const then = place.read("flown");
    Bun.sleepSync(200);
    expect(place.read("flown")).toBe(then);
  });
});
