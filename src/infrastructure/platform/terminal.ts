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
