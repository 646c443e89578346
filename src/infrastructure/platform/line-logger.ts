import { closeSync, fstatSync, mkdirSync, openSync, renameSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";

export interface RotatingFile {
  /** Appends one line, at once. Never throws: a line that cannot be written is lost. */
  write(line: string): void;
  close(): void;
}

const CHECK_EVERY = 64;

/**
 * Several processes may append to one file. It is renamed to `.1` (`.1` to `.2`, and so on, up to `files` in all)
 * by whoever would make it larger than `limitBytes`; the others notice after some lines and follow.
 */
export function createRotatingFile(options: {
  readonly file: string;
  readonly limitBytes: number;
  readonly files: number;
}): RotatingFile {
  const { file, limitBytes, files } = options;
  let fd: number | undefined;
  let size = 0;
  let lines = 0;

  function open(): number {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const opened = openSync(file, "a", 0o600);
    fd = opened;
    size = fstatSync(opened).size;
    return opened;
  }

  function close(): void {
    const open = fd;
    fd = undefined;
    if (open !== undefined) closeSync(open);
  }

  function rotate(open: number): void {
    const othersDid = movedAway(open);
    close();
    for (let n = files - 2; !othersDid && n >= 0; n -= 1) {
      const from = n === 0 ? file : `${file}.${n}`;
      if (statSync(from, { throwIfNoEntry: false }) !== undefined) renameSync(from, `${file}.${n + 1}`);
    }
  }

  function movedAway(open: number): boolean {
    return statSync(file, { throwIfNoEntry: false })?.ino !== fstatSync(open).ino;
  }

  return {
    write(line) {
      try {
        lines += 1;
        if (fd !== undefined && lines % CHECK_EVERY === 0 && movedAway(fd)) close();
        let target = fd ?? open();
        const bytes = Buffer.byteLength(line);
        if (size > 0 && size + bytes > limitBytes) {
          rotate(target);
          target = open();
        }
        writeSync(target, line);
        size += bytes;
      } catch {
        // The job matters more than its log.
      }
    },
    close() {
      try {
        close();
      } catch {
        // Nothing depends on it.
      }
    },
  };
}
