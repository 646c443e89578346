/**
 * `npm run bench [-- NAME… [--long]]`: figures against their targets, as ratios inside one run wherever two things can be
 * compared, with medians and the 10–90 % spread. Nothing here is a test: machines differ.
 */
import { cpus, loadavg } from "node:os";
import type { Row } from "./measure.ts";

const BENCHES: Readonly<Record<string, (options: { readonly long: boolean }) => Promise<Row[]>>> = {
  start: async () => (await import("./start-up.ts")).startUp(),
  diff: async () => (await import("./diff-engine.ts")).diffEngine(),
  edits: async () => (await import("./edit-jobs.ts")).editJobs(),
  shell: async () => (await import("./shell-jobs.ts")).shellJobs(),
  sandbox: async () => (await import("./sandbox-cost.ts")).sandboxCost(),
  drafts: async () => (await import("./drafts.ts")).drafts(),
  context: async () => (await import("./context.ts")).context(),
  mcp: async () => (await import("./mcp.ts")).mcpServer(),
  chat: async () => (await import("./chat.ts")).chatMessage(),
  serve: async (options) => (await import("./serve.ts")).serveConsole(options),
  queue: async () => (await import("./queue.ts")).queueAlone(),
  fleet: async () => (await import("./fleet.ts")).fleet(),
  channels: async () => (await import("./serve-channels.ts")).serveChannels(),
  environments: async () => (await import("./environments.ts")).environments(),
  workers: async () => (await import("./worker-runs.ts")).workerRuns(),
  solve: async () => (await import("./solve.ts")).solveTasks(),
  parse: async () => (await import("./parse-large.ts")).parseLarge(),
};

const long = process.argv.includes("--long");
const wanted = process.argv.slice(2).filter((name) => name !== "--long");
const unknown = wanted.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  console.error(`no such benchmark: ${unknown.join(", ")}; there are ${Object.keys(BENCHES).join(", ")}`);
  process.exit(2);
}

/** A benchmark that cannot run here says so in its row; the others still run. */
async function rowsOf(name: string, bench: (typeof BENCHES)[string]): Promise<Row[]> {
  try {
    return await bench({ long });
  } catch (error) {
    const why = (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ").slice(0, 120);
    return [{ name, figure: `could not run: ${why}`, target: "", ok: false }];
  }
}

const [load = 0] = loadavg();
console.log("| what | figure | target | |\n|---|---|---|---|");
for (const [name, bench] of Object.entries(BENCHES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  for (const row of await rowsOf(name, bench))
    console.log(`| ${row.name} | ${row.figure} | ${row.target} | ${row.ok ? "✓" : "✗"} |`);
}
console.log(
  `\nLoad when it began: ${load.toFixed(1)} on ${cpus().length} cores; times in ms want an idle machine.`,
);
