import type { Messages } from "../../domain/texts/messages.ts";
import { confinementMessages } from "../../domain/texts/messages.ts";
import type { Execution } from "./execution.ts";

type Refusal = Extract<Execution, { status: "refused" }>["refusal"];

/** A job that never began: the thing that stands in its way, and what helps. */
export function describeRefusal(messages: Messages, workspace: string, refusal: Refusal): string[] {
  switch (refusal.code) {
    case "auto-commit":
      switch (refusal.cause) {
        case "not-a-repository":
          return [
            messages.autoCommitAborted(messages.notARepository(workspace)),
            messages.remedy("init-repository"),
          ];
        case "git-missing":
          return [messages.autoCommitAborted(messages.gitMissing), messages.remedy("install-git")];
        case "failed":
          return [messages.autoCommitAborted(refusal.message)];
      }
      break;
    case "too-large": {
      const { bytes = 0, limitBytes = 0 } = refusal;
      const remedies = ["raise-copy-limit", "transaction-none"] as const;
      return [
        messages.copyLimitExceeded({ bytes, limitBytes }),
        ...remedies.map((remedy) => `  - ${messages.remedy(remedy)}`),
      ];
    }
    case "no-space":
      return [messages.fileTrouble("no-space", workspace), messages.remedy("free-space")];
    case "read-only":
      return [messages.fileTrouble("read-only", workspace)];
    case "permission":
      return [messages.patchFailed(refusal.message)];
    case "storage":
      return [
        messages.patchFailed(messages.fileTrouble("permission-denied", refusal.message)),
        messages.remedy("writable-home"),
      ];
    case "installation":
      return [messages.installationIncomplete(refusal.message)];
    case "workspace-missing":
      return [messages.workspaceMissing(workspace), messages.remedy("create-workspace")];
    case "not-a-directory":
      return [messages.workspaceNotADirectory(workspace), messages.remedy("create-workspace")];
    case "confinement":
      return [messages.confinementUnavailable];
    case "network":
      return [confinementMessages(messages.locale).networkUnavailable(refusal.message)];
    case "preview":
      return [messages.previewUnavailable];
    case "failed":
      return [messages.patchFailed(refusal.message)];
  }
}
