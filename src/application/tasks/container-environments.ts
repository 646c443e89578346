import {
  bringInScript,
  changeScript,
  diffCommand,
  OWN_PROGRAMS,
  treeScript,
  unbornRepositories,
} from "../../domain/containers/clone-plan.ts";
import type { PrepareFailure, PrepareNotice } from "../../domain/containers/preparation.ts";
import type { EnvironmentMessages } from "../../domain/texts/containers.ts";
import type { CheckMemory, CheckRecord } from "../ports/checks.ts";
import type { ClonePoint, ContainerInfo, PrintOptions, SandboxManager } from "../ports/containers.ts";
import type { OpenEnvironments } from "../ports/containers-opened.ts";
import type { ModelTool } from "../ports/models.ts";
import type {
  EnvironmentCall,
  EnvironmentTrouble,
  FailedInstall,
  TaskEnvironment,
  TaskEnvironments,
} from "../ports/tasks.ts";

/** A tool's answer as a model reads it. A text that is escaped in JSON costs more and is copied with its escapes. */
export function envelopeText(envelope: object): string {
  const { data } = envelope as { readonly data?: object };
  const { content, ...facts } = (data ?? {}) as { readonly content?: unknown };
  if (typeof content !== "string") return JSON.stringify(envelope);
  return `${JSON.stringify({ ...envelope, data: facts })}\n${content}`;
}

/** Only the task changes its container, so what was measured there holds as long as the container does. */
export function createTaskMemory(fingerprint: string): CheckMemory {
  let kept: CheckRecord | null = null;
  return {
    running: new Map(),
    fingerprint: () => fingerprint,
    recall: () => kept,
    keep(record) {
      kept = record;
    },
  };
}

export interface OpenClone extends Pick<TaskEnvironment, "workspace" | "projectOf"> {
  touch(): void;
}

type OpenedEnvironment = TaskEnvironment & Pick<OpenClone, "touch">;

export interface ContainerEnvironmentDeps {
  readonly manager: Pick<
    OpenEnvironments["manager"],
    "tryPrepare" | "executeIn" | "cleanup" | "getAvailableEnvironments"
  >;
  readonly sandboxes: Pick<SandboxManager, "exec">;
  readonly tools: readonly ModelTool[];
  readonly promptFragment: (environmentName: string) => string;
  /** Calls a tool of the toolkit on the container's files; its envelope as JSON. */
  readonly callTool: (
    info: ContainerInfo,
    tool: string,
    args: unknown,
    signal: AbortSignal,
  ) => Promise<{ readonly status: string }>;
  /** The clone as a workspace whose drafts are the clone itself. */
  readonly openClone: (info: ContainerInfo, clone: ClonePoint) => Promise<OpenClone>;
  /** The worker CLI of that kind in a container; a text says why it cannot work there. */
  readonly openWorker: (
    kind: string,
    info: ContainerInfo,
  ) => Promise<NonNullable<TaskEnvironment["runWorker"]> | string>;
  readonly workerImage: (kind: string) => string;
  readonly texts: Pick<EnvironmentMessages, "step" | "notice" | "failure">;
}

const EXECUTE = "command-executor_execute_command";
const DIFFERENCE_BYTES = 64 * 1024 ** 2;
const GIT_MS = 120_000;
/** Notices that a reviewer of the result wants to know. */
const WARNINGS: ReadonlySet<string> = new Set([
  "install-failed",
  "program-missing",
  "install-offline",
  "nearest",
]);

const INDEX = "/workspace/tmp/.picoclaw-index";

export function createContainerEnvironments(deps: ContainerEnvironmentDeps): TaskEnvironments {
  const { manager, texts } = deps;
  return {
    available: () => manager.getAvailableEnvironments(),
    tools: deps.tools,
    promptFragment: deps.promptFragment,
    async prepare(request) {
      const { taskId, claim, environment, worker, cloneUrl, branch, targetBranch, signal } = request;
      const prepared = await manager.tryPrepare(
        { uuid: taskId, repository: cloneUrl, branch, ...(targetBranch !== null && { targetBranch }) },
        environment,
        {
          ...(worker !== null && { worker: deps.workerImage(worker) }),
          claim,
          signal,
          onEvent(event) {
            if (event.type === "step") request.onProgress(texts.step(event.step, event.subject));
          },
        },
      );
      if (!prepared.ok)
        return toEnvironmentTrouble(
          prepared,
          texts.failure(prepared.code, prepared.subject, prepared.detail),
        );
      const warnings = prepared.notices.filter(({ code }) => WARNINGS.has(code)).map(texts.notice);
      const failedInstalls = prepared.notices.flatMap((notice) =>
        notice.code === "install-failed" ? [failedInstall(notice)] : [],
      );
      const found = { warnings, failedInstalls };
      const opened = await openEnvironment(deps, prepared.container, found, signal);
      const runWorker =
        worker === null || !opened.ok ? null : await deps.openWorker(worker, prepared.container);
      if (!opened.ok || typeof runWorker === "string") await manager.cleanup(taskId, { claim });
      if (typeof runWorker === "string") return { ok: false, kind: "container", message: runWorker };
      if (!opened.ok || runWorker === null) return opened;
      return { ...opened, runWorker: (prompt, options) => runWorker(prompt, options).finally(opened.touch) };
    },
    async remove(taskId, claim) {
      await manager.cleanup(taskId, { claim });
    },
  };
}

