import type { JobEvent } from "../ports/journal.ts";
import type { ProcessRunner } from "../ports/process.ts";
import type { Transaction } from "../ports/jobs-transaction.ts";
import type { AutoCommitResult } from "./auto-commit.ts";
import { jobEnvironment } from "./environment.ts";
import { planTitle } from "./conclude-job.ts";
import type { JobStory } from "./job-story.ts";
import type { WorkspaceDeps } from "./workspace-parts.ts";

export interface RunOptions {
  readonly signal?: AbortSignal;
  readonly onOutput?: ((text: string) => void) | undefined;
}

interface JobProcessesDeps {
  readonly parts: WorkspaceDeps;
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
      host: job.parts.hostEnv,
      pass: job.parts.config.env_pass,
      view: job.transaction.environment,
    });
  }

  parts({ signal, onOutput }: RunOptions = {}) {
    const { parts, transaction, jobId, story } = this.#job;
    const { request } = story;
    return {
      transaction,
      policy: parts.policy,
      jobId,
      env: this.#env,
      outputLimitBytes: parts.config.output_limit,
      signal: signal ?? request.signal,
      onOutput: onOutput ?? request.onOutput ?? (() => {}),
    };
  }

  /** A view that is closed off brings its own way to run a process in it. */
  async runner(): Promise<ProcessRunner> {
    return this.#job.transaction.processes ?? this.#job.parts.processes();
  }

  async commit(moment: "before" | "after"): Promise<AutoCommitResult> {
    const { commitMoment } = await import("./commit-moment.ts");
    const { parts, story, emit } = this.#job;
    this.#ownGit ??= parts.ownGit();
    return commitMoment(parts, {
      moment,
      title: moment === "before" ? "Before patch" : `After patch: ${planTitle(story.request)}`,
      ownGit: await this.#ownGit,
      process: this.parts(),
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
