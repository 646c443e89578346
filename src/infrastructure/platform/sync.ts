import { DONE, failure, type LibcResult, linuxLibc, UNSUPPORTED } from "./libc.ts";

/** Linux: everything on the file system that holds `fd` reaches the disk before this returns. Blocks. */
export function syncfs(fd: number): LibcResult {
  const lib = linuxLibc();
  if (!lib) return UNSUPPORTED;
  return lib.c.syncfs(fd) === 0 ? DONE : failure(lib);
}
