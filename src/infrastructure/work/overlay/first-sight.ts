import { lstatSync, type Stats } from "node:fs";
import { isAbsence } from "../folder/identity.ts";

/**
 * Remembers, for each path that a job changes, whether it stood in the workspace when the change was first seen. An
 * overlay alone does not tell "the job made it" from "somebody deleted it below since".
 */
export interface FirstSight {
  /** `look` tells what stands there, where somebody has a use for the answer as well. */
  note(absolute: string, look?: () => unknown): void;
  /** Undefined when the path was never noted. */
  existed(absolute: string): boolean | undefined;
  /** A view was opened again at this stamp: it shows what the workspace had by then. */
  reopened(stamp: bigint): void;
  /** The stamp of the view in which the path was first noted; undefined for the first view. */
  since(absolute: string): bigint | undefined;
}

export function createFirstSight(): FirstSight {
  const seen = new Map<string, boolean>();
  const stamps = new Map<string, bigint>();
  let current: bigint | null = null;
  return {
    note(absolute, look = () => (standsAt(absolute) ? absolute : null)) {
      if (seen.has(absolute)) return;
      seen.set(absolute, look() !== null);
      if (current !== null) stamps.set(absolute, current);
    },
    existed: (absolute) => seen.get(absolute),
    reopened(stamp) {
      current = stamp;
    },
    since: (absolute) => stamps.get(absolute),
  };
}

/** Whether anything stands at a path; a file in the place of a parent means no. */
export function standsAt(absolute: string): boolean {
  return statsAt(absolute) !== undefined;
}

export function statsAt(absolute: string): Stats | undefined {
  try {
    return lstatSync(absolute, { throwIfNoEntry: false });
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}
