import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import { requirePart } from "../../require.ts";
import {
  DOCKER_HOST,
  docker,
  expectStarted,
  LIMITS,
  openRealEngine,
  type RealEngine,
  requestOf,
  specOf,
} from "./real-engine.ts";

describe.if(requirePart("docker"))("the life of a container", () => {
  let engine: RealEngine;
  beforeAll(() => {
    engine = openRealEngine();
  });
  afterAll(() => engine?.end());

  const exists = (name: string) => docker("ps", "-aq", "--filter", `name=^/${name}$`) !== "";
  const volumesOf = (id: string) =>
    docker("inspect", "-f", '{{index .Config.Labels "picoclaw.volumes"}}', id).split(",");

  test("the engine says what it is and what it enforces", async () => {
    const facts = await engine.sandbox.describe();
    expect(facts).toMatchObject({ ok: true, host: DOCKER_HOST, seccomp: true });
    if (facts.ok) expect(facts.engineVersion).toBe(docker("version", "-f", "{{.Server.Version}}"));
  });

  test("limits, user and hardening are as requested", async () => {
    const { id, from } = await engine.start();
    expect(from).toBe("cold");
    const host = JSON.parse(docker("inspect", "-f", "{{json .HostConfig}}", id));
    expect(host).toMatchObject({
      NanoCpus: 1e9,
      Memory: LIMITS.memoryBytes,
      MemorySwap: LIMITS.memoryBytes,
      PidsLimit: LIMITS.pids,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      NetworkMode: "none",
      Privileged: false,
    });
    expect(docker("inspect", "-f", "{{.Config.User}}", id)).toBe("10001:10001");
    expect(docker("inspect", "-f", "{{json .Mounts}}", id)).not.toContain("docker.sock");
    await engine.sandbox.stopContainer(id, { force: true });
  });

  test("more cores than the machine has are all of them", async () => {
    const { id } = await engine.start({ limits: { ...LIMITS, cpus: 4096 } });
    const cpus = Number(docker("info", "-f", "{{.NCPU}}"));
    expect(docker("inspect", "-f", "{{.HostConfig.NanoCpus}}", id)).toBe(String(cpus * 1e9));
    await engine.sandbox.stopContainer(id, { force: true });
  });

  test("stopping takes the volumes along, and may be repeated", async () => {
    const { id, name } = await engine.start();
    const volumes = volumesOf(id);
    expect(docker("volume", "ls", "-q", "--filter", `name=${volumes[0]}`)).toBe(volumes[0] ?? "-");
    await engine.run(id, "trap 'touch /workspace/tmp/termed' TERM; sleep 100 & wait", { timeoutMs: 50 });
    expect(await engine.sandbox.stopContainer(id)).toEqual({ removed: true, leftovers: [] });
    expect(exists(name)).toBe(false);
    expect(docker("volume", "ls", "-q", "--filter", `name=${volumes[0]}`)).toBe("");
    expect(await engine.sandbox.stopContainer(id)).toEqual({ removed: true, leftovers: [] });
    const after = await engine.run(id, "true");
    expect([after.outcome, after.failure?.code]).toEqual(["not-started", "container-missing"]);
  });

  test("an own container with the name is removed first; nothing of it is left", async () => {
    const taskId = randomUUID();
    const first = await engine.start({ taskId });
    await engine.run(first.id, "touch remembered");
    const steps: string[] = [];
    const second = expectStarted(
      await engine.sandbox.startContainer(specOf(engine.image, { taskId }), {
        onProgress: ({ step }) => steps.push(step),
      }),
    );
    expect(steps).toEqual(["removing-existing", "creating", "starting"]);
    expect(second.id).not.toBe(first.id);
    expect((await engine.run(second.id, "ls -A")).stdout).toBe("");
    await engine.sandbox.stopContainer(second.id, { force: true });
  });

  test("who lost a task neither removes nor replaces the container of its successor", async () => {
    const taskId = randomUUID();
    const [work, other] = [randomUUID(), engine.another()];
    const specFor = (fence: number) => specOf(engine.image, { taskId, claim: { id: work, fence } });
    const lost = expectStarted(await engine.sandbox.startContainer(specFor(1)));
    const mine = expectStarted(await other.startContainer(specFor(2)));
    expect(
      await engine.sandbox.stopContainer(mine.name, { force: true, claim: { id: work, fence: 1 } }),
    ).toEqual({ removed: false, leftovers: [] });
    expect(await engine.sandbox.startContainer(specFor(1))).toMatchObject({ ok: false, code: "name-taken" });
    expect((await other.exec(mine.id, requestOf("pwd"))).exitCode).toBe(0);
    expect((await engine.run(lost.id, "pwd")).failure?.code).toBe("container-missing");
    expect(await other.stopContainer(mine.name, { force: true, claim: { id: work, fence: 2 } })).toEqual({
      removed: true,
      leftovers: [],
    });
    expect(exists(mine.name)).toBe(false);
  });

  test("another installation's container with the name is left alone", async () => {
    const spec = specOf(engine.image);
    docker("create", "--name", spec.name, engine.image, "true");
    try {
      expect(await engine.sandbox.startContainer(spec)).toMatchObject({ ok: false, code: "name-taken" });
      expect(await engine.sandbox.stopContainer(spec.name)).toMatchObject({ removed: false });
      expect(exists(spec.name)).toBe(true);
    } finally {
      docker("rm", "-f", spec.name);
    }
  });

  test("a missing image is said to be missing, and nothing is made", async () => {
    const spec = specOf("picoclaw-no-such-image:latest");
    expect(await engine.sandbox.startContainer(spec)).toMatchObject({ ok: false, code: "image-missing" });
    expect(exists(spec.name)).toBe(false);
  });

  test("the engine's socket is mounted only when the configuration says so", async () => {
    const spec = specOf(engine.image, { mountDockerSocket: true });
    expect(await engine.sandbox.startContainer(spec)).toMatchObject({ ok: false, code: "not-allowed" });
    const trusting = openRealEngine({ mountDockerSocket: true });
    const { id } = await trusting.start({ mountDockerSocket: true });
    const ask = `perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(q(/var/run/docker.sock)) or die $!; print $s qq(GET /_ping HTTP/1.0\\r\\n\\r\\n); print <$s>'`;
    expect((await trusting.run(id, ask)).stdout).toEndWith("OK");
    await trusting.end();
  });

  test("an abort at any step leaves neither container nor volume", async () => {
    for (const at of ["creating", "starting"] as const) {
      const abort = new AbortController();
      const spec = specOf(engine.image);
      const label = `label=picoclaw.task=${spec.taskId}`;
      const started = await engine.sandbox.startContainer(spec, {
        signal: abort.signal,
        onProgress: ({ step }) => step === at && abort.abort(),
      });
      expect(started).toMatchObject({ ok: false, code: "aborted" });
      expect(docker("ps", "-aq", "--filter", label) + docker("volume", "ls", "-q", "--filter", label)).toBe(
        "",
      );
    }
  });

  test("a container killed from outside ends its command as disconnected, never as success", async () => {
    const { id } = await engine.start();
    const running = engine.run(id, "echo on; sleep 300", { onOutput: () => docker("kill", id) });
    const result = await running;
    expect([result.outcome, result.exitCode, result.stdout]).toEqual(["disconnected", null, "on\n"]);
    const after = await engine.run(id, "true");
    expect([after.outcome, after.failure?.code]).toEqual(["not-started", "container-stopped"]);
    await engine.sandbox.stopContainer(id, { force: true });
  });

  test("an overlay over a folder of the host takes the writes, the folder stays as it is", async () => {
    const folder = docker("info", "-f", "{{.DockerRootDir}}");
    const base = `${folder}/picoclaw-test-${randomUUID()}`;
    const inHost = (script: string) =>
      docker("run", "--rm", "-v", `${folder}:${folder}`, engine.image, "sh", "-c", script);
    inHost(
      `mkdir -p ${base}/lower ${base}/upper ${base}/work && echo old >${base}/lower/a && chown -R 10001:10001 ${base}`,
    );
    try {
      const { id } = await engine.start({
        mounts: [
          {
            kind: "overlay",
            lower: [`${base}/lower`],
            upper: `${base}/upper`,
            work: `${base}/work`,
            target: "/workspace/project",
          },
        ],
      });
      const result = await engine.run(id, "cat a; echo new >a; echo more >b; cat a");
      expect([result.stdout, result.stderr]).toEqual(["old\nnew\n", ""]);
      expect(inHost(`cat ${base}/lower/a ${base}/upper/a ${base}/upper/b; ls ${base}/lower`)).toBe(
        "old\nnew\nmore\na",
      );
      expect(await engine.sandbox.stopContainer(id)).toEqual({ removed: true, leftovers: [] });
    } finally {
      inHost(`rm -rf ${base}`);
    }
  });

  test("an engine that is not there, or not ours to use, is named with what to do about it", async () => {
    const nowhere = openRealEngine({ host: "unix:///nonexistent/docker.sock" });
    expect(await nowhere.sandbox.describe()).toMatchObject({ code: "engine-unreachable", actor: "operator" });
    expect(await nowhere.sandbox.startContainer(specOf("x"))).toMatchObject({ code: "engine-unreachable" });
    await nowhere.end();
    const tcp = openRealEngine({ host: "tcp://127.0.0.1:1" });
    expect(await tcp.sandbox.describe()).toMatchObject({ code: "engine-unreachable" });
    const result = await tcp.sandbox.exec("x", requestOf("true"));
    expect([result.outcome, result.failure?.code]).toEqual(["not-started", "engine-unreachable"]);
    await tcp.end();
  });

  test("an engine over TCP does the same, and a cut connection is a disconnected command", async () => {
    const wire = forwardTcp(DOCKER_HOST.replace("unix://", ""));
    const remote = openRealEngine({ host: `tcp://127.0.0.1:${wire.port}` });
    const { id } = await remote.start();
    expect((await remote.run(id, "cat", { stdin: "over tcp" })).stdout).toBe("over tcp");
    const cut = await remote.run(id, "echo on; sleep 300", { onOutput: () => wire.cut() });
    expect([cut.outcome, cut.exitCode, cut.stdout]).toEqual(["disconnected", null, "on\n"]);
    // That command was abandoned: it was ended inside.
    while (JSON.stringify(await remote.sandbox.listProcesses(id)).includes("sleep 300"));
    expect((await remote.run(id, "echo again")).stdout).toBe("again\n");
    await remote.end();
    wire.stop();
  });

  test("ten tasks at once start, work and end", async () => {
    const small = { ...LIMITS, cpus: 0.5, memoryBytes: 64 * 1024 ** 2 };
    const started = await Promise.all(Array.from({ length: 10 }, () => engine.start({ limits: small })));
    const outputs = await Promise.all(started.map(({ id }, i) => engine.run(id, `echo ${i} >f; cat f`)));
    expect(outputs.map(({ stdout }) => stdout)).toEqual(started.map((_, i) => `${i}\n`));
    const removals = await Promise.all(started.map(({ id }) => engine.sandbox.stopContainer(id)));
    expect(removals.every(({ removed }) => removed)).toBe(true);
  }, 300_000);

  test("another process of this installation finds it, runs in it, and learns its task", async () => {
    const { id, name } = await engine.start({ taskId: randomUUID(), labels: { environment: "python" } });
    const other = engine.another();
    expect(await other.findContainer(name)).toMatchObject({
      id,
      state: "running",
      labels: { "picoclaw.environment": "python" },
    });
    expect((await other.exec(name, requestOf("pwd"))).stdout).toBe("/workspace/project\n");
    const listed = await other.listContainers();
    expect(listed).toContainEqual(expect.objectContaining({ id, name }) as never);
    await engine.sandbox.stopContainer(id, { force: true });
    expect(await other.findContainer(name)).toBeUndefined();
  });
});

