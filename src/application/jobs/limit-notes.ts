import type { NoteFact } from "../../domain/jobs/note.ts";
import type { LimitSettings } from "./workspace-parts.ts";

type NamedLimit = "memory" | "file_size" | "open_files" | "processes";

/** How programs say that they may have no more of something. */
const LIMIT_MESSAGES: Readonly<Record<NamedLimit, RegExp>> = {
  memory: /Cannot allocate memory|ENOMEM|MemoryError|out of memory|bad_alloc|allocation failed/i,
  file_size: /SIGXFSZ|File size limit exceeded|File too large|EFBIG/,
  open_files: /Too many open files|EMFILE/,
  processes: /fork: retry|Resource temporarily unavailable|EAGAIN|can't start new thread|Cannot fork/i,
};

/** The limits that a failed command seems to have met, by what it said. */
export function limitNotes(limits: LimitSettings, said: string): NoteFact[] {
  return (Object.keys(LIMIT_MESSAGES) as NamedLimit[])
    .filter((limit) => limits[limit] > 0 && LIMIT_MESSAGES[limit].test(said))
    .map((limit) => ({ code: "limit-met", limit, value: limits[limit] }));
}
