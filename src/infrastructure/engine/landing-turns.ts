import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { join } from "node:path";
import { attemptOr, succeeds } from "../../domain/platform/error-text.ts";
import { DEAD_AFTER_MS } from "../../domain/store/store-trouble.ts";
import { takeLock } from "../platform/folder-lock.ts";
import { tryFlock } from "../platform/libc.ts";
import { pause } from "../platform/timers.ts";

/** Drafts of all processes land one at a time, in the order of asking. The workspace's lock keeps writers apart; a turn only delays. */
export type LandingTurns = ReturnType<typeof createLandingTurns>;

const POLL_MS = 30;
const BEAT_MS = 3000;

/**
 * Tickets are files in `landing/` that sort by time and that their processes hold locked. One that can be locked belongs to a dead
 * process and is removed; that of a stopped process makes no progress and is skipped.
 */
export function createLandingTurns(storage: string) {
  const folder = join(storage, "landing");
  let count = 0;

  function enter(): { readonly name: string; readonly leave: () => void } {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const order = `${String(Date.now()).padStart(15, "0")}-${String(++count % 1_000_000).padStart(6, "0")}`;
    const name = `${order}-${process.pid}-${crypto.randomUUID().slice(0, 8)}`;
    const hidden = join(folder, `.${name}`);
    const descriptor = openSync(hidden, "wx", 0o600);
    tryFlock(descriptor);
    renameSync(hidden, join(folder, name));
    const beat = setInterval(() => touch(join(folder, name)), BEAT_MS);
    beat.unref();
    let left = false;
    return {
      name,
      leave() {
        if (left) return;
        left = true;
        clearInterval(beat);
        rmSync(join(folder, name), { force: true });
        closeSync(descriptor);
      },
    };
  }

  /** Whether a living process has an earlier ticket. */
  function isAhead(name: string): boolean {
    const path = join(folder, name);
    return attemptOr(false, () => {
      if (Date.now() - statSync(path).mtimeMs > DEAD_AFTER_MS) return false;
      const lock = takeLock(path, "folder");
      if (lock !== null) rmSync(path, { force: true });
      lock?.release();
      return lock === null;
    });
  }

  return {
    /** Waits for its turn; the answer gives it back, once. Gives up, with the same answer, when the signal ends. */
    async take(signal: AbortSignal): Promise<() => void> {
      const ticket = enter();
      while (!signal.aborted) {
        const ahead = readdirSync(folder).filter((name) => !name.startsWith(".") && name < ticket.name);
        if (!ahead.sort().some(isAhead)) break;
        await pause(POLL_MS);
      }
      return ticket.leave;
    },
  };
}

function touch(path: string): void {
  const now = new Date();
  // One that was taken for dead is gone; the lock of the workspace still keeps writers apart.
  succeeds(() => utimesSync(path, now, now));
}
