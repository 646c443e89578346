import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ExecResult } from "../../../src/application/ports/containers.ts";
import { requirePart, runs } from "../../require.ts";
import { LIMITS, openRealEngine, type RealEngine } from "./real-engine.ts";

const MIB = 1024 ** 2;

describe.if(requirePart("docker"))("commands in a container", () => {
  let engine: RealEngine;
  let id: string;
  const run = (command: string, options: Parameters<RealEngine["run"]>[2] = {}): Promise<ExecResult> =>
    engine.run(id, command, options);

  beforeAll(async () => {
    engine = openRealEngine();
    id = (await engine.start()).id;
  });
  afterAll(() => engine?.end());

  test("both streams come apart, with the exit code of the shell", async () => {
    const { durationMs, ...result } = await run("echo out; echo err >&2; exit 3");
    expect(result).toEqual({
      outcome: "exited",
      exitCode: 3,
      signal: null,
      stdout: "out\n",
      stderr: "err\n",
      truncatedBytes: 0,
      background: [],
    });
    expect(durationMs).toBeGreaterThanOrEqual(0);
  });

  test("a command starts in the project folder, as an ordinary user without powers", async () => {
    const { stdout } = await run(
      "pwd; id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status",
    );
    expect(stdout.replaceAll("\t", " ").split("\n")).toEqual([
      "/workspace/project",
      "10001",
      "CapEff: 0000000000000000",
      "CapBnd: 0000000000000000",
      "NoNewPrivs: 1",
      "Seccomp: 2",
      "",
    ]);
  });

  test("the workspace can be written and the two folders are there", async () => {
    const { stdout, exitCode } = await run("touch a ../tmp/b && ls -d /workspace/*");
    expect({ stdout, exitCode }).toEqual({ stdout: "/workspace/project\n/workspace/tmp\n", exitCode: 0 });
  });

  test("a reader of standard input finds its end, or what it was given", async () => {
    expect((await run("cat; echo done")).stdout).toBe("done\n");
    const large = "行\n".repeat(400_000);
    expect((await run("wc -c", { stdin: large })).stdout.trim()).toBe(String(Buffer.byteLength(large)));
    expect((await run("head -c 5", { stdin: new Uint8Array(3 * MIB) })).stdout).toBe("\0".repeat(5));
  });

  test("variables come along without being in any record of the engine", async () => {
    expect((await run('echo "$SECRET"', { env: { SECRET: "a=b c" } })).stdout).toBe("a=b c\n");
    expect((await run('echo "[$SECRET]"')).stdout).toBe("[]\n");
  });

  test("a program with its arguments runs without a shell", async () => {
    const result = await engine.sandbox.exec(id, {
      command: ["printf", "%s|", "a b", "$HOME"],
      timeoutMs: 60_000,
      outputLimitBytes: MIB,
    });
    expect(result.stdout).toBe("a b|$HOME|");
  });

  test("a working directory that is missing, outside, or leads outside is refused", async () => {
    await run("ln -sfn /etc /workspace/project/out; mkdir -p sub");
    const code = async (cwd: string) => {
      const result = await run("pwd", { cwd });
      return result.failure?.code ?? result.stdout.trim();
    };
    expect(await code("sub")).toBe("/workspace/project/sub");
    expect(await code("nope")).toBe("cwd-missing");
    expect(await code("/etc")).toBe("outside");
    expect(await code("../../etc")).toBe("outside");
    expect(await code("out")).toBe("outside");
    expect(await code("/workspace2")).toBe("cwd-missing");
  });

  test("a program that is not there says so as a shell does", async () => {
    expect((await run("no-such-program")).exitCode).toBe(127);
    const direct = await engine.sandbox.exec(id, {
      command: ["no-such-program"],
      timeoutMs: 60_000,
      outputLimitBytes: MIB,
    });
    expect([direct.outcome, direct.failure?.code]).toEqual(["not-started", "program-missing"]);
  });

  test("output is passed on as it arrives, in whole characters", async () => {
    const seen: string[] = [];
    const first = Promise.withResolvers<void>();
    const running = run("printf '\\346\\227'; sleep 0.2; printf '\\245本\\n'; cat go; echo end", {
      onOutput: (_, text) => {
        seen.push(text);
        if (text.includes("日本")) first.resolve();
      },
    });
    await first.promise;
    const result = await running;
    expect(seen.join("")).toContain("日本\n");
    expect(seen.every((text) => !text.includes("\ufffd"))).toBe(true);
    expect(result.stdout).toBe("日本\nend\n");
  });

  test("too long an output keeps its head and tail, counts the rest, and does not stop the writer", async () => {
    const result = await run("seq 1 400000; seq 1 3 >&2", { outputLimitBytes: 1000 });
    expect(result.exitCode).toBe(0);
    expect(result.stdout.startsWith("1\n2\n3\n")).toBe(true);
    expect(result.stdout.endsWith("399999\n400000\n")).toBe(true);
    expect(result.stdout).toContain(`[... ${result.truncatedBytes} bytes cut ...]`);
    expect(result.truncatedBytes).toBe(2_688_895 - 1000);
    expect(result.stderr).toBe("1\n2\n3\n");
  });

  test("binary output neither breaks nor stalls the stream", async () => {
    const chunks: Uint8Array[] = [];
    const result = await run("perl -e 'print map { chr } 0..255' ; printf '\\1\\0\\0\\0\\0\\0\\0\\5hello'", {
      onBytes: (_, bytes) => void chunks.push(bytes.slice()),
    });
    expect(result.exitCode).toBe(0);
    const all = Buffer.concat(chunks);
    expect([...all.subarray(0, 256)]).toEqual([...Array(256).keys()]);
    expect(all.subarray(256).toString("latin1")).toBe("\x01\0\0\0\0\0\0\x05hello");
  });

  test("gigabytes of output end in bounded time and memory", async () => {
    const before = process.memoryUsage().rss;
    const gigabytes = Math.min(10, runs(1));
    const result = await run(`head -c ${gigabytes}G /dev/zero`, { timeoutMs: 280_000 });
    expect([result.outcome, result.exitCode]).toEqual(["exited", 0]);
    expect(result.truncatedBytes).toBe(gigabytes * 1024 ** 3 - MIB);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * MIB);
  }, 300_000);

  test("many commands run at once and do not mix", async () => {
    const results = await Promise.all(
      Array.from({ length: 30 }, (_, i) => run(`sleep 0.0${i % 9}; echo ${i}; echo e${i} >&2; exit ${i}`)),
    );
    expect(results.map(({ stdout, stderr, exitCode }) => [stdout, stderr, exitCode])).toEqual(
      results.map((_, i) => [`${i}\n`, `e${i}\n`, i]),
    );
  });

  test("a session keeps folder and exported variables from command to command, also after exit", async () => {
    const options = { session: "one" };
    await run("mkdir -p deep/er; cd deep; export WORD='it''s \"so\"'; exit 4", options);
    expect((await run('echo "$PWD $WORD"', options)).stdout).toBe('/workspace/project/deep its "so"\n');
    const both = await Promise.all([run("cd er; sleep 0.1", options), run("pwd", options)]);
    expect(both[1]?.stdout).toBe("/workspace/project/deep/er\n");
    expect((await run("pwd", { session: "two" })).stdout).toBe("/workspace/project\n");
  });

  describe("at its limits", () => {
    test("a time limit ends the whole tree and returns the output", async () => {
      const result = await run(
        "echo early; (setsid setsid sleep 301 &); env -i sh -c 'trap \"\" TERM; sleep 302; sleep 303' & sleep 304",
        { timeoutMs: 5_000 },
      );
      expect([result.outcome, result.stdout]).toEqual(["timed-out", "early\n"]);
      expect(result.durationMs).toBeLessThan(120_000);
      expect(await engine.sandbox.listProcesses(id)).toEqual([]);
    });

    test("a command that ignores TERM is killed after the grace", async () => {
      const result = await run("trap '' TERM INT HUP; echo deaf; while :; do sleep 0.1; done", {
        timeoutMs: 5_000,
        graceMs: 300,
      });
      expect([result.outcome, result.stdout, result.signal]).toEqual(["timed-out", "deaf\n", "SIGKILL"]);
    });

    test("a command that ends itself on TERM is not killed", async () => {
      const result = await run("trap 'echo bye; exit 7' TERM; while :; do sleep 0.05; done", {
        timeoutMs: 5_000,
        graceMs: 10_000,
      });
      expect([result.outcome, result.stdout, result.exitCode]).toEqual(["timed-out", "bye\n", 7]);
    });

    test("an abort ends the tree like a time limit", async () => {
      const abort = new AbortController();
      const running = run("echo on; sleep 300", {
        signal: abort.signal,
        onOutput: () => abort.abort(),
      });
      expect((await running).outcome).toBe("aborted");
    });

    test("a daemon outlives its command, is listed, continues to write, and can be ended", async () => {
      const left = await run("(while :; do echo tick; sleep 0.01; done) & echo started");
      expect(left.outcome).toBe("exited");
      expect(left.stdout.startsWith("started\n") || left.stdout.includes("tick")).toBe(true);
      expect(left.background.length).toBeGreaterThan(0);
      const daemon = left.background.find(({ command }) => !command.startsWith("sleep"));
      const listed = await engine.sandbox.listProcesses(id);
      expect(listed).toContainEqual(expect.objectContaining({ pid: daemon?.pid }) as never);
      // Its pipe would be full after 64 KiB if it were not read.
      await run("sleep 0.3");
      expect((await run(`kill -0 ${daemon?.pid}`)).exitCode).toBe(0);
      expect(await engine.sandbox.endProcess(id, daemon?.pid ?? 0)).toBe(true);
      expect((await run(`kill -0 ${daemon?.pid}`)).exitCode).not.toBe(0);
      expect(await engine.sandbox.endProcess(id, 99_999)).toBe(false);
    });

    test("running out of memory is named as such, and hits the command alone", async () => {
      const result = await run("perl -e '$x = q(a) x 1e9; sleep 5'; exit $?");
      expect(result.exitCode).toBe(137);
      expect(result.limit).toEqual({ kind: "memory", limitBytes: LIMITS.memoryBytes });
      expect((await run("echo alive")).stdout).toBe("alive\n");
    });

    test("a fork bomb ends at the process limit, and the container works on", async () => {
      // One process is started, and none is needed for the sleep: there may be no room for another.
      const result = await run("bomb() { bomb | bomb & }; bomb & exec sleep 60", { timeoutMs: 3_000 });
      expect(result.outcome).toBe("timed-out");
      expect(result.limit).toEqual({ kind: "processes", limit: LIMITS.pids });
      expect((await run("echo alive")).stdout).toBe("alive\n");
    });

    test("filling the disk is noticed and named", async () => {
      const many = await run("for i in 1 2 3 4 5 6 7 8 9; do head -c 40M /dev/zero >fill$i; done; sleep 60", {
        timeoutMs: 280_000,
      });
      expect(many.limit).toEqual({ kind: "disk", limitBytes: LIMITS.diskBytes });
      await run("rm -f fill*");
      const one = await run("head -c 300M /dev/zero >fill; exit $?");
      expect([one.exitCode, one.limit?.kind]).toEqual([153, "disk"]);
      await run("rm -f fill*");
    }, 300_000);
  });

  test("a command that stops its own watchers is ended by the container's restart, and the files stay", async () => {
    await run("echo kept >kept");
    const result = await run("kill -STOP -1; sleep 60", { timeoutMs: 5_000 });
    expect([result.outcome, result.exitCode]).toEqual(["timed-out", null]);
    expect((await run("cat kept")).stdout).toBe("kept\n");
    expect(engine.warnings.at(-1)).toContain("restarted");
  });

  test("a command that writes into the supervisor's own stream is lost, and no other is misled", async () => {
    const supervisor = "sup=$(cut -d' ' -f4 /proc/$PPID/stat)";
    const forged = `${supervisor}; printf '\\177\\0\\0\\0x\\0\\0\\0\\1' >/proc/$sup/fd/1; sleep 60`;
    const result = await run(forged, { timeoutMs: 120_000 });
    expect([result.outcome, result.exitCode]).toEqual(["disconnected", null]);
    expect((await run("echo back")).stdout).toBe("back\n");
  });

  test("a command that kills its own watchers inside gets an answer, and the next command works", async () => {
    const result = await run("kill -9 -1; sleep 60", { timeoutMs: 120_000 });
    expect(["disconnected", "signaled"]).toContain(result.outcome);
    expect(result.exitCode === 0).toBe(false);
    expect((await run("echo back")).stdout).toBe("back\n");
  });
});
