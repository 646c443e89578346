import type { SealedOtherwise, SealNote } from "../jobs/seal-note.ts";
import { namePaths } from "./name-paths.ts";

const WORDS: Readonly<Record<SealedOtherwise, (names: string) => string>> = {
  special: (names) => `not carried over, it is no file, folder or link: ${names}`,
  device: (names) => `not carried over, it is a device: ${names}`,
  unreadable: (names) => `not carried over, it cannot be read: ${names}`,
  hidden: (names) => `not visible to the job: ${names}`,
  "holds-hidden": (names) => `kept, because it holds what the job could not see: ${names}`,
  "stale-lock": (names) => `a lock that the job's git left behind was dropped: ${names}`,
  owner: (names) => `${names}: it belongs to you now`,
  group: (names) => `${names}: it has your own group now`,
  "other-names": (names) => `${names}: its other names (hard links) keep the former contents`,
  "folder-owner": (names) => `${names}: the folder keeps its owner and group, which the job had changed`,
  "folder-attributes": (names) =>
    `${names}: the folder keeps its attributes and access lists, which the job had changed`,
};

/** What a seal did not carry over as the job left it. */
export const sealedOtherwise = ({ what, paths, count }: SealNote): string =>
  WORDS[what](namePaths(paths, count, (rest) => `and ${rest} more`));
