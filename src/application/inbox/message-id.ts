import { newJobId } from "../work/job-id.ts";

/** `msg_<unix seconds>_<8 characters>`: the same shape as a job's. */
export function newMessageId(now: Date, random: (bytes: number) => Uint8Array): string {
  return newJobId(now, random).replace(/^job/, "msg");
}
