import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findWorkerKind, WORKER_KINDS } from "../../../src/infrastructure/heads/kinds/find-kind.ts";
import type { WorkerKind } from "../../../src/infrastructure/heads/kinds/worker-kind.ts";
import { openSandbox, openWorkerExecutor } from "../../../src/lib.ts";
import { requirePart } from "../../require.ts";
import { DOCKER_HOST } from "../containers/real-engine.ts";
import { buildImages, createTaskBench, type TaskBench } from "./task-kit.ts";
import { startWorkerModel, type WorkerModel } from "./worker-model.ts";

const run = (...commands: string[]) => `Do it. [[RUN ${JSON.stringify(commands)}]]`;

/** Points each CLI at the stub, as a user would point it at another server. */
function pointAt(kind: WorkerKind, at: TaskBench, { host }: WorkerModel): Record<string, string> {
  const user = join(at.folder, "user");
  writeFileSync(
    join(at.home, "config.yaml"),
    JSON.stringify({
      command_executor: {
        docker: { host: DOCKER_HOST, network: { external_access: false } },
      },
      providers: { planner: { type: "scripted", script: "planner.json", model: "script", local: true } },
      roles: { coder3: { provider: "planner" } },
    }),
  );
  switch (kind.name) {
    case "codex-cli":
      writeFileSync(
        join(user, ".codex/config.toml"),
        `model = "stub-model"\nmodel_provider = "stub"\n[model_providers.stub]\nname = "stub"\nbase_url = "http://${host}/v1"\nwire_api = "responses"\nenv_key = "CODEX_API_KEY"\nsupports_websockets = false\nrequest_max_retries = 1\nstream_max_retries = 1\n`,
      );
      return {};
    case "claude-code":
      return { ANTHROPIC_BASE_URL: `http://${host}`, ANTHROPIC_API_KEY: "key-of-the-test-1234567" };
    default:
      mkdirSync(join(user, ".gemini"), { recursive: true });
      writeFileSync(
        join(user, ".gemini/settings.json"),
        JSON.stringify({
          general: { enableAutoUpdate: false },
          privacy: { usageStatisticsEnabled: false },
        }),
      );
      return { GOOGLE_GEMINI_BASE_URL: `http://${host}`, GEMINI_API_KEY: "key-of-the-test-1234567" };
  }
}

