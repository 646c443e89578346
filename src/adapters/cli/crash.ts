import { wordUsedUp } from "../../application/jobs/action-report.ts";
import { JobBroken } from "../../application/ports/jobs-workspace.ts";
import { toErrorText, toFaultText } from "../../domain/platform/error-text.ts";
import { type FileTrouble, missingPiece } from "../../domain/platform/machine-trouble.ts";
import { maskSecrets } from "../../domain/platform/mask.ts";
import { isStoreClosed, readStoreAway } from "../../domain/store/store-trouble.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { type CliFailure, fail } from "./command.ts";
import { Stop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

const TROUBLES: Readonly<Record<string, FileTrouble>> = {
  ENOSPC: "no-space",
  EDQUOT: "no-space",
  EIO: "disk-error",
  EROFS: "read-only",
  EMFILE: "too-many-files",
  ENFILE: "too-many-files",
  EACCES: "permission-denied",
  EPERM: "permission-denied",
  ENOTDIR: "not-directory",
  EISDIR: "is-directory",
  ENAMETOOLONG: "name-too-long",
  // A folder was to be created in place of a file; a folder for temporary files that TMPDIR names.
  "EEXIST mkdir": "not-directory",
  "ENOENT mkdtemp": "not-found",
};

const CODES: Readonly<Record<string, string>> = {
  EXECUTOR_ENDED: "executor-ended",
  LIMIT_REACHED: "limit-reached",
  MEMORY_RAN_OUT: "memory-ran-out",
};

/** An error that reached the edge of a command: system troubles get their remedy, bugs one line and the place of the log. */
export async function reportCrash(program: CliProgram, error: unknown): Promise<number> {
  return error instanceof Stop ? error.exitCode : fail(program, await describeCrash(program, error));
}

export async function describeCrash(
  program: CliProgram,
  error: unknown,
  messages = messagesFor(program.locale),
): Promise<CliFailure> {
  const job = error instanceof JobBroken ? error : null;
  const cause = job === null ? error : job.cause;
  const fault = (cause ?? {}) as Partial<Record<"code" | "syscall" | "path" | "dest", string>>;
  const { code = "" } = fault;
  const trouble = TROUBLES[`${code} ${fault.syscall}`] ?? TROUBLES[code];
  // A copy reads one path and fails to write the other.
  const path = ((trouble === "no-space" || trouble === "read-only") && fault.dest) || fault.path;
  const gone = code === "INSTALLATION_INCOMPLETE" ? (path ?? "") : missingPiece(cause);
  const isClosed = isStoreClosed(cause);
  const ownPath = path === undefined || job === null ? path : toUsersPath(path, job.workspace);
  const lines: string[] = [];
  const usedUp = wordUsedUp(messages.locale, cause);
  if (usedUp !== null) lines.push(usedUp);
  else if (gone !== null) lines.push(messages.installationIncomplete(gone));
  else if (code === "EXECUTOR_ENDED") lines.push(messages.executorEnded);
  else if (isClosed) {
    const denied = readStoreAway(cause) === "denied";
    lines.push(messages[denied ? "storeDenied" : "storeAway"](maskSecrets(toErrorText(cause))));
  } else if (trouble === undefined)
    lines.push(messages.unexpectedError(maskSecrets(toFaultText(cause)), await program.logFault(cause)));
  else
    lines.push(
      messages.fileTrouble(trouble, maskSecrets(ownPath ?? job?.workspace ?? (cause as Error).message)),
    );
  if (trouble === "permission-denied" && job !== null) lines.push(messages.remedy("writable-workspace"));
  if (fault.syscall === "mkdtemp") lines.push(messages.remedy("temporary-folder"));
  if (trouble === "no-space") lines.push(messages.remedy("free-space"));
  if (job !== null) lines.push(messages.nothingApplied(job.jobName));
  const exitCode = job === null && trouble !== undefined ? EXIT.refused : EXIT.failed;
  return {
    exitCode,
    code:
      trouble ??
      (gone === null ? (CODES[code] ?? (isClosed ? "store-away" : "unexpected")) : "installation-incomplete"),
    text: lines.join("\n"),
  };
}

/** A command that an error interrupts may take so long to close its job. */
const CLOSING_MS = 10_000;

/**
 * Ends the program after an error that no caller caught. The command is asked to stop as by a signal, so that its job is closed
 * and the terminal restored; then the error is reported last, and the exit code is 1 regardless of the command's own. `reports` is
 * called once that is certain.
 */
export async function endByFault(
  program: CliProgram,
  error: unknown,
  {
    json,
    running,
    reports,
  }: { readonly json: () => boolean; readonly running: Promise<unknown>; readonly reports: () => void },
): Promise<void> {
  const failure = await describeCrash(program, error);
  reports();
  process.on("exit", () => {
    fail({ ...program, json: json() }, failure);
    process.exitCode = EXIT.failed;
  });
  setTimeout(() => process.exit(EXIT.failed), CLOSING_MS);
  process.emit("SIGTERM");
  await running.catch(() => {});
  process.exit(EXIT.failed);
}

/** The path of a job's file in PicoClaw's storage (a layer or a copy). Users know it as a file of the workspace. */
const STAGED = /\/jobs\/job_[^/]+\/(?:u\d+|view\/\d+\/[^/]+)(?:\/(?<below>.*))?$/;

function toUsersPath(path: string, workspace: string): string {
  const found = STAGED.exec(path);
  if (found === null) return path;
  const below = found.groups?.below ?? "";
  return below === "" ? workspace : `${workspace}/${below}`;
}
