import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import { requirePart } from "../../require.ts";
import {
  docker,
  expectStarted,
  installationOf,
  openRealEngine,
  type RealEngine,
  specOf,
} from "./real-engine.ts";

const HOUR = 3_600_000;

describe.if(requirePart("docker"))("what is left behind", () => {
  let engine: RealEngine;
  beforeAll(() => {
    engine = openRealEngine();
  });
  afterAll(() => engine?.end());

  const exists = (name: string) => docker("ps", "-aq", "--filter", `name=^/${name}$`) !== "";
  const processes = async (id: string) => JSON.stringify(await engine.sandbox.listProcesses(id));
  const killed = async (what: "prepare" | "command" | "detached") => {
    const child = Bun.spawn({
      cmd: [process.execPath, `${import.meta.dir}/owner-child.ts`, engine.home, what],
      stdout: "pipe",
      env: { ...process.env },
    });
    const { value } = await child.stdout.getReader().read();
    const container = new TextDecoder().decode(value).trim();
    if (what === "command") while (!(await processes(container)).includes("555"));
    const before = await engine.sandbox.cleanupStaleContainers({ thresholdMs: 24 * HOUR });
    expect(before).toMatchObject({ ok: true, containers: [] });
    child.kill("SIGKILL");
    await child.exited;
    return container;
  };

  test("killed while it prepared: the next clean-up removes it, and not before its owner is dead", async () => {
    const name = await killed("prepare");
    expect(exists(name)).toBe(true);
    const cleaned = await engine.sandbox.cleanupStaleContainers({ thresholdMs: 24 * HOUR });
    expect(cleaned).toMatchObject({ ok: true, containers: [name], leftovers: [] });
    expect(exists(name)).toBe(false);
  });

  test("the next process to start a container cleans up by itself", async () => {
    const name = await killed("prepare");
    const next = engine.another();
    expectStarted(await next.startContainer(specOf(engine.image)));
    expect(exists(name)).toBe(false);
  });

  test("killed during a command: the command ends by itself, the container is removed by the next clean-up", async () => {
    const id = await killed("command");
    while ((await processes(id)).includes("555"));
    const cleaned = await engine.sandbox.cleanupStaleContainers({ thresholdMs: 24 * HOUR });
    expect(cleaned).toMatchObject({ ok: true, leftovers: [] });
    expect(docker("ps", "-aq", "--no-trunc", "--filter", `id=${id}`)).toBe("");
  });

  test("a detached one outlives its maker until it is unused for the threshold", async () => {
    const id = await killed("detached");
    const clean = (thresholdMs: number, live: readonly string[] = []) =>
      engine.sandbox.cleanupStaleContainers({ thresholdMs, liveTasks: new Set(live) });
    expect(await clean(HOUR)).toMatchObject({ containers: [] });
    expect((await engine.run(id, "echo still")).stdout).toBe("still\n");
    const found = await engine.sandbox.findContainer(id);
    const taskId = found?.ok ? found.taskId : "";
    expect(await clean(-1, [taskId])).toMatchObject({ containers: [] });
    expect(await clean(-1)).toMatchObject({ containers: [`coding-agent-exec-${taskId}`] });
  });

  test("images made over others that are not the same any more go, when asked for", async () => {
    const container = docker("create", engine.image, "true");
    const id = docker("image", "inspect", "--format", "{{.Id}}", engine.image).replace("sha256:", "");
    const now = `picoclaw-worker:${id.slice(0, 12)}-${id.slice(0, 12)}`;
    const outdated = `picoclaw-worker:${id.slice(0, 12)}-${randomUUID().replaceAll("-", "").slice(0, 12)}`;
    const labels = `LABEL picoclaw.worker=${engine.image} picoclaw.derived-from=${engine.image}`;
    for (const name of [now, outdated]) docker("commit", "--change", labels, container, name);
    docker("rm", container);
    try {
      await engine.sandbox.cleanupStaleContainers({ thresholdMs: 24 * HOUR });
      expect(docker("images", "-q", outdated)).not.toBe("");
      const cleaned = await engine.sandbox.cleanupStaleContainers({ thresholdMs: 24 * HOUR, images: true });
      expect(cleaned).toMatchObject({ ok: true, images: expect.arrayContaining([outdated]) });
      expect(docker("images", "-q", outdated)).toBe("");
      expect(docker("images", "-q", now)).not.toBe("");
    } finally {
      docker("rmi", now);
    }
  });

  test("another installation's containers and unlabelled ones are never touched", async () => {
    const other = openRealEngine();
    const theirs = await other.start();
    const plain = docker("create", "--name", `coding-agent-exec-${randomUUID()}`, engine.image, "true");
    try {
      await engine.sandbox.cleanupStaleContainers({ thresholdMs: -1 });
      expect(await engine.sandbox.findContainer(theirs.id)).toBeUndefined();
      expect(await engine.sandbox.stopContainer(theirs.id)).toMatchObject({ removed: false });
      expect((await other.run(theirs.id, "echo here")).stdout).toBe("here\n");
      expect(docker("ps", "-aq", "--no-trunc", "--filter", `id=${plain}`)).toBe(plain);
    } finally {
      docker("rm", "-f", plain);
      await other.end();
    }
  });

  test("nothing of this installation is left when all were stopped", async () => {
    await engine.sandbox.cleanupStaleContainers({ thresholdMs: -1 });
    const label = `label=picoclaw.installation=${installationOf(engine.home)}`;
    expect(docker("volume", "ls", "-q", "--filter", label, "--filter", "dangling=true")).toBe("");
  });
});
