import { expect, test } from "bun:test";
import { createEnvironmentObserver } from "../../../src/application/containers/observe-environments.ts";
import type { ExecResult, SandboxManager } from "../../../src/application/ports/containers.ts";

const ENDED: ExecResult = {
  outcome: "exited",
  exitCode: 0,
  signal: null,
  stdout: "",
  stderr: "",
  truncatedBytes: 0,
  durationMs: 500,
  background: [],
};

test("containers, clones, commands, timeouts and limits are counted, and each is a line of the log", async () => {
  const lines: [level: string, event: string][] = [];
  const line = (level: string) => (_component: string, _msg: string, event: string) =>
    void lines.push([level, event]);
  const observer = createEnvironmentObserver({
    debug: line("debug"),
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
  });
  const results: ExecResult[] = [
    ENDED,
    { ...ENDED, outcome: "timed-out", exitCode: null },
    { ...ENDED, exitCode: 137, limit: { kind: "memory", limitBytes: 1 } },
  ];
  const sandboxes = observer.sandboxes({
    startContainer: async ({ image }) =>
      image === "bad"
        ? { ok: false, code: "image-missing", detail: "", actor: "operator", retryable: false }
        : { ok: true, id: "1", name: "n", from: "cold", createdAt: "" },
    exec: async () => results.shift() ?? ENDED,
    stopContainer: async () => ({
      removed: true,
      leftovers: [{ kind: "volume", name: "v", reason: "in use" }],
    }),
  } as Partial<SandboxManager> as SandboxManager);
  for (const image of ["good", "bad"]) await sandboxes.startContainer({ name: "n", image } as never);
  for (let i = 0; i < 3; i++)
    await sandboxes.exec("c", { command: "true", timeoutMs: 1, outputLimitBytes: 1 });
  await sandboxes.stopContainer("c");
  const prepare = observer.prepare(async () => ({
    ok: false,
    code: "repository-denied",
    subject: "https://example.org/x",
    detail: "",
  }));
  await prepare({ taskUuid: "t" } as never);
  expect(observer.counts()).toEqual({
    picoclaw_containers_started_total: 1,
    picoclaw_container_start_failures_total: 1,
    picoclaw_containers_removed_total: 1,
    picoclaw_container_leftovers_total: 1,
    picoclaw_environments_prepared_total: 0,
    picoclaw_environment_failures_total: 1,
    picoclaw_clone_failures_total: 1,
    picoclaw_container_commands_total: 3,
    picoclaw_container_command_timeouts_total: 1,
    picoclaw_container_command_limits_total: 1,
    picoclaw_container_command_seconds_total: 1.5,
  });
  expect(lines).toEqual([
    ["info", "environments.container_started"],
    ["error", "environments.container_failed"],
    ["info", "environments.command"],
    ["warn", "environments.command"],
    ["warn", "environments.command"],
    ["warn", "environments.container_removed"],
    ["error", "environments.prepare_failed"],
  ]);
});
