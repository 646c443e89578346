/** A program that is killed without farewell while a draft is open, at each step of it. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { trustWorkspace } from "../../src/config/trust.ts";
import { type Bench, createBench, shell } from "../application/jobs/worker-kit.ts";
import { treeOf } from "../contracts/tree.ts";
import { requirePart } from "../require.ts";

const CHILD = join(import.meta.dir, "draft-child.ts");
const STEPS = ["opened", "edits", "running", "between", "checking", "baseline", "again"];

let bench: Bench;
beforeEach(() => {
  bench = createBench();
  bench.write("a.txt", "one\n");
  bench.write("lib/b.txt", "two\n");
  const home = bench.environment().PICOCLAW_HOME as string;
  trustWorkspace({ home, workspace: bench.workspace, now: new Date(0) });
});
afterEach(() => bench.remove());

async function killAt(step: string, kind: string): Promise<void> {
  const child = spawn(process.execPath, [CHILD, bench.folder, step, kind], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = new Promise((resolve) => child.on("exit", resolve));
  const said = await new Promise<string>((resolve) => {
    child.stdout.once("data", (data) => resolve(String(data)));
    child.once("exit", () => resolve("died"));
  });
  expect(said).toBe("here\n");
  child.kill("SIGKILL");
  await exited;
}

/** Processes of a job that still run: they carry its id, or name its folder. */
function left(id: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid) || pid === String(process.pid)) return false;
    try {
      return ["cmdline", "environ"].some((file) => readFileSync(`/proc/${pid}/${file}`, "utf8").includes(id));
    } catch {
      return false;
    }
  });
}

function describeKills(kind: string): void {
  describe(`a program that is killed with an open draft (${kind})`, () => {
    for (const step of STEPS)
      test(`${step}: the workspace is as it was, the draft is named, nothing of it is left`, async () => {
        const before = treeOf(bench.workspace);
        await killAt(step, kind);
        expect(treeOf(bench.workspace)).toEqual(before);
        const settings = {
          PICOCLAW_WORKER_TRANSACTION: kind,
          PICOCLAW_WORKER_CONFINE: kind === "overlay" ? "on" : "off",
        };
        const workspace = await bench.open(settings);
        const closed = await workspace.closeDeadJobs();
        expect(closed).toEqual([expect.stringMatching(/^job_/)]);
        const id = closed[0] as string;
        expect(workspace.archive.read(id)).toMatchObject({
          state: "discarded",
          outcome: "aborted",
          reason: "its process died",
          changes: [],
        });
        const staged = readdirSync(join(workspace.storage, "jobs", id)).filter(
          (name) => !/\.(nd)?json$/.test(name),
        );
        expect([staged, left(id)]).toEqual([[], []]);
        const { outcome } = await bench.run([shell("echo next > next")], { settings });
        expect([outcome, bench.read("next")]).toEqual(["committed", "next\n"]);
      });
  });
}

if (process.platform === "linux") {
  if (requirePart("bwrap")) describeKills("overlay");
  describeKills("copy");
}
