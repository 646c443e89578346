import { lstatSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Opened, Opening, OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { Config } from "../config/config.ts";
import {
  createProgramRunner,
  createToolContext,
  openScratch,
  type ToolContext,
  type ToolContextDeps,
  type ToolPolicy,
  type Verdict,
} from "../tools/tool-context.ts";
import { openWorkspace } from "./workspace.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The choices of a caller; the rest comes from the configuration. */
export type ToolContextChoices = Partial<
  Pick<ToolContextDeps, "policy" | "writeScope" | "limits" | "groupId" | "sessionKey">
>;

export type OpenedContext = Opening<{ readonly context: ToolContext }>;

/** Opens a workspace for tools. */
export async function openToolContext(
  env: Environment,
  options: OpenOptions,
  choices: ToolContextChoices = {},
): Promise<OpenedContext> {
  const opened = await openWorkspace(env, options);
  if (!opened.ok) return opened;
  await opened.workspace.repair();
  return { ...opened, context: contextOf(env, opened, options, choices) };
}

/** The same with the tools over it, for the command line. */
export async function openToolkit(env: Environment, options: OpenOptions) {
  const opened = await openToolContext(env, options);
  if (!opened.ok) return opened;
  const { createAgentToolkit } = await import("../tools/toolkit.ts");
  return { ...opened, toolkit: createAgentToolkit(opened.context) };
}

export function contextOf(
  env: Environment,
  { workspace, config }: Pick<Opened, "workspace" | "config">,
  options: OpenOptions,
  choices: ToolContextChoices,
): ToolContext {
  const { apply_patch: patch, policy, write_scope: writeScope } = config.tools;
  return createToolContext({
    workspace,
    async openElsewhere(folder) {
      const opened = await openWorkspace(env, { ...options, cwd: folder, workspace: folder });
      if (!opened.ok) return opened.message ?? `cannot be worked on: ${folder}`;
      await opened.workspace.repair();
      return opened.workspace;
    },
    locate,
    runProgram: createProgramRunner(env),
    openScratch,
    writeScope,
    policy: policyOf(policy),
    ...choices,
    limits: {
      applyPatchBytes: patch.max_bytes,
      applyPatchErrorChars: patch.max_error_chars,
      ...choices.limits,
    },
  });
}

function policyOf({ default: verdict, allow, deny }: Config["tools"]["policy"]): ToolPolicy {
  const said = (names: readonly string[], value: Verdict) => names.map((name) => [name, value] as const);
  return { default: verdict, tools: Object.fromEntries([...said(allow, "allow"), ...said(deny, "deny")]) };
}

/** Walks up to the nearest folder that exists; links on the way are followed. */
function locate(absolute: string): { folder: string; path: string } {
  const missing: string[] = [];
  for (let at = absolute; ; at = dirname(at)) {
    const real = realpath(at);
    if (real !== null) {
      const isFolder = lstatSync(real).isDirectory();
      return isFolder
        ? { folder: real, path: join(...missing) }
        : { folder: dirname(real), path: join(basename(real), ...missing) };
    }
    missing.unshift(basename(at));
  }
}

/** Null for what is not there, a link into nowhere included. */
function realpath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}
