import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { shell } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";
import { CONFINE_OFF, createTarget, type Target } from "./hostile-kit.ts";
import { hasExactRooms, openLittleMemory, openLittleRoom } from "./little-room.ts";

let target: Target;
beforeEach(() => {
  target = createTarget();
});
afterEach(() => target.remove());

const limit = (name: string, value: string) => ({ [`PICOCLAW_WORKER_LIMITS_${name}`]: value });
/** Writes 4 MiB at a time until it is ended; ending by itself would be a failure. */
const filling = (file: string) =>
  `i=0; while [ $i -lt 400 ]; do head -c 4194304 /dev/zero >> ${file.replace("$N", "$i")}; i=$((i+1)); sleep 0.02; done`;

describe.if(process.platform === "linux" && requirePart("bwrap"))("a job", () => {
  test.each([
    ["one file (overlay)", filling("big"), {}],
    ["many files (overlay)", filling("f$N"), {}],
    ["one file (copy)", filling("big"), { PICOCLAW_WORKER_TRANSACTION: "copy" }],
  ])("that fills the disk with %s is ended at its limit, and nothing of it stays", (_, line, env) => {
    target.write("kept", "kept");
    const ran = target.apply([shell(line)], [], { env: { ...limit("DISK", "32MiB"), ...env } });
    expect(ran.code).toBe(1);
    expect(ran.err + ran.out).toMatch(
      /The changes of the job took \d+\.?\d* MiB of disk, more than worker\.limits\.disk \(32(\.0)? MiB\)/,
    );
    expect(ran.err + ran.out).toMatch(/Nothing of #\d+ was applied/);
    expect(target.tree()).toEqual({ kept: "kept" });
    const left = spawnSync("du", ["-sk", target.home], { encoding: "utf8" }).stdout;
    expect(Number(left.split("\t")[0])).toBeLessThan(4000);
    expect(target.try("echo on").said).toBe("on\n");
    expect(target.run(["doctor"]).out).not.toContain("✗");
  });

  test("that fills its private home is ended too, and the home is emptied", () => {
    const ran = target.apply([shell(filling("~/big"))], [], { env: limit("DISK", "32MiB") });
    expect(ran.code).toBe(1);
    expect(ran.err + ran.out).toContain("The private home of the job took");
    expect(target.try("ls ~").said).not.toContain("big");
    expect(existsSync(join(target.user, "big"))).toBe(false);
  });

  test("may write a sparse file that is larger than its disk", () => {
    const { success } = target.try("truncate -s 5G sparse; sleep 0.6; rm sparse", {
      env: limit("DISK", "32MiB"),
    });
    expect(success).toBe(true);
  });

  const notes = (line: string, env: Record<string, string>) => {
    const ran = target.apply([shell(line)], ["--json"], { env });
    const [result] = (
      target.json(ran) as { results: { success: boolean; output: string; notes?: string[] }[] }
    ).results;
    return { ...result, notes: result?.notes ?? [] };
  };

  test("writes no file larger than it may, and cannot lift that", () => {
    const env = limit("FILE_SIZE", "100KiB");
    const { success, notes: told } = notes(
      "ulimit -f unlimited 2>/dev/null; head -c 5000000 /dev/zero > f",
      env,
    );
    expect(success).toBe(false);
    expect(told.join()).toContain("worker.limits.file_size (100");
    expect(notes("head -c 90000 /dev/zero > f", env).success).toBe(true);
    const big = { type: "file_edit", action: "create", target: "big", content: "x".repeat(200_000) };
    const ran = target.apply([big, shell("echo still here")], ["--json"], { env });
    const { results } = target.json(ran) as { results: { success: boolean; output: string }[] };
    expect(results.map(({ success: ok }) => ok)).toEqual([false, true]);
  });

  test("gives a process no more memory than it may, and programs that reserve much still start", () => {
    const env = limit("MEMORY", "1GiB");
    const { success, notes: told } = notes("python3 -c 'x = b\"a\" * (1 << 31)'", env);
    expect(success).toBe(false);
    expect(told.join()).toContain("worker.limits.memory (1");
    for (const line of [
      `${process.execPath} -e 'console.log(1)'`,
      "python3 -c 'print(1)'",
      "node -e 'console.log(1)'",
    ])
      expect(notes(line, env)).toMatchObject({ success: true, output: "1\n" });
  });

  test("holds no more files open than it may", () => {
    const line = "python3 -c 'a=[open(\"/dev/null\") for _ in range(200)]'";
    const { success, notes: told } = notes(line, limit("OPEN_FILES", "64"));
    expect(success).toBe(false);
    expect(told.join()).toContain("worker.limits.open_files (64)");
  });

  test("starts no more processes than it may, and is ended where it tries", () => {
    const line = "for i in $(seq 100); do sleep 60 & done; wait";
    const ran = target.apply([shell(line)], [], { env: limit("PROCESSES", "40") });
    expect(ran.err).toContain(
      "The job started more processes than worker.limits.processes allows (40), so it was ended.",
    );
    expect(ran.err).toMatch(/Nothing of #\d+ was applied/);
    expect(ran.code).toBe(1);
  });

  test("is what the kernel ends first when memory runs out", () => {
    expect(target.try("cat /proc/self/oom_score_adj").said).toBe("500\n");
  });
});

const BOMB = "bomb() { bomb | bomb & }; bomb; sleep 100";
const PLACES: readonly [string, Record<string, string>, boolean][] = [
  ["in a sandbox", {}, true],
  ["in a copy without one", { ...CONFINE_OFF, PICOCLAW_WORKER_TRANSACTION: "copy" }, false],
  ["in the workspace itself", { ...CONFINE_OFF, PICOCLAW_WORKER_TRANSACTION: "none" }, false],
];

const MIB = 1024 * 1024;
const littleMemory = process.platform === "linux" ? openLittleMemory(400 * MIB) : null;
afterAll(() => littleMemory?.close());

test.if(littleMemory !== null && requirePart("bwrap"))(
  "a job that uses up the memory around the program is told so",
  () => {
    const line = "dd if=/dev/zero of=/dev/shm/big bs=1M count=800; echo on";
    const ran = target.run(["apply"], {
      program: littleMemory?.program ?? "",
      input: JSON.stringify([shell(line)]),
    });
    expect(ran.err).toContain("Memory ran out while the job ran, and the system ended the job.");
    expect(ran.err).toMatch(/Nothing of #\d+ was applied/);
    expect(ran.code).toBe(1);
  },
);

describe.if(process.platform === "linux" && requirePart("bwrap"))("where few processes are left", () => {
  test.each(PLACES)(
    "a fork bomb %s ends its job, with words, and never the program",
    (_, env, isSandboxed) => {
      const room = openLittleRoom(400);
      const ran = target.run(["apply"], {
        env,
        program: room.program,
        input: JSON.stringify([shell(BOMB)]),
      });
      room.close();
      expect(ran.err + ran.out).not.toContain("panic");
      expect(ran.err + ran.out).toMatch(
        isSandboxed
          ? /The job started more than the \d+ processes that are available to it here, so it was ended/
          : /the job started more processes than the \d+ it may have here \(worker\.limits\.processes: 8192\)/,
      );
      expect(ran.code).toBe(1);
      expect(target.try("echo on").said).toBe("on\n");
    },
  );

  test.if(hasExactRooms)("a command still runs with a few, and is refused in words with none", () => {
    const few = openLittleRoom(60);
    const ran = target.run(["apply"], { program: few.program, input: JSON.stringify([shell("echo on")]) });
    few.close();
    expect(ran.code).toBe(0);
    const none = openLittleRoom(12);
    const refused = target.run(["apply"], {
      program: none.program,
      input: JSON.stringify([shell("echo on")]),
    });
    none.close();
    expect(refused.err + refused.out).toMatch(
      /Only \d+ more process(es)? can be started here, too few to run commands/,
    );
    expect(refused.code).toBe(3);
    expect(target.try("echo on").said).toBe("on\n");
  });
});
