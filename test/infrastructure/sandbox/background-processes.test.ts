import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  BackgroundProcess,
  WorkspaceProcesses,
} from "../../../src/application/ports/sandbox-processes.ts";
import { wordTraces } from "../../../src/application/sandbox/process-report.ts";
import { isAlive, isZombie } from "../../../src/infrastructure/platform/process-table.ts";
import { removeTree } from "../../../src/infrastructure/platform/remove-tree.ts";
import {
  type BackgroundProcessesDeps,
  createBackgroundProcesses,
} from "../../../src/infrastructure/sandbox/background-processes.ts";
import {
  noteLanding,
  readProcessRecord,
  workspaceProcessesFolder,
} from "../../../src/infrastructure/sandbox/process-record.ts";
import { requirePart } from "../../require.ts";

let folder: string;
let root: string;
let home: string;
let opened: WorkspaceProcesses[];
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "picoclaw-ps-")));
  root = join(folder, "ws");
  home = join(folder, "home");
  opened = [];
  for (const name of [root, join(folder, "user")]) mkdirSync(name);
});
afterEach(async () => {
  for (const processes of opened)
    for (const { name, state } of await processes.list())
      if (state.kind !== "ended") await processes.stop(name);
  removeTree(folder);
});

type Confinement = "confined" | "none";

function open(given: Partial<BackgroundProcessesDeps> & { readonly confinement?: Confinement } = {}) {
  const { confinement = "confined", ...rest } = given;
  const processes = createBackgroundProcesses({
    home,
    root,
    configFile: null,
    settings: { keep: true, limit: 20, logLimitBytes: 64 * 1024 },
    env: {
      PATH: process.env.PATH,
      HOME: join(folder, "user"),
      PICOCLAW_HOME: home,
      ...(confinement === "none" && { PICOCLAW_WORKER_CONFINE: "off" }),
    },
    isUnconfinable: false,
    hasOwnNetwork: () => false,
    findPreview: () => null,
    pid: process.pid,
    graceMs: 200,
    mask: (text) => text.replaceAll("hunter2", "***"),
    now: () => new Date(),
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    ...rest,
  });
  opened.push(processes);
  return processes;
}

const recordOf = (name: string) => readProcessRecord(join(workspaceProcessesFolder(home, root), name));
const keeperOf = (name: string) => recordOf(name)?.keeper?.pid ?? 0;

describe.if(requirePart("bwrap"))("a background process and secret files", () => {
  test.each([
    ["model", "TOKEN=\n"],
    ["user", "TOKEN=hidden-1f\n"],
  ] as const)("that a %s started reads %j of them", async (startedBy, read) => {
    writeFileSync(join(root, ".env"), "hidden-1f\n");
    const processes = open();
    const command = 'printf "TOKEN=%s\\n" "$(cat .env)" > seen; exec sleep 600';
    started(await processes.start({ command, name: "p", startedBy }));
    await until(() => existsSync(join(root, "seen")) && readFileSync(join(root, "seen"), "utf8") !== "");
    expect(readFileSync(join(root, "seen"), "utf8")).toBe(read);
    expect(readFileSync(join(root, ".env"), "utf8")).toBe("hidden-1f\n");
  });
});

/** Zombies do not count. */
const isRunning = (pid: number) => isAlive(pid) && !isZombie(pid);

async function until<T>(ask: () => Promise<T | false> | T | false, deadlineMs = 120_000): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const answer = await ask();
    if (answer !== false) return answer;
    if (performance.now() > end) throw new Error("it never came");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const stateOf = async (processes: WorkspaceProcesses, name: string) =>
  (await processes.list()).find((one) => one.name === name)?.state;

function started(outcome: Awaited<ReturnType<WorkspaceProcesses["start"]>>): BackgroundProcess {
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
  return outcome.process;
}

const SERVER = `${process.execPath} -e 'Bun.serve({port: process.env.PORT ?? 0, hostname: "127.0.0.1", fetch: () => new Response("hello hunter2")}); console.log("up hunter2")'`;

