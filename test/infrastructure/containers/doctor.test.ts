import { describe, expect, test } from "bun:test";
import { DEFAULTS } from "../../../src/config/config.ts";
import { messagesFor } from "../../../src/domain/texts/jobs.ts";
import { diagnoseDocker } from "../../../src/infrastructure/containers/diagnose-docker.ts";
import { openEngine } from "../../../src/infrastructure/containers/docker-engine.ts";
import { requirePart } from "../../require.ts";
import { DOCKER_HOST } from "./real-engine.ts";

type Docker = (typeof DEFAULTS)["command_executor"]["docker"];

function diagnose(host: string, enabled: boolean, docker: Partial<Docker> = {}) {
  const executor = DEFAULTS.command_executor;
  const command_executor = { ...executor, enabled, docker: { ...executor.docker, ...docker, host } };
  return diagnoseDocker(openEngine(command_executor.docker, {}), {
    messages: messagesFor("en"),
    config: { ...DEFAULTS, command_executor },
  });
}

describe("doctor, of the engine", () => {
  test("a missing engine is a fault only where environments are switched on, and says what helps", async () => {
    const [check] = await diagnose("unix:///nonexistent/docker.sock", true);
    expect(check).toEqual({
      name: "docker",
      ok: false,
      optional: false,
      text: "Docker: not reachable: unix:///nonexistent/docker.sock: no such socket",
      remedy: "start Docker (systemctl start docker), or set DOCKER_HOST to a running engine",
    });
    expect((await diagnose("tcp://127.0.0.1:1", false))[0]).toMatchObject({ ok: false, optional: true });
    expect((await diagnose("ssh://somewhere", true))[0]?.text).toBe(
      "Docker: ssh://somewhere is not a valid engine address",
    );
  });

  test.if(requirePart("docker"))(
    "a running one is described: version, kernel, what is enforced and what not",
    async () => {
      const checks = await diagnose(DOCKER_HOST, true, { mount_docker_socket: true });
      expect(checks.map(({ name }) => name)).toEqual([
        "docker",
        "docker-kernel",
        "environment-limits",
        "environment-disk",
        "environment-network",
        "environment-hardening",
        "environment-images",
        "docker-socket",
      ]);
      expect(checks.at(-1)?.ok).toBe(false);
      expect(checks[1]?.text).toMatch(/cgroup v[12], storage \S+ on \S+/);
    },
  );
});
