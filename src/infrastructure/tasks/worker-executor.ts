import { join } from "node:path";
import type { JudgedAttempt } from "../../application/checks/project-checks.ts";
import type {
  ContainerLimits,
  ContainerNetwork,
  ExecRequest,
  ExecResult,
  SandboxFailure,
  SandboxManager,
} from "../../application/ports/containers.ts";
import type { ExecuteRequest } from "../../application/ports/jobs-workspace.ts";
import type { ExecutorStarted, RunOptions, WorkerExecutor } from "../../application/ports/tasks.ts";
import { toChecksRecord } from "../../domain/checks/findings.ts";
import type { JobResult, Note } from "../../domain/jobs/result.ts";
import { NO_USAGE } from "../../domain/models/model-facts.ts";
import { firstWord, type RunJob, type TestRun, type WorkerRun } from "../../domain/tasks/task-record.ts";
import { checksMessagesFor } from "../../domain/texts/checks.ts";
import { cutMiddle } from "../../domain/texts/format-text.ts";
import type { TaskMessages } from "../../domain/texts/tasks.ts";
import type { UnlandedRuns } from "../engine/container-transaction.ts";
import { createKeyQuota, type KeyLimits } from "../heads/key-proxy.ts";
import type { WorkerKind } from "../heads/kinds/worker-kind.ts";
import type { Sandbox } from "../sandbox/create-sandbox.ts";
import {
  CONTAINER_HOME,
  type Credentials,
  execFailureText,
  firstMissing,
  placeCredentials,
  readableLogins,
} from "./credentials.ts";
import { openRunJudge, type RunJudge, type RunJudgeDeps } from "./judge-run.ts";
import { runCli } from "./run-cli.ts";
import {
  emptyRun,
  type LayerDeps,
  makeLayers,
  overlayTrouble,
  putBackText,
  refusalText,
  stageRun,
  sweepLayers,
  type TaskLayers,
  toRunJob,
} from "./stage-run.ts";

/** Why there is no container, worded for the person who asked for the task. */
function startFailure(
  { messages, engineHost, mask }: Pick<WorkerExecutorDeps, "messages" | "engineHost" | "mask">,
  cause: SandboxFailure,
): ExecutorStarted {
  const { code, detail } = cause;
  if (code === "aborted") return { ok: false, code: "aborted", message: messages.workerAborted };
  if (code === "engine-unreachable" || code === "bad-host")
    return { ok: false, code: "engine", message: messages.engineDown(engineHost), cause };
  if (code === "engine-forbidden")
    return { ok: false, code: "engine", message: messages.engineForbidden(engineHost), cause };
  const remote = /bind source path does not exist/.test(detail);
  const message = remote ? messages.remoteEngine(engineHost) : messages.containerFailed(mask(detail));
  return { ok: false, code: "container", message, cause };
}

export interface WorkerExecutorDeps extends LayerDeps {
  readonly taskId: string;
  readonly kind: WorkerKind;
  /** As people call it. */
  readonly image: string;
  readonly deadLayers: () => readonly string[];
  readonly staleThresholdMs: number;
  readonly credentials: Credentials;
  readonly keyLimits: KeyLimits;
  readonly limits: ContainerLimits;
  readonly network: ContainerNetwork;
  readonly engineHost: string;
  readonly sandbox: SandboxManager;
  /** The image's name once it exists; it is pulled or built if necessary. */
  readonly ensureImage: (options: {
    readonly signal: AbortSignal;
    readonly onProgress: (text: string) => void;
  }) => Promise<
    { readonly ok: true; readonly name: string } | { readonly ok: false; readonly detail: string }
  >;
  readonly execute: (request: ExecuteRequest, stage: Sandbox) => Promise<JobResult>;
  readonly messages: TaskMessages;
  readonly wordNote: (note: Note) => string;
  readonly diffOf: (jobId: string) => Promise<string>;
  readonly previews: TaskPreviews;
  readonly mask: (text: string) => string;
  readonly now: () => Date;
  readonly newId: () => string;
  readonly judged: Pick<RunJudgeDeps, "config" | "protection" | "messages" | "logger" | "locale">;
}

export interface TaskPreviews {
  /** Applies a preview; returns its conflicts, none if it was applied. */
  land(jobId: string): Promise<readonly string[]>;
  /** Discards a preview whose change another one contains. */
  discard(jobId: string): Promise<void>;
  isLanded(jobId: string): boolean;
  /** The bytes that files had before these jobs, oldest first: null is none. Unknown ones are left out. */
  beforeJobs(jobIds: readonly string[]): ReadonlyMap<string, Uint8Array | null>;
  /** The user's commands that are asked before anything lands, and their time limit in seconds. */
  readonly hooks: { readonly commands: readonly string[]; readonly timeout: number };
}

