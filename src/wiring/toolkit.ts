import type { OpenedWorkspace, Opening, OpenOptions } from "../application/ports/jobs-workspace.ts";
import { toolLimits, toolPolicy } from "../config/settings.ts";
import { ownGitOnly } from "../infrastructure/platform/git-roots.ts";
import { removeTree } from "../infrastructure/platform/remove-tree.ts";
import {
  createProgramRunner,
  createToolContext,
  locateOnHost,
  openScratch,
  type ToolContext,
  type ToolContextDeps,
} from "../tools/tool-context.ts";
import type { Environment } from "./services.ts";
import { openWorkspace } from "./workspace.ts";

/** The choices of a caller; the configuration decides the rest. */
export type ToolContextChoices = Partial<
  Pick<ToolContextDeps, "policy" | "writeScope" | "limits" | "startedBy" | "groupId" | "sessionKey">
>;

export async function openToolContext(
  env: Environment,
  options: OpenOptions,
  choices: ToolContextChoices = {},
): Promise<Opening<{ readonly context: ToolContext }>> {
  const opened = await openWorkspace(env, options);
  if (!opened.ok) return opened;
  await opened.workspace.repair();
  return { ...opened, context: contextOf(env, opened, options, choices) };
}

/** The same with the tools over it, for the command line. */
export async function openToolkit(env: Environment, options: OpenOptions) {
  const opened = await openToolContext(env, options, { startedBy: "user" });
  if (!opened.ok) return opened;
  const { createAgentToolkit } = await import("../tools/toolkit.ts");
  return { ...opened, toolkit: createAgentToolkit(opened.context) };
}

export function contextOf(
  env: Environment,
  { workspace, config }: Pick<OpenedWorkspace, "workspace" | "config">,
  options: OpenOptions,
  choices: ToolContextChoices,
): ToolContext {
  return createToolContext({
    workspace,
    async openElsewhere(folder) {
      const opened = await openWorkspace(env, { ...options, cwd: folder, workspace: folder });
      if (!opened.ok) return opened.message ?? `cannot be worked on: ${folder}`;
      await opened.workspace.repair();
      return opened.workspace;
    },
    locate: locateOnHost,
    runProgram: createProgramRunner(env, (folder) => (folder === workspace.root ? ownGitOnly(folder) : {})),
    openScratch: () => openScratch(removeTree),
    async explainLine(path, line) {
      const [{ createHistory }, { findWhy }, { wordWhy }, { historyMessagesFor }] = await Promise.all([
        import("./history.ts"),
        import("../application/history/find-why.ts"),
        import("../application/history/word-why.ts"),
        import("../domain/texts/history.ts"),
      ]);
      const why = await findWhy(createHistory(workspace, env).why(), path, line);
      return why.ok ? workspace.mask(wordWhy(historyMessagesFor("en"), path, why)) : null;
    },
    writeScope: config.tools.write_scope,
    policy: toolPolicy(config),
    ...choices,
    limits: { ...toolLimits(config), ...choices.limits },
  });
}
