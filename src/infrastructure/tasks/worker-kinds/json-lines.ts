import type { WorkerProgress } from "../../../application/ports/worker-executor.ts";
import type { StreamEvent, StreamFindings, StreamReader } from "./worker-kind.ts";

/** A line may be a whole file that was read; one without end is not kept. */
const LONGEST_LINE = 8 * 1024 ** 2;

export interface EventReader {
  on(event: StreamEvent): WorkerProgress[];
  end(): StreamFindings;
}

/** Cuts a stream into lines and hands on those that are JSON objects. */
export function readJsonLines({ on, end }: EventReader): StreamReader {
  let held = "";
  let tooLong = false;
  function take(line: string): WorkerProgress[] {
    const event = parse(line);
    return event === null ? [] : on(event);
  }
  return {
    feed(text) {
      const found: WorkerProgress[] = [];
      const lines = text.split("\n");
      for (const [index, piece] of lines.entries()) {
        if (!tooLong) held += piece;
        if (held.length > LONGEST_LINE) {
          held = "";
          tooLong = true;
        }
        if (index === lines.length - 1) break;
        if (!tooLong) found.push(...take(held));
        held = "";
        tooLong = false;
      }
      return found;
    },
    end() {
      if (held !== "") take(held);
      held = "";
      return end();
    },
  };
}

function parse(line: string): StreamEvent | null {
  if (!line.trimStart().startsWith("{")) return null;
  try {
    return JSON.parse(line) as StreamEvent;
  } catch {
    return null;
  }
}
