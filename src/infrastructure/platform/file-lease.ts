import { failure, type LibcResult, linuxLibc, UNSUPPORTED } from "./libc.ts";

const F_SETSIG = 10;
const F_SETLEASE = 1024;
const READ_LEASE = 0;
const NO_LEASE = 2;
/** Ignored by whoever does not ask for it. The signal of a lease that somebody breaks would end this process otherwise. */
const SIGURG = 23;

/**
 * Linux: whether anybody has the file open for writing, in whatever namespace, mapped or as a descriptor. `fd` must be
 * open for reading alone. The kernel gives a read lease only on a file without writers; the lease is given back at
 * once, and somebody who opens the file in between waits that long. Fails for files of other owners, and on file
 * systems without leases.
 */
export function hasWriters(fd: number): LibcResult<boolean> {
  const lib = linuxLibc();
  if (!lib) return UNSUPPORTED;
  if (lib.c.fcntl(fd, F_SETSIG, SIGURG) !== 0) return failure(lib);
  if (lib.c.fcntl(fd, F_SETLEASE, READ_LEASE) === 0) {
    lib.c.fcntl(fd, F_SETLEASE, NO_LEASE);
    return { ok: true, value: false };
  }
  const failed = failure(lib);
  return failed.reason === "failed" && failed.code === "EAGAIN" ? { ok: true, value: true } : failed;
}
