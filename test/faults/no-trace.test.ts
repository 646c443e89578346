/** An error that no caller catches, at any step of any entry point, is one sentence for people and never the runtime's trace. */
import { afterAll, describe, expect, test } from "bun:test";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { attemptOr } from "../../src/domain/platform/error-text.ts";
import { LEAST_ABI, landlockAbi } from "../../src/infrastructure/platform/landlock.ts";
import {
  readProcessRecord,
  workspaceProcessesFolder,
} from "../../src/infrastructure/sandbox/process-record.ts";
import { createCli, NO_LOCAL_SERVERS, PROGRAM, type Ran, shell, until } from "../e2e/cli-kit.ts";
import { createHeadProject } from "../e2e/head-kit.ts";
import { withChecks } from "../e2e/node-project.ts";
import { startProgram } from "../e2e/terminal-kit.ts";
import { startPostgres } from "../infrastructure/store/postgres-server.ts";
import { requirePart, runs } from "../require.ts";

const cli = createCli();
afterAll(() => cli.remove());
const log = join(cli.folder, "faults.log");
const SENTENCE = "An unexpected error occurred: TypeError (details: ";

type Kind = "throw" | "reject" | "inside" | "none";

const faulty = (kind: Kind, at: number | "", place = "") => ({
  ...NO_LOCAL_SERVERS,
  BUN_OPTIONS: `--preload=${join(import.meta.dir, "fault-child.ts")}`,
  FAULT_KIND: kind,
  FAULT_AT: String(at),
  FAULT_IN: place,
  FAULT_LOG: log,
});

function readTurns(): { readonly turns: number; readonly raised: boolean } {
  const text = existsSync(log) ? readFileSync(log, "utf8") : "";
  rmSync(log, { force: true });
  return { turns: Number(/(\d+) turns\n$/.exec(text)?.[1] ?? 0), raised: text.includes("raised") };
}

/** Lines of a stack, quoted code, the runtime's own name. */
const TRACE = /^\s+at \S|^\s*\d+ \| |^\s*\^\s*$|^Bun v\d|evaluating '|\.[jt]s:\d+:\d+|injected/m;
const findTrace = ({ out, err }: Ran) => TRACE.exec(out + err)?.[0] ?? null;

const BACKUP = join(cli.folder, "backup");
/** What a command is called with, so that it does something. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  chat: ["/jobs"],
  stop: ["job_1_aaaaaaaa"],
  show: ["job_1_aaaaaaaa"],
  tool: ["tree", "{}"],
  solve: ["https://127.0.0.1:9/a/b/issues/1"],
  pair: ["list"],
  mcp: ["list"],
  env: ["list"],
  images: ["--help"],
  serve: ["link"],
  run: ["missing.yaml"],
  config: ["show"],
  db: ["status"],
  backup: [BACKUP],
  restore: [BACKUP],
  completion: ["bash"],
  demo: ["--help"],
};
/** The parameters of both protocols. */
const INITIALIZE = {
  protocolVersion: "2025-03-26",
  capabilities: {},
  clientCapabilities: {},
  clientInfo: { name: "test", version: "1" },
};
const input = JSON.stringify([shell("echo made > made")]);

const KINDS = ["throw", "reject", "inside"] as const;
const POSITIONS = [0, 0.5, 0.9] as const;
const names = [...cli.run(["--help"]).out.matchAll(/^ {2}([a-z]+)(?= |$)/gm)].map(([, name = ""]) => name);

test("all commands are known here", () => {
  expect(names).toContain("apply");
  expect(names.length).toBeGreaterThan(30);
});

