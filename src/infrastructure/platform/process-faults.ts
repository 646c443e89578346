import { toFaultText } from "../../domain/platform/error-text.ts";
import { writeAll } from "./standard-streams.ts";

const EVENTS = ["uncaughtException", "unhandledRejection"] as const;

/**
 * Receives the errors that no caller caught in this process or thread: from a promise, a timer or an event. The
 * newest handler receives them all, and the runtime prints none of them. The result returns them to the handler before.
 */
export function takeFaults(handle: (error: unknown) => void): () => void {
  const before = EVENTS.map((event) => ({
    event,
    listeners: process.listeners(event as "uncaughtException"),
  }));
  for (const { event } of before) {
    process.removeAllListeners(event);
    process.on(event, handle);
  }
  return () => {
    for (const { event, listeners } of before) {
      process.removeAllListeners(event);
      for (const listener of listeners) process.on(event, listener);
    }
  };
}

/** For a process that another part of the program starts and watches: it says why in one line, and ends. */
export function endPartOnFault(part: string): void {
  takeFaults((error) => {
    writeAll(2, `picoclaw ${part}: ${toFaultText(error)}\n`);
    process.exit(1);
  });
}

/**
 * The same for a thread. It says nothing, because its standard error is the user's; the part that started it sees it end. Its
 * file does nothing when it is started as a program.
 */
export function endThreadOnFault(part: string): void {
  if (!Bun.isMainThread) return void takeFaults(() => process.exit(1));
  endPartOnFault(part);
  throw new Error("PicoClaw starts this file as a thread");
}
