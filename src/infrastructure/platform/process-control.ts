import { DONE, failure, type LibcResult, libc, linuxLibc, UNSUPPORTED } from "./libc.ts";

const PR_SET_CHILD_SUBREAPER = 36;
const RLIMIT_RTTIME = 15;
const WNOHANG = 1;

/** Linux: orphans among our descendants become our children instead of init's. Idempotent. */
export function setChildSubreaper(): LibcResult {
  const lib = linuxLibc();
  if (!lib) return UNSUPPORTED;
  return lib.c.prctl(PR_SET_CHILD_SUBREAPER, 1n, 0n, 0n, 0n) === 0 ? DONE : failure(lib);
}

/** Buries one dead child; `value` is false while it still lives. Never for a child that the runtime itself waits for. */
export function reapChild(pid: number): LibcResult<boolean> {
  const lib = libc();
  if (!lib) return UNSUPPORTED;
  const waited = lib.c.waitpid(pid, null, WNOHANG);
  return waited < 0 ? failure(lib) : { ok: true, value: waited === pid };
}

/**
 * Linux: whatever `start` spawns synchronously carries `tag` as its soft limit of real-time CPU
 * microseconds. The limit never bites (a huge number, and only for real-time scheduling), but it is
 * inherited through fork, exec, setsid and an emptied environment, and anyone may read it in
 * `/proc/PID/limits`: a mark that a process cannot lose by accident.
 */
export function withInheritedTag<T>(
  tag: bigint,
  start: () => T,
): { readonly started: T; readonly tagged: boolean } {
  const lib = linuxLibc();
  const restore = lib && setSoftLimit(lib, tag);
  if (!restore) return { started: start(), tagged: false };
  try {
    return { started: start(), tagged: true };
  } finally {
    restore();
  }
}

/** Undefined when the machine's hard limit leaves no room; else the way back. */
function setSoftLimit(
  lib: NonNullable<ReturnType<typeof linuxLibc>>,
  soft: bigint,
): (() => void) | undefined {
  const before = new BigUint64Array(2);
  if (lib.c.getrlimit(RLIMIT_RTTIME, before) !== 0) return undefined;
  const during = new BigUint64Array([soft, before[1] ?? 0n]);
  if (lib.c.setrlimit(RLIMIT_RTTIME, during) !== 0) return undefined;
  return () => void lib.c.setrlimit(RLIMIT_RTTIME, before);
}
