/**
 * What a seal did not carry over, or carried over otherwise than the job left it.
 * `special`, `device`, `unreadable`: it does not land. `hidden`: the job could not see it. `holds-hidden`: a folder that
 * stays for that. `owner`, `group`: a changed file that could not keep them. `other-names`: hard links that part.
 * `folder-owner`, `folder-attributes`: what the job changed on a folder that stood there before.
 */
export type SealedOtherwise =
  | "special"
  | "device"
  | "unreadable"
  | "hidden"
  | "holds-hidden"
  | "stale-lock"
  | "owner"
  | "group"
  | "other-names"
  | "folder-owner"
  | "folder-attributes";

export interface SealNote {
  readonly code: "sealed-otherwise";
  readonly what: SealedOtherwise;
  /** The first of them. */
  readonly paths: readonly string[];
  readonly count: number;
}

const KEPT = 20;

export function sealNote(what: SealedOtherwise, ...paths: readonly string[]): SealNote {
  return { code: "sealed-otherwise", what, paths: paths.slice(0, KEPT), count: paths.length };
}

/** One note for each kind, in the order in which they first came. */
export function gatherSealNotes(notes: readonly SealNote[]): SealNote[] {
  const gathered = new Map<SealedOtherwise, SealNote>();
  for (const { what, paths, count } of notes) {
    const before = gathered.get(what) ?? sealNote(what);
    const all = before.paths.length < KEPT ? [...before.paths, ...paths].slice(0, KEPT) : before.paths;
    gathered.set(what, { ...before, paths: all, count: before.count + count });
  }
  return [...gathered.values()];
}
