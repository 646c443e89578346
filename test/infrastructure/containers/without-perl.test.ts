import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { requirePart } from "../../require.ts";
import { docker, openRealEngine, type RealEngine, specOf } from "./real-engine.ts";

const IMAGE = "picoclaw-test-without-perl:latest";

/** Small images have a shell and no Perl; commands then cost an exec of the engine each. */
describe.if(requirePart("docker"))("an image without Perl", () => {
  let engine: RealEngine;
  let id: string;
  const run = (command: string, options: Parameters<RealEngine["run"]>[2] = {}) =>
    engine.run(id, command, options);

  beforeAll(async () => {
    engine = openRealEngine();
    if (docker("images", "-q", IMAGE) === "") {
      const made = docker("create", engine.image, "rm", "-f", "/usr/bin/perl");
      docker("start", "-a", made);
      docker("commit", "-c", 'CMD ["sh"]', made, IMAGE);
      docker("rm", "-f", made);
    }
    id = (await engine.start({ image: IMAGE })).id;
  }, 300_000);
  afterAll(() => engine?.end());

  test("a command has its streams, its exit code, its folder and its user", async () => {
    const { durationMs: _, ...result } = await run("pwd; id -u; echo err >&2; exit 3");
    expect(result).toEqual({
      outcome: "exited",
      exitCode: 3,
      signal: null,
      stdout: "/workspace/project\n10001\n",
      stderr: "err\n",
      truncatedBytes: 0,
      background: [],
    });
  });

  test("standard input is what was given, or empty", async () => {
    expect((await run("wc -c", { stdin: "x".repeat(300_000) })).stdout.trim()).toBe("300000");
    expect((await run("cat; echo end")).stdout).toBe("end\n");
  });

  test("a folder that is missing or outside is refused", async () => {
    expect((await run("pwd", { cwd: "nope" })).failure?.code).toBe("cwd-missing");
    expect((await run("pwd", { cwd: "/etc" })).failure?.code).toBe("outside");
  });

  test("a time limit ends the whole tree, detached and deaf ones too, and returns what was printed", async () => {
    const result = await run(
      "echo early; (setsid setsid sleep 301 &); env -i sh -c 'trap \"\" TERM; sleep 302; sleep 303' & sleep 304",
      { timeoutMs: 2_000 },
    );
    expect([result.outcome, result.stdout]).toEqual(["timed-out", "early\n"]);
    expect(JSON.stringify(await engine.sandbox.listProcesses(id))).not.toContain("sleep 30");
  });

  test("a daemon does not hold the result", async () => {
    const result = await run("sleep 305 & echo started");
    expect([result.outcome, result.stdout]).toEqual(["exited", "started\n"]);
    const listed = JSON.stringify(await engine.sandbox.listProcesses(id));
    expect(listed).toContain("sleep 305");
  });

  test("long output keeps head and tail", async () => {
    const result = await run("seq 1 200000", { outputLimitBytes: 1000 });
    expect(result.stdout.startsWith("1\n2\n")).toBe(true);
    expect(result.stdout.endsWith("199999\n200000\n")).toBe(true);
  });

  test("a network is refused rather than left open or silently missing", async () => {
    const spec = specOf(IMAGE, { network: { mode: "open", allowedHosts: [] } });
    expect(await engine.sandbox.startContainer(spec)).toMatchObject({ ok: false, code: "no-proxy" });
    expect(docker("ps", "-aq", "--filter", `name=${spec.name}`)).toBe("");
  });
});