describe.each(["confined", "none"] as const)("a background process (%s)", (confinement) => {
  test("runs over the live folder, is listed with its port, logged, and stopped with all it started", async () => {
    writeFileSync(join(root, "kept"), "kept");
    const processes = open({ confinement });
    const process = started(
      await processes.start({
        startedBy: "user",
        command: `echo made > made; cat kept; sleep 300 & ${SERVER}`,
        name: "web",
      }),
    );
    const held = confinement === "confined" && !requirePart("bwrap") ? "limited" : confinement;
    expect(process).toMatchObject({ name: "web", state: { kind: "running" }, confinement: held, runs: 1 });
    const [port] = await until(async () => {
      const [one] = await processes.list();
      return one !== undefined && one.ports.length > 0 && one.ports;
    });
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("hello hunter2");
    expect(readFileSync(join(root, "made"), "utf8")).toBe("made\n");
    // The server answers before it says so.
    const log = await until(async () => {
      const read = await processes.log("web", 10);
      return read?.text.includes("up") ? read : false;
    });
    expect(log).toMatchObject({ text: "keptup ***", cut: false });
    const keeper = keeperOf("web");
    expect(await processes.stop("web")).toMatchObject({ status: "stopped" });
    expect(isRunning(keeper)).toBe(false);
    expect(await fetch(`http://127.0.0.1:${port}/`).catch(() => "refused")).toBe("refused");
    expect(await processes.stop("web")).toMatchObject({ status: "not-running" });
    expect(await processes.stop("nobody")).toEqual({ status: "unknown", name: "nobody" });
  });

  test("that moves into the background is still the process, and ends whole though it ignores TERM", async () => {
    const processes = open({ confinement });
    const script = `(setsid env -i bash -c 'trap "" TERM; echo $$ > pid; while :; do sleep 0.1; done' &) ; exit 0`;
    const process = started(await processes.start({ startedBy: "user", command: script, name: "daemon" }));
    expect(process.state.kind).toBe("running");
    await until(() => existsSync(join(root, "pid")));
    expect(await stateOf(processes, "daemon")).toEqual({ kind: "running" });
    const stopped = await processes.stop("daemon");
    expect(stopped).toMatchObject({
      status: "stopped",
      process: { state: { kind: "ended", why: "stopped" } },
    });
    if (confinement === "none")
      expect(isRunning(Number(readFileSync(join(root, "pid"), "utf8")))).toBe(false);
  });

  test("whose keeper was killed is ended by the next process that looks, and no unrelated process is", async () => {
    const processes = open({ confinement });
    started(
      await processes.start({ startedBy: "user", command: "echo $$ > pid; exec sleep 300", name: "lost" }),
    );
    const pid = Number(readFileSync(join(root, "pid"), "utf8"));
    const stranger = Bun.spawn(["sleep", "60"]);
    try {
      process.kill(keeperOf("lost"), "SIGKILL");
      expect(await until(async () => (await stateOf(processes, "lost"))?.kind === "ended")).toBe(true);
      expect(await stateOf(processes, "lost")).toMatchObject({ why: "lost" });
      if (confinement === "none") expect(isRunning(pid)).toBe(false);
      expect(isAlive(stranger.pid)).toBe(true);
      expect(started(await processes.restart("lost"))).toMatchObject({ state: { kind: "running" } });
    } finally {
      stranger.kill();
      await stranger.exited;
    }
  });
});

