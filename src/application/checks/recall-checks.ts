import type { ProjectCheck } from "../../domain/checks/project-check.ts";
import type { CheckMemory, CheckRecord } from "../ports/checks.ts";

/** What is remembered of exactly these checks. */
export function recallChecks(memory: CheckMemory, checks: readonly ProjectCheck[]): CheckRecord | null {
  const record = memory.recall();
  const isSame =
    record?.lines.length === checks.length && checks.every(({ line }, at) => line === record.lines[at]);
  return isSame ? record : null;
}
