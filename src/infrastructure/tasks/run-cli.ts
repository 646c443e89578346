import { homedir } from "node:os";
import type {
  ContainerInfo,
  ExecResult,
  SandboxFailure,
  SandboxManager,
} from "../../application/ports/containers.ts";
import type { RunOptions, TaskEnvironment } from "../../application/ports/tasks.ts";
import type { ContainerEnvironmentDeps } from "../../application/tasks/container-environments.ts";
import { WORKER_KIND_NAMES, type WorkerKindName } from "../../domain/config/configured-kinds.ts";
import { NO_USAGE } from "../../domain/models/model-facts.ts";
import { createMasker } from "../../domain/platform/mask.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { type TaskMessages, taskMessagesFor } from "../../domain/texts/tasks.ts";
import { createKeyQuota, type KeyLimits, type KeyQuota, startKeyProxy } from "../heads/key-proxy.ts";
import { findWorkerKind } from "../heads/kinds/find-kind.ts";
import type { StreamFindings, WorkerKind } from "../heads/kinds/worker-kind.ts";
import { watchRun } from "../heads/watch-run.ts";
import {
  type BringBackDeps,
  bringBackLogins,
  CONTAINER_HOME,
  type Credentials,
  findCredentials,
  placeCredentials,
  readableLogins,
} from "./credentials.ts";

const OUTPUT_LIMIT = 1024 ** 2;

export interface CliRun extends BringBackDeps {
  readonly kind: WorkerKind;
  readonly prompt: string;
  readonly cwd: string;
  /** Of the task, over all its runs. */
  readonly quota: KeyQuota;
  readonly mask: (text: string) => string;
  readonly options: RunOptions;
}

export interface CliResult {
  readonly exec: ExecResult;
  readonly findings: StreamFindings;
  readonly error: string | null;
  readonly rawOutput: string;
  readonly missing: boolean;
  /** The fate of its login, where the user has to know. */
  readonly notes: readonly string[];
}

export async function runCli(run: CliRun): Promise<CliResult> {
  const { sandbox, container, kind, options, messages, mask } = run;
  const reader = kind.createReader();
  const watch = watchRun({ reader, mask, onProgress: (progress) => options.onProgress?.(progress) });
  const way = await openKeyAccess({ ...run, signal: options.signal, onUsedUp: watch.giveUp });
  if (!way.ok) return notStartedResult(way, messages);
  const exec = await sandbox
    .exec(container, {
      command: way.argv,
      cwd: run.cwd,
      env: { HOME: CONTAINER_HOME, ...kind.env, ...way.env },
      stdin: run.prompt,
      timeoutMs: options.timeoutMs,
      signal: AbortSignal.any([options.signal, watch.signal]),
      outputLimitBytes: OUTPUT_LIMIT,
      onOutput: watch.onOutput,
    })
    .finally(way.close);
  const notes = await bringBackLogins(run);
  const findings = reader.end();
  const usedUp = run.quota.usedUp();
  const refused = watch.trouble();
  const trouble =
    usedUp !== null
      ? messages.keyQuota(kind.name, usedUp, run.quota.limits)
      : refused?.code === "unauthorized"
        ? messages.unauthorized(kind.name, kind.keyVariables)
        : refused?.code === "unreachable"
          ? messages.unreachable(kind.name, refused.detail)
          : null;
  return {
    exec,
    findings: { ...findings, summary: mask(findings.summary) },
    error: whyFailed(),
    rawOutput: mask([exec.stdout, exec.stderr].filter(Boolean).join("\n")),
    missing: exec.failure?.code === "program-missing",
    notes,
  };

  function whyFailed(): string | null {
    if (options.signal.aborted) return messages.workerAborted;
    if (watch.signal.aborted) return trouble;
    switch (exec.outcome) {
      case "timed-out":
        return [messages.workerTimedOut(Math.round(options.timeoutMs / 1000)), trouble]
          .filter(Boolean)
          .join(" ");
      case "aborted":
        return messages.workerAborted;
      case "disconnected":
      case "not-started":
        return messages.workerLost(exec.failure?.detail ?? exec.outcome);
      case "signaled":
        return messages.workerKilled(exec.signal ?? "?");
      case "exited":
        if (exec.exitCode === 0 && findings.error === null) return null;
        return (
          trouble ??
          (findings.error ? mask(findings.error) : lastWords(messages.workerEnded(exec.exitCode ?? -1)))
        );
    }
  }

  function lastWords(text: string): string {
    const last = exec.stderr.split("\n").findLast((line) => /\p{L}{3}/u.test(line));
    return last === undefined ? text : `${text}: ${mask(last.trim())}`;
  }
}

