import { toFaultText } from "../../domain/platform/error-text.ts";
import { writeAll } from "./standard-streams.ts";

const EVENTS = ["uncaughtException", "unhandledRejection"] as const;

/** Receives the errors that no caller caught in this process or thread; the newest handler gets all. The result ends that. */
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

/** The same for a thread, in silence: its standard error is the user's, and its starter sees it end. As a program its file does nothing. */
export function endThreadOnFault(part: string): void {
  if (!Bun.isMainThread) return void takeFaults(() => process.exit(1));
  endPartOnFault(part);
  throw new Error("PicoClaw starts this file as a thread");
}
