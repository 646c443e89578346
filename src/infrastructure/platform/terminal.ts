import { spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { writeAll } from "./standard-streams.ts";

export interface RawTerminal {
  write(text: string): void;
  columns(): number;
  /** Sets the terminal back and reads no more. */
  close(): void;
}

/** Standard input key by key, pastes marked as such. Only for a conversation: Node's streams cost their milliseconds. */
export function openTerminal(onBytes: (bytes: Uint8Array) => void, onEnd: () => void): RawTerminal {
  const { stdin, stdout } = process;
  const listen = (chunk: Buffer) => onBytes(chunk);
  stdin.setRawMode(true);
  stdin.on("data", listen);
  stdin.once("end", onEnd);
  stdin.resume();
  writeAll(1, "\x1b[?2004h");
  return {
    write: (text) => writeAll(1, text),
    columns: () => stdout.columns || 80,
    close() {
      writeAll(1, "\x1b[?2004l");
      stdin.off("data", listen);
      stdin.off("end", onEnd);
      stdin.setRawMode(false);
      stdin.pause();
      stdin.unref?.();
    },
  };
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Shows a long text page by page: `PAGER`, else `less`, which ends at once where the text fits the
 * screen. Without one, or with `cat` or an empty name, the text is written as it is.
 */
export function showInPager(text: string, env: Env): void {
  const pager = env.PAGER ?? "less";
  if (pager.trim() === "" || pager.trim() === "cat") {
    writeAll(1, text);
    return;
  }
  const ran = spawnSync("sh", ["-c", pager], {
    input: text,
    stdio: ["pipe", "inherit", "inherit"],
    env: { LESS: "FRX", LV: "-c", ...env },
  });
  // 127: there is no such program.
  if (ran.error !== undefined || ran.status === 127) writeAll(1, text);
}

/** Asks at the terminal and waits for a line; null when the terminal ends, or at Ctrl-C. */
export function askLine(question: string): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  terminal.on("close", () => resolve(null));
  terminal.on("SIGINT", () => terminal.close());
  terminal.question(question, (line) => {
    resolve(line);
    terminal.close();
  });
  return promise;
}
