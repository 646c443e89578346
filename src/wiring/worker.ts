import { realpathSync, statSync } from "node:fs";
import { relative } from "node:path";
import type { Opened, OpenOptions, OpenWorker } from "../adapters/cli/program.ts";
import { executePatch } from "../application/work/execute-patch.ts";
import type { WorkerParts } from "../application/work/worker-parts.ts";
import { loadConfig } from "../config/load.ts";
import type { LoadedConfig } from "../config/loaded.ts";
import { resolveLocale } from "../config/locale.ts";
import { createMasker } from "../domain/policy/mask.ts";
import { compilePlainGlob, isPlainGlob } from "../domain/policy/plain-glob.ts";
import { createProtection, type ProtectionParts } from "../domain/policy/protection.ts";
import { messagesFor } from "../domain/texts/catalogue.ts";
import { hashHex } from "../infrastructure/runtime/hash.ts";
import { copyXattrs } from "../infrastructure/runtime/libc.ts";
import { createLineLogger } from "../infrastructure/telemetry/line-logger.ts";
import { chooseStaging } from "../infrastructure/work/overlay/staging.ts";
import { isAlive } from "../infrastructure/work/process/is-alive.ts";
import { findGit } from "../infrastructure/work/transaction/git-roots.ts";
import { createJobArchive } from "../infrastructure/work/transaction/job-archive.ts";
import { locateStorage } from "../infrastructure/work/transaction/storage.ts";
import { createTransactions } from "../infrastructure/work/transaction/transactions.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Opens the Worker on a workspace: configuration, policy, transactions, journal, all wired by hand. */
export async function openWorker(env: Environment, options: OpenOptions): Promise<Opened> {
  const opened = await openWorkspace(env, options);
  return opened.ok ? { ok: true, worker: opened.worker } : opened;
}

export type OpenedWorkspace =
  | {
      readonly ok: true;
      readonly worker: OpenWorker;
      readonly loaded: LoadedConfig;
      readonly parts: WorkerParts;
    }
  | Extract<Opened, { ok: false }>;