function notStartedResult(failure: SandboxFailure, messages: TaskMessages): CliResult {
  const exec: ExecResult = {
    outcome: failure.code === "aborted" ? "aborted" : "not-started",
    exitCode: null,
    signal: null,
    stdout: "",
    stderr: "",
    truncatedBytes: 0,
    durationMs: 0,
    background: [],
    failure,
  };
  const error = failure.code === "aborted" ? messages.workerAborted : messages.keysOutside(failure.detail);
  const findings = { summary: "", error, usage: NO_USAGE, saidChanged: [], sessionId: "" };
  return { exec, findings, error, rawOutput: "", missing: false, notes: [] };
}

const RUN_MS = 1_800_000;

function isWorkerKind(name: string): name is WorkerKindName {
  return (WORKER_KIND_NAMES as readonly string[]).includes(name);
}

export interface SolveWorkerDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sandboxes: SandboxManager;
  readonly locale: Locale;
  readonly secrets: readonly string[];
  readonly keyLimits: KeyLimits;
  readonly mayUseLogins: (kind: string) => boolean;
}

export function createSolveWorkers(
  deps: SolveWorkerDeps,
): Pick<ContainerEnvironmentDeps, "workerImage" | "openWorker"> {
  return {
    workerImage: (kind) => (isWorkerKind(kind) ? findWorkerKind(kind).image : kind),
    openWorker: (kind, info) => openSolveWorker(deps, kind, info),
  };
}

/** Puts the CLI's login into the container, for this task only; a text says why it cannot work there. */
async function openSolveWorker(
  { env, sandboxes, locale, secrets, keyLimits, mayUseLogins }: SolveWorkerDeps,
  name: string,
  info: ContainerInfo,
): Promise<NonNullable<TaskEnvironment["runWorker"]> | string> {
  if (!isWorkerKind(name)) return name;
  const kind = findWorkerKind(name);
  const messages = taskMessagesFor(locale);
  const credentials = findCredentials(kind, {
    home: env.HOME ?? homedir(),
    hostEnv: env,
    workerEnv: {},
    logins: mayUseLogins(kind.name),
  });
  if (!credentials.found) return messages.noCredentials(kind.name, kind.keyVariables);
  const placed = await placeCredentials(sandboxes, info.container_id, credentials);
  if (placed !== null) return placed;
  const { mask } = createMasker({ secrets: [...secrets, ...credentials.keys.values()] });
  const logins = readableLogins(credentials);
  const quota = createKeyQuota(keyLimits);
  return async (prompt, { signal, onProgress }) => {
    let words = "";
    const flush = () => {
      if (words.trim() !== "") onProgress(`» ${words.trim()}`);
      words = "";
    };
    const { exec, findings, error, notes } = await runCli({
      sandbox: sandboxes,
      container: info.container_id,
      kind,
      prompt,
      cwd: info.workspace_path,
      credentials,
      quota,
      messages,
      mask,
      options: {
        timeoutMs: RUN_MS,
        signal,
        onProgress: (progress) => {
          // Some CLIs send a text in growing pieces: it is complete when another event follows.
          if (progress.kind === "text") words = progress.text;
          else flush();
          if (progress.kind === "command") onProgress(`$ ${progress.command}`);
          else if (progress.kind === "edit") onProgress(`✎ ${progress.path}`);
        },
      },
    });
    flush();
    return {
      summary: findings.summary,
      usage: findings.usage,
      error,
      exitCode: exec.exitCode ?? -1,
      durationMs: exec.durationMs,
      notes: [...(logins.length > 0 ? [messages.loginReadable(kind.name, logins)] : []), ...notes],
    };
  };
}

/** How a CLI is called so that its keys stay outside of the container. */
interface KeyAccess {
  readonly ok: true;
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

interface KeyAccessDeps {
  readonly sandbox: SandboxManager;
  readonly container: string;
  readonly kind: WorkerKind;
  readonly credentials: Credentials;
  readonly quota: KeyQuota;
  readonly onUsedUp: () => void;
  readonly signal: AbortSignal;
}

/** A proxy on this machine that has the keys, and a way to it from inside, for one run. Without keys, nothing is needed. */
async function openKeyAccess(deps: KeyAccessDeps): Promise<KeyAccess | SandboxFailure> {
  const { sandbox, container, kind, credentials, quota, onUsedUp, signal } = deps;
  const { env, files, keys } = credentials;
  if (keys.size === 0) return { ok: true, argv: kind.argv, env, close: async () => {} };
  const decoder = new TextDecoder();
  const route = kind.route({
    env,
    textOf: (path) => {
      const file = files.find((one) => one.path === path);
      return file === undefined ? null : decoder.decode(file.bytes);
    },
  });
  const proxy = await startKeyProxy({ upstream: route.upstream, keys, quota, onUsedUp });
  const way = await sandbox.forward(container, { socket: proxy.socket, signal });
  if (!way.ok) {
    await proxy.close();
    return way;
  }
  const { pathname } = new URL(route.upstream);
  const led = route.lead(`http://127.0.0.1:${way.port}${pathname.replace(/\/$/, "")}`);
  return {
    ok: true,
    argv: led.argv,
    env: { ...env, ...led.env },
    async close() {
      way.close();
      await proxy.close();
    },
  };
}
