import { lstatSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import picomatch from "picomatch";
import type { Opened, OpenOptions, OpenWorker } from "../adapters/cli/program.ts";
import type { Config } from "../config/config.ts";
import { createProtection } from "../domain/policy/protection.ts";
import {
  createToolContext,
  type ToolContext,
  type ToolContextParts,
  type ToolWorkspace,
} from "../tools/context.ts";
import type { ToolPolicy, Verdict } from "../tools/policy.ts";
import { createWorkspaceFiles } from "./tool-files.ts";
import { createProgramRunner } from "./tool-programs.ts";
import { openScratch } from "./tool-scratch.ts";
import { openWorker } from "./worker.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** What a caller may choose; the rest comes from the configuration. */
export type ToolContextChoices = Partial<
  Pick<ToolContextParts, "policy" | "writeScope" | "limits" | "groupId" | "sessionKey">
>;

export type OpenedContext =
  | { readonly ok: true; readonly context: ToolContext; readonly worker: OpenWorker }
  | Extract<Opened, { ok: false }>;

/** Opens a workspace for tools: a Worker for what writes, plain files for what reads. */
export async function openToolContext(
  env: Environment,
  options: OpenOptions,
  choices: ToolContextChoices = {},
): Promise<OpenedContext> {
  const opened = await openWorker(env, options);
  if (!opened.ok) return opened;
  const { worker } = opened;
  await worker.repair();
  return { ok: true, worker, context: contextOf(env, worker, options, choices) };
}

/** The same with the tools over it, for the command line. */
export async function openToolkit(env: Environment, options: OpenOptions) {
  const opened = await openToolContext(env, options);
  if (!opened.ok) return opened;
  const { createAgentToolkit } = await import("../tools/toolkit.ts");
  return { ok: true as const, worker: opened.worker, toolkit: createAgentToolkit(opened.context) };
}

export function contextOf(
  env: Environment,
  worker: OpenWorker,
  options: OpenOptions,
  choices: ToolContextChoices,
): ToolContext {
  const { apply_patch: patch, policy, write_scope: writeScope } = worker.config.tools;
  return createToolContext({
    workspace: workspaceOf(worker, options.workspace),
    async openElsewhere(folder) {
      const opened = await openWorker(env, { ...options, cwd: folder, workspace: folder });
      if (!opened.ok) return opened.message ?? `cannot be worked on: ${folder}`;
      await opened.worker.repair();
      return workspaceOf(opened.worker, folder);
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

function workspaceOf(worker: OpenWorker, given: string | undefined): ToolWorkspace {
  const { workspace: root, config, archive, mask } = worker;
  const settings = config.worker;
  return {
    root,
    rootNames: given?.startsWith("/") ? [root, given] : [root],
    files: createWorkspaceFiles(root),
    archive,
    mask,
    protection: createProtection({
      patterns: settings.protected_patterns,
      action: settings.action_on_protected_file,
      compile: (pattern, { caseInsensitive }) => picomatch(pattern, { dot: true, nocase: caseInsensitive }),
      caseInsensitive: false,
      ownPaths: [],
    }),
    execute: (request) =>
      worker.execute({
        ...request,
        dryRun: settings.dry_run,
        preview: false,
        atomic: false,
        stopOnError: settings.stop_on_error,
        autoCommit: settings.auto_commit,
      }),
    takeBack: (request) => worker.takeBack(request),
  };
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