/** A port of this machine in front of the engine's socket. */
function forwardTcp(path: string) {
  const pairs = new Set<{ readonly end: () => void }>();
  const listener = Bun.listen<{ back: Promise<Bun.Socket<undefined>> }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(client) {
        const back = Bun.connect<undefined>({
          unix: path,
          socket: {
            data: (_, bytes) => void client.write(bytes),
            close: () => void client.end(),
          },
        });
        client.data = { back };
        const pair = {
          end: () => {
            client.terminate();
            void back.then((engine) => engine.terminate());
          },
        };
        pairs.add(pair);
      },
      data: (client, bytes) => {
        const copy = Buffer.from(bytes);
        void client.data.back.then((engine) => engine.write(copy));
      },
      close: (client) => void client.data.back.then((engine) => engine.end()),
    },
  });
  return {
    port: listener.port,
    cut() {
      for (const pair of pairs) pair.end();
      pairs.clear();
    },
    stop: () => listener.stop(true),
  };
}

describe.if(requirePart("docker"))("the warm pool", () => {
  test("a claimed container is fresh, used once, and keyed by what cannot change", async () => {
    const engine = openRealEngine({ poolSize: 1 });
    try {
      const first = await engine.start();
      expect(first.from).toBe("cold");
      // The pool fills in the background; until it has, a container is made as ever.
      const claim = { id: "work", fence: 2 };
      let second = await engine.start({ claim });
      while (second.from === "cold") {
        await engine.sandbox.stopContainer(second.id, { force: true });
        second = await engine.start({ claim });
      }
      expect([second.from, second.name.startsWith("coding-agent-exec-")]).toEqual(["warm", true]);
      expect((await engine.run(second.id, "ls -A; pwd")).stdout).toBe("/workspace/project\n");
      await engine.sandbox.stopContainer(second.name, { claim: { id: "work", fence: 1 } });
      expect(await engine.sandbox.findContainer(second.name)).toMatchObject({ id: second.id });
      const otherLimits = await engine.start({ limits: { ...LIMITS, pids: 50 } });
      expect(otherLimits.from).toBe("cold");
      const listed = await engine.sandbox.listContainers();
      expect(Array.isArray(listed) && listed.map(({ name }) => name).sort()).toEqual(
        [first.name, second.name, otherLimits.name].sort(),
      );
    } finally {
      await engine.end();
    }
  }, 300_000);
});
