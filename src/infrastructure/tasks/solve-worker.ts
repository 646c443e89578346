import { homedir } from "node:os";
import type { ContainerInfo } from "../../domain/containers/container-info.ts";
import type { SandboxManager } from "../../application/ports/containers.ts";
import type { TaskEnvironment } from "../../application/ports/task-environments.ts";
import { createMasker } from "../../domain/policy/mask.ts";
import { WORKER_KIND_NAMES, type WorkerKindName } from "../../domain/config/worker-kind-names.ts";
import type { Locale } from "../../domain/texts/messages.ts";
import { taskMessagesFor } from "../../domain/texts/texts.ts";
import { findCredentials, readableLogins } from "./credentials.ts";
import { findWorkerKind } from "./worker-kinds/find-kind.ts";
import { placeCredentials } from "./in-container.ts";
import { createKeyQuota, type KeyLimits } from "./key-quota.ts";
import { runCli } from "./run-cli.ts";

const RUN_MS = 1_800_000;

export function isWorkerKind(name: string): name is WorkerKindName {
  return (WORKER_KIND_NAMES as readonly string[]).includes(name);
}

export interface SolveWorkerDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sandboxes: SandboxManager;
  readonly locale: Locale;
  readonly secrets: readonly string[];
  readonly keyLimits: KeyLimits;
}

/** Puts the CLI's login into the container, for this task only; a text says why it cannot work there. */
export async function openSolveWorker(
  { env, sandboxes, locale, secrets, keyLimits }: SolveWorkerDeps,
  name: string,
  info: ContainerInfo,
): Promise<NonNullable<TaskEnvironment["runWorker"]> | string> {
  if (!isWorkerKind(name)) return name;
  const kind = findWorkerKind(name);
  const messages = taskMessagesFor(locale);
  const credentials = findCredentials(kind, { home: env.HOME ?? homedir(), hostEnv: env, workerEnv: {} });
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
          // Some tell a text in growing pieces: it is whole when something else comes.
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
