/**
 * `npm run bench [NAME…]`: figures against their targets, as ratios inside one run wherever two things can be
 * compared, with medians and the 10–90 % spread. Nothing here is a test: machines differ.
 */
import type { Row } from "./measure.ts";

const BENCHES: Readonly<Record<string, () => Promise<Row[]>>> = {
  start: async () => (await import("./start-up.ts")).startUp(),
  diff: async () => (await import("./diff-engine.ts")).diffEngine(),
  edits: async () => (await import("./edit-jobs.ts")).editJobs(),
  parse: async () => (await import("./parse-large.ts")).parseLarge(),
};

const wanted = process.argv.slice(2);
console.log("| what | figure | target | |\n|---|---|---|---|");
for (const [name, bench] of Object.entries(BENCHES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  for (const row of await bench())
    console.log(`| ${row.name} | ${row.figure} | ${row.target} | ${row.ok ? "✓" : "✗"} |`);
}
