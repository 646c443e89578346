import type { CommandResult } from "../../domain/jobs/result.ts";
import type { Messages } from "../../domain/texts/messages.ts";

/**
 * Beside a result's technical error, what it means to a person and what helps, as lines
 * `[3] …` under the list; the list itself keeps its form, which programs read.
 */
export function explainFailures(
  messages: Messages,
  workspace: string,
  results: readonly CommandResult[],
): string[] {
  return results.flatMap((result, index) => {
    const { reason } = result;
    const text = reason === undefined ? editReport(result) : explain(messages, workspace, reason);
    return text === null ? [] : [`[${index + 1}] ${text}`];
  });
}

/** An edit that did not match says where it might have been meant: the same report that a model gets. */
function editReport({ success, command, output }: CommandResult): string | null {
  const matched = command.type === "file_edit" && command.metadata?.format !== undefined;
  return success || !matched || output === "" ? null : output.trimEnd().replaceAll("\n", "\n    ");
}

function explain(
  messages: Messages,
  workspace: string,
  reason: NonNullable<CommandResult["reason"]>,
): string | null {
  switch (reason.code) {
    case "timeout":
      return messages.timeout(reason.seconds);
    case "outside-workspace":
      return messages.securityViolation;
    case "git-missing":
      return `${messages.gitMissing} ${messages.remedy("install-git")}`;
    case "not-a-repository":
      return `${messages.notARepository(workspace)} → git init`;
    case "no-space":
      return `${messages.fileTrouble("no-space", workspace)} ${messages.remedy("free-space")}`;
    case "read-only":
      return messages.fileTrouble("read-only", workspace);
  }
}