/** The same with what it is made of, for those who build on a Worker. */
export async function openWorkspace(env: Environment, options: OpenOptions): Promise<OpenedWorkspace> {
  const loaded = await loadConfig({ env, ...options });
  if (!loaded.ok)
    return { ok: false, exitCode: 2, messages: messagesFor(resolveLocale({ env })), problems: loaded.errors };
  const { config, home, workspace: given } = loaded;
  const messages = messagesFor(resolveLocale({ env, config }));
  const trouble = workspaceTrouble(given);
  if (trouble !== null) {
    const message =
      trouble === "missing" ? messages.workspaceMissing(given) : messages.workspaceNotADirectory(given);
    return {
      ok: false,
      exitCode: 3,
      messages,
      problems: [],
      message: `${message}\n${messages.remedy("create-workspace")}`,
    };
  }
  const workspace = realpathSync(given);
  const storage = locateStorage(workspace, home, findGit(workspace)?.topLevel ?? workspace);
  const { mask } = createMasker({ secrets: loaded.secrets.values() });
  const homeInside = relative(workspace, home);
  const ownPaths = [storage.inside, homeInside.startsWith("..") ? null : homeInside].filter(
    (path) => path !== null && path !== "",
  ) as string[];
  const protection = createProtection({
    patterns: config.worker.protected_patterns,
    action: config.worker.action_on_protected_file,
    compile: await globCompiler(config.worker.protected_patterns),
    caseInsensitive: isCaseInsensitive(workspace),
    ownPaths,
  });
  const { confine, transaction: setting, allow_ssh_agent: allowSshAgent, network, limits } = config.worker;
  const staging = chooseStaging({ setting, workspace, memory: storage.folder, path: env.PATH ?? "" });
  const sandbox = async () => {
    const { createSandbox } = await import("./sandbox.ts");
    return createSandbox({
      env,
      storage,
      home,
      confined: confine !== "off",
      mustConfine: confine === "on" || network.mode !== "on",
      network,
      limits: {
        memory: limits.memory,
        fileSize: limits.file_size,
        openFiles: limits.open_files,
        processes: limits.processes,
        disk: limits.disk,
      },
      allowSshAgent,
      staging,
    });
  };
  const transactions = createTransactions({
    storage,
    copyLimitBytes: config.worker.copy_limit,
    lockTimeoutMs: 30_000,
    ownFolders: [storage.folder, home],
    sandbox,
    copyAttributes: (from, fd) => void copyXattrs(from, fd),
    now: () => new Date(),
  });
  const archive = createJobArchive(storage.folder, () => new Date());
  const parts: WorkerParts = {
    workspace,
    config: config.worker,
    staging: { ...staging, confinable: staging.bubblewrap !== null && staging.kind !== "none" },
    transactions,
    archive,
    policy: { protection, rootNames: [...new Set([workspace, given])] },
    planOptions: {
      inflate: (data) => process.getBuiltinModule("node:zlib").inflateSync(data),
      sha1: (bytes) => hashHex("sha1", bytes),
    },
    processes: async () =>
      (await import("../infrastructure/work/process/process-runner.ts")).createProcessRunner(),
    logger: createLineLogger({ home, file: config.log.file, level: config.log.level, mask }),
    messages,
    mask,
    hostEnv: env,
    pid: process.pid,
    now: () => new Date(),
    clock: () => performance.now(),
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
  };
  const bury = async () =>
    (await import("../application/work/bury-dead-jobs.ts")).buryDeadJobs({ ...parts, isAlive });
  return {
    ok: true,
    loaded,
    parts,
    worker: {
      workspace,
      storage: storage.folder,
      config,
      messages,
      warnings: loaded.warnings,
      archive,
      mask,
      isAlive,
      staging: parts.staging,
      execute: (request) => executePatch(parts, request),
      takeBack: async (request) =>
        (await import("../application/work/take-back.ts")).takeBack(parts, request),
      commitPreview: async (jobId) =>
        (await import("../application/work/commit-preview.ts")).commitPreview(parts, jobId),
      stop: async (jobId) => {
        const { stopJob } = await import("../application/work/stop-job.ts");
        const { worksOn } = await import("../infrastructure/work/transaction/job-holder.ts");
        return stopJob(
          {
            archive,
            worksOn: (pid, id) => worksOn(storage.folder, pid, id),
            signal: (pid, signal) => void process.kill(pid, signal),
            buryDeadJobs: bury,
            pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
            clock: parts.clock,
          },
          jobId,
        );
      },
      repair: (options) => transactions.repair(options),
      buryDeadJobs: bury,
    },
  };
}

function workspaceTrouble(path: string): "missing" | "not-a-directory" | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return "missing";
  return stats.isDirectory() ? null : "not-a-directory";
}

/** Plain patterns need no library; picomatch is loaded for braces, brackets, `**` and the like. */
async function globCompiler(patterns: readonly string[]): Promise<ProtectionParts["compile"]> {
  if (patterns.every(isPlainGlob)) return compilePlainGlob;
  const { default: picomatch } = await import("picomatch");
  return (pattern, { caseInsensitive }) => {
    const matches = picomatch(pattern, { dot: true, nocase: caseInsensitive });
    return (text) => matches(text);
  };
}

/** Whether the file system takes `A` for `a`, judged by the workspace's own name. */
function isCaseInsensitive(workspace: string): boolean {
  const swapped = workspace.replace(/[a-zA-Z](?=[^a-zA-Z]*$)/, (c) =>
    c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase(),
  );
  if (swapped === workspace) return false;
  const there = statSync(swapped, { throwIfNoEntry: false });
  return there !== undefined && there.ino === statSync(workspace).ino;
}
