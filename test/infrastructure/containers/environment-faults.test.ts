import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { cloneApart } from "../../../src/application/containers/clone-repository.ts";
import { createRunIn } from "../../../src/application/containers/run-in-container.ts";
import type { PrepareFailure, PrepareStep } from "../../../src/domain/containers/preparation.ts";
import { requirePart } from "../../require.ts";
import {
  createEnvironmentKit,
  type EnvironmentKit,
  executor,
  type GitServer,
  PYTHON,
  serveGit,
} from "./environment-kit.ts";
import { DOCKER_HOST, docker, openRealEngine } from "./real-engine.ts";

const SECRET = "hunter2-not-a-real-token-5f3a9c";

describe.if(requirePart("docker") && requirePart("environment-images"))(
  "preparing an environment when things go wrong",
  () => {
    let kit: EnvironmentKit;
    let server: GitServer;
    let name: string;
    beforeAll(async () => {
      kit = createEnvironmentKit();
      const path = kit.repository({ "a.py": "1\n", "requirements.txt": "" });
      name = `${path.split("/").at(-1)}/.git`;
      server = await serveGit(kit.folder, { password: SECRET });
    });
    afterAll(async () => {
      server?.close();
      await kit?.end();
    });
    afterEach(() => kit.clear());

    const opened = (host: string, token?: string, clone: { timeout?: number } = {}) =>
      kit.open(
        {
          ...executor({ docker: { network: { allowed_hosts: [host] } }, clone }),
          forges: { gitlab: { base_url: `http://${host}`, token: "env:THE_TOKEN" } },
        },
        token === undefined ? {} : { THE_TOKEN: token },
      );
    const failing = async (
      repository: string,
      more: { token?: string; branch?: string; host?: string; timeout?: number } = {},
    ): Promise<PrepareFailure> => {
      const clone = more.timeout === undefined ? {} : { timeout: more.timeout };
      const { manager } = await opened(more.host ?? server.host, more.token, clone);
      const uuid = randomUUID();
      const outcome = await manager.tryPrepare(
        { uuid, repository, ...(more.branch !== undefined && { branch: more.branch }) },
        "python",
      );
      if (outcome.ok) throw new Error("it was prepared");
      expect(manager.getContainerInfo(uuid)).toBeNull();
      expect(kit.left()).toEqual([]);
      return outcome;
    };

    test("a private repository is cloned with the forge's token, which stays nowhere", async () => {
      const environments = await opened(server.host, SECRET);
      const uuid = randomUUID();
      const said: string[] = [];
      const prepared = await environments.manager.tryPrepare(
        { uuid, repository: server.url(name) },
        "python",
        {
          onEvent: (event) => said.push(JSON.stringify(event)),
        },
      );
      if (!prepared.ok) throw new Error(JSON.stringify(prepared));
      expect(server.seen).toContain(`oauth2:${SECRET}`);
      const { container_id: id } = prepared.container;
      const look =
        `IFS= read -r secret; grep -rlF -- "$secret" /workspace /home /tmp /dev/shm /run /var/tmp /etc 2>/dev/null;` +
        `for one in /proc/[0-9]*; do [ $one = /proc/$$ ] && continue; tr '\\0' '\\n' <$one/environ 2>/dev/null | grep -F -- "$secret"; tr '\\0' ' ' <$one/cmdline 2>/dev/null | grep -F -- "$secret"; done; git -C /workspace/project remote get-url origin`;
      const found = spawnSync("docker", ["exec", "-i", id, "sh", "-c", look], {
        env: { PATH: process.env.PATH ?? "", DOCKER_HOST },
        input: `${SECRET}\n`,
        encoding: "utf8",
      }).stdout.trim();
      expect(found).toBe(server.url(name));
      expect(docker("inspect", id)).not.toContain(SECRET);
      const execs = JSON.parse(docker("inspect", "-f", "{{json .ExecIDs}}", id)) as string[] | null;
      for (const exec of execs ?? []) {
        const record = await fetch(`http://docker/exec/${exec}/json`, {
          unix: DOCKER_HOST.slice(7),
        } as RequestInit);
        expect(await record.text()).not.toContain(SECRET);
      }
      const kept = Bun.spawnSync(["grep", "-rlF", SECRET, kit.home]).stdout.toString();
      expect(kept).toBe("");
      expect(said.join("\n")).not.toContain(SECRET);
      expect(docker("logs", id)).not.toContain(SECRET);
      await environments.manager.cleanup(uuid);
    });

    test("a task without a network is cloned by another container, and never has the token", async () => {
      const engine = openRealEngine({ image: PYTHON });
      try {
        const network = { mode: "allow-list", allowedDomains: [], allowedHosts: [server.host] } as const;
        const cloner = await engine.start({ network });
        const task = await engine.start();
        const parts = {
          run: createRunIn(engine.sandbox, task.id),
          timeoutMs: 120_000,
          signal: new AbortController().signal,
          emit: () => {},
          mask: (text: string) => text,
        };
        const url = server.url(name);
        const remote = { kind: "remote", url, protocol: "http", host: server.host } as const;
        const closed: string[] = [];
        const close = async () => void closed.push(cloner.id);
        const open = async () => ({ run: createRunIn(engine.sandbox, cloner.id), close });
        const access = { credential: { username: "oauth2", password: SECRET }, insecure: false };
        expect(await cloneApart(parts, open, remote, { depth: 1 }, access)).toEqual({ ok: true });
        const look = "cd /workspace/project && git status --short && cat a.py && git remote get-url origin";
        expect((await engine.run(task.id, look)).stdout).toBe(`1\n${url}\n`);
        expect((await engine.run(task.id, `curl -sS -m 3 ${url}`)).exitCode).not.toBe(0);
        expect(closed).toEqual([cloner.id]);
      } finally {
        await engine.end();
      }
    });

    test("a host that only the cloning container could reach is refused if it is private", async () => {
      const { manager } = await kit.open(executor({ docker: { network: { external_access: false } } }));
      const repository = server.url(name);
      const refused = await manager.tryPrepare({ uuid: randomUUID(), repository }, "python");
      expect(refused).toMatchObject({ ok: false, code: "host-unreachable" });
      expect(kit.left()).toEqual([]);
    });

    test("a wrong token is refused by name, with no trace of it", async () => {
      const wrong = "wrong-token-77aa11bb22cc";
      const failure = await failing(server.url(name), { token: wrong });
      expect(failure).toMatchObject({
        code: "repository-denied",
        subject: server.url(name),
        remedy: "check-token",
      });
      expect(JSON.stringify(failure)).not.toContain(wrong);
      expect(Bun.spawnSync(["grep", "-rlF", wrong, kit.home]).stdout.toString()).toBe("");
    });

    test("a token in the address works, and is in no address afterwards", async () => {
      const { manager } = await opened(server.host);
      const uuid = randomUUID();
      const repository = server.url(name).replace("http://", `http://me:${SECRET}@`);
      const info = await manager.prepare({ uuid, repository }, "python");
      const config = await manager.executeIn(info, "cat .git/config", null, { byHand: true });
      expect(config.stdout).toContain(server.url(name));
      expect(config.stdout).not.toContain(SECRET);
      expect(Bun.spawnSync(["grep", "-rlF", SECRET, kit.home]).stdout.toString()).toBe("");
      await manager.cleanup(uuid);
      const bad = await failing(repository.replace(SECRET, `${SECRET}-old`));
      expect(JSON.stringify(bad)).not.toContain(SECRET);
    });

    test("a repository, a branch or a host that is not there is named", async () => {
      expect(await failing(server.url("nothing.git"), { token: SECRET })).toMatchObject({
        code: "repository-missing",
      });
      expect(await failing(server.url(name), { token: SECRET, branch: "nope" })).toMatchObject({
        code: "ref-missing",
      });
      expect(await failing(server.url(name))).toMatchObject({ code: "repository-denied" });
      expect(await failing("http://host.docker.internal:9/x.git")).toMatchObject({
        code: "host-unreachable",
      });
      expect(await failing("git@example.org:a/b.git")).toMatchObject({
        code: "bad-input",
        remedy: "use-https",
      });
      expect(await failing(server.url(name), { branch: "--upload-pack=x" })).toMatchObject({
        code: "bad-input",
      });
      expect(await failing(join(kit.folder, "home"))).toMatchObject({ code: "not-a-repository" });
      expect(await failing(join(kit.folder, "none"))).toMatchObject({ code: "repository-missing" });
    });

    test("a repository that takes too long is given up at the limit", async () => {
      const slow = await serveGit(kit.folder, { stall: true });
      try {
        expect(await failing(slow.url(name), { host: slow.host, timeout: 2 })).toMatchObject({
          code: "clone-timeout",
          detail: "2 s",
        });
      } finally {
        slow.close();
      }
    });

    test("an image that cannot be obtained is reported with the command that helps", async () => {
      const { manager } = await kit.open(executor({ environments: { other: "nobody/has-this:1" } }));
      const outcome = await manager.tryPrepare(
        { uuid: randomUUID(), repository: kit.repository({ a: "1" }) },
        "other",
      );
      expect(outcome).toMatchObject({ ok: false, code: "image-missing", subject: "nobody/has-this:1" });
      expect(kit.left()).toEqual([]);
    });

    test("an engine that does not answer is reported as such", async () => {
      const { manager } = await kit.open(executor({ docker: { host: `unix://${kit.folder}/none.sock` } }));
      const repository = kit.repository({ a: "1" });
      const outcome = await manager.tryPrepare({ uuid: randomUUID(), repository }, "python");
      expect(outcome).toMatchObject({ ok: false, code: "engine", remedy: "start-docker" });
    });

    const steps: readonly PrepareStep[] = ["choosing", "creating", "cloning", "checking-out", "installing"];
    test.each(steps)("stopped while %s, nothing is left", async (step) => {
      const { manager } = await opened(server.host, SECRET);
      const abort = new AbortController();
      const uuid = randomUUID();
      const outcome = await manager.tryPrepare({ uuid, repository: server.url(name) }, "python", {
        signal: abort.signal,
        onEvent: (event) => {
          if (event.type === "step" && event.step === step) abort.abort();
        },
      });
      expect(outcome).toMatchObject({ ok: false, code: "aborted" });
      expect(manager.getContainerInfo(uuid)).toBeNull();
      expect(kit.left()).toEqual([]);
    });

    test("stopped while an image is built, nothing is left", async () => {
      const path = kit.repository({
        "slow/Dockerfile": "FROM coding-agent-executor-python:latest\nRUN sleep 300\n",
      });
      const { manager } = await kit.open(
        executor({ environments: { slow: { dockerfile: join(path, "slow/Dockerfile") } } as never }),
      );
      const abort = new AbortController();
      const outcome = await manager.tryPrepare({ uuid: randomUUID(), repository: path }, "slow", {
        signal: abort.signal,
        onEvent: (event) => {
          if (event.type === "output" && event.text.includes("RUN sleep 300")) abort.abort();
        },
      });
      expect(outcome).toMatchObject({ ok: false, code: "aborted" });
      // The engine itself removes the container of an abandoned build.
      const commands = () => docker("ps", "-a", "--no-trunc", "--format", "{{.Command}}");
      // The step may be reported before the container is made: the container counts as gone after a second without it.
      let gone = 0;
      for (let i = 0; i < 200 && gone < 10; i++) {
        gone = commands().includes("sleep 300") ? 0 : gone + 1;
        await Bun.sleep(100);
      }
      expect(gone).toBe(10);
    });

    test("what a killed preparation leaves is removed by the next start", async () => {
      const slow = await serveGit(kit.folder, { stall: true });
      const uuid = randomUUID();
      const child = spawn(
        join(import.meta.dir, "../../../bin/picoclaw"),
        ["env", "prepare", "--task", uuid, "--env", "python", "--repo", slow.url(name)],
        {
          env: {
            PATH: process.env.PATH ?? "",
            HOME: kit.folder,
            PICOCLAW_HOME: kit.home,
            DOCKER_HOST,
            PICOCLAW_COMMAND_EXECUTOR_DOCKER_NETWORK_ALLOWED_HOSTS: slow.host,
          },
          stdio: "ignore",
        },
      );
      try {
        while (docker("ps", "-q", "--filter", `name=coding-agent-exec-${uuid}`) === "")
          await new Promise((resolve) => setTimeout(resolve, 50));
        child.kill("SIGKILL");
        await new Promise((resolve) => child.once("exit", resolve));
        expect(kit.left()).not.toEqual([]);
        const { manager } = await opened(server.host);
        expect(await manager.cleanupStaleContainers()).toBe(1);
        expect(manager.getContainerInfo(uuid)).toBeNull();
        expect(kit.left()).toEqual([]);
      } finally {
        child.kill("SIGKILL");
        slow.close();
      }
    });
  },
);