function failedInstall({
  command,
  output,
  why,
  leftOut,
}: Extract<PrepareNotice, { code: "install-failed" }>): FailedInstall {
  return { command, output, refused: why.kind === "refused" ? why.hosts : [], leftOut };
}

async function openEnvironment(
  deps: ContainerEnvironmentDeps,
  info: ContainerInfo,
  found: Pick<TaskEnvironment, "warnings" | "failedInstalls">,
  signal: AbortSignal,
): Promise<OpenedEnvironment | EnvironmentTrouble> {
  const { manager } = deps;
  const run: TaskEnvironment["run"] = async (command, until) => {
    const { exit_code, stdout, stderr, duration_ms } = await manager.executeIn(info, command, null, {
      signal: until,
      byHand: true,
    });
    return { exitCode: exit_code, stdout, stderr, durationMs: duration_ms };
  };
  const head = await run(`${OWN_PROGRAMS}git rev-parse HEAD`, signal);
  const base = head.stdout.trim();
  const before = await run(`${OWN_PROGRAMS}${treeScript(INDEX, base)}`, signal);
  if (head.exitCode !== 0 || before.exitCode !== 0) {
    const message = `${head.stderr}${before.stderr}`.trim();
    return { ok: false, kind: signal.aborted ? "aborted" : "container", message };
  }
  const start = before.stdout.trim();
  const print: TaskEnvironment["print"] = (command, options) =>
    printCommand(deps.sandboxes, info, `${OWN_PROGRAMS}${command}`, options);
  const clone = await deps.openClone(info, { base, start, index: INDEX, print });
  return {
    ok: true,
    name: info.environment_name,
    baseCommit: base,
    ...found,
    run,
    print,
    workspace: clone.workspace,
    projectOf: clone.projectOf,
    call: (tool, args, until) => callTool(deps, info, { tool, args, signal: until }).finally(clone.touch),
    async difference(until, { exact }) {
      const after = await run(`${OWN_PROGRAMS}${changeScript(INDEX, { base, start, exact })}`, until);
      if (after.exitCode !== 0) return after.stderr.trim();
      const tree = after.stdout.trim();
      const patch = await print(diffCommand(base, tree), { limitBytes: DIFFERENCE_BYTES, signal: until });
      return typeof patch === "string" ? patch : { patch, tree, unborn: unbornRepositories(after.stderr) };
    },
    async bringIn(patch, until) {
      const brought = await print(bringInScript(INDEX, base), {
        stdin: patch,
        limitBytes: 10_000,
        signal: until,
      });
      clone.touch();
      return typeof brought === "string" ? brought : null;
    },
    touch: clone.touch,
  };
}

/** All bytes that a command prints; a text states why there are none. */
export async function printCommand(
  sandboxes: Pick<SandboxManager, "exec">,
  info: Pick<ContainerInfo, "container_id" | "workspace_path">,
  command: string,
  { stdin, limitBytes, signal }: PrintOptions,
): Promise<Uint8Array | string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  const result = await sandboxes.exec(info.container_id, {
    command,
    cwd: info.workspace_path,
    timeoutMs: GIT_MS,
    outputLimitBytes: 10_000,
    signal,
    stdin,
    onBytes(stream, bytes) {
      if (stream !== "stdout") return;
      size += bytes.length;
      if (size <= limitBytes) pieces.push(bytes.slice());
    },
  });
  if (result.exitCode !== 0) return result.stderr.trim() || result.outcome;
  return size <= limitBytes ? Buffer.concat(pieces) : `larger than ${limitBytes} bytes`;
}

async function callTool(
  { manager, callTool: call }: ContainerEnvironmentDeps,
  info: ContainerInfo,
  { tool, args, signal }: { readonly tool: string; readonly args: unknown; readonly signal: AbortSignal },
): Promise<EnvironmentCall> {
  if (tool !== EXECUTE) {
    const envelope = await call(info, tool, args, signal);
    return { ok: envelope.status === "success", text: envelopeText(envelope) };
  }
  const { command, working_directory: cwd } = (args ?? {}) as {
    command?: unknown;
    working_directory?: unknown;
  };
  if (typeof command !== "string" || command.trim() === "")
    return { ok: false, text: "error: `command` must be a text" };
  const result = await manager.executeIn(info, command, typeof cwd === "string" ? cwd : null, { signal });
  const { exit_code: exitCode, stdout, stderr, duration_ms: durationMs } = result;
  return {
    ok: exitCode === 0,
    text: JSON.stringify(result),
    command: { command, exitCode, stdout, stderr, durationMs },
  };
}

const CLONE_FAILURES: ReadonlySet<PrepareFailure["code"]> = new Set([
  "repository-missing",
  "repository-denied",
  "ref-missing",
  "not-a-repository",
  "host-unreachable",
  "clone-timeout",
  "clone-failed",
  "credential-kept",
]);

function toEnvironmentTrouble({ code }: PrepareFailure, message: string): EnvironmentTrouble {
  if (code === "aborted") return { ok: false, kind: "aborted", message };
  return { ok: false, kind: CLONE_FAILURES.has(code) ? "clone" : "container", message };
}
