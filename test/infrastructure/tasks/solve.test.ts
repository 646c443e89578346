import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commandsIn } from "../../fakes/forges/commands-in.ts";
import { startGitHub } from "../../fakes/forges/github-server.ts";
import { startGitLab } from "../../fakes/forges/gitlab-server.ts";
import { git, seedRepository } from "../../fakes/forges/seed-repository.ts";
import {
  addComment,
  addItem,
  addPerson,
  addRepository,
  createWorld,
  type Item,
  type Repository,
  type World,
} from "../../fakes/forges/world.ts";
import { makeTestFolder } from "../../left-behind.ts";
import { requirePart } from "../../require.ts";
import { bridgeGateway, DOCKER_HOST, docker } from "../containers/real-engine.ts";
import { buildImages } from "./task-kit.ts";
import { startWorkerModel } from "./worker-model.ts";

const PICOCLAW = join(import.meta.dir, "../../../bin/picoclaw");
const RUN = "command-executor_execute_command";

const SAMPLES = {
  python: {
    files: {
      "calc.py": "def add(a, b):\n    return a - b\n",
      "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    },
    file: "calc.py",
    test: "python -m pytest -q",
  },
  node: {
    files: {
      "package.json": '{"name":"calc","version":"1.0.0","scripts":{"test":"node test.js"}}\n',
      "calc.js": "exports.add = (a, b) => a - b;\n",
      "test.js": 'require("assert").strictEqual(require("./calc.js").add(1, 2), 3);\n',
    },
    file: "calc.js",
    test: "npm test",
  },
  miniforge: {
    files: {
      "environment.yml": "name: calc\ndependencies: [python]\n",
      "calc.py": "def add(a, b):\n    return a - b\n",
      "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    },
    file: "calc.py",
    test: "python -m pytest -q",
  },
} as const;
type Language = keyof typeof SAMPLES;

describe.if(requirePart("docker") && requirePart("environment-images"))(
  "solve, with real containers and real git",
  () => {
    const folder = makeTestFolder("solve-docker");
    let gateway: string;
    let world: World;
    let repository: Repository;
    let issue: Item;
    let server: ReturnType<typeof startGitHub> | undefined;
    let home: string;

    beforeAll(() => {
      gateway = bridgeGateway();
    });
    afterAll(() => {
      server?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    const set = (language: Language, forge: "github" | "gitlab" = "github") => {
      server?.stop();
      world = createWorld(`forge-secret-${crypto.randomUUID()}`);
      const { files, file, test: check } = SAMPLES[language];
      const alice = addPerson(world, "alice");
      const below = mkdtempSync(join(folder, "forge-"));
      repository = addRepository(world, "acme/calc", seedRepository(below, files));
      repository.permissions.set("alice", "write");
      issue = addItem(repository, {
        kind: "issue",
        title: "Sum is wrong",
        body: "1 + 2 is -1",
        author: alice,
      });
      server = forge === "github" ? startGitHub(world, gateway) : startGitLab(world, gateway);
      home = mkdtempSync(join(folder, "home-"));
      const { host } = new URL(server.url);
      const base = forge === "github" ? `${server.url}/api/v3` : server.url;
      const config = {
        locale: "en",
        providers: { script: { type: "scripted", script: "solve.json" } },
        roles: { coder3: { provider: "script" } },
        forges: { [forge]: { base_url: base } },
        command_executor: {
          environments: { miniforge: "coding-agent-executor-miniforge-stand-in:latest" },
          docker: { network: { allowed_hosts: [host] } },
        },
      };
      writeFileSync(join(home, "config.yaml"), JSON.stringify(config));
      // Another length: Python takes a file of the same length and second for the one that it compiled.
      const edit = { command: "str_replace", path: file, old_str: "a - b", new_str: "(a + b)" };
      const step = (n: number, text: string, name: string, args: object) => ({
        when: { step: n },
        times: 1,
        text,
        tool_calls: [{ name, arguments: args }],
      });
      const answers = [
        {
          when: { system: "You plan work" },
          text: `{"steps":["fix add"],"risk":"low","environment":"${language}"}`,
        },
        step(0, "Look first.", RUN, { command: `env; ${check}` }),
        step(1, "It subtracts.", "text_editor", edit),
        step(2, "Try.", RUN, { command: check }),
        { text: '{"done": true, "summary": "add adds now"}' },
      ];
      writeFileSync(join(home, "solve.json"), JSON.stringify({ answers }));
    };
    const start = (...flags: string[]) => {
      const kind =
        server?.url !== undefined && readFileSync(join(home, "config.yaml"), "utf8").includes("gitlab")
          ? "gitlab"
          : "github";
      const path = kind === "github" ? "acme/calc/issues/1" : "acme/calc/-/issues/1";
      return Bun.spawn([PICOCLAW, "solve", "--json", ...flags, `${server?.url}/${path}`], {
        cwd: home,
        env: {
          PATH: process.env.PATH ?? "",
          HOME: home,
          PICOCLAW_HOME: home,
          DOCKER_HOST,
          GITHUB_PERSONAL_ACCESS_TOKEN: world.token,
          GITLAB_PERSONAL_ACCESS_TOKEN: world.token,
          CODEX_API_KEY: "worker-key",
        },
        stdout: "pipe",
        stderr: "pipe",
      });
    };
    const solve = async (...flags: string[]) => {
      const child = start(...flags);
      const [out, err] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ]);
      const code = await child.exited;
      if (out === "") throw new Error(`exit ${code}: ${err}`);
      return { code, task: JSON.parse(out) as Record<string, unknown> & { task_id: string }, err };
    };
    const containersOf = (taskId: string) => docker("ps", "-aq", "--filter", `name=${taskId}`);
    const pulls = () => [...repository.items.values()].filter(({ kind }) => kind === "pull");
    const expectSolved = ({ code, task }: Awaited<ReturnType<typeof solve>>, file: string) => {
      expect(task).toMatchObject({ state: "done", failure: null });
      expect(code).toBe(0);
      expect(pulls().length).toBe(1);
      expect(git(repository.folder ?? "", "show", `${task.branch}:${file}`)).toContain("a + b");
      expect(containersOf(task.task_id)).toBe("");
      expect(world.violations).toEqual([]);
    };

    /** Nothing that the user has not written holds the token: not what was said, not what is kept. */
    const expectNoToken = ({ task, err }: Awaited<ReturnType<typeof solve>>) => {
      const said = [...repository.items.values()].flatMap((item) => [
        item.body,
        ...item.comments.map(({ body }) => body),
      ]);
      for (const text of [...said, JSON.stringify(task), err]) expect(text).not.toContain(world.token);
      for (const path of filesBelow(home)) expect(readFileSync(path).includes(world.token), path).toBe(false);
      expect(docker("volume", "ls", "-q").includes(task.task_id)).toBe(false);
    };

    test("GitLab, a Python project: red test, fix, green test, merge request, no container, no token anywhere", async () => {
      set("python", "gitlab");
      const solved = await solve();
      expectSolved(solved, "calc.py");
      const { task } = solved;
      expect(task.environment).toBe("python");
      expect((task.commands as { exit_code: number }[]).map(({ exit_code }) => exit_code)).toEqual([1, 0]);
      expect(task.checks).toMatchObject([{ kind: "test", command: SAMPLES.python.test, exit_code: 0 }]);
      expectNoToken(solved);
    }, 300_000);

    const FIX_NODE = {
      command: "str_replace",
      path: "calc.js",
      old_str: "a - b",
      new_str: "(a + b)",
    };
    const PLAN_ANSWER = {
      when: { system: "You plan work" },
      text: '{"steps":["fix add"],"risk":"low","environment":"python"}',
    };
    const script = (...answers: object[]) =>
      writeFileSync(join(home, "solve.json"), JSON.stringify({ answers }));

    const waits = (ms: string) => ({
      text: "Wait.",
      tool_calls: [{ name: RUN, arguments: { command: `node -e 'setTimeout(() => 0, ${ms})'` } }],
    });

    describe("one task that is killed in every phase, paused and refused", () => {
      const EDIT = { text: "It subtracts.", tool_calls: [{ name: "text_editor", arguments: FIX_NODE }] };
      let taskId = "";
      let told = "";

      /** Ends the process with SIGKILL as soon as it says that phase. */
      const killIn = async (phase: string) => {
        const child = start();
        told = "";
        for await (const chunk of child.stderr) {
          told += new TextDecoder().decode(chunk);
          if (told.split("\n").includes(phase)) break;
        }
        child.kill("SIGKILL");
        await child.exited;
        expect(told.split("\n")).toContain(phase);
      };

      // Three processes that die in a row are the end of a task: another end comes in between.
      for (const phase of ["read the task", "plan"])
        test(`kill -9 in “${phase}”`, async () => {
          if (phase === "read the task") set("node");
          script(PLAN_ANSWER, { when: { step: 0 }, times: 1, ...EDIT }, waits("301e3"));
          await killIn(phase);
        }, 300_000);

      test("`pause` ends the command that runs in the container, and the change is kept", async () => {
        const child = start();
        const said = { text: "" };
        const listening = (async () => {
          for await (const chunk of child.stderr) said.text += new TextDecoder().decode(chunk);
        })();
        const isRunning = () => {
          const [name] = /coding-agent-exec-[0-9a-f-]{36}/.exec(said.text) ?? [];
          const env = { PATH: process.env.PATH ?? "", DOCKER_HOST };
          return name !== undefined && spawnSync("docker", ["top", name], { env }).stdout.includes("301e3");
        };
        while (!isRunning() && child.exitCode === null) await Bun.sleep(300);
        addComment(issue, issue.author, "pause");
        const task = JSON.parse(await new Response(child.stdout).text());
        await listening;
        expect([await child.exited, task.state]).toEqual([1, "paused"]);
        // The planner's "python" is contradicted by package.json.
        expect(task.environment).toBe("node");
        expect(issue.comments[0]?.body).toContain("picoclaw solve");
        expect(containersOf(task.task_id)).toBe("");
        taskId = task.task_id;
        script({ text: '{"done": true, "summary": "add adds now"}' });
      }, 300_000);

      for (const phase of ["prepare the environment", "work"])
        test(`kill -9 in “${phase}”`, () => killIn(phase), 300_000);

      test("a forge that refuses the pull request: the remedy is named, and nothing is left", async () => {
        const answer = () => Response.json({ message: "no 401" }, { status: 401 });
        world.faults.push({ method: "POST", path: /\/pulls$/, times: 1, answer });
        const { code, task } = await solve();
        expect([code, task.state, task.task_id]).toEqual([1, "failed", taskId]);
        const message = expect.stringContaining("GITHUB_PERSONAL_ACCESS_TOKEN");
        expect(task.failure).toMatchObject({ kind: "forge-token", message });
        expect(issue.comments[0]?.body).toContain("GITHUB_PERSONAL_ACCESS_TOKEN");
        expect(containersOf(taskId)).toBe("");
        expect(pulls()).toEqual([]);
        // From here on no model is asked.
        script();
      }, 300_000);

      for (const phase of ["verify", "publish"]) test(`kill -9 in “${phase}”`, () => killIn(phase), 300_000);

      test("the next run finishes it, once: one comment, one pull request, no container, no token anywhere", async () => {
        const solved = await solve();
        expectSolved(solved, "calc.js");
        expect(solved.task.task_id).toBe(taskId);
        expect(issue.comments.filter(({ author }) => author !== issue.author).length).toBe(1);
        expectNoToken(solved);
      }, 300_000);
    });

    test("solve --candidates 2: two containers, the one that passes is published, none is left", async () => {
      set("node");
      script(
        PLAN_ANSWER,
        {
          when: { step: 0 },
          times: 1,
          text: "It subtracts.",
          tool_calls: [{ name: "text_editor", arguments: FIX_NODE }],
        },
        { text: '{"done": true, "summary": "add adds now"}' },
      );
      const solved = await solve("--candidates", "2");
      expectSolved(solved, "calc.js");
      const made = new Set(
        [...solved.err.matchAll(/coding-agent-exec-([0-9a-f-]{36})/g)].map(([, id]) => id),
      );
      expect(made.size).toBe(2);
      for (const id of made) expect(containersOf(id ?? "")).toBe("");
      expect(solved.task.record).toContainEqual(
        expect.objectContaining({ kind: "chosen", discarded: [expect.any(Number)] }),
      );
    }, 300_000);

    test("GitLab, red to the end: exit 1, a draft that closes nothing and commands nothing, with the lock file that the installation began", async () => {
      set("node", "gitlab");
      const lock = "sed -i 's/1.0.0/1.0.1/' package-lock.json";
      const command = `${lock}; mkdir -p .github/workflows; echo "on: push" > .github/workflows/x.yml`;
      const summary = "/merge\nImplements #7, cc @alice";
      const answers = [
        { when: { system: "You plan work" }, text: '{"steps":["fix"],"risk":"low","environment":"node"}' },
        { when: { step: 0 }, times: 1, text: "Try.", tool_calls: [{ name: RUN, arguments: { command } }] },
        { text: JSON.stringify({ done: true, summary }) },
      ];
      writeFileSync(join(home, "solve.json"), JSON.stringify({ answers }));
      const { code, task } = await solve();
      expect(task).toMatchObject({ state: "failed", failure: { kind: "checks-red" }, checked: true });
      expect(code).toBe(1);
      const [pull] = pulls();
      expect(pull?.title).toBe("Draft: Sum is wrong");
      expect(commandsIn("gitlab", pull?.body ?? "")).toEqual([]);
      for (const text of [pull?.body ?? "", issue.comments[0]?.body ?? ""])
        for (const words of ["AssertionError", "It was red before this change"])
          expect(text).toContain(words);
      const bare = repository.folder ?? "";
      expect(git(bare, "diff", "--name-only", "main", String(task.branch))).toBe("package-lock.json");
      expect(JSON.parse(git(bare, "show", `${task.branch}:package-lock.json`))).toMatchObject({
        version: "1.0.1",
      });
      expect(pull?.body).toContain("tasks.allow_ci_files");
      expect(containersOf(task.task_id)).toBe("");
    }, 300_000);

    test("solve --worker codex-cli: the real CLI does the work in the project's environment, where its tests run", async () => {
      buildImages("agent-runner-codex");
      const model = await startWorkerModel();
      try {
        set("python");
        issue.body = '1 + 2 is -1\n[[RUN ["sed -i s/a.-.b/a+b/ calc.py"]]]';
        const file = join(home, "config.yaml");
        const config = JSON.parse(readFileSync(file, "utf8"));
        config.tasks = { test_command: "python3 -m pytest -q && grep -q a+b calc.py" };
        writeFileSync(file, JSON.stringify(config));
        mkdirSync(join(home, ".codex"));
        writeFileSync(
          join(home, ".codex/config.toml"),
          `model = "stub-model"\nmodel_provider = "stub"\n[model_providers.stub]\nname = "stub"\nbase_url = "http://${model.host}/v1"\nwire_api = "responses"\nenv_key = "CODEX_API_KEY"\nsupports_websockets = false\n`,
        );
        const { code, task, err } = await solve("--worker", "codex-cli");
        expect(err).toContain("sed -i");
        expect(task).toMatchObject({ state: "done", environment: "python", failure: null });
        expect(code).toBe(0);
        expect(task.checks).toMatchObject([{ exit_code: 0 }]);
        expect(git(repository.folder ?? "", "show", `${task.branch}:calc.py`)).toContain("a+b");
        expect(containersOf(task.task_id)).toBe("");
      } finally {
        await model.stop();
      }
    }, 900_000);

    test("serve takes a labelled issue of a conda project in by webhook and answers it with a pull request", async () => {
      set("miniforge");
      const file = join(home, "config.yaml");
      const config = JSON.parse(readFileSync(file, "utf8"));
      config.command_executor.enabled = true;
      writeFileSync(file, JSON.stringify(config));
      const child = Bun.spawn([PICOCLAW, "serve", "--port", "0"], {
        cwd: home,
        env: {
          PATH: process.env.PATH ?? "",
          HOME: home,
          PICOCLAW_HOME: home,
          DOCKER_HOST,
          GITHUB_PERSONAL_ACCESS_TOKEN: world.token,
          GITHUB_WEBHOOK_SECRET: "hook-secret",
        },
        stdout: "pipe",
        stderr: "pipe",
      });
      try {
        let told = "";
        let url = "";
        for await (const chunk of child.stdout) {
          told += new TextDecoder().decode(chunk);
          url = /http:\/\/127\.0\.0\.1:\d+/.exec(told)?.[0] ?? "";
          if (url !== "") break;
        }
        issue.labels = ["picoclaw"];
        const body = JSON.stringify({
          action: "labeled",
          label: { name: "picoclaw" },
          issue: { number: 1, user: { login: "alice" } },
          repository: { full_name: "acme/calc" },
          sender: { login: "alice" },
        });
        const headers = {
          "x-github-event": "issues",
          "x-github-delivery": "d-1",
          "x-hub-signature-256": `sha256=${createHmac("sha256", "hook-secret").update(body).digest("hex")}`,
        };
        const response = await fetch(`${url}/webhooks/github`, { method: "POST", body, headers });
        expect(await response.json()).toEqual({ did: ["kept"] });
        for (let i = 0; i < 600 && !(issue.comments[0]?.body ?? "").includes("PicoClaw is done"); i++)
          await Bun.sleep(100);
        expect(pulls().length).toBe(1);
      } finally {
        child.kill("SIGTERM");
        expect(await child.exited).toBe(0);
      }
    }, 300_000);
  },
);

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);
}
