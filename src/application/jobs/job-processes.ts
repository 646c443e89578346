import { looksLikeSecretName } from "../../domain/platform/secret-name.ts";
import { gitVariables } from "../../domain/policy/git-files.ts";
import type { JobEvent } from "../ports/jobs.ts";
import type { Transaction } from "../ports/jobs-transaction.ts";
import type { ProcessRunner } from "../ports/platform-processes.ts";
import type { AutoCommitResult } from "./auto-commit.ts";
import { type JobStory, planTitle } from "./conclude-job.ts";
import type { WorkspaceDeps } from "./execution.ts";

/** Variables that commands need to find programs, speak a language and keep time. */
const PASSED =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TERM|COLORTERM|NO_COLOR|TZ|TMPDIR|XDG_\w+|HOSTNAME|EDITOR|JAVA_HOME|GOPATH|GOROOT|GOFLAGS|CARGO_HOME|RUSTUP_HOME|NVM_DIR|PYENV_ROOT|VIRTUAL_ENV|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|(https?|no|all)_proxy|(HTTPS?|NO|ALL)_PROXY|npm_config_cafile|NPM_CONFIG_CAFILE)$/;

/** Git settings for a job: no background maintenance, and a stat cache that survives a copy of the files. */
const GIT_SETTINGS: readonly (readonly [string, string])[] = [
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["core.checkStat", "minimal"],
  ["core.trustctime", "false"],
  ["advice.detachedHead", "false"],
];

export interface JobEnvironmentDeps {
  readonly host: Readonly<Record<string, string | undefined>>;
  /** `worker.env_pass`: names the user lets through, secrets included. */
  readonly pass: readonly string[];
  readonly view: Readonly<Record<string, string>>;
}

/** The environment of a job's processes: an allow-list; a variable that looks like a secret passes only by name. */
export function jobEnvironment({ host, pass, view }: JobEnvironmentDeps): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(host)) {
    if (value === undefined) continue;
    if (pass.includes(name) || (PASSED.test(name) && !looksLikeSecretName(name))) env[name] = value;
  }
  return { ...env, GIT_TERMINAL_PROMPT: "0", ...gitVariables(GIT_SETTINGS), ...view };
}

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
