import { execFileSync, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openWorker } from "../src/wiring/worker.ts";
import { inTurns, milliseconds, type Row, type Sample } from "./measure.ts";
import { remove, tempFolder } from "./workspaces.ts";

const FEW = 1;
const MANY = 41;

/** What a sandbox adds: to a job once, and to each further command. */
export async function sandboxCost(): Promise<Row[]> {
  const folder = tempFolder("sandbox");
  const workspace = join(folder, "ws");
  mkdirSync(workspace);
  const opened = await openWorker(
    { ...process.env, PICOCLAW_HOME: join(folder, "home") },
    { cwd: workspace },
  );
  if (!opened.ok) throw new Error("no worker");
  const { worker } = opened;
  const job = async (commands: number) => {
    let started = 0;
    const begun = performance.now();
    const patch = JSON.stringify(
      Array.from({ length: commands }, () => ({ type: "shell_command", action: "run", target: ":" })),
    );
    const flags = { dryRun: false, preview: false, atomic: false, stopOnError: false, autoCommit: false };
    await worker.execute({
      patch,
      source: "bench",
      ...flags,
      signal: new AbortController().signal,
      onEvent: (event) => {
        if (event.type === "job_started") started = performance.now() - begun;
      },
    });
    return started;
  };
  const setUps: number[] = [];
  const plain = () =>
    new Promise<void>(
      (resolve) => void spawn("bash", ["-c", ":"], { stdio: "ignore" }).on("exit", () => resolve()),
    );
  const times = (await inTurns(15, {
    runtime: () => void execFileSync(process.execPath, ["-e", "0"]),
    plain,
    few: async () => void setUps.push(await job(FEW)),
    many: async () => void (await job(MANY)),
  })) as Record<"runtime" | "plain" | "few" | "many", Sample>;
  remove(folder);
  const setUp = setUps.sort((x, y) => x - y)[Math.floor(setUps.length / 2)] as number;
  const each = (times.many.median - times.few.median) / (MANY - FEW);
  return [
    {
      name: "set-up of a job with commands, beyond the bare runtime",
      figure: `${(setUp - times.runtime.median).toFixed(1)} ms (${setUp.toFixed(1)} ms / ${milliseconds(times.runtime)})`,
      target: "≤ 25 ms",
      ok: setUp - times.runtime.median <= 25,
    },
    {
      name: "each further command, beyond a plain spawn",
      figure: `${(each - times.plain.median).toFixed(1)} ms (${each.toFixed(1)} ms / ${milliseconds(times.plain)})`,
      target: "≤ 3 ms",
      ok: each - times.plain.median <= 3,
    },
  ];
}