describe("a background process", () => {
  test("that dies at once is reported with its last lines", async () => {
    const outcome = await open().start({
      startedBy: "user",
      command: "echo one; echo boom hunter2 >&2; exit 3",
      name: "bad",
    });
    expect(outcome).toMatchObject({
      ok: false,
      why: "ended",
      lastLines: "one\nboom ***",
      process: { state: { kind: "ended", why: "exited", exitCode: 3 } },
    });
  });

  test.if(requirePart("bwrap"))("cannot write git's own files, nor outside its folder", async () => {
    mkdirSync(join(root, ".git/hooks"), { recursive: true });
    const script = `echo x > .git/hooks/post-checkout || echo held; echo x > ${folder}/outside; sleep 300`;
    const processes = open();
    started(await processes.start({ startedBy: "user", command: script, name: "evil" }));
    expect((await processes.log("evil", 10))?.text).toContain("held");
    expect(existsSync(join(root, ".git/hooks/post-checkout"))).toBe(false);
    expect(existsSync(join(folder, "outside"))).toBe(false);
  });

  test.if(requirePart("bwrap"))(
    "cannot write the git directories below its folder that are there",
    async () => {
      const places = ["lib/.git", "deep/er/.git", "bare.git"];
      for (const place of places) {
        for (const name of ["hooks", "objects", "refs"])
          mkdirSync(join(root, place, name), { recursive: true });
        writeFileSync(join(root, place, "HEAD"), "ref: refs/heads/main\n");
      }
      mkdirSync(join(root, "pointed"));
      writeFileSync(join(root, "pointed/.git"), "gitdir: ../bare.git\n");
      const tries = places.map((place) => `echo x > ${place}/hooks/pre-commit || echo held:${place}`);
      const script = `${tries.join("; ")}; echo gitdir: x > pointed/.git || echo held:pointed; mv lib moved; echo x > moved/.git/config || echo held:moved; sleep 300`;
      const processes = open();
      started(await processes.start({ startedBy: "user", command: script, name: "evil" }));
      const log = (await processes.log("evil", 20))?.text ?? "";
      for (const place of [...places, "pointed", "moved"]) expect(log).toContain(`held:${place}`);
      expect(existsSync(join(root, "bare.git/hooks/pre-commit"))).toBe(false);
    },
  );

  test("that makes a git directory with hooks or settings is reported with them, and no other is", async () => {
    mkdirSync(join(root, "old/.git/hooks"), { recursive: true });
    writeFileSync(join(root, "old/.git/hooks/pre-commit"), "mine");
    const processes = open();
    const script = [
      "mkdir old2; mv old old2/moved",
      "for at in . sub bare plain; do git init -q $at; done",
      "git config core.fsmonitor 'touch pwn'",
      "echo x > sub/.git/hooks/pre-commit",
      "mkdir made; cd made; ln -s ../sub/.git .git; cd ..",
      "mv bare/.git b; rm -r bare; mkfifo b/hooks/update; mv b bare",
      "mkdir -p old/.git; printf '[core]\\n\\tsshCommand = x\\n' > old/.git/config",
    ];
    started(await processes.start({ startedBy: "user", command: script.join("; "), name: "evil" }));
    const ended = await until(async () => {
      const [one] = await processes.list();
      return one?.state.kind === "ended" && one;
    });
    expect(ended.state).toMatchObject({ exitCode: 0 });
    expect(ended.plantedGit.toSorted()).toEqual([
      ".git/config",
      "bare/hooks/update",
      "made/.git",
      "old/.git/config",
      "sub/.git/hooks/pre-commit",
    ]);
  });

  test("is reported with them while it runs", async () => {
    const processes = open();
    started(
      await processes.start({
        startedBy: "user",
        command: "mkdir -p a/.git/hooks; : > a/.git/hooks/update; sleep 300",
      }),
    );
    const [found] = await until(async () => {
      const list = await processes.list();
      return list[0]?.plantedGit.length === 1 && list;
    });
    expect(found).toMatchObject({ state: { kind: "running" }, plantedGit: ["a/.git/hooks/update"] });
  });

  test("in a home is reported with the start files that it makes there, as links too, and not with those that existed", async () => {
    writeFileSync(join(root, ".bashrc"), "mine");
    const env = { PATH: process.env.PATH, HOME: root, PICOCLAW_HOME: home };
    const processes = open({ env });
    const script = [
      ": > .zshenv; : > notes; mkdir -p .config/autostart .cache/x; : > .config/autostart/x.desktop",
      "ln -s notes .profile; echo more >> .bashrc; true",
    ];
    started(await processes.start({ startedBy: "user", command: script.join("; "), name: "evil" }));
    const [found] = await until(async () => {
      const list = await processes.list();
      return list[0]?.state.kind === "ended" && list;
    });
    expect(found?.plantedHome).toEqual([".config/autostart", ".profile", ".zshenv"]);
    const said = wordTraces(found as BackgroundProcess, "en");
    expect(said).toEqual([
      expect.stringMatching(/^CAUTION: .+ in a home: \.config\/autostart, \.profile, \.zshenv\./),
    ]);
    const again = open({ env: { ...env, PICOCLAW_WORKER_HOME_WRITES: "~/.zlogin" } });
    const allowed = started(
      await again.start({ startedBy: "user", command: ": > .zlogin", name: "allowed" }),
    );
    expect(allowed.plantedHome).toEqual([]);
  });

  test("that floods its log is slowed down, kept within the limit, and can be stopped", async () => {
    const processes = open();
    started(await processes.start({ startedBy: "user", command: "yes flood", name: "flood" }));
    const record = workspaceProcessesFolder(home, root);
    const bytes = ["log", "log.1"].reduce(
      (sum, name) =>
        sum +
        (existsSync(join(record, "flood", name)) ? readFileSync(join(record, "flood", name)).length : 0),
      0,
    );
    expect(bytes).toBeLessThanOrEqual(64 * 1024);
    expect(await processes.stop("flood")).toMatchObject({ status: "stopped" });
  });

  test.if(requirePart("bwrap"))(
    "with a network of its own is reached through a port that is opened for it, and reaches nobody",
    async () => {
      const outside = createServer().listen(0, "127.0.0.1");
      await new Promise((resolve) => outside.once("listening", resolve));
      const { port: stranger } = outside.address() as { port: number };
      const env = { PATH: process.env.PATH, HOME: join(folder, "user"), PICOCLAW_HOME: home };
      const processes = open({
        hasOwnNetwork: () => true,
        env: { ...env, PICOCLAW_WORKER_NETWORK_MODE: "off" },
      });
      const script = `(: > /dev/tcp/127.0.0.1/${stranger}) 2> /dev/null && echo reached; ${SERVER}`;
      // The number is taken outside, and free inside.
      const { ports } = started(
        await processes.start({ startedBy: "user", command: script, name: "web", port: stranger }),
      );
      expect(ports).toHaveLength(1);
      expect(ports).not.toEqual([stranger]);
      const asked = await Promise.all([1, 2, 3].map(() => fetch(`http://127.0.0.1:${ports[0]}/`)));
      expect(await Promise.all(asked.map((one) => one.text()))).toEqual(Array(3).fill("hello hunter2"));
      expect((await processes.log("web", 10))?.text).toBe("up ***");
      outside.close();
      await processes.stop("web");
      expect(await fetch(`http://127.0.0.1:${ports[0]}/`).catch(() => "refused")).toBe("refused");
    },
  );

  test("ends with the program that started it, unless it is kept", async () => {
    const program = Bun.spawn(["sleep", "60"]);
    const processes = open({ pid: program.pid });
    started(await processes.start({ startedBy: "user", command: "sleep 300", name: "mine", keeps: false }));
    started(await processes.start({ startedBy: "user", command: "sleep 300", name: "kept" }));
    program.kill();
    await program.exited;
    await until(async () => (await stateOf(processes, "mine"))?.kind === "ended");
    expect(await stateOf(processes, "mine")).toMatchObject({ why: "program-ended" });
    expect(await stateOf(processes, "kept")).toEqual({ kind: "running" });
  });

  test("ends when its workspace is removed", async () => {
    const processes = open();
    started(await processes.start({ startedBy: "user", command: "sleep 300", name: "orphan" }));
    rmSync(root, { recursive: true });
    await until(async () => (await stateOf(processes, "orphan"))?.kind === "ended");
    expect(await stateOf(processes, "orphan")).toMatchObject({ why: "workspace-gone" });
  });

  test("starts again after a landing where that was asked for, and on request", async () => {
    const processes = open();
    started(
      await processes.start({
        startedBy: "user",
        command: "echo up; sleep 300",
        name: "dev",
        restartsOnLanding: true,
      }),
    );
    const isUp = async (times: number) =>
      (await processes.log("dev", 20))?.text.match(/^up$/gm)?.length === times;
    await until(() => isUp(1));
    noteLanding(home, root, new Date());
    await until(() => isUp(2));
    expect(started(await processes.restart("dev"))).toMatchObject({ runs: 3, state: { kind: "running" } });
    await until(() => isUp(3));
  });

  test("is refused where its name, its port or the number of processes is taken", async () => {
    const processes = open({ settings: { keep: true, limit: 2, logLimitBytes: 65_536 } });
    const both = await Promise.all(
      [1, 2].map(() => processes.start({ startedBy: "user", command: "sleep 300", name: "twin" })),
    );
    expect(both.map((one) => (one.ok ? "started" : one.why)).sort()).toEqual(["name-taken", "started"]);
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    expect(await processes.start({ startedBy: "user", command: "sleep 300", port })).toEqual({
      ok: false,
      why: "port-taken",
      port,
      holder: null,
    });
    server.close();
    expect(started(await processes.start({ startedBy: "user", command: "sleep 300" })).name).toBe("sleep");
    expect(await processes.start({ startedBy: "user", command: "sleep 300" })).toEqual({
      ok: false,
      why: "limit",
      most: 2,
    });
    expect(await processes.start({ startedBy: "user", command: "sleep 300", over: "job_1_x" })).toMatchObject(
      { why: "limit" },
    );
    expect(await open({ isUnconfinable: true }).start({ startedBy: "user", command: "true" })).toEqual({
      ok: false,
      why: "not-confined",
    });
    expect(await processes.start({ startedBy: "user", command: "  " })).toMatchObject({
      why: "empty-command",
    });
    expect(await processes.start({ startedBy: "user", command: "x", name: "../x" })).toMatchObject({
      why: "bad-name",
    });
    await processes.stop("twin");
    expect(await processes.forgetEnded()).toBe(1);
    expect((await processes.list()).map(({ name }) => name)).toEqual(["sleep"]);
  });
});
