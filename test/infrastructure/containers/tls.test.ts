import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ContainerInfo } from "../../../src/application/ports/containers.ts";
import { openEngine } from "../../../src/infrastructure/containers/docker-engine.ts";
import type { WiredEnvironments } from "../../../src/wiring/environments.ts";
import { DOCKER_TLS, requirePart } from "../../require.ts";
import { createEnvironmentKit, type EnvironmentKit, executor } from "./environment-kit.ts";

describe.if(requirePart("docker-tls") && requirePart("environment-images"))("an engine over TLS", () => {
  let kit: EnvironmentKit;
  let environments: WiredEnvironments;
  let info: ContainerInfo;
  let host: string;
  const signal = AbortSignal.timeout(60_000);

  beforeAll(async () => {
    kit = createEnvironmentKit();
    host = readFileSync(join(DOCKER_TLS, "host"), "utf8").trim();
    environments = await kit.open(executor({ docker: { host } }), {
      DOCKER_TLS_VERIFY: "1",
      DOCKER_CERT_PATH: DOCKER_TLS,
    });
    const repository = kit.repository({ "a.txt": "one\ntwo\n", ".gitignore": "large\n" });
    info = await environments.manager.prepare({ uuid: randomUUID(), repository }, "python");
  }, 300_000);
  afterAll(() => kit?.end());

  const run = (command: string) => environments.manager.executeIn(info, command, null, { byHand: true });

  test("commands run, with their input, and files are read and edited", async () => {
    expect(await run("cat a.txt; exit 3")).toMatchObject({ exit_code: 3, stdout: "one\ntwo\n" });
    const edit = { command: "str_replace", path: "a.txt", old_str: "two", new_str: "three" };
    expect(await environments.callTool(info, "text_editor", edit, signal)).toMatchObject({
      status: "success",
    });
    expect((await run("cat a.txt")).stdout).toBe("one\nthree\n");
    await run("seq 1 400000 > large");
    const view = { command: "view", path: "large", view_range: [399_999, 400_000] };
    expect(JSON.stringify(await environments.callTool(info, "text_editor", view, signal))).toContain(
      "399999",
    );
  });

  test("an engine with an untrusted certificate, and a client that it does not know, get nothing", async () => {
    const folder = join(kit.folder, "certificates");
    const open = (address: string, certificates: string) => {
      const engine = openEngine({ api_timeout: 5, host: address } as never, {
        DOCKER_TLS_VERIFY: "1",
        DOCKER_CERT_PATH: certificates,
      });
      if ("ok" in engine) throw new Error(engine.detail);
      return engine;
    };
    for (const name of ["stranger", "nobody"]) {
      mkdirSync(join(folder, name), { recursive: true });
      cpSync(DOCKER_TLS, join(folder, name), {
        recursive: true,
        filter: (path) => !path.endsWith("-key.pem"),
      });
    }
    // The server's certificate is signed by another; the client shows none.
    const authority = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    const made = spawnSync(
      "openssl",
      [...authority, "-subj", "/CN=other", "-keyout", "k", "-out", "ca.pem"],
      {
        cwd: join(folder, "stranger"),
      },
    );
    expect(made.status).toBe(0);
    for (const file of ["cert.pem", "key.pem"]) rmSync(join(folder, "nobody", file));
    const handlers = { onBytes: () => {}, onClose: () => {} };
    const unknown = [
      open(host, join(folder, "stranger")),
      open(host, join(folder, "nobody")),
      // A name that its certificate does not have.
      open(host.replace("127.0.0.1", "localhost"), DOCKER_TLS),
    ];
    for (const engine of unknown) {
      expect(await engine.call("GET", "/info")).toMatchObject({
        code: "engine-unreachable",
      });
      expect(await engine.attach("none", handlers, signal)).toMatchObject({
        ok: false,
        code: expect.stringMatching(/^(engine-unreachable|disconnected)$/),
      });
    }
    // Where both are who they say, the engine answers: it has no such exec.
    expect(await open(host, DOCKER_TLS).attach("none", handlers, signal)).toMatchObject({
      code: "container-missing",
    });
  });
});
