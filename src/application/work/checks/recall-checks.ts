import type { ProjectCheck } from "../../../domain/work/checks/project-check.ts";
import type { CheckMemory, CheckRecord } from "../../ports/check-memory.ts";

/** What is remembered of exactly these checks. */
export function recallChecks(memory: CheckMemory, checks: readonly ProjectCheck[]): CheckRecord | null {
  const record = memory.recall();
  const isSame =
    record?.lines.length === checks.length && checks.every(({ line }, at) => line === record.lines[at]);
  return isSame ? record : null;
}
