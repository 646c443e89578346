import type { Place } from "../place.ts";
import { ToolError } from "../tool-error.ts";

/** Refuses what the job would refuse, before anything is read for it. The job checks again when it writes. */
export function checkEditable({ workspace: { protection }, path, given }: Place): void {
  const deny = (message: string) =>
    new ToolError("PROTECTED_FILE", message, { status: "denied", reason: "path" });
  const forbidden = protection.forbids(path);
  if (forbidden === "git") throw deny(`git internals cannot be modified: ${given}`);
  if (forbidden === "picoclaw") throw deny(`PicoClaw's own files cannot be modified: ${given}`);
  if (protection.action !== "log" && protection.protects(path) !== null)
    throw deny(`protected file cannot be modified: ${given}`);
}
