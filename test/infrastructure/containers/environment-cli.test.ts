import { afterAll, describe, expect, test } from "bun:test";
import { createCli } from "../../e2e/cli-kit.ts";
import { makeTestFolder } from "../../left-behind.ts";
import { requirePart } from "../../require.ts";
import { createEnvironmentKit } from "./environment-kit.ts";
import { DOCKER_HOST, docker, installationOf, removeInstallation } from "./real-engine.ts";

describe.if(requirePart("docker") && requirePart("environment-images"))("picoclaw env", () => {
  const kit = createEnvironmentKit();
  const cli = createCli(makeTestFolder("cli"));
  const env = { DOCKER_HOST };
  const run = (...args: readonly string[]) => cli.run(["env", ...args], { env });
  afterAll(async () => {
    removeInstallation(cli.home);
    await kit.end();
    cli.remove();
  });
  const left = () => {
    const label = `label=picoclaw.installation=${installationOf(cli.home)}`;
    return docker("ps", "-a", "--filter", label, "--format", "{{.Names}}")
      .split("\n")
      .filter((name) => name !== "" && !name.startsWith("picoclaw-proxy"));
  };

  test("a Node.js project: prepared, run, edited, run again, listed and gone", () => {
    const repository = kit.repository({
      "package.json": '{"name":"sum","version":"1.0.0","scripts":{"test":"node --test"}}\n',
      "sum.js": "exports.sum = (a, b) => a - b;\n",
      "sum.test.js":
        "const { test } = require('node:test');\ntest('sum', () => require('node:assert').equal(require('./sum.js').sum(2, 3), 5));\n",
    });
    const prepared = run("prepare", "--task", "t-1", "--repo", repository);
    expect(prepared.err).toBe("");
    expect(prepared.code).toBe(0);
    expect(prepared.out).toContain("Environment ready: coding-agent-exec-t-1\n  environment node");
    expect(prepared.out).toContain("dependencies: 1 of 1 installed");

    const failing = run("exec", "--task", "t-1", "--", "npm", "test");
    expect(failing.code).toBe(1);
    expect(failing.out).toContain("# fail 1");

    const edit = { command: "str_replace", path: "sum.js", old_str: "a - b", new_str: "a + b" };
    const edited = run("edit", "--task", "t-1", JSON.stringify(edit));
    expect([edited.code, cli.json(edited)]).toMatchObject([
      0,
      { status: "success", changes: [{ path: "sum.js" }] },
    ]);
    const passing = run(
      "exec",
      "--task",
      "t-1",
      "--json",
      "--timeout",
      "60",
      "--",
      "npm test >/dev/null; echo $?; pwd",
    );
    expect(cli.json(passing)).toEqual({
      exit_code: 0,
      stdout: "0\n/workspace/project\n",
      stderr: "",
      duration_ms: expect.any(Number) as never,
    });

    const listed = cli.json(run("list", "--json")) as { environments: object[] };
    expect(listed.environments).toMatchObject([
      { task_uuid: "t-1", environment_name: "node", state: "ready", repository },
    ]);
    expect(run("info", "--task", "t-1").out).toMatch(/^workspace_path +\/workspace\/project$/m);
    const { usage } = JSON.parse(run("info", "--task", "t-1", "--json").out) as {
      usage: Record<string, number>;
    };
    expect(Object.keys(usage).length).toBe(7);
    for (const name of ["memory_bytes", "processes", "disk_bytes"]) expect(usage[name]).toBeGreaterThan(0);
    expect(run("prune").out).toBe("0 stale containers removed.\n");
    expect(run("cleanup", "--task", "t-1")).toMatchObject({
      code: 0,
      out: "Removed: coding-agent-exec-t-1\n",
    });
    expect(run("cleanup", "--task", "t-1")).toMatchObject({
      code: 0,
      out: "Nothing to remove: coding-agent-exec-t-1\n",
    });
    expect(left()).toEqual([]);
    expect(run("list").out).toBe("There are no environments.\n");
  }, 300_000);

  const wrong: readonly [args: readonly string[], code: number, said: string][] = [
    [["frob"], 2, "Unknown: env frob"],
    [["exec", "--task", "x"], 2, "No command"],
    [["exec", "--task", "../x", "--", "ls"], 2, "Not a task id"],
    [["exec", "--task", "x", "--timeout", "never", "--", "ls"], 2, "--timeout takes a number of seconds"],
    [["exec", "--", "ls"], 2, "--task is required"],
    [["exec", "--task", "x", "--", "ls"], 3, "There is no environment for task x."],
    [["info", "--task", "x"], 3, "There is no environment for task x."],
    [["edit", "--task", "x", "{"], 2, "not JSON"],
    [["prepare", "--task", "x"], 2, "--repo is required"],
    [["prepare", "--task", "x", "--repo", "/none"], 3, "No such repository: /none"],
    [["prepare", "--task", "x", "--repo", ".", "--env", "cobol"], 2, "Unknown environment: cobol"],
    [["prepare", "--task", "x", "--repo", "git@h:a/b"], 2, "Use the https address"],
    [["prepare", "--task", "x", "--repo", ".", "--branch", "-x"], 2, "--branch"],
  ];
  test.each(wrong)("%j ends with %d", (args, code, said) => {
    const ran = run(...args);
    expect([ran.code, ran.out + ran.err]).toEqual([code, expect.stringContaining(said)] as never);
  });

  test("without an engine it says what helps", () => {
    const ran = cli.run(["env", "list"], { env: { DOCKER_HOST: "unix:///nowhere/docker.sock" } });
    expect(ran.code).toBe(3);
    expect(ran.err).toContain("Start Docker");
    const wrongHost = cli.run(["env", "list"], { env: { DOCKER_HOST: "carrier-pigeon://coop" } });
    expect([wrongHost.code, wrongHost.err]).toEqual([3, expect.stringContaining("carrier-pigeon")] as never);
    const images = cli.run(["images", "build", "python"], {
      env: { DOCKER_HOST: "unix:///nowhere/docker.sock" },
    });
    expect([images.code, images.err]).toEqual([3, expect.stringContaining("Start Docker")] as never);
    expect(cli.run(["images", "build", "cobol"], { env }).code).toBe(2);
    expect(cli.run(["images"], { env }).code).toBe(2);
  });
});
