import { lstatSync } from "node:fs";
import { isAbsence } from "../workspace/identity.ts";

/**
 * Remembers, for each path that a job changes, whether it stood in the workspace when the change was first seen. An
 * overlay alone does not tell "the job made it" from "somebody deleted it below since".
 */
export interface FirstSight {
  note(absolute: string): void;
  /** Undefined when the path was never noted. */
  existed(absolute: string): boolean | undefined;
}

export function createFirstSight(): FirstSight {
  const seen = new Map<string, boolean>();
  return {
    note(absolute) {
      if (!seen.has(absolute)) seen.set(absolute, standsAt(absolute));
    },
    existed: (absolute) => seen.get(absolute),
  };
}

/** Whether anything stands at a path; a file in the place of a parent means no. */
export function standsAt(absolute: string): boolean {
  try {
    return lstatSync(absolute, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if (isAbsence(error)) return false;
    throw error;
  }
}
