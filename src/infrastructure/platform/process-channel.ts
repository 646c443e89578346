import { attemptOr } from "../../domain/platform/error-text.ts";
import { endWithParent } from "./process-calls.ts";
import { registerOwnChild } from "./process-runner.ts";

export interface ChannelProcessRequest {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called with each word of the process; words are plain JSON. */
  readonly hear: (word: unknown) => void;
}

/** A process with a channel of words, which ends with this one. What it writes on standard error is shown. */
export function startChannelProcess({ argv, cwd, env, hear }: ChannelProcessRequest) {
  const child = Bun.spawn([...argv], {
    cwd,
    env: { ...env },
    stdio: ["ignore", "ignore", "inherit"],
    serialization: "json",
    ipc: hear,
  });
  const forget = registerOwnChild(child.pid);
  return {
    pid: child.pid,
    /** A word to a process that has ended is lost. */
    send: (word: unknown): void => void attemptOr(undefined, () => child.send(word)),
    kill: (): void => child.kill("SIGKILL"),
    ended: child.exited.then(forget, forget),
  };
}

/** The other end of such a channel. Without it the process ends at once, as in a crash. */
export function openParentChannel(hear: (word: unknown) => void) {
  endWithParent();
  process.on("message", hear);
  process.on("disconnect", () => process.exit(1));
  return {
    say: (word: unknown): void => void process.send?.(word),
    close(): void {
      process.removeAllListeners("disconnect");
      process.disconnect?.();
    },
  };
}
