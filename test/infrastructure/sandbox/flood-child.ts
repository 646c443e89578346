/** Runs a command that prints 300 MB, in a process of its own, and reports the outcome and the cost. */
import { createProcessRunner } from "../../../src/infrastructure/platform/process-runner.ts";

const before = process.memoryUsage.rss();
const result = await createProcessRunner().runProcess({
  argv: ["sh", "-c", "echo first; yes | head -c 300M; echo last"],
  cwd: "/",
  env: { PATH: process.env.PATH ?? "" },
  timeoutMs: 60_000,
  outputLimitBytes: 10_000,
  cutNote: (cut) => `[... ${cut} bytes cut ...]`,
  jobMarker: "flood",
});
console.log(JSON.stringify({ ...result, grown: process.memoryUsage.rss() - before }));
