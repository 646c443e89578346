import type { PatchCommand } from "../../domain/patch/command.ts";
import { type View, ViewFault } from "../ports/view.ts";
import { failed, type Outcome, succeeded } from "./outcome.ts";
import { type EditPolicy, type Permitted, permit, permitBelow } from "./policy.ts";
import type { Resolved } from "./resolve-path.ts";

export const SKIPPED = "skipped (protected file)";

export interface FileEditParts {
  readonly view: View;
  readonly policy: EditPolicy;
}

/**
 * Carries out one `file_edit` that says what to do; `matched-edit.ts` has those that say what to match. Every path
 * is resolved and checked when it is used.
 */
export function runFileEdit(parts: FileEditParts, command: PatchCommand): Outcome {
  const { view, policy } = parts;
  const { action, target, content } = command;
  switch (action) {
    case "create":
    case "update":
      return withTarget(permit(policy, view, target, { follow: "all" }), ({ path }) => {
        const bytes = Buffer.from(content, "utf8");
        failing(`failed to write file ${target}`, () => view.write(path, bytes));
        return `File ${target} written successfully (${bytes.length} bytes)`;
      });
    case "delete":
      return withTarget(permit(policy, view, target, { follow: "parents" }), ({ path, entry }) => {
        failing(`failed to delete file ${target}`, () => {
          if (entry.kind === "directory" && command.metadata?.format === "v4a")
            throw new ViewFault("is-directory", path, `is a directory: ${target}`);
          view.remove(path);
        });
        return `File ${target} deleted`;
      });
    case "append":
      return withTarget(permit(policy, view, target, { follow: "all" }), ({ path, entry }) => {
        const added = Buffer.from(content, "utf8");
        failing(`failed to append to file ${target}`, () => {
          const before = entry.kind === "missing" ? new Uint8Array() : view.read(path);
          view.write(path, Buffer.concat([before, added]));
        });
        return `Appended ${added.length} bytes to ${target}`;
      });
    case "mkdir":
      return withTarget(permit(policy, view, target, { follow: "all" }), ({ path }) => {
        failing(`failed to create directory ${target}`, () => view.makeDirectory(path));
        return `Directory ${target} created`;
      });
    case "rename":
    case "copy":
      return relocate(parts, command, action);
    default:
      return failed(`unknown file_edit action: ${action}`);
  }
}

function relocate(parts: FileEditParts, command: PatchCommand, action: "rename" | "copy"): Outcome {
  const { view, policy } = parts;
  const { target, content } = command;
  if (content === "") return failed(`${action} requires Content field (destination path)`);
  const follow = action === "copy" ? "all" : "parents";
  const source = permit(policy, view, target, { follow });
  if (!source.allowed) return succeeded(SKIPPED);
  const destination = permit(policy, view, content, {
    follow,
    denial: `cannot ${action} to protected file`,
  });
  if (!destination.allowed) return succeeded(SKIPPED);
  const [from, to] = [source.target, destination.target];
  const warnings = [source.warning, destination.warning].filter((text) => text !== undefined);
  if (from.entry.kind === "directory" && action === "rename") {
    const below = permitBelow(policy, view, from.path, to.path);
    if (!below.allowed) return succeeded(SKIPPED);
    warnings.push(...below.warnings);
  }
  failing(`failed to ${action} ${target}`, () => {
    if (from.entry.kind === "missing")
      throw new ViewFault("missing", target, `no such file or directory: ${target}`);
    if (to.path === from.path) return;
    if (to.path.startsWith(`${from.path}/`))
      throw new ViewFault("exists", content, `cannot move a folder into itself: ${content}`);
    if (action === "copy") view.copy(from.path, to.path);
    else view.rename(from.path, to.path);
  });
  return {
    ...succeeded(action === "copy" ? `copied ${target} -> ${content}` : `renamed ${target} -> ${content}`),
    warnings,
  };
}

function withTarget(permitted: Permitted, use: (target: Resolved) => string): Outcome {
  if (!permitted.allowed) return succeeded(SKIPPED);
  return {
    ...succeeded(use(permitted.target)),
    warnings: permitted.warning === undefined ? [] : [permitted.warning],
  };
}

/** Gives a fault its documented opening words and keeps its cause. */
export function failing(what: string, use: () => void): void {
  try {
    use();
  } catch (error) {
    if (error instanceof ViewFault)
      throw new ViewFault(error.code, error.path, `${what}: ${error.message}`, { cause: error });
    throw error;
  }
}
