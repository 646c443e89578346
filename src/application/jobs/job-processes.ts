import { jobEnvironment } from "../../domain/policy/job-environment.ts";
import type { JobEvent } from "../ports/jobs.ts";
import type { Transaction } from "../ports/jobs-transaction.ts";
import type { WorkspaceDeps } from "../ports/jobs-workspace.ts";
import type { ProcessRunner } from "../ports/platform-processes.ts";
import type { AutoCommitResult } from "./auto-commit.ts";
import { type JobStory, planTitle } from "./conclude-job.ts";

export interface RunOptions {
  readonly signal?: AbortSignal;
  readonly onOutput?: ((text: string) => void) | undefined;
}

export interface RunningJob {
  readonly deps: WorkspaceDeps;
  readonly jobId: string;
  readonly transaction: Transaction;
  readonly emit: (event: JobEvent) => void;
}

export class JobProcesses {
  readonly #env: Record<string, string>;
  #ownGit: ReturnType<WorkspaceDeps["ownGit"]> | null = null;

  constructor(
    private readonly job: RunningJob,
    private readonly story: JobStory,
  ) {
    this.#env = jobEnvironment({
      host: job.deps.hostEnv,
      pass: job.deps.config.env_pass,
      view: job.transaction.environment,
    });
  }

  inputs({ signal, onOutput }: RunOptions = {}) {
    const { deps, transaction, jobId } = this.job;
    const { request } = this.story;
    return {
      transaction,
      policy: deps.policy,
      jobId,
      env: this.#env,
      outputLimitBytes: deps.config.output_limit,
      signal: signal ?? request.signal,
      onOutput: onOutput ?? request.onOutput ?? (() => {}),
    };
  }

  /** An isolated view has its own way to run a process in it. */
  async runner(): Promise<ProcessRunner> {
    return this.job.transaction.processes ?? this.job.deps.processes();
  }

  async commit(
    moment: "before" | "after",
    { except = [] }: { readonly except?: readonly string[] } = {},
  ): Promise<AutoCommitResult> {
    const { commitMoment } = await import("./auto-commit.ts");
    const { job, story } = this;
    const { deps, emit } = job;
    this.#ownGit ??= deps.ownGit();
    return commitMoment(deps, {
      moment,
      except,
      title: moment === "before" ? "Before patch" : `After patch: ${planTitle(story.request)}`,
      ownGit: await this.#ownGit,
      process: this.inputs(),
      processes: await this.runner(),
      notes: story.notes,
      emit,
    });
  }

  async end(): Promise<readonly string[]> {
    if (this.job.transaction.directory === null) return [];
    const killed = await (await this.runner()).killJobProcesses(this.job.jobId);
    return killed.map(({ command }) => command);
  }
}
