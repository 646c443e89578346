import { createHash, randomInt } from "node:crypto";

/**
 * The number that every process of a job inherits as a resource limit (see `withInheritedTag`):
 * 0x5c, 32 bits of the job, 22 bits of the single run. Far above any limit that a person would set.
 */
const PREFIX = 0x5cn;
const PREFIX_SHIFT = 54n;
const JOB_SHIFT = 22n;
const RUNS = 2 ** 22;

export function jobTag(jobMarker: string): bigint {
  const hash = createHash("sha256").update(jobMarker).digest().readUInt32BE(0);
  return (PREFIX << PREFIX_SHIFT) | (BigInt(hash) << JOB_SHIFT);
}

export function newRunTag(jobMarker: string): bigint {
  return jobTag(jobMarker) | BigInt(randomInt(RUNS));
}

export function isTag(value: bigint): boolean {
  return value >> PREFIX_SHIFT === PREFIX;
}

export function isOfJob(value: bigint, jobMarker: string): boolean {
  return value >> JOB_SHIFT === jobTag(jobMarker) >> JOB_SHIFT;
}
