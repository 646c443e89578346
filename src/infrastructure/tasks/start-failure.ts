import type { SandboxFailure } from "../../application/ports/containers.ts";
import type { ExecutorStarted } from "../../application/ports/worker-executor.ts";
import type { TaskMessages } from "../../domain/texts/texts.ts";

/** Why there is no container, for whoever asked for the task. */
export function startFailure(
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
