import { join } from "node:path";
import type { JudgedAttempt } from "../../application/checks/project-checks.ts";
import type {
  ContainerLimits,
  ContainerNetwork,
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
import { createKeyQuota, type KeyLimits, type KeyQuota } from "../heads/key-proxy.ts";
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
  {
    messages,
    engineHost,
    mask,
  }: {
    readonly messages: TaskMessages;
    readonly engineHost: string;
    readonly mask: (text: string) => string;
  },
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
  /** The image's name when it is there, after pulling or building it where it was not. */
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
  /** Brings one in: its conflicts, none where it is in. */
  land(jobId: string): Promise<readonly string[]>;
  /** Throws one away whose change is in another. */
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
export class ContainerExecutor implements WorkerExecutor {
  readonly #deps: WorkerExecutorDeps;
  readonly #name: string;
  readonly #quota: KeyQuota;
  /** Null before the first run, and after the container went away. */
  #running: RunningContainer | null = null;
  #staged: StagedWork | null = null;
  /** The test command of the task, with which each new container's judge is opened. */
  #test = "";
  readonly #landed: string[] = [];

  constructor(deps: WorkerExecutorDeps) {
    this.#deps = deps;
    this.#name = `agent-runner-${deps.taskId}`;
    this.#quota = createKeyQuota(deps.keyLimits);
  }

  async start({
    signal,
    test = this.#test,
    landed: before = [],
    kept,
    onProgress,
  }: Parameters<WorkerExecutor["start"]>[0]): Promise<ExecutorStarted> {
    const { sandbox, kind, messages, mask } = this.#deps;
    if (this.#running !== null) return this.#started(this.#running);
    this.#test = test;
    const hasKept = kept !== undefined && this.#deps.previews.isLanded(kept);
    this.#landed.push(...before, ...(hasKept ? [kept] : []));
    if (!this.#deps.credentials.found)
      return {
        ok: false,
        code: "credentials",
        message: messages.noCredentials(kind.name, kind.keyVariables),
      };
    const engine = await sandbox.describe(signal);
    if (!engine.ok) return startFailure(this.#deps, engine);
    await sandbox.cleanupStaleContainers({ thresholdMs: this.#deps.staleThresholdMs, signal });
    const tell = (text: string) => onProgress?.(text);
    const image = await this.#deps.ensureImage({ signal, onProgress: tell });
    if (!image.ok) {
      if (signal.aborted) return { ok: false, code: "aborted", message: messages.workerAborted };
      return {
        ok: false,
        code: "image",
        message: messages.imageMissing(this.#deps.image, image.detail, kind.image),
      };
    }
    for (const folder of this.#deps.deadLayers()) await sweepLayers(this.#deps, folder, image.name);
    tell(messages.setup("starting", image.name));
    const trouble = overlayTrouble(this.#deps.workspace);
    let up = await this.#startOn(trouble === null ? "overlay" : "copy", image.name, signal);
    if (!up.ok && trouble === null && (up.code === "engine-error" || up.code === "bad-spec")) {
      tell(messages.setup("copying", this.#deps.workspace));
      up = await this.#startOn("copy", image.name, signal);
    }
    if (!up.ok) return startFailure(this.#deps, up);
    const { running } = up;
    this.#running = running;
    const placed = await placeCredentials(sandbox, running.container, this.#deps.credentials);
    if (placed !== null) {
      await this.stop();
      return { ok: false, code: "container", message: messages.containerFailed(mask(placed)) };
    }
    const missing = await firstMissing(sandbox, running.container, [kind.argv[0], firstWord(test)]);
    if (missing !== null) {
      await this.stop();
      return { ok: false, code: "cannot-run", message: messages.cannotRun(missing, image.name) };
    }
    // Before any worker touched it.
    if (test !== "") this.#running = { ...running, judge: await this.#openJudge(running, signal) };
    return { ...this.#started(running), hasKept };
  }

  #openJudge({ container, layers }: RunningContainer, signal: AbortSignal): Promise<RunJudge | null> {
    const { sandbox, mask } = this.#deps;
    const { directory } = layers;
    const storage = join(this.#deps.folder, "judged");
    return openRunJudge(
      {
        ...this.#deps.judged,
        sandbox,
        container,
        directory,
        variables: this.#testVariables(),
        mask,
        storage,
        before: this.#deps.previews.beforeJobs(this.#landed),
      },
      signal,
    );
  }

  /** The variables of the task file, but not the keys: the project's own code runs with them. */
  #testVariables(): Readonly<Record<string, string>> {
    const { kind } = this.#deps;
    return { HOME: CONTAINER_HOME, ...withoutKeyVariables(this.#deps.credentials.env, kind.keyVariables) };
  }

  async #startOn(
    stage: "overlay" | "copy",
    image: string,
    signal: AbortSignal,
  ): Promise<{ readonly ok: true; readonly running: RunningContainer } | SandboxFailure> {
    const { sandbox, kind } = this.#deps;
    const layers = makeLayers(this.#deps, stage);
    if (typeof layers === "string")
      return { ok: false, code: "no-resources", actor: "user", retryable: false, detail: layers };
    const container = await sandbox.startContainer(
      {
        name: this.#name,
        taskId: this.#deps.taskId,
        image,
        labels: { worker: kind.name },
        user: this.#deps.user,
        workingDirectory: layers.directory,
        env: { HOME: CONTAINER_HOME },
        limits: this.#deps.limits,
        network: this.#deps.network,
        mounts: layers.mounts,
      },
      { signal },
    );
    if (container.ok) return { ok: true, running: { container: container.id, layers, image, judge: null } };
    await sweepLayers(this.#deps, layers.folder, image);
    return container;
  }

  #started({ container, image, layers }: RunningContainer): Extract<ExecutorStarted, { ok: true }> {
    return { ok: true, container, image, staging: layers.kind, notes: this.#readable() };
  }

  #readable(): readonly string[] {
    const { kind, messages } = this.#deps;
    const logins = readableLogins(this.#deps.credentials);
    return logins.length === 0 ? [] : [messages.loginReadable(kind.name, logins)];
  }

  async runWorker(prompt: string, options: RunOptions): Promise<WorkerRun> {
    const { sandbox, kind, messages, mask } = this.#deps;
    const startedAt = this.#deps.now().toISOString();
    const id = this.#deps.newId();
    const up = await this.start({ signal: options.signal });
    if (!up.ok || this.#running === null)
      return {
        ...emptyRun(id, startedAt),
        error: up.ok ? "" : up.message,
        finishedAt: this.#deps.now().toISOString(),
      };
    const { layers, container } = this.#running;
    const run = stageRun({
      sandbox,
      container,
      layers,
      workspace: this.#deps.workspace,
      unlanded: this.#staged?.runs ?? null,
      runCli: () =>
        runCli({
          sandbox,
          container,
          kind,
          prompt,
          cwd: layers.directory,
          credentials: this.#deps.credentials,
          quota: this.#quota,
          messages,
          mask,
          options,
        }),
    });
    const result = await this.#deps.execute(this.#requestFor(options), run.stage).finally(run.goOn);
    const ran = run.result();
    if (run.isContainerGone() || ran?.exec.outcome === "disconnected") await this.stop();
    const job = await this.#stageJob(await toRunJob(result, this.#deps), run.unlanded());
    const guarded =
      result.about === "job" ? result.commands.find(({ success }) => !success)?.error : undefined;
    return {
      id,
      startedAt,
      finishedAt: this.#deps.now().toISOString(),
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

  #requestFor(options: RunOptions): ExecuteRequest {
    const { kind } = this.#deps;
    const target = kind.argv.join(" ");
    return {
      patch: JSON.stringify([{ type: "shell_command", action: "run", target }]),
      plan: options.title ?? target,
      groupId: this.#deps.taskId,
      source: "task",
      sessionKey: `task:${this.#deps.taskId}`,
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

  /** The job of a run takes the place of the one before it, whose change it holds. */
  async #stageJob(job: RunJob | null, runs: UnlandedRuns | null): Promise<RunJob | null> {
    if (job === null || runs === null || (job.outcome !== "staged" && job.outcome !== "committed"))
      return job;
    if (this.#staged !== null) await this.#deps.previews.discard(this.#staged.job.id);
    this.#staged = job.outcome === "staged" && job.changes.length > 0 ? { job, runs } : null;
    if (this.#staged !== null) return job;
    // A preview of nothing would wait for nothing.
    if (job.outcome === "staged") await this.#deps.previews.land(job.id);
    this.#landed.push(job.id);
    return { ...job, outcome: "committed" };
  }

  async land({ signal }: Pick<RunOptions, "signal">): Promise<RunJob | null> {
    if (this.#staged === null || this.#running === null) return null;
    const { job } = this.#staged;
    const refusing = await this.#askHooks(this.#running, job, signal);
    if (refusing !== null) return { ...job, notes: [...job.notes, refusing] };
    const conflicts = await this.#deps.previews.land(job.id);
    if (conflicts.length > 0) return { ...job, outcome: "conflict", conflicts };
    this.#staged = null;
    this.#landed.push(job.id);
    return { ...job, outcome: "committed" };
  }

  /** The hook that does not let a job land; null: it may. They run where its change is, with the programs of the container. */
  async #askHooks(
    { container, layers }: RunningContainer,
    { changes }: RunJob,
    signal: AbortSignal,
  ): Promise<string | null> {
    const { sandbox, mask } = this.#deps;
    const { commands, timeout } = this.#deps.previews.hooks;
    const files = changes.map(({ path }) => path).join("\n");
    for (const command of commands) {
      const asked = await sandbox.exec(container, {
        command,
        cwd: layers.directory,
        env: {
          ...this.#testVariables(),
          PICOCLAW_HOOK: "before_landing",
          PICOCLAW_FILES: files.slice(0, HOOK_FILES),
        },
        timeoutMs: timeout * 1000,
        signal,
        outputLimitBytes: TEST_OUTPUT,
      });
      for (const { pid } of asked.background) await sandbox.endProcess(container, pid);
      if (asked.exitCode !== 0) return mask(`${command} → ${asked.exitCode ?? asked.outcome}`);
    }
    return null;
  }

  async runTest(
    { command, cwd }: { readonly command: string; readonly cwd: string },
    options: RunOptions,
  ): Promise<TestRun> {
    const { sandbox, messages, mask } = this.#deps;
    if (this.#running === null)
      return { command, exitCode: null, output: "", durationMs: 0, error: messages.workerLost(this.#name) };
    const { container, layers, judge } = this.#running;
    const judged = judge === null ? null : await this.#judgeTest(judge, { command, cwd }, options);
    if (judged !== null) return judged;
    const result = await sandbox.exec(container, {
      command,
      cwd: cwd === "" ? layers.directory : `${layers.directory}/${cwd}`,
      env: this.#testVariables(),
      timeoutMs: options.timeoutMs,
      signal: options.signal,
      outputLimitBytes: TEST_OUTPUT,
    });
    if (result.outcome === "disconnected") await this.stop();
    for (const { pid } of result.background) await sandbox.endProcess(container, pid);
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

  /** Null where nothing was to be judged: nothing was changed. */
  async #judgeTest(
    judge: RunJudge,
    test: { readonly command: string; readonly cwd: string },
    options: RunOptions,
  ): Promise<TestRun | null> {
    const { messages, mask } = this.#deps;
    const judged = await judge.judge(test, options).catch((error: unknown) => error);
    if (judged instanceof Error) {
      if (options.signal.aborted) return null;
      // A test that cannot be judged is not passed: an exit code alone can be forged.
      const { command } = test;
      return { command, exitCode: null, output: "", durationMs: 0, error: mask(judged.message) };
    }
    const attempt = judged as JudgedAttempt;
    const [run] = attempt.runs;
    if (run === undefined) return null;
    const { facts, verdict, report } = attempt;
    const texts = checksMessagesFor(this.#deps.judged.locale);
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

  async stop(): Promise<void> {
    const { sandbox } = this.#deps;
    if (this.#running === null) return;
    const { layers, container, image, judge } = this.#running;
    this.#running = null;
    // It stays as a preview; the next container begins with the repository.
    this.#staged = null;
    await judge?.close();
    await sandbox.stopContainer(container, { force: true });
    await sweepLayers(this.#deps, layers.folder, image);
  }
}

function withoutKeyVariables(
  env: Readonly<Record<string, string>>,
  keys: readonly string[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !keys.includes(name)));
}
