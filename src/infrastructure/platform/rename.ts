import { cString, DONE, failure, type LibcResult, libc, UNSUPPORTED } from "./libc.ts";

type Name = string | Uint8Array;

/** In place of a directory descriptor: names are relative to the current folder, or absolute. */
export const AT_FDCWD = process.platform === "darwin" ? -2 : -100;

const RENAMEAT2: Readonly<Record<string, number>> = { x64: 316, arm64: 276 };
const LINUX_NO_REPLACE = 1;
const LINUX_EXCHANGE = 2;
const DARWIN_SWAP = 2;
const DARWIN_EXCL = 4;

/**
 * Both names change places in one step; both must exist. `EINVAL`, `ENOSYS` and `unsupported` mean that
 * this file system or kernel cannot: the caller falls back.
 */
export function renameExchange(dirfdA: number, nameA: Name, dirfdB: number, nameB: Name): LibcResult {
  return renameWithFlags(dirfdA, nameA, dirfdB, nameB, { linux: LINUX_EXCHANGE, darwin: DARWIN_SWAP });
}

/** Renames A to B unless B exists (`EEXIST`), in one step. */
export function renameNoReplace(dirfdA: number, nameA: Name, dirfdB: number, nameB: Name): LibcResult {
  return renameWithFlags(dirfdA, nameA, dirfdB, nameB, { linux: LINUX_NO_REPLACE, darwin: DARWIN_EXCL });
}

function renameWithFlags(
  dirfdA: number,
  nameA: Name,
  dirfdB: number,
  nameB: Name,
  flags: { readonly linux: number; readonly darwin: number },
): LibcResult {
  const lib = libc();
  if (!lib) return UNSUPPORTED;
  const [a, b] = [cString(nameA), cString(nameB)];
  if (lib.platform === "darwin") {
    return lib.c.renameatx_np(dirfdA, a, dirfdB, b, flags.darwin) === 0 ? DONE : failure(lib);
  }
  // By number: older C libraries have no renameat2.
  const number = RENAMEAT2[process.arch];
  if (number === undefined) return UNSUPPORTED;
  return Number(lib.c.syscall(number, dirfdA, a, dirfdB, b, flags.linux)) === 0 ? DONE : failure(lib);
}
