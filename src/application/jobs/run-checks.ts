import { jobEnvironment } from "../../domain/policy/job-environment.ts";
import { cutMiddle } from "../../domain/texts/format-text.ts";
import type { Checked, CheckRequest, CheckRun } from "../ports/jobs-draft.ts";
import type { CheckView, Transaction } from "../ports/jobs-transaction.ts";
import type { WorkspaceDeps } from "../ports/jobs-workspace.ts";
import type { ProcessRunner } from "../ports/platform-processes.ts";
import type { RunningJob } from "./job-processes.ts";

type Request = CheckRequest & { readonly signal: AbortSignal };

const WHOLE_BYTES = 16 * 1024 * 1024;

/**
 * Runs checks in a throw-away view:
 *   open it → old versions of files where they are asked for → each command → what the baseline built is kept → close
 */
export async function runChecks(check: RunningJob, request: Request): Promise<Checked> {
  const { layers } = check.transaction;
  if (layers?.openCheck === undefined)
    return { ok: false, why: "unavailable", message: "nothing is staged here that a check could run over" };
  if (!check.deps.staging.confinable && !check.deps.isTrusted()) return untrusted(check.deps);
  if (request.over === "draft") await layers.rest();
  return runInView(check, request);
}

function untrusted({ messages }: WorkspaceDeps): Extract<Checked, { ok: false }> {
  return { ok: false, why: "untrusted", message: messages.checksNeedTrust };
}

async function runInView(check: RunningJob, request: Request): Promise<Checked> {
  const { deps, transaction, jobId } = check;
  const { over, signal } = request;
  const aborted = { ok: false, why: "aborted", message: "aborted" } as const;
  if (signal.aborted) return aborted;
  const opened = await transaction.layers?.openCheck?.({
    over,
    startedBy: request.startedBy ?? "check",
    network: request.network === true,
    home: request.home ?? "whole",
    built: request.withoutBuildLayer !== true,
    ...(request.scratch !== undefined && { scratch: request.scratch }),
  });
  if (opened?.ok !== true)
    return { ok: false, why: "unavailable", message: opened?.message ?? "no throw-away view" };
  const view = opened.check;
  try {
    if (!view.confined && !deps.isTrusted()) return untrusted(deps);
    for (const path of request.asBefore ?? []) putBefore(view, transaction, path);
    for (const [path, text] of request.replaced ?? []) view.view.write(path, new TextEncoder().encode(text));
    const processes = view.processes ?? (await deps.processes());
    if (over === "draft") await makeNewest({ check, view, processes, request });
    const runs: CheckRun[] = [];
    for (const command of request.commands) {
      if (signal.aborted) break;
      const run = await runOne({ check, view, processes, request }, command);
      runs.push(run);
      if (request.stopOnError === true && run.exitCode !== 0) break;
    }
    await processes.killJobProcesses(jobId);
    if (signal.aborted) return aborted;
    // A later run of the baseline finds it built and would leave less.
    if (over === "baseline" && !view.hasBuilt && view.keepBuilt !== undefined)
      await view.keepBuilt(await ignoredPaths({ check, view, processes, request }));
    const overBuilt = view.hasBuilt ? { overBuilt: true } : {};
    const left = (request.read ?? []).filter((path) => view.view.look(path).kind === "file");
    const files = new Map(left.map((path) => [path, maskBytes(view, view.view.read(path))]));
    return { ok: true, runs: runs.map((run) => ({ ...run, ...overBuilt })), files };
  } finally {
    await view.close();
  }
}

/** A report of a runner repeats what its tests printed. */
function maskBytes({ maskFiles }: CheckView, bytes: Uint8Array): Uint8Array {
  if (maskFiles === undefined) return bytes;
  const text = new TextDecoder().decode(bytes);
  const masked = maskFiles(text);
  return masked === text ? bytes : new TextEncoder().encode(masked);
}

/** So many paths fit into the arguments of one process. */
const MOST_PATHS = 500;

