import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { OpenEnvironments } from "../../../src/application/ports/containers-opened.ts";
import type { PrepareEvent } from "../../../src/domain/containers/preparation.ts";
import { requirePart } from "../../require.ts";
import {
  createEnvironmentKit,
  type EnvironmentKit,
  executor,
  makeWheel,
  PYTHON,
  STAND_IN,
  serveGit,
  serveNpm,
} from "./environment-kit.ts";
import { docker, realImage } from "./real-engine.ts";

const PYTHON_PROJECT = {
  "calc.py": "def add(a, b):\n    return a + b\n",
  "test_calc.py": "from calc import add\n\ndef test_add():\n    assert add(2, 3) == 5\n",
  "README.md": "# calc\n",
};

describe.if(requirePart("docker") && requirePart("environment-images"))("a task's environment", () => {
  let kit: EnvironmentKit;
  let environments: OpenEnvironments;
  beforeAll(async () => {
    kit = createEnvironmentKit();
    environments = await kit.open(executor());
  });
  afterAll(() => kit?.end());
  afterEach(() => kit.clear());

  const prepare = async (
    repository: string,
    options: { env?: string; branch?: string; target?: string } = {},
  ) => {
    const uuid = randomUUID();
    const prepared = await environments.manager.tryPrepare(
      {
        uuid,
        repository,
        ...(options.branch !== undefined && { branch: options.branch }),
        ...(options.target !== undefined && { targetBranch: options.target }),
      },
      options.env ?? null,
    );
    if (!prepared.ok) throw new Error(JSON.stringify(prepared));
    const run = (command: string) =>
      environments.manager.executeIn(prepared.container, command, null, { byHand: true });
    return { uuid, prepared, run, done: () => environments.manager.cleanup(uuid) };
  };

  test("a Python project is cloned, its tests run, and nothing is left", async () => {
    const events: PrepareEvent[] = [];
    const { manager } = environments;
    const uuid = randomUUID();
    const task = { uuid, repository: kit.repository(PYTHON_PROJECT) };
    const info = await manager.prepare(task, null, { onEvent: (event) => events.push(event) });
    expect(info).toMatchObject({
      task_uuid: uuid,
      environment_name: "python",
      workspace_path: "/workspace/project",
      status: "ready",
    });
    expect(events.flatMap((event) => (event.type === "step" ? [event.step] : []))).toEqual([
      "choosing",
      "creating",
      "cloning",
      "checking-out",
      "ready",
    ]);
    manager.setCurrentTask(task);
    const ran = await manager.executeCommand("python -m pytest -q -p no:cacheprovider && git status --short");
    expect(ran).toMatchObject({ exit_code: 0, stderr: "" });
    expect(ran.stdout).toContain("1 passed");
    expect(manager.getContainerInfo(uuid)).toEqual(info);
    expect(docker("inspect", "-f", "{{.Name}}", info.container_id)).toBe(`/coding-agent-exec-${uuid}`);
    await manager.cleanup(uuid);
    manager.setCurrentTask(null);
    expect(manager.getContainerInfo(uuid)).toBeNull();
    expect(kit.left()).toEqual([]);
  });

  test("the whole history is cloned when the configuration says so, one commit when not", async () => {
    const path = kit.repository({ "a.py": "1\n" });
    for (const n of [2, 3]) kit.git(path, "commit", "-q", "--allow-empty", "-m", `commit ${n}`);
    const shallow = await prepare(path, { env: "python" });
    expect((await shallow.run("git rev-list --count HEAD")).stdout).toBe("1\n");
    await shallow.done();
    const whole = await kit.open(executor({ clone: { shallow: false } }));
    const uuid = randomUUID();
    const info = await whole.manager.prepare({ uuid, repository: path }, "python");
    const counted = await whole.manager.executeIn(info, "git rev-list --count HEAD", null, { byHand: true });
    expect(counted.stdout).toBe("3\n");
    await whole.manager.cleanup(uuid);
  });

  test("a request's branch is cloned with its target, deep enough to compare them", async () => {
    const path = kit.repository({ "a.py": "1\n" });
    for (const n of [1, 2, 3]) kit.git(path, "commit", "-q", "--allow-empty", "-m", `main ${n}`);
    kit.git(path, "checkout", "-q", "-b", "feature/x", "HEAD~2");
    kit.git(path, "commit", "-q", "--allow-empty", "-m", "feature");
    kit.git(path, "checkout", "-q", "main");
    const server = await serveGit(kit.folder);
    try {
      environments = await kit.open(executor({ docker: { network: { allowed_hosts: [server.host] } } }));
      const task = await prepare(server.url(`${path.split("/").at(-1)}/.git`), {
        env: "python",
        branch: "feature/x",
        target: "main",
      });
      const ran = await task.run("git branch --show-current; git log --format=%s origin/main...HEAD | sort");
      expect(ran).toMatchObject({ exit_code: 0, stdout: "feature/x\nfeature\nmain 2\nmain 3\n" });
      expect(task.prepared.notices).toEqual([]);
      await task.done();
    } finally {
      server.close();
      environments = await kit.open(executor());
    }
  });

  test("without a named environment the files of a remote project decide", async () => {
    const path = kit.repository({ "package.json": '{"name":"x","version":"1.0.0"}\n', "index.js": "" });
    const server = await serveGit(kit.folder);
    const local = await kit.open(executor({ docker: { network: { allowed_hosts: [server.host] } } }));
    try {
      const uuid = randomUUID();
      const repository = server.url(`${path.split("/").at(-1)}/.git`);
      const prepared = await local.manager.tryPrepare({ uuid, repository });
      if (!prepared.ok) throw new Error(JSON.stringify(prepared));
      expect(prepared.container.environment_name).toBe("node");
      expect(prepared.notices).toEqual([{ code: "detected", environment: "node", because: "package.json" }]);
      expect(prepared.installed).toMatchObject([{ success: true, file: "package.json" }]);
      const ran = await local.manager.executeIn(prepared.container, "node --version && npm --version", null, {
        byHand: true,
      });
      expect(ran.stdout).toMatch(/^v20\./);
      await local.manager.cleanup(uuid);
      expect(kit.left()).toEqual([]);
    } finally {
      server.close();
    }
  });

  test("packages come from a folder of wheels, from npm, and from conda's stand-in", async () => {
    const wheels = join(kit.folder, "wheels");
    const wheel = makeWheel(wheels, "sample_thing", "1.0", "VALUE = 42\n");
    const path = kit.repository({
      "requirements.txt": "--no-index\n--find-links ./wheels\nsample_thing==1.0\n",
      "a.py": "",
    });
    kit.git(path, "commit", "-q", "--allow-empty", "-m", "x");
    Bun.spawnSync(["cp", "-r", wheels, path]);
    kit.git(path, "add", "-A");
    kit.git(path, "commit", "-q", "-m", wheel);
    const python = await prepare(path);
    expect(python.prepared.installed).toEqual([
      { file: "requirements.txt", command: "pip install --no-input -r requirements.txt", success: true },
    ]);
    expect((await python.run("python -c 'import sample_thing; print(sample_thing.VALUE)'")).stdout).toBe(
      "42\n",
    );
    await python.done();

    const conda = await kit.open(executor({ environments: { miniforge: STAND_IN } }));
    const uuid = randomUUID();
    const repository = kit.repository({ "environment.yml": "name: sample\ndependencies:\n  - python\n" });
    const prepared = await conda.manager.tryPrepare({ uuid, repository });
    expect(prepared).toMatchObject({
      ok: true,
      container: { environment_name: "miniforge" },
      installed: [{ command: "mamba env create --yes --file environment.yml", success: true }],
    });
    await conda.manager.cleanup(uuid);
  });

  test("npm installs by the lock file, from an index that the configuration opens", async () => {
    const registry = await serveNpm({
      name: "sample-thing",
      version: "1.2.3",
      index: "module.exports = 42;\n",
    });
    environments = await kit.open(executor({ docker: { network: { allowed_hosts: [registry.host] } } }));
    try {
      const manifest = { name: "x", version: "1.0.0", dependencies: { "sample-thing": "1.2.3" } };
      const { resolved, integrity } = registry;
      const packages = {
        "": manifest,
        "node_modules/sample-thing": { version: "1.2.3", resolved, integrity },
      };
      const lock = { name: "x", version: "1.0.0", lockfileVersion: 3, requires: true, packages };
      const files = {
        "package.json": JSON.stringify(manifest),
        "package-lock.json": JSON.stringify(lock),
        ".npmrc": `registry=http://${registry.host}/\n`,
      };
      const task = await prepare(kit.repository(files));
      expect(task.prepared.installed).toEqual([
        { file: "package-lock.json", command: "npm ci --no-audit --no-fund --no-progress", success: true },
      ]);
      expect((await task.run(`node -p "require('sample-thing')"`)).stdout).toBe("42\n");
      await task.done();

      // A lock file that is out of step: a plain installation serves.
      const stale = { ...manifest, dependencies: { "sample-thing": "^1.0.0", missing: "file:./missing" } };
      const other = await prepare(
        kit.repository({
          ...files,
          "package.json": JSON.stringify(stale),
          "missing/package.json": '{"name":"missing","version":"1.0.0"}',
        }),
      );
      expect(other.prepared.installed).toEqual([
        {
          file: "package-lock.json",
          command: "npm install --no-audit --no-fund --no-progress",
          success: true,
        },
      ]);
      await other.done();

      // One that cannot be fetched: the rest is there, and the manifest as it was.
      const alone = "git+ssh://git@nowhere.invalid/nobody/alone.git";
      const partly = JSON.stringify({ ...manifest, devDependencies: { alone } });
      const third = await prepare(kit.repository({ "package.json": partly, ".npmrc": files[".npmrc"] }));
      expect(third.prepared.notices.at(-1)).toMatchObject({ code: "install-failed", leftOut: ["alone"] });
      expect((await third.run(`node -p "require('sample-thing')"; git diff --stat`)).stdout).toBe("42\n");
      await third.done();
    } finally {
      registry.close();
      environments = await kit.open(executor());
    }
  });

  test("an installation that hangs is ended and reported, and the environment exists", async () => {
    const local = await kit.open(executor({ install: { timeout: 2 } }));
    const manifest = { name: "x", version: "1.0.0", scripts: { preinstall: "sleep 1000" } };
    const repository = kit.repository({ "package.json": JSON.stringify(manifest) });
    const uuid = randomUUID();
    const prepared = await local.manager.tryPrepare({ uuid, repository });
    expect(prepared).toMatchObject({
      ok: true,
      installed: [{ success: false }],
      notices: [{ code: "detected" }, { code: "install-failed", why: { kind: "timeout", seconds: 2 } }],
    });
    if (!prepared.ok) return;
    const { stdout } = await local.manager.executeIn(prepared.container, "ps -eo args", null, {
      byHand: true,
    });
    expect(stdout).not.toContain("sleep 1000");
    await local.manager.cleanup(uuid);
  });

  test("an image without git is made fit once, under its own id", async () => {
    const local = await kit.open(executor({ environments: { bare: realImage() } }));
    const repository = kit.repository({ "a.txt": "1\n" });
    const uuid = randomUUID();
    const prepared = await local.manager.tryPrepare({ uuid, repository }, "bare");
    if (!prepared.ok) throw new Error(JSON.stringify(prepared));
    expect(prepared.image).toStartWith("picoclaw-derived:");
    const ran = await local.manager.executeIn(prepared.container, "git log --format=%s; id -u", null, {
      byHand: true,
    });
    expect(ran.stdout).toBe("first\n10001\n");
    await local.manager.cleanup(uuid);
  }, 300_000);

  test("uncommitted work of a person is not in the clone, and is reported", async () => {
    const path = kit.repository({ "a.py": "1\n" });
    await Bun.write(join(path, "b.py"), "2\n");
    const task = await prepare(path, { env: "python" });
    expect(task.prepared.notices).toEqual([{ code: "uncommitted", count: 1 }]);
    expect((await task.run("ls")).stdout).toBe("a.py\n");
    await task.done();
  });

  test("preparing again takes the earlier container's place", async () => {
    const path = kit.repository({ "a.py": "1\n" });
    const first = await prepare(path, { env: "python" });
    await first.run("touch /workspace/project/left-over");
    const again = await environments.manager.prepare({ uuid: first.uuid, repository: path }, "python");
    expect(again.container_id).not.toBe(first.prepared.container.container_id);
    expect((await environments.manager.executeIn(again, "ls", null, { byHand: true })).stdout).toBe("a.py\n");
    await first.done();
    expect(kit.left()).toEqual([]);
  });

  test("the manager says so when no task is set or its environment is not ready", async () => {
    const { manager } = environments;
    manager.setCurrentTask(null);
    expect(manager.executeCommand("ls")).rejects.toThrow("No current task set");
    manager.setCurrentTask({ uuid: "nobody" });
    expect(manager.executeCommand("ls")).rejects.toThrow("not ready for task: nobody");
    expect(manager.callTextEditorTool("text_editor", { command: "view", path: "a" })).rejects.toThrow(
      "not ready",
    );
    manager.setCurrentTask(null);
  });

  test("commands of a model are held to the lists, those of a person are not; limits have their fixed words", async () => {
    const { manager } = environments;
    const task = await prepare(kit.repository({ "a.py": "1\n" }), { env: "python" });
    manager.setCurrentTask({ uuid: task.uuid });
    const refused = await manager.executeCommand("sudo ls");
    expect(refused).toMatchObject({ exit_code: -1, stdout: "" });
    expect(refused.stderr).toStartWith("Command execution error: ");
    expect(
      await manager.executeCommand("python -c 'import time; time.sleep(60)'", null, { timeoutSeconds: 1 }),
    ).toMatchObject({
      exit_code: -1,
      stderr: "Command timeout after 1 seconds",
    });
    expect((await manager.executeCommand("ls", "/workspace/project")).stdout).toBe("a.py\n");
    expect(await manager.executeCommand("ls", "/etc")).toMatchObject({ exit_code: -1 });
    manager.setCurrentTask(null);
    await task.done();
  });

  test("the text editor works on the container's files and answers in the public shape", async () => {
    const { manager } = environments;
    const task = await prepare(kit.repository(PYTHON_PROJECT), { env: "python" });
    manager.setCurrentTask({ uuid: task.uuid });
    const call = (args: Record<string, unknown>) => manager.callTextEditorTool("text_editor", args);
    expect(await call({ command: "view", path: "calc.py", view_range: null })).toEqual({
      success: true,
      content: "     1\tdef add(a, b):\n     2\t    return a + b",
      error: "",
    });
    const edited = await call({
      command: "str_replace",
      path: "calc.py",
      old_str: "a + b",
      new_str: "b + a",
    });
    expect(edited).toMatchObject({ success: true, error: "" });
    expect((await task.run("git diff --numstat; stat -c %U:%a calc.py")).stdout).toBe(
      "1\t1\tcalc.py\nagent:644\n",
    );
    expect(await call({ command: "undo_edit", path: "calc.py" })).toMatchObject({ success: true });
    expect((await task.run("git status --short")).stdout).toBe("");
    expect(await call({ command: "view", path: "/etc/passwd" })).toMatchObject({
      success: false,
      content: "",
    });
    expect((await call({ command: "view", path: "no.py" })).error).toContain("no such file");
    await call({ command: "create", path: "new/deep/file.txt", file_text: "日本語\n" });
    expect((await task.run("cat new/deep/file.txt")).stdout).toBe("日本語\n");
    // A container that ended under the connection is reported once, and reached again.
    docker("restart", "-t", "0", task.prepared.container.container_id);
    expect((await call({ command: "view", path: "calc.py" })).error).toContain("cannot be reached");
    expect(await call({ command: "view", path: "calc.py" })).toMatchObject({ success: true });
    manager.setCurrentTask(null);
    await task.done();
  });

  test("images that are there unchanged are not built again", async () => {
    const said: string[] = [];
    const built = await environments.buildImage({
      name: PYTHON.replace(":latest", ""),
      from: realImage(),
      again: false,
      signal: new AbortController().signal,
      onImage: (name, what) => said.push(`${name} ${what}`),
      onLine: () => {},
    });
    expect(built).toEqual({ ok: true, name: PYTHON, built: [] });
    expect(said).toEqual(["coding-agent-executor:latest unchanged", `${PYTHON} unchanged`]);
  });

  test("while the feature is off models are offered nothing; available environments are read from the configuration", async () => {
    const { manager } = environments;
    expect(manager.isEnabled()).toBe(false);
    expect([await manager.getFunctionCallingTools(), await manager.getTextEditorTools()]).toEqual([[], []]);
    const { manager: on } = await kit.open(executor({ enabled: true }));
    expect((await on.getFunctionCallingFunctions()).map(({ name }) => name)).toEqual([
      "command-executor_execute_command",
    ]);
    expect((await on.getTextEditorTools())[0]).toMatchObject({
      type: "function",
      function: { name: "text_editor" },
    });
    expect(on.isTextEditorEnabled()).toBe(true);
    expect(Object.keys(on.getAllowedCommands())).toEqual([
      "build_package",
      "test",
      "linter_formatter",
      "file_operations",
      "version_control",
      "utilities",
    ]);
    expect(on.getAllowedCommandsText()).toContain("Test Execution: pytest, jest");
    expect(on.getDefaultEnvironment()).toBe("python");
    expect(on.getAvailableEnvironments().python).toBe(PYTHON);
    expect(readFileSync("images/python/Dockerfile", "utf8")).toContain("BASE");
  });
});