describe("picoclaw", () => {
  test.each([...names.entries()])("command %i, %s", (index, name) => {
    const args = [name, ...(ARGUMENTS[name] ?? [])];
    const run = (kind: Kind, at: number) => {
      // A backup refuses the folder of the one before it.
      if (name === "backup") rmSync(BACKUP, { recursive: true, force: true });
      return cli.run(args, { input, env: faulty(kind, at) });
    };
    const clean = run("none", 0);
    expect(findTrace(clean)).toBeNull();
    const { turns } = readTurns();
    // By day one place and one kind for each command, by night all.
    const all = POSITIONS.flatMap((position) => KINDS.map((kind) => ({ position, kind })));
    for (const { position, kind } of runs(1) > 1 ? all : [all[index % all.length]!]) {
      for (let at = Math.max(1, Math.floor(turns * position)); ; at = Math.floor(at / 2)) {
        const ran = run(kind, at);
        const { raised } = readTurns();
        expect({ kind, at, trace: findTrace(ran) }).toEqual({ kind, at, trace: null });
        // A rejection is noticed after its turn: a command that is over in the same turn has ended by itself.
        const isOver = kind === "reject" && Bun.deepEquals(ran, clean);
        if (raised && kind !== "inside" && !isOver) {
          expect({ kind, at, ...ran, code: ran.code }).toMatchObject({ code: 1 });
          expect((ran.out + ran.err).split(SENTENCE)).toHaveLength(2);
        }
        if (raised || at <= 1) break;
      }
    }
  });
});

/** Starts an entry point, waits until it has said or done this, and raises the fault. */
async function startAndRaise(args: readonly string[], isReady: (said: Ran) => boolean) {
  const child = cli.start(args, faulty("reject", ""));
  const said = { code: null as number | null, out: "", err: "" };
  child.stdout?.on("data", (data) => {
    said.out += String(data);
  });
  child.stderr?.on("data", (data) => {
    said.err += String(data);
  });
  const ended = new Promise<Ran>((resolve) => child.once("close", (code) => resolve({ ...said, code })));
  await until(() => isReady(said));
  child.kill("SIGUSR2");
  return { child, said, ended };
}

test.each(["throw", "reject"] as const)(
  "a conversation at a terminal gives it back, and says why in one sentence (%s)",
  async (kind) => {
    const shown = startProgram(cli, { args: ["chat"], env: faulty(kind, "") });
    await shown.until("›");
    shown.child.kill("SIGUSR2");
    expect(await shown.child.exited).toBe(1);
    await shown.until(() => shown.all().includes("TypeError"));
    const said = shown.all();
    expect(said.replaceAll("\n", "")).toContain(SENTENCE);
    expect(findTrace({ code: 1, out: said, err: "" })).toBeNull();
    expect(shown.sent.raw.lastIndexOf("\x1b[?25h")).toBeGreaterThan(shown.sent.raw.lastIndexOf("\x1b[?25l"));
    await shown.close();
    readTurns();
  },
);

test("a job under way is closed and nothing of it applied", async () => {
  cli.write("patch.json", JSON.stringify([shell("echo made > late; echo begun >&2; sleep 60")]));
  const isRunning = () => cli.run(["jobs"]).out.includes("sleep 60") || cli.run(["ps"]).out.includes("apply");
  const { ended } = await startAndRaise(["apply", "patch.json"], ({ err }) => err !== "" || isRunning());
  const ran = await ended;
  expect(ran.code).toBe(1);
  expect(ran.err).toContain(SENTENCE);
  expect(findTrace(ran)).toBeNull();
  expect(existsSync(join(cli.workspace, "late"))).toBe(false);
  // The commands above have left jobs of their own.
  const jobs = cli.json(cli.run(["jobs", "--json"])).jobs as readonly { readonly title: string }[];
  expect(jobs.filter(({ title }) => title.includes("sleep 60"))).toMatchObject([
    { status: expect.not.stringMatching("running") },
  ]);
});

test("a background process ends with its keeper, and its record says so", async () => {
  const env = faulty("throw", "", "--keep-process");
  expect(cli.run(["ps", "start", "--name", "kept", "echo begun; sleep 60"], { env }).code).toBe(0);
  const record = join(workspaceProcessesFolder(cli.home, cli.workspace), "kept");
  process.kill(await until(() => readProcessRecord(record)?.keeper?.pid), "SIGUSR2");
  await until(() => readProcessRecord(record)?.end);
  const keeperSaid = await until(() => readFileSync(join(record, "keeper.log"), "utf8") || false);
  expect(keeperSaid).toStartWith(SENTENCE);
  expect(findTrace({ code: 1, out: keeperSaid, err: cli.run(["ps", "log", "kept"]).out })).toBeNull();
  cli.run(["ps", "stop", "--all"]);
});

