/** As the system and PostgreSQL say it. */
const DISK_FULL_CODES: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "53100"]);
const SQLITE_FULL = 13;

/** Whether there was no room left, on this machine or on the database's. */
export function isDiskFull(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code, errcode } = at as { code?: unknown; errcode?: unknown };
    if (DISK_FULL_CODES.has(code) || errcode === SQLITE_FULL) return true;
  }
  return false;
}
