import { DONE, failure, type LibcResult, linuxLibc, UNSUPPORTED } from "./libc.ts";

const PR_SET_DUMPABLE = 4;
const F_SETFD = 2;
const FD_CLOEXEC = 1;
const RLIMITS = { fileSize: 1, processes: 6, openFiles: 7 } as const;

/** Linux: nobody of the same user may read this process's memory or reach its descriptors through /proc. */
export function hideFromPeers(): LibcResult {
  const lib = linuxLibc();
  if (!lib) return UNSUPPORTED;
  return lib.c.prctl(PR_SET_DUMPABLE, 0n, 0n, 0n, 0n) === 0 ? DONE : failure(lib);
}

/** A descriptor that was inherited is not passed on to what this process starts. */
export function closeOnExec(descriptor: number): LibcResult {
  const lib = linuxLibc();
  if (!lib) return UNSUPPORTED;
  return lib.c.fcntl(descriptor, F_SETFD, FD_CLOEXEC) === 0 ? DONE : failure(lib);
}

/**
 * Linux: this process and what it starts get no more than this, whatever they ask for: bytes of one file, open
 * files of one process, processes of the user namespace. Root's processes are not counted by the kernel.
 */
export function limitResource(resource: keyof typeof RLIMITS, most: number): LibcResult {
  const lib = linuxLibc();
  if (!lib) return UNSUPPORTED;
  const limits = new BigUint64Array(2);
  if (lib.c.getrlimit(RLIMITS[resource], limits) !== 0) return failure(lib);
  for (const i of [0, 1]) if ((limits[i] ?? 0n) > BigInt(most)) limits[i] = BigInt(most);
  return lib.c.setrlimit(RLIMITS[resource], limits) === 0 ? DONE : failure(lib);
}

/** Both ends of a plain blocking pipe, closed on exec. */
export function rawPipe(): LibcResult<{ readonly readEnd: number; readonly writeEnd: number }> {
  const lib = linuxLibc();
  if (!lib) return UNSUPPORTED;
  const ends = new Int32Array(2);
  if (lib.c.pipe2(ends, 0o2000000) !== 0) return failure(lib);
  return { ok: true, value: { readEnd: ends[0] as number, writeEnd: ends[1] as number } };
}
