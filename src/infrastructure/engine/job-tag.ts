/**
 * The number that every process of a job inherits as a resource limit (see `withInheritedTag`):
 * 0x5c, 32 bits of the job, 22 bits of the single run. Far above any limit that a person would set.
 */
const PREFIX = 0x5cn;
const PREFIX_SHIFT = 54n;
const JOB_SHIFT = 22n;
const RUN_MASK = 2 ** 22 - 1;

function jobTag(jobMarker: string): bigint {
  return (PREFIX << PREFIX_SHIFT) | (BigInt(fnv1a(jobMarker)) << JOB_SHIFT);
}

export function newRunTag(jobMarker: string): bigint {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
  return jobTag(jobMarker) | BigInt(random & RUN_MASK);
}

export function isTag(value: bigint): boolean {
  return value >> PREFIX_SHIFT === PREFIX;
}

export function isOfJob(value: bigint, jobMarker: string): boolean {
  return value >> JOB_SHIFT === jobTag(jobMarker) >> JOB_SHIFT;
}

/** Written out: `node:crypto` alone would cost 8 ms at the first command. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
