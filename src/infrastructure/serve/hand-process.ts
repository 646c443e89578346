/**
 * Starts the processes that answer the messages of a server. In: the environment and the workspace's folder, whose lock says whether a
 * hand is landing. Out: a `HandProcess`. Invariant: a hand ends with its channel, so none is left when the front is gone.
 */
import type { HandProcess, HandWord, StartHand } from "../../application/ports/serve-hands.ts";
import { holdsFolderLock } from "../platform/folder-lock.ts";
import { findInstallation, runtimeArguments } from "../platform/installation.ts";
import { startChannelProcess } from "../platform/process-channel.ts";
import { readProcessUsage } from "../platform/process-table.ts";

/** The entry point of a hand; not a command for people. */
const HAND_COMMAND = "--hand";

export interface HandPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly workspaceFolder: () => string;
}

export function createHandStarter({ env, workspaceFolder }: HandPlace): StartHand {
  return (hear): HandProcess => {
    const { folder, runtime, executor } = findInstallation();
    const main = executor.startsWith("dist/") ? "dist/main.js" : "src/main.ts";
    const child = startChannelProcess({
      argv: [runtime, ...runtimeArguments(folder, main), HAND_COMMAND],
      cwd: folder,
      env: { ...env, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" },
      hear: (word) => hear(word as HandWord),
    });
    const { pid } = child;
    return {
      ...child,
      usage: () => readProcessUsage(pid),
      isLanding: () => holdsFolderLock(pid, workspaceFolder()),
    };
  };
}
