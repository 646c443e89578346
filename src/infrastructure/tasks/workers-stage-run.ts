import type { ProcessRunner } from "../../application/ports/process.ts";
import type { SandboxManager } from "../../application/ports/containers.ts";
import type { Sandbox } from "../engine/folder-workspace.ts";
import { beginContainerTransaction } from "./container-transaction.ts";
import { restoreInside } from "./in-container.ts";
import type { CliResult } from "./run-cli.ts";
import { processResult } from "./run-outcome.ts";
import type { TaskLayers } from "./stage-run.ts";

export interface StageRunDeps {
  readonly sandbox: SandboxManager;
  readonly container: string;
  readonly layers: TaskLayers;
  readonly workspace: string;
  readonly runCli: () => Promise<CliResult>;
}

/** One run of a CLI, as the processes of a job see it. */
export interface StagedRun {
  readonly stage: Sandbox;
  /** Null until the CLI has ended. */
  result(): CliResult | null;
  /** Lets the container run again; nothing where it stands still no longer. */
  goOn(): Promise<void>;
  /** It could not be made to stand still, and was ended. */
  isContainerGone(): boolean;
}

export function stageRun({ sandbox, container, layers, workspace, runCli }: StageRunDeps): StagedRun {
  let result: CliResult | null = null;
  let frozen = false;
  let ended = false;
  const goOn = async () => {
    if (frozen) await sandbox.thaw(container);
    frozen = false;
  };
  const processes: ProcessRunner = {
    runProcess: async () => {
      result = await runCli();
      return processResult(result);
    },
    listJobProcesses: async () => backgroundProcesses(await sandbox.listProcesses(container)),
    killJobProcesses: async () => {
      if (frozen || ended) return [];
      const left = backgroundProcesses(await sandbox.listProcesses(container));
      for (const { pid } of left) await sandbox.endProcess(container, pid);
      // The list is made inside, where a process can pass itself off as one of ours: until the job is judged and
      // copied, nothing in there moves.
      frozen = await sandbox.freeze(container);
      // What cannot be made to stand still is ended with its container; the next run gets another.
      if (!frozen) await sandbox.stopContainer(container, { force: true });
      ended = !frozen;
      return left.map((each) => ({ ...each, survived: false }));
    },
  };
  const { roots, kind } = layers;
  const inside = {
    workspace,
    roots,
    kind,
    processes,
    goOn,
    restoreInside: (paths: Parameters<typeof restoreInside>[3]) =>
      restoreInside(sandbox, container, roots, paths),
  };
  return {
    stage: {
      overlay: async (folder) => beginContainerTransaction(inside, folder),
      fallsBack: () => null,
      confine: () => null,
      limit: () => null,
    },
    result: () => result,
    goOn,
    isContainerGone: () => ended,
  };
}

function backgroundProcesses(listed: Awaited<ReturnType<SandboxManager["listProcesses"]>>) {
  return Array.isArray(listed) ? listed : [];
}
