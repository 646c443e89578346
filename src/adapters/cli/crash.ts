import { JobBroken } from "../../application/jobs/execution.ts";
import { wordUsedUp } from "../../application/jobs/word-notes.ts";
import { resolveLocale } from "../../config/environment.ts";
import { type FileTrouble, missingPiece } from "../../domain/jobs/machine-trouble.ts";
import { toErrorText } from "../../domain/platform/error-text.ts";
import { maskSecrets } from "../../domain/policy/mask.ts";
import { isStoreClosed } from "../../domain/store/store-trouble.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { fail } from "./command.ts";
import { Stop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

const TROUBLES: Readonly<Record<string, FileTrouble>> = {
  ENOSPC: "no-space",
  EDQUOT: "no-space",
  EIO: "disk-error",
  EROFS: "read-only",
  EACCES: "permission-denied",
  EPERM: "permission-denied",
  ENOTDIR: "not-directory",
  EISDIR: "is-directory",
  ENAMETOOLONG: "name-too-long",
};

const CODES: Readonly<Record<string, string>> = {
  EXECUTOR_ENDED: "executor-ended",
  LIMIT_REACHED: "limit-reached",
  MEMORY_RAN_OUT: "memory-ran-out",
};

/** The one handler at the process edge: system troubles get their remedy, bugs their stack. */
export function reportCrash(program: CliProgram, error: unknown, json: boolean): number {
  if (error instanceof Stop) return error.exitCode;
  const messages = messagesFor(resolveLocale({ env: program.env }));
  const job = error instanceof JobBroken ? error : null;
  const cause = job === null ? error : job.cause;
  const { code, path, syscall } = (cause ?? {}) as { code?: string; path?: string; syscall?: string };
  // Making a folder where a file stands.
  const inTheWay = code === "EEXIST" && syscall === "mkdir";
  const trouble = inTheWay ? "not-directory" : code === undefined ? undefined : TROUBLES[code];
  const gone = code === "INSTALLATION_INCOMPLETE" ? (path ?? "") : missingPiece(cause);
  const isClosed = isStoreClosed(cause);
  const ownPath = path === undefined || job === null ? path : toUsersPath(path, job.workspace);
  const lines: string[] = [];
  const usedUp = wordUsedUp(messages.locale, cause);
  if (usedUp !== null) lines.push(usedUp);
  else if (gone !== null) lines.push(messages.installationIncomplete(gone));
  else if (code === "EXECUTOR_ENDED") lines.push(messages.executorEnded);
  else if (isClosed) lines.push(messages.storeAway(maskSecrets(toErrorText(cause))));
  else if (trouble === undefined)
    lines.push(messages.unexpectedError(maskSecrets((cause as Error)?.stack ?? String(cause))));
  else
    lines.push(
      messages.fileTrouble(trouble, maskSecrets(ownPath ?? job?.workspace ?? (cause as Error).message)),
    );
  if (trouble === "permission-denied" && job !== null) lines.push(messages.remedy("writable-workspace"));
  if (trouble === "no-space") lines.push(messages.remedy("free-space"));
  if (job !== null) lines.push(messages.nothingApplied(job.jobId));
  const exitCode = job === null && trouble !== undefined ? EXIT.refused : EXIT.failed;
  return fail(program, json, {
    exitCode,
    code:
      trouble ??
      (gone === null
        ? (CODES[code ?? ""] ?? (isClosed ? "store-away" : "unexpected"))
        : "installation-incomplete"),
    text: lines.join("\n"),
  });
}

/** A job's files lie in layers or copies in PicoClaw's storage: to the user they are files of the workspace. */
const STAGED = /\/jobs\/job_[^/]+\/(?:u\d+|view\/\d+\/[^/]+)(?:\/(?<below>.*))?$/;

function toUsersPath(path: string, workspace: string): string {
  const found = STAGED.exec(path);
  if (found === null) return path;
  const below = found.groups?.below ?? "";
  return below === "" ? workspace : `${workspace}/${below}`;
}
