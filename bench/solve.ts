/** Issues carried to pull requests: real containers, real git, a model that answers at once, a warm pool. */
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Forge } from "../src/application/ports/forges.ts";
import type { SolveTask } from "../src/application/ports/tasks.ts";
import { takeInTask } from "../src/application/tasks/intake.ts";
import { solveTask } from "../src/application/tasks/solve-task.ts";
import type { SolveDeps } from "../src/application/tasks/solve-work.ts";
import { DEFAULTS } from "../src/config/config.ts";
import { PHASES } from "../src/domain/tasks/solve-decisions.ts";
import { openForge } from "../src/infrastructure/forges/forge-registry.ts";
import { configuredForges } from "../src/wiring/project-forge.ts";
import { openSolver, type Solver } from "../src/wiring/solve.ts";
import type { Row } from "./measure.ts";
import { createPortTimes, type PortTimes } from "./port-times.ts";
import { remove, tempFolder } from "./workspaces.ts";

const HOST = process.env.DOCKER_HOST ?? DEFAULTS.command_executor.docker.host;
const RUN = "command-executor_execute_command";
const TEST = "python -m pytest -q";
const ONE_BY_ONE = 5;
const AT_ONCE = 2;
const IN_PAIRS = 8;

export async function solveTasks(): Promise<Row[]> {
  const folder = tempFolder("solve");
  const gateway = docker("network", "inspect", "bridge", "-f", "{{(index .IPAM.Config 0).Gateway}}");
  const issues = 1 + ONE_BY_ONE + IN_PAIRS;
  const server = Bun.spawn(
    [process.execPath, join(import.meta.dir, "solve-forge.ts"), folder, gateway, String(issues)],
    { stdout: "pipe", stderr: "inherit" },
  );
  try {
    const told = await server.stdout.getReader().read();
    const { url, token } = JSON.parse(new TextDecoder().decode(told.value)) as { url: string; token: string };
    const home = join(folder, "home");
    writeHome(home, url);
    const opened = await openSolver(
      {
        PATH: process.env.PATH,
        HOME: home,
        PICOCLAW_HOME: home,
        DOCKER_HOST: HOST,
        GITHUB_PERSONAL_ACCESS_TOKEN: token,
      },
      { cwd: home },
    );
    if (!opened.ok) throw new Error(opened.message ?? JSON.stringify(opened.problems));
    const { solver } = opened;
    try {
      const forge = await openForge("github", configuredForges(solver));
      if (typeof forge === "string") throw new Error(`no ${forge}`);
      return await measured({ solver, forge, site: url });
    } finally {
      await solver.close();
    }
  } finally {
    server.kill();
    await server.exited;
    remove(folder);
  }
}

interface Bench {
  readonly solver: Solver;
  readonly forge: Forge;
  readonly site: string;
}

async function measured(bench: Bench): Promise<Row[]> {
  // The first one finds everything cold: modules, the proxy, the pool.
  await solveOne(bench, 1, createPortTimes());
  const times = createPortTimes();
  const spent = new Map<string, number>();
  const cpu = process.cpuUsage();
  const begun = performance.now();
  for (let i = 0; i < ONE_BY_ONE; i++) {
    const task = await solveOne(bench, 2 + i, times);
    for (const phase of PHASES) spent.set(phase, (spent.get(phase) ?? 0) + (task.spent[phase] ?? 0));
  }
  const total = performance.now() - begun;
  const { user, system } = process.cpuUsage(cpu);
  spent.set("before, between and after", total - sum(spent));
  const own = total - sum(times.ms);

  const next = { issue: 2 + ONE_BY_ONE };
  const end = next.issue + IN_PAIRS;
  const pairsBegun = performance.now();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next.issue < end) await solveOne(bench, next.issue++, createPortTimes());
    }),
  );
  const paired = performance.now() - pairsBegun;
  const perHour = (tasks: number, ms: number) => Math.round((tasks * 3_600_000) / ms);
  const each = (entries: Iterable<readonly [string, number]>) =>
    [...entries].map(([name, ms]) => `${name} ${(ms / ONE_BY_ONE).toFixed(0)}`).join(", ");
  const share = (part: number) => `${((100 * part) / total).toFixed(1)} %`;
  return [
    {
      name: `tasks per hour, ${AT_ONCE} at once / one by one`,
      figure: `${perHour(IN_PAIRS, paired)} / ${perHour(ONE_BY_ONE, total)}`,
      target: "",
      ok: true,
    },
    { name: "ms of a task by phase", figure: each(spent), target: "", ok: true },
    {
      name: "ms of a task by what it waits for",
      figure: each([...times.ms].sort(([, x], [, y]) => y - x)),
      target: "",
      ok: true,
    },
    {
      name: "calls of a task",
      figure: each(times.calls),
      target: "",
      ok: true,
    },
    {
      name: "our own share of a task's time",
      figure: `${share(own)} (${(own / ONE_BY_ONE).toFixed(0)} ms)`,
      target: "≤ 10 %",
      ok: own <= 0.1 * total,
    },
    {
      name: "the program's own processor time, also behind those waits",
      figure: share((user + system) / 1000),
      target: "≤ 10 %",
      ok: (user + system) / 1000 <= 0.1 * total,
    },
  ];
}