/** Build tools compare times, and the baseline may be built after the draft was written: each changed file gets the time of now. */
async function makeNewest(running: Running): Promise<void> {
  const { check, request } = running;
  const old = new Set(request.asBefore);
  const paths = (check.transaction.layers?.changes() ?? []).flatMap(({ path, kind }) =>
    kind === "deleted" || old.has(path) ? [] : [path],
  );
  for (let from = 0; from < paths.length; from += MOST_PATHS)
    await start(running, ["touch", "-c", "-h", "--", ...paths.slice(from, from + MOST_PATHS)]);
}

/** A file as the workspace has it; absent where the draft made it. */
function putBefore({ view }: CheckView, transaction: Transaction, path: string): void {
  const before = transaction.original(path);
  if (before !== null) view.write(path, before);
  else if (view.look(path).kind === "file") view.remove(path);
}

interface Running {
  readonly check: RunningJob;
  readonly view: CheckView;
  readonly processes: ProcessRunner;
  readonly request: Request;
}

function start(
  { check: { deps, jobId }, view, processes, request }: Running,
  argv: readonly [string, ...string[]],
  onOutput?: (text: string) => void,
) {
  const env = jobEnvironment({ host: deps.hostEnv, pass: deps.config.env_pass, view: view.environment });
  return processes.runProcess({
    argv,
    cwd: view.directory,
    env: { ...env, ...request.env, PWD: view.directory },
    timeoutMs: request.timeoutSeconds * 1000,
    signal: request.signal,
    outputLimitBytes: WHOLE_BYTES,
    ...(onOutput !== undefined && { onOutput: (_: unknown, text: string) => onOutput(text) }),
    jobMarker: jobId,
  });
}

async function runOne(running: Running, command: string): Promise<CheckRun> {
  const { check, request } = running;
  const { mask, config } = check.deps;
  const { enough, signal } = request;
  // Through two pipes, a runner's headings and its tests could arrive in another order than they were written.
  const maskFiles = running.view.maskFiles ?? ((text: string) => text);
  const tell = request.onOutput && ((text: string) => request.onOutput?.(maskFiles(text)));
  const ending = enough === undefined ? request : { ...request, signal: AbortSignal.any([signal, enough]) };
  const argv = ["bash", "-c", `exec 2>&1\n${command}`] as const;
  const ended = await start({ ...running, request: ending }, argv, tell);
  const isEnough = ended.outcome === "aborted" && !signal.aborted;
  const { running: left = [] } = ended;
  const outcome = isEnough ? "timed-out" : ended.outcome;
  const whole = mask(maskFiles(`${ended.output}${ended.error?.message ?? ""}`));
  const output = cutMiddle(whole, config.output_limit);
  const exitCode = outcome === "exited" ? ended.exitCode : null;
  const durationMs = Math.round(ended.durationMs);
  check.emit({
    type: "check_finished",
    attempt: request.attempt ?? 0,
    over: request.over,
    ...(isAltered(request) && { altered: true }),
    command: mask(command),
    exit_code: exitCode,
    output: cutMiddle(whole, JOURNAL_OUTPUT),
    duration: durationMs,
  });
  const about = { command, durationMs, running: left, directory: running.view.directory };
  return { ...about, outcome, exitCode, output, whole };
}

const JOURNAL_OUTPUT = 16_384;

/** Whether a run does not judge the draft's files: a proof of tests, a canary, or a formatter. */
function isAltered({ asBefore = [], replaced, read = [] }: CheckRequest): boolean {
  return asBefore.length > 0 || (replaced?.size ?? 0) > 0 || read.length > 0;
}

/** Build folders and caches: what git ignores, asked inside the view, where the repository's settings do no harm. */
async function ignoredPaths(running: Running): Promise<string[]> {
  const listed = await start(running, [
    "git",
    ...["-c", "core.fsmonitor=false", "ls-files"],
    ...["-z", "--others", "--ignored", "--exclude-standard", "--directory"],
  ]);
  if (listed.exitCode !== 0 || listed.truncatedBytes > 0) return [];
  return listed.stdout
    .split("\0")
    .filter((path) => path !== "")
    .map((path) => path.replace(/\/$/, ""));
}
