import type { SandboxFailure } from "../../application/ports/containers.ts";

type FailureCode = SandboxFailure["code"];

const FAILURE_ACTORS: Readonly<Record<FailureCode, SandboxFailure["actor"]>> = {
  "engine-unreachable": "operator",
  "engine-forbidden": "operator",
  "engine-timeout": "operator",
  "engine-error": "operator",
  "bad-host": "user",
  "image-missing": "user",
  "name-taken": "user",
  "container-missing": "user",
  "container-stopped": "user",
  "no-resources": "operator",
  "no-proxy": "operator",
  "not-allowed": "user",
  "bad-spec": "user",
  outside: "model",
  "cwd-missing": "model",
  "program-missing": "model",
  disconnected: "operator",
  aborted: "user",
};

const RETRYABLE_CODES: ReadonlySet<FailureCode> = new Set([
  "engine-unreachable",
  "engine-timeout",
  "no-resources",
  "disconnected",
]);

export function sandboxFailure(code: FailureCode, detail: string, cause?: unknown): SandboxFailure {
  return {
    ok: false,
    code,
    actor: FAILURE_ACTORS[code],
    retryable: RETRYABLE_CODES.has(code),
    detail,
    ...(cause !== undefined && { cause }),
  };
}

/** What the engine's status and words mean. */
export function failureFromStatus(status: number, message: string, path: string): SandboxFailure {
  if (status === 404 && /no such image|not found: manifest|pull access denied/i.test(message))
    return sandboxFailure("image-missing", message);
  if (status === 404 && /\/containers\/|\/exec\//.test(path))
    return sandboxFailure("container-missing", message);
  if (status === 409 && /is already in use/i.test(message)) return sandboxFailure("name-taken", message);
  if (status === 409 && /is not running|is paused/i.test(message))
    return sandboxFailure("container-stopped", message);
  if (status === 400) return sandboxFailure("bad-spec", message);
  if (/cannot allocate memory|no space left|resource temporarily unavailable/i.test(message))
    return sandboxFailure("no-resources", message);
  return sandboxFailure("engine-error", `${message} (HTTP ${status})`);
}

const FAILURE_WORDS: Readonly<Record<string, string>> = {
  ENOENT: "no such socket",
  ECONNREFUSED: "connection refused",
  ConnectionRefused: "connection refused",
  FailedToOpenSocket: "no engine answers",
};

/** What the runtime threw while it tried to reach the engine. */
export function failureFromThrown(error: unknown, host: string): SandboxFailure {
  const { code = "", message = String(error) } = error as { code?: string; message?: string };
  if (code === "EACCES" || code === "EPERM")
    return sandboxFailure("engine-forbidden", `${host}: permission denied (its group may use it)`, error);
  return sandboxFailure("engine-unreachable", `${host}: ${FAILURE_WORDS[code] ?? message}`, error);
}