async function solveOne({ solver, forge, site }: Bench, issue: number, times: PortTimes): Promise<SolveTask> {
  const { task } = await takeInTask(
    { store: solver.store, now: () => new Date(), uuid: randomUUID },
    {
      item: { forge: "github", site, repository: "acme/calc", kind: "issue", number: issue },
      askedBy: "hand",
      trigger: "hand",
      worker: null,
    },
  );
  const deps = timed(await solver.deps(forge, task.id), times);
  const ended = await solveTask(deps, task.id, { signal: new AbortController().signal, say: () => {} });
  if (ended?.state !== "done" || ended.pull === null)
    throw new Error(`issue ${issue}: ${ended?.state}, ${ended?.failure?.message}`);
  return ended;
}

/** Everything that leaves the program, counted by what it is. */
function timed(deps: SolveDeps, times: PortTimes): SolveDeps {
  const { environments } = deps;
  const inContainer = (member: string) =>
    member === "difference" ? "git diff" : member === "run" ? "git, ls, tests" : "model's tools";
  return {
    ...deps,
    forge: times.port(deps.forge, () => "forge"),
    publisher: times.port(deps.publisher, () => "git push"),
    environments: {
      ...environments,
      async prepare(request) {
        const prepared = await times.port(environments, () => "container made").prepare(request);
        return prepared.ok ? times.port(prepared, inContainer) : prepared;
      },
      remove: (taskId, claim) => times.port(environments, () => "container removed").remove(taskId, claim),
    },
    model() {
      const model = deps.model();
      return "generate" in model ? times.model(model, "model") : model;
    },
  };
}

function writeHome(home: string, url: string): void {
  mkdirSync(home, { recursive: true });
  const config = {
    locale: "en",
    providers: { script: { type: "scripted", script: "solve.json" } },
    roles: { coder3: { provider: "script" } },
    forges: { github: { base_url: `${url}/api/v3` } },
    command_executor: {
      pool: { size: AT_ONCE },
      docker: { network: { allowed_hosts: [new URL(url).host] } },
    },
  };
  writeFileSync(join(home, "config.yaml"), JSON.stringify(config));
  // Another length: Python takes a file of the same length and second for the one that it compiled.
  const edit = { command: "str_replace", path: "calc.py", old_str: "a - b", new_str: "(a + b)" };
  const step = (n: number, text: string, name: string, args: object) => ({
    when: { step: n },
    text,
    tool_calls: [{ name, arguments: args }],
  });
  const answers = [
    { when: { system: "You plan work" }, text: '{"steps":["fix add"],"risk":"low","environment":"python"}' },
    step(0, "Look first.", RUN, { command: TEST }),
    step(1, "It subtracts.", "text_editor", edit),
    step(2, "Try.", RUN, { command: TEST }),
    { text: '{"done": true, "summary": "add adds now"}' },
  ];
  writeFileSync(join(home, "solve.json"), JSON.stringify({ answers }));
}

function sum(values: ReadonlyMap<string, number>): number {
  return [...values.values()].reduce((all, one) => all + one, 0);
}

function docker(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync("docker", args, {
    encoding: "utf8",
    env: { ...process.env, DOCKER_HOST: HOST },
  });
  if (status !== 0) throw new Error(`docker ${args[0]}: ${stderr}`);
  return stdout.trim();
}
