/**
 * The processes of a server's hands, and the channel between them and the front. In: the environment and the workspace's folder, whose
 * lock says whether a hand is landing. Out: a `HandProcess` for the front, and the other end of its channel for the hand. Invariant: a
 * hand ends with its channel, so none is left when the front is gone.
 */
import type { FrontWord, HandProcess, HandWord, StartHand } from "../../application/ports/hands.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { holdsFolderLock } from "../platform/folder-lock.ts";
import { findInstallation, runtimeArguments } from "../platform/installation.ts";
import { registerOwnChild } from "../platform/process-runner.ts";
import { readProcessUsage } from "../platform/process-table.ts";

/** The entry point of a hand; not a command for people. */
const HAND_COMMAND = "--hand";

/** The variable by which the runtime finds its end of the channel. */
const CHANNEL = "NODE_CHANNEL_FD";

export interface HandPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly workspaceFolder: () => string;
}

export function createHandStarter({ env, workspaceFolder }: HandPlace): StartHand {
  return (hear): HandProcess => {
    const { folder, runtime, executor } = findInstallation();
    const main = executor.startsWith("dist/") ? "dist/main.js" : "src/main.ts";
    const child = Bun.spawn([runtime, ...runtimeArguments(folder, main), HAND_COMMAND], {
      cwd: folder,
      env: { ...env, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" },
      stdio: ["ignore", "ignore", "inherit"],
      serialization: "json",
      ipc: (word) => hear(word as HandWord),
    });
    const { pid } = child;
    const forget = registerOwnChild(pid);
    return {
      pid,
      send: (word) => void attemptOr(undefined, () => child.send(word)),
      usage: () => readProcessUsage(pid),
      isLanding: () => holdsFolderLock(pid, workspaceFolder()),
      kill: () => child.kill("SIGKILL"),
      ended: child.exited.then(forget, forget),
    };
  };
}

/** The hand's end of the channel. */
export function openFrontChannel(hear: (word: FrontWord) => void): { say(word: HandWord): void; close(): void } {
  delete process.env[CHANNEL];
  process.on("message", (word) => hear(word as FrontWord));
  // The front is gone, and the store with it: what runs ends as in a crash, and is repaired by the next one.
  process.on("disconnect", () => process.exit(1));
  return {
    say: (word) => void process.send?.(word),
    close: () => {
      process.removeAllListeners("disconnect");
      process.disconnect?.();
    },
  };
}
