import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ModelServer } from "../test/fakes/model-server/server.ts";
import { type Agent, findPeers, ourselves } from "./chat-agents.ts";
import { runOnce } from "./chat-run.ts";
import { startChatStub } from "./chat-stub.ts";
import { type Row, type Sample, summarize } from "./measure.ts";
import { remove, tempFolder } from "./workspaces.ts";

interface Figures {
  readonly name: string;
  readonly wall: Sample;
  readonly processor: Sample;
  readonly memoryMb: number;
  readonly requests: number;
  readonly promptBytes: number;
}

const RUNS = Number(process.env.PICOCLAW_BENCH_RUNS ?? 15);
const MEMORY_RUNS = 3;

/**
 * One message that ends in one edit, against a model without latency: PicoClaw decides by its rules, asks its coder, runs
 * the job and replies; the others make the same edit by their own tool. Wall time, the tree's peak memory, the bytes sent.
 */
export async function chatMessage(): Promise<Row[]> {
  const folder = tempFolder("chat");
  const workspace = join(folder, "repo");
  const stub = await startChatStub(workspace);
  try {
    const { found, missing } = findPeers(folder, stub.url, workspace);
    const { able, failed } = await warmUp([ourselves(folder, stub.url), ...found], workspace);
    const { figures, library } = await measure(able, workspace, stub);
    return [
      ...rowsOf(figures),
      ...rowAgainstLibrary(figures[0], library),
      ...(await countWork(able[0], workspace)),
      ...(await readBefore(able[0], workspace)),
      ...failed,
      ...absent(missing),
    ];
  } finally {
    await stub.stop();
    remove(folder);
  }
}

/** An agent that cannot make the edit here is named, and not compared. */
async function warmUp(agents: readonly Agent[], workspace: string) {
  const able: Agent[] = [];
  const failed: Row[] = [];
  for (const first of agents) {
    for (let agent: Agent | undefined = first; agent !== undefined; agent = agent.instead) {
      const run = await runOnce(agent, workspace, false);
      if (run.ok) {
        able.push(agent);
        break;
      }
      const figure = `did not make the edit: ${run.said.replaceAll("|", "/")}`;
      failed.push({ name: agent.name, figure, target: "", ok: first !== agents[0] });
    }
  }
  return { able, failed };
}

/** Taken in turns, so that noise hits all of them. */
async function measure(agents: readonly Agent[], workspace: string, stub: ModelServer) {
  const times = agents.map(() => [] as number[]);
  const processor = agents.map(() => [] as number[]);
  const library: number[] = [];
  for (let round = 0; round < RUNS; round++) {
    library.push(readLibrary());
    for (const [index, agent] of agents.entries()) {
      const run = await runOnce(agent, workspace, false);
      if (!run.ok) continue;
      times[index]?.push(run.ms);
      processor[index]?.push(run.processorMs);
    }
  }
  const figures: Figures[] = [];
  for (const [index, agent] of agents.entries()) {
    const peaks: number[] = [];
    for (let round = 0; round < MEMORY_RUNS; round++) {
      stub.requests.length = 0;
      const run = await runOnce(agent, workspace, true);
      if (run.ok) peaks.push(run.memoryMb);
    }
    figures.push({
      name: agent.name,
      wall: summarize(times[index] ?? []),
      processor: summarize(processor[index] ?? []),
      memoryMb: summarize(peaks).median,
      requests: stub.requests.length,
      promptBytes: stub.requests.reduce((sum, { bytes }) => sum + bytes, 0),
    });
  }
  return { figures, library: summarize(library) };
}

/** The processor time in which the same runtime reads one library from its sources: as much code that runs once as a message has. */
function readLibrary(): number {
  const command = [process.execPath, "--no-env-file", "-e", 'require("kysely")'];
  const ran = Bun.spawnSync(command, { cwd: join(import.meta.dir, ".."), stdout: "ignore" });
  if (ran.exitCode !== 0) throw new Error(`the library was not read: ${ran.stderr}`);
  return Number(ran.resourceUsage.cpuTime.total) / 1000;
}

/** Holds without another agent: what makes a message slower shows here, on any machine and little changed by its load. */
const MOST_LIBRARIES = 2;

function rowAgainstLibrary(own: Figures | undefined, library: Sample): Row[] {
  if (own === undefined) return [];
  // The least of each: a load beside them only adds.
  const ratio = own.processor.low / library.low;
  return [
    {
      name: "processor time, picoclaw / its runtime reading one library",
      figure: `${ratio.toFixed(2)} (${library.low.toFixed(0)} ms)`,
      target: `≤ ${MOST_LIBRARIES}`,
      ok: ratio <= MOST_LIBRARIES,
    },
  ];
}

