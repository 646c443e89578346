import { statSync } from "node:fs";
import type { ProcessRequest, StartFailure, StartFailureReason } from "../../../application/ports/process.ts";

const REASONS: Readonly<Record<string, StartFailureReason>> = {
  ENOENT: "program-missing",
  ENOTDIR: "program-missing",
  EACCES: "not-permitted",
  EPERM: "not-permitted",
  ENOEXEC: "not-permitted",
  E2BIG: "arguments-too-long",
  EAGAIN: "no-resources",
  ENOMEM: "no-resources",
  EMFILE: "no-resources",
  ENFILE: "no-resources",
  ERR_INVALID_ARG_VALUE: "invalid-argument",
  ERR_INVALID_ARG_TYPE: "invalid-argument",
};

/** The operating system says ENOENT both for a missing program and a missing folder: the folder is looked at again. */
export function startFailure(request: Pick<ProcessRequest, "argv" | "cwd">, cause: unknown): StartFailure {
  const program = request.argv[0];
  const code = codeOf(cause);
  const reason = folderFailure(request.cwd) ?? REASONS[code] ?? "unknown";
  return { reason, message: describe(reason, program, request.cwd, code), cause };
}

function describe(reason: StartFailureReason, program: string, cwd: string, code: string): string {
  switch (reason) {
    case "program-missing":
      return `${program}: program not found (${code})`;
    case "cwd-missing":
      return `${cwd}: the folder to run in does not exist or cannot be entered`;
    case "not-permitted":
      return `${program}: not allowed to run (${code})`;
    case "arguments-too-long":
      return `${program}: the arguments and environment are too long (${code})`;
    case "no-resources":
      return `${program}: the machine has no room for another process (${code})`;
    case "invalid-argument":
      return `${program}: an argument or variable contains a NUL byte (${code})`;
    case "unknown":
      return `${program}: could not be started (${code})`;
  }
}

function folderFailure(cwd: string): StartFailureReason | undefined {
  try {
    return statSync(cwd).isDirectory() ? undefined : "cwd-missing";
  } catch {
    return "cwd-missing";
  }
}

function codeOf(cause: unknown): string {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  return typeof code === "string" ? code : String(cause);
}
