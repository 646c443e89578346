import { closeSync, constants, openSync, readFileSync, readlinkSync } from "node:fs";
import { hashHex } from "../platform/hash.ts";
import { inParent } from "./anchor.ts";
import { type Identity, identifyAt, sameUntouched } from "./entry-identity.ts";
import { indexKey } from "./git-area.ts";

/** Larger files are told apart by inode and times alone. */
const HASH_LIMIT_BYTES = 4 * 1024 * 1024;

/** The hash of a file's bytes or a link's target; undefined where reading it would cost too much. */
export function hashAt(absolute: string, identity: Identity, isIndex: boolean): string | undefined {
  try {
    if (identity.kind === "symlink") return digest(readlinkSync(absolute));
    if (identity.kind !== "file" || identity.size > HASH_LIMIT_BYTES) return undefined;
    const bytes = readNoFollow(absolute);
    return (isIndex ? indexKey(bytes) : null) ?? digest(bytes);
  } catch {
    return undefined;
  }
}

/**
 * The hash of what stood at a path when `then` was taken; undefined when it has been touched since, so that nobody's
 * save is ever taken for the original.
 */
export function hashIfUntouched(
  root: string,
  path: string,
  then: Identity,
  isIndex: boolean,
): string | undefined {
  try {
    return inParent(root, path, (parent, name) => {
      const absolute = `${parent}/${name}`;
      const hash = hashAt(absolute, then, isIndex);
      return sameUntouched(identifyAt(absolute), then) ? hash : undefined;
    });
  } catch {
    return undefined;
  }
}

function digest(content: Uint8Array | string): string {
  return hashHex("sha256", content);
}

/** Reads a regular file; a symlink, FIFO or device in its place is an error, never a hang. */
export function readNoFollow(absolute: string): Uint8Array {
  const fd = openSync(absolute, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}
