import { afterAll, describe, expect, test } from "bun:test";
import { createCli } from "./cli-kit.ts";

const cli = createCli();
afterAll(() => cli.remove());

const TASK =
  "version: 1\ntask:\n  id: t1\n  prd: { text: Say hello }\nrunner:\n  worker: { kind: codex-cli, env: { KEY: 'env:HOST_KEY' } }\n";
const UNNAMED = TASK.replace(/kind: codex-cli.* \} \}/, "}");
const nowhere = {
  PICOCLAW_COMMAND_EXECUTOR_DOCKER_HOST: "unix:///nowhere/docker.sock",
  HOST_KEY: "secret-of-the-host",
};

describe("picoclaw run, before anything starts", () => {
  test.each([
    [[], "", 2, /no task file/],
    [["missing.yaml"], "", 2, /Not found: missing\.yaml/],
    [["-"], "version: 2\n", 2, /stdin:1:1: version cannot be 2; expected 1/],
    [["-"], TASK.replace("prd:", "prdd:"), 2, /stdin:4:3: .*task\.prdd.*task\.prd/s],
    [["-"], TASK, 2, /stdin:6:\d+: runner\.worker\.env\.KEY .*HOST_KEY/],
    [
      ["-"],
      TASK.replace("{ text: Say hello }", "{ path: none.md }").replace("env:HOST_KEY", "x"),
      2,
      /task\.prd\.path cannot be read: none\.md/,
    ],
    [["-"], UNNAMED, 2, /no worker: name one in runner\.worker\.kind, or set roles\.coder\.head/],
    [["-", "--preview"], TASK, 2, /--preview needs --no-meta/],
    [["--resume", "nope"], "", 2, /there is no task nope/],
    [["--resume", "../../x"], "", 2, /there is no task/],
    [["a", "b"], "", 2, /b/],
  ])("%j with %j ends with %i", (args, input, code, text) => {
    const extra = args.includes("--resume") || input === TASK ? [] : ["--no-meta"];
    const ran = cli.run(["run", ...args, ...extra], { input });
    expect([ran.code, ran.err]).toEqual([code, expect.stringMatching(text)]);
  });

  test("Docker that does not run is one sentence with the remedy, and exit 3", () => {
    const ran = cli.run(["run", "-", "--no-meta"], { input: TASK, env: nowhere });
    expect(ran.code).toBe(3);
    expect(ran.err).toContain("Docker does not answer at unix:///nowhere/docker.sock: start it");
    expect(cli.read(".picoclaw/task-t1.md")).toContain("FAILED");
    expect(cli.read(".picoclaw/task-t1.json")).not.toContain("secret-of-the-host");
    expect(cli.read(".picoclaw/.gitignore")).toBe("*\n");
  });

  test("without a planning model it says so, and that one can do without", () => {
    const ran = cli.run(["run", "-"], { input: TASK, env: nowhere });
    expect([ran.code, ran.err]).toEqual([3, expect.stringMatching(/no planning model: .*--no-meta/s)]);
  });

  test("a worker without credentials is refused with the way to get them", () => {
    const bare = TASK.replace(", env: { KEY: 'env:HOST_KEY' }", "");
    const ran = cli.run(["run", "-", "--no-meta"], { input: bare });
    expect([ran.code, ran.err]).toEqual([
      3,
      expect.stringMatching(/codex-cli has no credentials here: .*CODEX_API_KEY/),
    ]);
  });

  test("where the task file names no worker, the user's own head works, if it can work in a container", () => {
    const own = (head: string) =>
      cli.run(["run", "-", "--no-meta"], { input: UNNAMED, env: { PICOCLAW_ROLES_CODER_HEAD: head } });
    expect([own("claude-code").code, own("claude-code").err]).toEqual([
      3,
      expect.stringMatching(/claude-code has no credentials here/),
    ]);
    expect([own("acp").code, own("acp").err]).toEqual([
      2,
      expect.stringMatching(/acp .*does not work in containers/),
    ]);
  });

  test("--json is one document", () => {
    const ran = cli.run(["run", "-", "--no-meta", "--json"], { input: TASK, env: nowhere });
    expect(JSON.parse(ran.out)).toMatchObject({ id: "t1", state: "FAILED", failure: "engine", turns: [] });
    const bad = cli.run(["run", "-", "--json"], { input: "version: 2\n" });
    expect(JSON.parse(bad.out)).toMatchObject({ success: false, error: { code: "task-file" } });
  });

  test("--print-schema is JSON Schema", () => {
    const ran = cli.run(["run", "--print-schema"]);
    expect(JSON.parse(ran.out)).toMatchObject({ type: "object", required: ["version", "task", "runner"] });
  });
});
