import { accessSync, constants } from "node:fs";
import type { DoctorCheck } from "../../application/ports/check.ts";
import type { Messages } from "../../domain/texts/messages.ts";

/** Whether jobs can change the workspace at all. */
export function diagnoseWorkspace(
  root: string,
  messages: Messages,
  check: (path: string) => void = (path) => accessSync(path, constants.W_OK | constants.X_OK),
): DoctorCheck {
  try {
    check(root);
    return { name: "workspace", ok: true, text: root };
  } catch {
    const remedy = messages.remedy("let-write");
    return { name: "workspace", ok: false, text: messages.workspaceReadOnly(root), remedy };
  }
}
