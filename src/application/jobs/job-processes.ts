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

export interface JobProcessesDeps {
  readonly deps: WorkspaceDeps;
  readonly jobId: string;
  readonly transaction: Transaction;
  readonly story: JobStory;
  readonly emit: (event: JobEvent) => void;
}

/** How processes of a job are run: those of its commands, and our own git. */
export class JobProcesses {
  readonly #job: JobProcessesDeps;
  readonly #env: Record<string, string>;
  #ownGit: ReturnType<WorkspaceDeps["ownGit"]> | null = null;

  constructor(job: JobProcessesDeps) {
    this.#job = job;
    this.#env = jobEnvironment({
      host: job.deps.hostEnv,
      pass: job.deps.config.env_pass,
      view: job.transaction.environment,
    });
  }

  inputs({ signal, onOutput }: RunOptions = {}) {
    const { deps, transaction, jobId, story } = this.#job;
    const { request } = story;
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

  /** A view that is closed off brings its own way to run a process in it. */
  async runner(): Promise<ProcessRunner> {
    return this.#job.transaction.processes ?? this.#job.deps.processes();
  }

  async commit(
    moment: "before" | "after",
    { except = [] }: { readonly except?: readonly string[] } = {},
  ): Promise<AutoCommitResult> {
    const { commitMoment } = await import("./auto-commit.ts");
    const { deps, story, emit } = this.#job;
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

  /** Ends all of them, and names them. */
  async end(): Promise<readonly string[]> {
    if (this.#job.transaction.directory === null) return [];
    const killed = await (await this.runner()).killJobProcesses(this.#job.jobId);
    return killed.map(({ command }) => command);
  }
}