/** A job that runs left staged, and where they began. */
interface StagedWork {
  readonly job: RunJob;
  readonly runs: UnlandedRuns;
}

interface RunningContainer {
  readonly container: string;
  readonly layers: TaskLayers;
  readonly image: string;
  /** Null where there are no tests, or git cannot read the repository's state. */
  readonly judge: RunJudge | null;
}

const TEST_OUTPUT = 256 * 1024;
const HOOK_FILES = 32 * 1024;

/** A container named after its task, one exec per run, and every run a job (docs/decisions/043-a-run-is-judged-before-it-lands.md). */
export function createContainerExecutor(deps: WorkerExecutorDeps): WorkerExecutor {
  const { sandbox, kind, messages, mask, previews, credentials, now } = deps;
  const containerName = `agent-runner-${deps.taskId}`;
  const quota = createKeyQuota(deps.keyLimits);
  const plain = Object.entries(credentials.env).filter(([name]) => !kind.keyVariables.includes(name));
  /** The variables of the task file, but not the keys: the project's own code runs with them. */
  const testVariables = { HOME: CONTAINER_HOME, ...Object.fromEntries(plain) };
  const logins = readableLogins(credentials);
  const notes = logins.length === 0 ? [] : [messages.loginReadable(kind.name, logins)];
  /** The jobs of the task that landed. */
  const landed: string[] = [];
  const state: {
    /** Null before the first run, and after the container is gone. */
    running: RunningContainer | null;
    staged: StagedWork | null;
    /** The test command of the task, with which each new container's judge is opened. */
    test: string;
  } = { running: null, staged: null, test: "" };
  return { start, runWorker, land, runTest, stop };

  async function start({
    signal,
    test = state.test,
    landed: before = [],
    kept,
    onProgress,
  }: Parameters<WorkerExecutor["start"]>[0]): Promise<ExecutorStarted> {
    if (state.running !== null) return started(state.running);
    state.test = test;
    const hasKept = kept !== undefined && previews.isLanded(kept);
    landed.push(...before, ...(hasKept ? [kept] : []));
    if (!credentials.found)
      return {
        ok: false,
        code: "credentials",
        message: messages.noCredentials(kind.name, kind.keyVariables),
      };
    const engine = await sandbox.describe(signal);
    if (!engine.ok) return startFailure(deps, engine);
    await sandbox.cleanupStaleContainers({ thresholdMs: deps.staleThresholdMs, signal });
    const tell = (text: string) => onProgress?.(text);
    const image = await deps.ensureImage({ signal, onProgress: tell });
    if (!image.ok) {
      if (signal.aborted) return { ok: false, code: "aborted", message: messages.workerAborted };
      const message = messages.imageMissing(deps.image, image.detail, kind.image);
      return { ok: false, code: "image", message };
    }
    for (const folder of deps.deadLayers()) await sweepLayers(deps, folder, image.name);
    tell(messages.setup("starting", image.name));
    const trouble = overlayTrouble(deps.workspace);
    let up = await startOn(trouble === null ? "overlay" : "copy", image.name, signal);
    if (!up.ok && trouble === null && (up.code === "engine-error" || up.code === "bad-spec")) {
      tell(messages.setup("copying", deps.workspace));
      up = await startOn("copy", image.name, signal);
    }
    if (!up.ok) return startFailure(deps, up);
    const { running } = up;
    state.running = running;
    const placed = await placeCredentials(sandbox, running.container, credentials);
    if (placed !== null) {
      await stop();
      return { ok: false, code: "container", message: messages.containerFailed(mask(placed)) };
    }
    const missing = await firstMissing(sandbox, running.container, [kind.argv[0], firstWord(test)]);
    if (missing !== null) {
      await stop();
      return { ok: false, code: "cannot-run", message: messages.cannotRun(missing, image.name) };
    }
    // Before any worker touched it.
    if (test !== "") state.running = { ...running, judge: await openJudge(running, signal) };
    return { ...started(running), hasKept };
  }

  function openJudge({ container, layers }: RunningContainer, signal: AbortSignal): Promise<RunJudge | null> {
    const { directory } = layers;
    const storage = join(deps.folder, "judged");
    return openRunJudge(
      {
        ...deps.judged,
        sandbox,
        container,
        directory,
        variables: testVariables,
        mask,
        storage,
        before: previews.beforeJobs(landed),
      },
      signal,
    );
  }

  async function startOn(
    stage: "overlay" | "copy",
    image: string,
    signal: AbortSignal,
  ): Promise<{ readonly ok: true; readonly running: RunningContainer } | SandboxFailure> {
    const layers = makeLayers(deps, stage);
    if (typeof layers === "string")
      return { ok: false, code: "no-resources", actor: "user", retryable: false, detail: layers };
    const container = await sandbox.startContainer(
      {
        name: containerName,
        taskId: deps.taskId,
        image,
        labels: { worker: kind.name },
        user: deps.user,
        workingDirectory: layers.directory,
        env: { HOME: CONTAINER_HOME },
        limits: deps.limits,
        network: deps.network,
        mounts: layers.mounts,
      },
      { signal },
    );
    if (container.ok) return { ok: true, running: { container: container.id, layers, image, judge: null } };
    await sweepLayers(deps, layers.folder, image);
    return container;
  }

  function started({ container, image, layers }: RunningContainer): Extract<ExecutorStarted, { ok: true }> {
    return { ok: true, container, image, staging: layers.kind, notes };
  }

  async function runWorker(prompt: string, options: RunOptions): Promise<WorkerRun> {
    const startedAt = now().toISOString();
    const id = deps.newId();
    const up = await start({ signal: options.signal });
    if (!up.ok || state.running === null)
      return { ...emptyRun(id, startedAt), error: up.ok ? "" : up.message, finishedAt: now().toISOString() };
    const { layers, container } = state.running;
    const run = stageRun({
      sandbox,
      container,
      layers,
      workspace: deps.workspace,
      unlanded: state.staged?.runs ?? null,
      runCli: () => runCli({ ...deps, container, prompt, cwd: layers.directory, quota, options }),
    });
    const result = await deps.execute(requestFor(options), run.stage).finally(run.goOn);
    const ran = run.result();
    if (run.isContainerGone() || ran?.exec.outcome === "disconnected") await stop();
    const job = await stageJob(await toRunJob(result, deps), run.unlanded());
    const guarded =
      result.about === "job" ? result.commands.find(({ success }) => !success)?.error : undefined;
    return {
      id,
      startedAt,
      finishedAt: now().toISOString(),
      exitCode: ran?.exec.exitCode ?? null,
      rawOutput: ran?.rawOutput ?? "",
      summary: ran?.findings.summary ?? "",
      error: ran === null ? refusalText(result) : (ran.error ?? putBackText(guarded)),
      ...(ran?.missing && { missing: kind.argv[0] }),
      ...(ran && ran.notes.length > 0 && { notes: ran.notes }),
      usage: ran?.findings.usage ?? NO_USAGE,
      saidChanged: (ran?.findings.saidChanged ?? []).map((path) => path.replace(`${layers.directory}/`, "")),
      job,
    };
  }

  function requestFor(options: RunOptions): ExecuteRequest {
    const target = kind.argv.join(" ");
    return {
      patch: JSON.stringify([{ type: "shell_command", action: "run", target }]),
      plan: options.title ?? target,
      groupId: deps.taskId,
      source: "task",
      startedBy: "head",
      sessionKey: `task:${deps.taskId}`,
      dryRun: false,
      preview: options.preview === true,
      allowNetwork: true,
      atomic: false,
      stopOnError: false,
      autoCommit: false,
      commandTimeoutSeconds: Math.ceil(options.timeoutMs / 1000),
      signal: options.signal,
    };
  }

  /** The job of a run replaces the one before it, whose change it contains. */
  async function stageJob(job: RunJob | null, runs: UnlandedRuns | null): Promise<RunJob | null> {
    if (job === null || runs === null || (job.outcome !== "staged" && job.outcome !== "committed"))
      return job;
    if (state.staged !== null) await previews.discard(state.staged.job.id);
    state.staged = job.outcome === "staged" && job.changes.length > 0 ? { job, runs } : null;
    if (state.staged !== null) return job;
    // A preview without changes would wait to be applied in vain.
    if (job.outcome === "staged") await previews.land(job.id);
    landed.push(job.id);
    return { ...job, outcome: "committed" };
  }

  async function land({ signal }: Pick<RunOptions, "signal">): Promise<RunJob | null> {
    if (state.staged === null || state.running === null) return null;
    const { job } = state.staged;
    const refusing = await askHooks(state.running, job, signal);
    if (refusing !== null) return { ...job, notes: [...job.notes, refusing] };
    const conflicts = await previews.land(job.id);
    if (conflicts.length > 0) return { ...job, outcome: "conflict", conflicts };
    state.staged = null;
    landed.push(job.id);
    return { ...job, outcome: "committed" };
  }

  /** The hook that prevents a job from landing; null: none. Hooks run on its change, with the programs of the container. */
  async function askHooks(
    running: RunningContainer,
    { changes }: RunJob,
    signal: AbortSignal,
  ): Promise<string | null> {
    const { commands, timeout } = previews.hooks;
    const files = changes.map(({ path }) => path).join("\n");
    for (const command of commands) {
      const env = { PICOCLAW_HOOK: "before_landing", PICOCLAW_FILES: files.slice(0, HOOK_FILES) };
      const asked = await execInView(running, command, { env, timeoutMs: timeout * 1000, signal });
      if (asked.exitCode !== 0) return mask(`${command} → ${asked.exitCode ?? asked.outcome}`);
    }
    return null;
  }

  /** Runs a command in the worker's container, and ends processes that it leaves running. */
  async function execInView(
    { container, layers }: RunningContainer,
    command: string,
    request: Pick<ExecRequest, "cwd" | "env" | "timeoutMs" | "signal">,
  ): Promise<ExecResult> {
    const { cwd = "", env, timeoutMs, signal } = request;
    const result = await sandbox.exec(container, {
      command,
      cwd: cwd === "" ? layers.directory : `${layers.directory}/${cwd}`,
      env: { ...testVariables, ...env },
      timeoutMs,
      signal,
      outputLimitBytes: TEST_OUTPUT,
    });
    for (const { pid } of result.background) await sandbox.endProcess(container, pid);
    return result;
  }

  async function runTest(
    { command, cwd }: { readonly command: string; readonly cwd: string },
    options: RunOptions,
  ): Promise<TestRun> {
    if (state.running === null) return notTested(command, messages.workerLost(containerName));
    const { judge } = state.running;
    const judged = judge === null ? null : await judgeTest(judge, { command, cwd }, options);
    if (judged !== null) return judged;
    const result = await execInView(state.running, command, { ...options, cwd });
    if (result.outcome === "disconnected") await stop();
    const isOver = result.outcome === "exited" || result.outcome === "signaled";
    const isLate = result.outcome === "timed-out";
    const late = () => messages.workerTimedOut(Math.round(options.timeoutMs / 1000));
    const failure = () => (isLate ? late() : execFailureText(result));
    return {
      command,
      exitCode: result.exitCode,
      output: mask([result.stdout, result.stderr].filter(Boolean).join("\n")),
      durationMs: Math.round(result.durationMs),
      error: isOver ? null : failure(),
    };
  }

  /** Null if nothing was changed, so there is nothing to judge. */
  async function judgeTest(
    judge: RunJudge,
    test: { readonly command: string; readonly cwd: string },
    options: RunOptions,
  ): Promise<TestRun | null> {
    const judged = await judge.judge(test, options).catch((error: unknown) => error);
    if (judged instanceof Error) {
      if (options.signal.aborted) return null;
      // A test that cannot be judged is not passed: an exit code alone can be forged.
      return notTested(test.command, mask(judged.message));
    }
    const attempt = judged as JudgedAttempt;
    const [run] = attempt.runs;
    if (run === undefined) return null;
    const { facts, verdict, report } = attempt;
    const texts = checksMessagesFor(deps.judged.locale);
    const isRed = verdict === "red";
    const isLate = run.outcome === "timed-out";
    const why = [texts.line(facts), ...texts.remarks(facts)].join(". ");
    return {
      command: test.command,
      exitCode: run.exitCode,
      output: mask(cutMiddle(isRed ? `${report}\n\n${run.whole}` : run.whole, TEST_OUTPUT)),
      durationMs: Math.round(run.durationMs),
      error: isLate
        ? messages.workerTimedOut(Math.round(options.timeoutMs / 1000))
        : isRed && run.exitCode === 0
          ? mask(why)
          : null,
      judged: toChecksRecord(facts),
    };
  }

  async function stop(): Promise<void> {
    if (state.running === null) return;
    const { layers, container, image, judge } = state.running;
    state.running = null;
    // It stays as a preview; the next container begins with the repository.
    state.staged = null;
    await judge?.close();
    await sandbox.stopContainer(container, { force: true });
    await sweepLayers(deps, layers.folder, image);
  }
}

function notTested(command: string, error: string): TestRun {
  return { command, exitCode: null, output: "", durationMs: 0, error };
}