test.each(["mcp", "acp"])("a client of %s sees its server end, and reads why in one line", async (name) => {
  const child = spawn(PROGRAM, [name], { cwd: cli.workspace, env: cli.environment(faulty("reject", "")) });
  const said = { out: "", err: "" };
  child.stdout.on("data", (data) => {
    said.out += String(data);
  });
  child.stderr.on("data", (data) => {
    said.err += String(data);
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  child.stdin.write(
    `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: INITIALIZE })}\n`,
  );
  await until(() => said.out.includes("\n"));
  child.kill("SIGUSR2");
  expect(await ended).toBe(1);
  expect(said.err).toContain(SENTENCE);
  expect(findTrace({ code: 1, ...said })).toBeNull();
});

describe("a server", () => {
  test("continues, logs the error and counts it", async () => {
    const { token } = cli.json(cli.run(["serve", "token", "create", "test", "--json"]));
    const args = ["serve", "--port", "0", "--json"];
    const { child, said, ended } = await startAndRaise(args, ({ out }) => out.includes("\n"));
    const { url } = JSON.parse(said.out) as { url: string };
    await until(() => said.err.includes("uncaught"));
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    expect(await metrics.text()).toContain("picoclaw_uncaught_errors 1\n");
    child.kill("SIGTERM");
    const ran = await ended;
    expect(ran.code).toBe(0);
    expect(findTrace(ran)).toBeNull();
    expect(said.err).toContain("uncaught: TypeError");
    expect(readFileSync(join(cli.home, "logs/picoclaw.log"), "utf8")).toContain("fault-child.ts");
  });
});

test.if(requirePart("postgres"))("a machine that joined continues, and logs the error", async () => {
  const postgres = startPostgres();
  const machine = createCli();
  try {
    mkdirSync(machine.home);
    writeFileSync(join(machine.home, "config.yaml"), `database_url: "${postgres.newDatabase()}"\n`);
    const child = machine.start(["join", "--json"], faulty("reject", ""));
    const said = { out: "", err: "" };
    child.stdout?.on("data", (data) => {
      said.out += String(data);
    });
    child.stderr?.on("data", (data) => {
      said.err += String(data);
    });
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    await until(() => said.out.includes("\n"));
    child.kill("SIGUSR2");
    await until(() => said.err.includes("uncaught: TypeError"));
    const fleet = machine.json(machine.run(["fleet", "--json"]));
    expect(fleet.machines).toMatchObject([{ processes: [{ kind: "join" }] }]);
    child.kill("SIGTERM");
    expect({ code: await ended, trace: findTrace({ code: 0, ...said }) }).toEqual({ code: 0, trace: null });
  } finally {
    machine.remove();
    await postgres.stop();
    readTurns();
  }
});

describe("a part that the program starts itself", () => {
  const wiring = join(import.meta.dir, "../../src/wiring");
  test.each(["executor", "limited", "container-files", "proxy"])(
    "says one line when it is run alone: %s",
    (part) => {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        ["--no-env-file", join(wiring, `${part}.ts`)],
        {
          encoding: "utf8",
          timeout: 60_000,
        },
      );
      expect(status).toBeGreaterThan(0);
      expect(findTrace({ code: status, out: stdout, err: stderr })).toBeNull();
      expect(stderr.trim().split("\n")).toHaveLength(1);
    },
  );
});

test("an executor that fails ends with one line", async () => {
  const settings = {
    ...{ root: cli.workspace, path: process.env.PATH, proxy: null, head: null, callers: null },
    limits: { memory: 0, fileSize: 0, openFiles: 0, processes: 0, disk: 0 },
    allowance: { spare: 0, beside: 0 },
  };
  const entry = join(import.meta.dir, "../../src/wiring/executor.ts");
  const child = spawn(process.execPath, ["--no-env-file", entry, JSON.stringify(settings)], {
    env: cli.environment(faulty("throw", "")),
    stdio: ["pipe", "pipe", "pipe", "pipe", "pipe"],
  });
  const said = { out: "", err: "" };
  child.stdout?.on("data", (data) => {
    said.out += String(data);
  });
  child.stderr?.on("data", (data) => {
    said.err += String(data);
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  await until(() => said.out.includes("ready"));
  child.kill("SIGUSR2");
  expect(await ended).toBe(1);
  expect(said.err).toBe("picoclaw executor: TypeError\n");
});

test("a proxy that fails over an open connection ends with one line, and so does the connection", async () => {
  const silent = createServer();
  const port = await new Promise<number>((resolve) => {
    silent.listen(0, "127.0.0.1", () => resolve((silent.address() as { readonly port: number }).port));
  });
  const accepted = new Promise<void>((resolve) => silent.once("connection", () => resolve()));
  const entry = join(import.meta.dir, "../../src/wiring/proxy.ts");
  const settings = { listen: { host: "127.0.0.1", port: 0 }, allowed: [`127.0.0.1:${port}`] };
  const child = spawn(process.execPath, ["--no-env-file", entry, JSON.stringify(settings)], {
    env: cli.environment(faulty("throw", "")),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { out: "", err: "" };
  child.stdout.on("data", (data) => {
    said.out += String(data);
  });
  child.stderr.on("data", (data) => {
    said.err += String(data);
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  await until(() => said.out.includes("\n"));
  const { port: proxy } = JSON.parse(said.out) as { readonly port: number };
  const fetched = fetch(`http://127.0.0.1:${port}/`, { proxy: `http://127.0.0.1:${proxy}` }).catch(
    () => "cut",
  );
  await accepted;
  child.kill("SIGUSR2");
  expect(await ended).toBe(2);
  expect(await fetched).toBe("cut");
  expect(said.err).toBe("picoclaw proxy: TypeError\n");
  silent.close();
  readTurns();
});

test.if(landlockAbi() >= LEAST_ABI)(
  "a thread that fails while its command runs says nothing, and the command ends with the job",
  () => {
    const folder = join(cli.folder, "thread");
    mkdirSync(folder);
    const seconds = `${process.pid}314159`;
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ["--no-env-file", join(import.meta.dir, "limited-child.ts"), folder, seconds],
      {
        env: cli.environment({ FAULT_WHEN: join(folder, "copy/fault") }),
        encoding: "utf8",
        timeout: 120_000,
      },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({
      outcome: "signaled",
      ended: expect.arrayContaining([`sleep ${seconds}`]) as unknown as string[],
    });
    const left = readdirSync("/proc").filter((pid) => {
      return attemptOr(false, () => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(seconds));
    });
    expect(left).toEqual([]);
  },
);

describe("while a head works", () => {
  for (const kind of KINDS)
    withChecks(`an error that no caller catches ends it and its job, in one sentence (${kind})`, async () => {
      const head = await createHeadProject({
        turns: [{ sh: ["echo two > a.txt", "sleep 0.5", "echo three > a.txt"], text: "done", hangs: true }],
      });
      try {
        const args = ["chat", "--", "/head claude-code change a.txt"];
        const child = head.start(args, { ...head.env, ...faulty(kind, "", "/head") });
        const said = { out: "", err: "" };
        child.stdout?.on("data", (data) => {
          said.out += String(data);
        });
        child.stderr?.on("data", (data) => {
          said.err += String(data);
        });
        const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
        await until(() => head.asked.length > 0);
        child.kill("SIGUSR2");
        const ran = { code: await ended, ...said };
        expect(findTrace(ran)).toBeNull();
        expect(ran.code).not.toBe(0);
        if (kind !== "inside") expect((ran.out + ran.err).split(SENTENCE)).toHaveLength(2);
        expect(head.read("a.txt")).toBe("one\n");
        const left = readdirSync("/proc").filter((pid) =>
          attemptOr(false, () => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(head.folder)),
        );
        await until(() => left.every((pid) => !existsSync(`/proc/${pid}`)));
      } finally {
        await head.remove();
        readTurns();
      }
    });
});
