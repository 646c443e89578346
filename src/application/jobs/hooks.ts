import type { Change, Note, NoteFact } from "../../domain/jobs/result.ts";
import { jobEnvironment } from "../../domain/policy/job-environment.ts";
import type { HookSettings, WorkspaceDeps } from "../ports/jobs-workspace.ts";
import type { RunningJob } from "./job-processes.ts";

export type HookMoment = Exclude<keyof HookSettings, "timeout">;

const NAMED_BYTES = 32 * 1024;
const SHOWN_OUTPUT = 2_000;

/** The first hook that does not end with 0 is the reason why a job may not land; null: it may. Hooks run confined, in a throw-away view. */
export async function askBeforeLanding(
  job: RunningJob,
  hooks: HookSettings,
  changes: readonly Change[],
  signal: AbortSignal,
): Promise<Note | null> {
  const { mask } = job.deps;
  const { runChecks } = await import("./run-checks.ts");
  const asked = await runChecks(job, {
    commands: hooks.before_landing,
    over: "draft",
    withoutBuildLayer: true,
    timeoutSeconds: hooks.timeout,
    stopOnError: true,
    env: hookVariables("before_landing", { changes }),
    signal,
  });
  if (!asked.ok) {
    const [command = ""] = hooks.before_landing;
    return asked.why === "aborted"
      ? null
      : { code: "hook-refused", command: mask(command), ended: "not-run", output: asked.message };
  }
  const refusing = asked.runs.find(({ exitCode }) => exitCode !== 0);
  if (refusing === undefined) return null;
  const { command, outcome, exitCode, output } = refusing;
  return {
    code: "hook-refused",
    command: mask(command),
    ended: outcome === "timed-out" ? "timeout" : (exitCode ?? "not-run"),
    output: lastPart(output),
  };
}

export interface HookFacts {
  readonly jobId?: string;
  readonly changes?: readonly Change[];
  readonly variables?: Readonly<Record<string, string>>;
}

/** Runs the hooks of a past moment as the user runs them, neither staged nor undone. A note for each that failed. */
export async function runHooks(
  deps: Pick<WorkspaceDeps, "hooks" | "root" | "hostEnv" | "config" | "processes" | "mask">,
  moment: Exclude<HookMoment, "before_landing">,
  facts: HookFacts,
): Promise<readonly NoteFact[]> {
  const { hooks, root, hostEnv, config, mask } = deps;
  if (hooks === undefined || hooks[moment].length === 0) return [];
  const runner = await deps.processes();
  const view = { ...hookVariables(moment, facts), PWD: root };
  const env = jobEnvironment({ host: hostEnv, pass: config.env_pass, view });
  const notes: NoteFact[] = [];
  for (const command of hooks[moment]) {
    const ended = await runner.runProcess({
      argv: ["bash", "-c", command],
      cwd: root,
      env,
      timeoutMs: hooks.timeout * 1000,
      signal: new AbortController().signal,
      outputLimitBytes: config.output_limit,
      jobMarker: facts.jobId ?? moment,
    });
    if (ended.outcome === "exited" && ended.exitCode === 0) continue;
    notes.push({
      code: "hook-failed",
      moment,
      command: mask(command),
      ended: ended.outcome === "timed-out" ? "timeout" : (ended.exitCode ?? "not-run"),
      output: lastPart(mask(ended.output)),
    });
  }
  // A program that a hook leaves running lives on; without one, this gives back the bound of the job.
  const { jobId } = facts;
  if (jobId !== undefined && (await runner.listJobProcesses(jobId)).length === 0)
    await runner.killJobProcesses(jobId);
  return notes;
}

/** Every process of a job has its id as PICOCLAW_JOB already. */
function hookVariables(moment: HookMoment, { changes, variables }: HookFacts) {
  const names: string[] = [];
  let room = NAMED_BYTES;
  for (const { path } of changes ?? []) {
    room -= Buffer.byteLength(path) + 1;
    if (room < 0) break;
    names.push(path);
  }
  return {
    PICOCLAW_HOOK: moment,
    ...(changes !== undefined && { PICOCLAW_FILES: names.join("\n") }),
    ...variables,
  };
}

function lastPart(output: string): string {
  return output.trim().slice(-SHOWN_OUTPUT);
}
