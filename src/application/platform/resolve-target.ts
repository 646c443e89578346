import { type Entry, type View, ViewFault } from "../ports/platform-view.ts";

/** A target as the patch wrote it, made into a path of the view without symlinks on the way. */
export type ResolvedTarget = ReturnType<typeof resolveTarget>;

export interface Bounds {
  readonly view: Pick<View, "look">;
  /** Absolute paths under which the user knows the workspace: as given, real, and in the view. */
  readonly rootNames: readonly string[];
}

const MAX_LINKS = 40;
/** Each component of a path is looked up several times; real projects are not deeper than this. */
const MAX_PARTS = 255;
/** The longest path that the system accepts, in bytes: a longer one cannot be opened by name. */
const MAX_BYTES = 4_095;

/** Which symlinks of a target lead on: all of them, all but the last component, or none. */
export type FollowLinks = "all" | "parents" | "none";

/**
 * Relative targets resolve against the workspace, absolute ones must be inside it. Each component is looked at when it is used;
 * symlinks are followed by hand while they stay inside. `asWritten`: the lexical path, before links.
 */
export function resolveTarget(bounds: Bounds, target: string, follow: FollowLinks) {
  if (target.includes("\0"))
    throw new ViewFault("outside", target, `file path contains a NUL byte: ${JSON.stringify(target)}`);
  const written = components(bounds, target);
  const root = bounds.rootNames[0] ?? "";
  if (written.length > MAX_PARTS || Buffer.byteLength(`${root}/${written.join("/")}`) > MAX_BYTES)
    throw new ViewFault("name-too-long", target, `file name too long: ${target.slice(0, 80)}…`);
  if (follow === "none") {
    const path = lexical(written).join("/");
    return { path, entry: bounds.view.look(path), asWritten: path };
  }
  const pending = written.slice().reverse();
  const done: string[] = [];
  let links = 0;
  let entry: Entry = { kind: "directory", mode: 0o755 };
  while (pending.length > 0) {
    const name = pending.pop() as string;
    if (name === "" || name === ".") continue;
    if (name === "..") {
      if (done.length === 0) throw outside(target);
      done.pop();
      entry = { kind: "directory", mode: 0o755 };
      continue;
    }
    if (entry.kind === "file" || entry.kind === "other") {
      throw new ViewFault("not-directory", target, `a parent is not a directory: ${target}`);
    }
    const path = done.length === 0 ? name : `${done.join("/")}/${name}`;
    const found: Entry = entry.kind === "missing" ? entry : bounds.view.look(path);
    const last = !pending.some((part) => part !== "" && part !== ".");
    if (found.kind === "symlink" && (!last || follow === "all")) {
      links += 1;
      if (links > MAX_LINKS)
        throw new ViewFault("loop", target, `too many levels of symbolic links: ${target}`);
      let parts: readonly string[];
      if (found.target.startsWith("/")) {
        const inside = stripRoot(bounds, found.target);
        if (inside === null) throw leadsOutside(target, path, found.target);
        done.length = 0;
        parts = inside;
      } else {
        parts = found.target.split("/");
        if (escapes(done.length, parts)) throw leadsOutside(target, path, found.target);
      }
      entry = { kind: "directory", mode: 0o755 };
      for (let i = parts.length - 1; i >= 0; i--) pending.push(parts[i] as string);
      continue;
    }
    done.push(name);
    entry = found;
  }
  return { path: done.join("/"), entry, asWritten: lexical(written).join("/") };
}

function components(bounds: Bounds, target: string): readonly string[] {
  if (!target.startsWith("/")) {
    const parts = target.split("/");
    if (escapes(0, parts)) throw outside(target);
    return lexical(parts);
  }
  const inside = stripRoot(bounds, target);
  if (inside === null) throw outside(target);
  return inside;
}

/** The components of an absolute path below the workspace, or null. `/ws-evil` is not below `/ws`. */
function stripRoot(bounds: Bounds, absolute: string): readonly string[] | null {
  const parts = lexical(absolute.split("/"));
  for (const root of bounds.rootNames) {
    const prefix = lexical(root.split("/"));
    if (prefix.length <= parts.length && prefix.every((part, i) => part === parts[i]))
      return parts.slice(prefix.length);
  }
  return null;
}

function lexical(parts: readonly string[]): string[] {
  const out: string[] = [];
  for (const part of parts) {
    if (part === "" || part === ".") continue;
    if (part === "..") out.pop();
    else out.push(part);
  }
  return out;
}

function escapes(depth: number, parts: readonly string[]): boolean {
  let level = depth;
  for (const part of parts) {
    if (part === "..") level -= 1;
    else if (part !== "" && part !== ".") level += 1;
    if (level < 0) return true;
  }
  return false;
}

function outside(target: string): ViewFault {
  return new ViewFault("outside", target, `file path outside workspace: ${target}`);
}

function leadsOutside(target: string, link: string, to: string): ViewFault {
  return new ViewFault(
    "outside",
    target,
    `file path outside workspace: ${target} (symlink ${link} -> ${to})`,
  );
}
