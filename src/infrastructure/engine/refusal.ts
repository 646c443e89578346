import { existsSync } from "node:fs";
import type { BeginRefusal } from "../../application/ports/jobs-transaction.ts";
import { InstallationIncomplete } from "../platform/runtime-installation.ts";

const CODES: Readonly<Record<string, BeginRefusal["code"]>> = {
  ENOSPC: "no-space",
  EDQUOT: "no-space",
  EROFS: "read-only",
  EACCES: "permission",
  EPERM: "permission",
};

/** Why the place for staged changes could not be made; errors that are not the system's are bugs. */
export function toRefusal(error: unknown, folder: string): BeginRefusal {
  const code = (error as { code?: unknown }).code;
  if (typeof code !== "string") throw error;
  if (error instanceof InstallationIncomplete) return { code: "installation", message: error.path };
  if ((code === "ENOENT" || code === "ENOTDIR") && !existsSync(folder))
    return { code: "storage", message: folder };
  const message = `${(error as Error).message} (${folder})`;
  return { code: CODES[code] ?? "failed", message };
}