function rowsOf([own, ...peers]: readonly Figures[]): Row[] {
  if (own === undefined) return [];
  const each = [own, ...peers].map(({ name, wall, processor, memoryMb, requests, promptBytes }) => ({
    name: `one message, one edit: ${name}`,
    figure: [
      `${wall.median.toFixed(0)} ms (${wall.low.toFixed(0)}–${wall.high.toFixed(0)})`,
      `${processor.median.toFixed(0)} ms of processor time`,
      `${memoryMb.toFixed(0)} MiB`,
      `${requests} request${requests === 1 ? "" : "s"}`,
      `${promptBytes.toLocaleString("en")} bytes`,
    ].join(", "),
    target: "",
    ok: true,
  }));
  if (peers.length === 0) return each;
  const against = (what: string, most: number, of: (figures: Figures) => number): Row => {
    const best = peers.reduce((a, b) => (of(b) < of(a) ? b : a));
    const ratio = of(own) / of(best);
    const name = `${what}, picoclaw / the best of the others (${best.name})`;
    return { name, figure: ratio.toFixed(2), target: `≤ ${most}`, ok: ratio <= most };
  };
  return [
    ...each,
    against("wall time", 0.35, ({ wall }) => wall.median),
    against("processor time", 0.4, ({ processor }) => processor.median),
    against("peak memory", 0.5, ({ memoryMb }) => memoryMb),
    against("prompt bytes", 0.5, ({ promptBytes }) => promptBytes),
  ];
}

/** Calls of one message in a home without earlier jobs; they do not depend on the load, so a change for the worse shows on any machine. */
const MOST = { openat: 202, fsync: 12, execve: 2 } as const;

async function countWork(own: Agent | undefined, workspace: string): Promise<Row[]> {
  const strace = Bun.which("strace");
  if (own === undefined || strace === null) return [];
  const count = async (name: string, command: readonly string[], env: Readonly<Record<string, string>>) => {
    const home = join(own.env.HOME ?? "", name);
    const run = await runOnce(
      { ...own, command, env: { ...own.env, ...env, PICOCLAW_HOME: home } },
      workspace,
      false,
    );
    return run.said;
  };
  const options = ["-f", "-qq", "-c", "-U", "calls,name", "-e", `trace=${Object.keys(MOST)}`];
  const calls = await count("counted", [strace, ...options, ...own.command], {});
  const collections = await count("collected", own.command, { BUN_JSC_logGC: "1" });
  const row = (what: string, found: number, most: number): Row => ({
    name: `one message, one edit: ${what}`,
    figure: String(found),
    target: `≤ ${most}`,
    ok: found <= most,
  });
  return [
    ...Object.entries(MOST).map(([call, most]) =>
      row(`calls of ${call}`, Number(new RegExp(`(\\d+) ${call}$`, "m").exec(calls)?.[1]), most),
    ),
    row("collections of garbage", collections.match(/ END\]/g)?.length ?? 0, 0),
  ];
}

/** Before the first byte to the model: files that are opened, and kilobytes of the bundle among them. */
const MOST_BEFORE = { files: 108, kilobytes: 6_900 } as const;

async function readBefore(own: Agent | undefined, workspace: string): Promise<Row[]> {
  const strace = Bun.which("strace");
  if (own === undefined || strace === null) return [];
  const home = join(own.env.HOME ?? "", "before");
  const log = `${home}.strace`;
  const command = [strace, "-f", "-qq", "-e", "trace=openat,connect", "-o", log, ...own.command];
  await runOnce({ ...own, command, env: { ...own.env, PICOCLAW_HOME: home } }, workspace, false);
  const [before = ""] = readFileSync(log, "utf8").split(/ connect\(.*AF_INET/);
  const opened = [...before.matchAll(/openat\([^"]*"([^"]+)".* = \d+$/gm)].map(([, path = ""]) => path);
  const bundle = [...new Set(opened)].filter((path) => /\/dist\/.*\.jsc?$/.test(path));
  const kilobytes = Math.round(bundle.reduce((sum, path) => sum + statSync(path).size, 0) / 1000);
  const row = (what: string, found: number, most: number): Row => ({
    name: `before the first byte to the model: ${what}`,
    figure: found.toLocaleString("en"),
    target: `≤ ${most.toLocaleString("en")}`,
    ok: found > 0 && found <= most,
  });
  return [
    row("files opened", opened.length, MOST_BEFORE.files),
    row("kilobytes of the bundle", kilobytes, MOST_BEFORE.kilobytes),
  ];
}

function absent(missing: readonly string[]): Row[] {
  if (missing.length === 0) return [];
  return [{ name: "not compared", figure: `not installed: ${missing.join(", ")}`, target: "", ok: true }];
}