describe.if(requirePart("docker"))("the real worker CLIs in their images", () => {
  let model: WorkerModel;
  const benches: TaskBench[] = [];
  beforeAll(async () => {
    buildImages(...WORKER_KINDS.map(({ image }) => image));
    model = await startWorkerModel();
  }, 1_800_000);
  afterAll(async () => {
    await model?.stop();
    for (const one of benches) one.end();
  });

  // The CLIs wait most of their time, above all for a server that is not there: the tests wait beside each other.
  const open = (kind: WorkerKind) => {
    const at = createTaskBench("ws", kind);
    benches.push(at);
    return at;
  };

  for (const kind of WORKER_KINDS)
    test.concurrent(`${kind.name} edits, is tested, is reused, and its failures are reported`, async () => {
      const at = open(kind);
      at.write("greet.sh", "echo bye\n");
      at.git("add", ".");
      at.git("commit", "-qm", "first");
      const outside = join(at.folder, "outside.txt");
      const { record } = await at.run({
        id: `real-${kind.image}`,
        workerEnv: pointAt(kind, at, model),
        maxRunTimeSec: 250,
        test: 'test "$(sh greet.sh)" = hello',
        prompts: [
          run(
            "echo echo hello > greet.sh",
            `echo x > ${outside}; echo x > /workspace/outside; echo x > ../escape; touch /var/tmp/marker; true`,
          ),
          run("test -e /var/tmp/marker && echo '# reused' >> greet.sh"),
          "Refuse. [[FAULT 401]]",
          run("kill -9 $PPID"),
        ],
      });
      const runs = record.loops.flatMap((turn) => (turn.run ? [turn.run] : []));
      const [edited, reused, refused, killed] = runs;
      expect([edited?.error, reused?.error], record.end?.summary).toEqual([null, null]);
      expect(edited?.summary).toBe("done");
      // There is no network: the way to the model is the one that adds the key.
      expect([...model.keys]).toEqual(["key-of-the-test-1234567"]);
      expect(edited?.usage.inputTokens).toBeGreaterThan(0);
      expect(edited?.job?.changes).toEqual([{ path: "greet.sh", kind: "modified" }]);
      expect(at.read("greet.sh")).toBe("echo hello\n# reused\n");
      expect(refused?.error).toContain("the key or login is wrong");
      expect(killed?.error).not.toBeNull();
      expect(record.loops.flatMap((turn) => (turn.test ? [turn.test.exitCode] : []))).toEqual(
        Array(4).fill(0),
      );
      expect(record.state).toBe("COMPLETE");
      expect([existsSync(outside), existsSync(join(at.folder, "escape"))]).toEqual([false, false]);
      expect(at.git("status", "--short")).toBe(" M greet.sh\n");
      const gone = await at.run({
        id: `gone-${kind.image}`,
        // A port without a listener.
        workerEnv: pointAt(kind, at, { ...model, host: "host.docker.internal:9" }),
        maxRunTimeSec: 250,
        noMeta: true,
        prompts: ["Nobody hears this."],
      });
      expect(gone.record.end?.summary).toContain(`${kind.name} cannot reach its model's server`);
      const hung = await at.run({
        id: `hung-${kind.image}`,
        workerEnv: pointAt(kind, at, model),
        maxRunTimeSec: 4,
        noMeta: true,
        prompts: ["Wait. [[FAULT hang]]"],
      });
      expect(hung.record.end).toMatchObject({
        code: "worker",
        summary: expect.stringContaining("ended after 4 seconds"),
      });
    }, 1_200_000);

  test.concurrent("the task file of docs/tasks.md runs: Python beside codex, and pytest judges", async () => {
    const at = open(findWorkerKind("codex-cli"));
    at.write("greet.py", "def greet():\n    return 'bye'\n");
    at.write(
      "test_greet.py",
      "from greet import greet\ndef test_greet():\n    assert greet() == 'こんにちは'\n",
    );
    const docs = readFileSync(join(import.meta.dir, "../../../docs/tasks.md"), "utf8");
    const command = /test: \{ command: (.*?) \}/.exec(docs)?.[1] ?? "";
    const task = {
      workerEnv: pointAt(findWorkerKind("codex-cli"), at, model),
      test: command,
      overEnvironment: true,
      noMeta: true,
    };
    const red = await at.run({ ...task, id: "red", prompts: [run("true")] });
    const { end, loops } = red.record;
    expect([end?.code, loops[0]?.test?.output], end?.summary).toEqual([
      "test",
      expect.stringContaining("test_greet"),
    ]);
    const green = await at.run({ ...task, id: "greet", prompts: [run("sed -i s/bye/こんにちは/ greet.py")] });
    expect(green.record.loops[0]?.test).toMatchObject({ exitCode: 0 });
    expect(green.record.state).toBe("COMPLETE");
    const lacking = await at.run({ ...task, id: "lacking", test: "cargo test", prompts: [run("true")] });
    expect(lacking.record.end).toMatchObject({
      code: "cannot-run",
      summary: expect.stringContaining("no cargo"),
    });
    expect(lacking.record.loops).toEqual([]);
  }, 1_200_000);

  test("the library gives programs the worker and its containers", async () => {
    const at = open(findWorkerKind("codex-cli"));
    at.write("setup.py", "");
    const workerEnv = pointAt(findWorkerKind("codex-cli"), at, model);
    const place = { workspace: at.workspace, env: { ...at.env, DOCKER_HOST } };
    const { executor, taskId, close } = await openWorkerExecutor({ ...place, kind: "codex-cli", workerEnv });
    const signal = AbortSignal.timeout(250_000);
    try {
      expect(await executor.start({ signal })).toMatchObject({ ok: true, notes: [] });
      const ran = await executor.runWorker(run("echo print > a.py"), { signal, timeoutMs: 250_000 });
      expect([ran.error, ran.job?.diff]).toEqual([null, expect.stringContaining("+print")]);
      const tested = await executor.runTest(
        { command: "python3 -c 'import a'", cwd: "" },
        { signal, timeoutMs: 250_000 },
      );
      expect(tested.exitCode).toBe(0);
      const sandbox = await openSandbox(place);
      expect(await sandbox.describe()).toMatchObject({ ok: true });
      const found = await sandbox.findContainer(`agent-runner-${taskId}`);
      expect(found).toMatchObject({ ok: true, state: "running" });
      await sandbox.close();
    } finally {
      await close();
    }
  }, 300_000);
});
