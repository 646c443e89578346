/**
 * `npm run bench [-- NAME… [--long]]`: figures against their targets, as ratios inside one run wherever two things can be
 * compared, with medians and the 10–90 % spread. Nothing here is a test: machines differ.
 */
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { CONTEST_OPTIONS, type ContestOptions } from "./exercises-options.ts";
import type { Row } from "./measure.ts";

interface Options {
  readonly long: boolean;
  /** Of `real` the folder of the tasks, of `verdict` that of the projects, of `requests`, `proofs` and `judged` that of the mirrors, and whether recorded answers take the place of a model. */
  readonly tasks: string | undefined;
  readonly recorded: boolean;
  /** What only `exercises` and `judged` take. */
  readonly contest: ContestOptions;
}

const BENCHES: Readonly<Record<string, (options: Options) => Promise<Row[]>>> = {
  start: async () => (await import("./start-up.ts")).startUp(),
  terminal: async () => (await import("./terminal.ts")).terminal(),
  diff: async () => (await import("./diff-engine.ts")).diffEngine(),
  edits: async () => (await import("./edit-jobs.ts")).editJobs(),
  shell: async () => (await import("./shell-jobs.ts")).shellJobs(),
  sandbox: async () => (await import("./sandbox-cost.ts")).sandboxCost(),
  drafts: async () => (await import("./drafts.ts")).drafts(),
  history: async () => (await import("./history.ts")).history(),
  verdict: async (options) => (await import("./verdict-price.ts")).verdictPrice(options),
  many: async () => (await import("./many-at-once.ts")).manyAtOnce(),
  context: async () => (await import("./context.ts")).context(),
  requests: async (options) => (await import("./requests.ts")).requests(options),
  proofs: async (options) => (await import("./proofs.ts")).proofs(options),
  mcp: async () => (await import("./mcp.ts")).mcpServer(),
  chat: async () => (await import("./chat.ts")).chatMessage(),
  serve: async (options) => (await import("./serve.ts")).serveConsole(options),
  soak: async () => (await import("./serve-soak.ts")).serveSoak(),
  queue: async () => (await import("./queue.ts")).queueAlone(),
  fleet: async () => (await import("./fleet.ts")).fleet(),
  channels: async () => (await import("./serve-channels.ts")).serveChannels(),
  environments: async () => (await import("./environments.ts")).environments(),
  workers: async () => (await import("./worker-runs.ts")).workerRuns(),
  solve: async () => (await import("./solve.ts")).solveTasks(),
  real: async (options) => (await import("./real-tasks.ts")).realTasks(options),
  exercises: async (options) => (await import("./exercises.ts")).exercises(options),
  judged: async (options) => (await import("./judged.ts")).judged(options),
  parse: async () => (await import("./parse-large.ts")).parseLarge(),
};

/** Two ask a model that may cost money, three need mirrors of public projects, one takes half an hour: they run only when they are named. */
const BY_NAME_ONLY = ["real", "requests", "proofs", "soak", "exercises", "judged"];

const { values, positionals: wanted } = parseArgs({
  options: {
    long: { type: "boolean" },
    tasks: { type: "string" },
    recorded: { type: "boolean" },
    ...CONTEST_OPTIONS,
  },
  allowPositionals: true,
});
const options: Options = {
  long: values.long === true,
  tasks: values.tasks ?? process.env.PICOCLAW_TEST_REAL_TASKS,
  recorded: values.recorded === true,
  contest: values,
};
const unknown = wanted.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  console.error(`no such benchmark: ${unknown.join(", ")}; there are ${Object.keys(BENCHES).join(", ")}`);
  process.exit(2);
}

/** A benchmark that cannot run here says so in its row; the others still run. */
async function rowsOf(name: string, bench: (typeof BENCHES)[string]): Promise<Row[]> {
  try {
    return await bench(options);
  } catch (error) {
    const why = (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ").slice(0, 120);
    return [{ name, figure: `could not run: ${why}`, target: "", ok: false }];
  }
}

const [load = 0] = loadavg();
console.log("| what | figure | target | |\n|---|---|---|---|");
for (const [name, bench] of Object.entries(BENCHES)) {
  if (wanted.length > 0 ? !wanted.includes(name) : BY_NAME_ONLY.includes(name)) continue;
  for (const row of await rowsOf(name, bench))
    console.log(`| ${row.name} | ${row.figure} | ${row.target} | ${row.ok ? "✓" : "✗"} |`);
}
console.log(
  `\nLoad when it began: ${load.toFixed(1)} on ${cpus().length} cores; times in ms want an idle machine.`,
);
