import { resolveTarget } from "../application/platform/resolve-target.ts";
import type { Workspace } from "../application/ports/jobs-workspace.ts";
import { type Entry, ViewFault } from "../application/ports/platform-view.ts";
import type { ToolContext } from "./tool-context.ts";
import { ToolError, type ToolErrorCode } from "./tool-result.ts";

export interface ResolvedPath {
  readonly workspace: Workspace;
  /** Relative to the workspace, symlinks followed; empty for the workspace itself. */
  readonly path: string;
  /** The same before symlinks were followed. */
  readonly asWritten: string;
  readonly entry: Entry;
  readonly given: string;
}

/** Resolves a path argument inside the workspace, or in another folder where the write scope is `unrestricted`. */
export async function resolvePathArgument(context: ToolContext, given: string): Promise<ResolvedPath> {
  if (given.includes("\0"))
    throw new ToolError("INVALID_ARGUMENT", "the path contains a NUL byte", { reason: "arguments" });
  try {
    return resolveIn(context.workspace, given);
  } catch (error) {
    if (!(error instanceof ViewFault)) throw error;
    if (error.code !== "outside") throw viewFaultError(error);
    if (context.writeScope !== "unrestricted")
      throw new ToolError("OUTSIDE_WORKSPACE", error.message, { status: "denied", reason: "path" });
  }
  return resolveElsewhere(context, given);
}

function resolveIn(workspace: Workspace, given: string): ResolvedPath {
  const { files, rootNames } = workspace;
  const resolved = resolveTarget({ view: files, rootNames }, given, "all");
  return { ...resolved, workspace, given };
}

async function resolveElsewhere(context: ToolContext, given: string): Promise<ResolvedPath> {
  const absolute = given.startsWith("/") ? given : `${context.workspace.root}/${given}`;
  const { folder, path } = context.locate(absolute);
  let workspace = context.opened.get(folder);
  if (workspace === undefined) {
    const opened = await context.openElsewhere(folder);
    if (typeof opened === "string")
      throw new ToolError("OUTSIDE_WORKSPACE", opened, { status: "denied", reason: "path" });
    context.opened.set(folder, opened);
    workspace = opened;
  }
  try {
    return { ...resolveIn(workspace, path === "" ? "." : path), given };
  } catch (error) {
    throw error instanceof ViewFault ? viewFaultError(error) : error;
  }
}

const FAULT_CODES: Readonly<Record<ViewFault["code"], ToolErrorCode>> = {
  missing: "NOT_FOUND",
  "not-directory": "NOT_FOUND",
  loop: "NOT_FOUND",
  "is-directory": "IS_DIRECTORY",
  "not-a-file": "NOT_A_FILE",
  "name-too-long": "INVALID_ARGUMENT",
  exists: "ALREADY_EXISTS",
  outside: "OUTSIDE_WORKSPACE",
  permission: "REFUSED",
  "read-only": "REFUSED",
  "no-space": "REFUSED",
  "not-empty": "REFUSED",
  io: "INTERNAL",
};

/** A fault of the file system in the envelope's words. */
export function viewFaultError(fault: ViewFault): ToolError {
  const code = FAULT_CODES[fault.code];
  return new ToolError(code, fault.message, {
    cause: fault,
    ...(code === "INVALID_ARGUMENT" && { reason: "arguments" }),
    ...(code === "OUTSIDE_WORKSPACE" && { status: "denied", reason: "path" }),
  });
}

export function requireFile({ entry, given }: ResolvedPath): Extract<Entry, { kind: "file" }> {
  switch (entry.kind) {
    case "file":
      return entry;
    case "missing":
      throw new ToolError("NOT_FOUND", `no such file: ${given}`);
    case "directory":
      throw new ToolError("IS_DIRECTORY", `is a directory: ${given}`);
    case "symlink":
    case "other":
      throw new ToolError("NOT_A_FILE", `not a regular file: ${given}`);
  }
}
